"""The words of people who process files: statuses (F-1.3.9, F-1.4.6, F-2), codes (F-10), labels in two tongues."""

from __future__ import annotations

import pytest

from penstock import errors
from penstock.dialects import dialect_of
from penstock.dialects.pipeline.words import EXECUTION, RUN, STAGE, TRIGGERS, UNIT, execution_status, stage_status
from penstock.errors import StatusConflict
from penstock.lang.pipeline import PROCESSORS
from penstock.lifecycle import MACHINES
from tests.conformance.pipeline.make import lowered, pipeline

DIALECT = dialect_of("pipeline")
#: the seed's own enumerations
SEED_EXECUTION = {"PENDING", "RUNNING", "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT"}
SEED_STAGE = {"STARTED", "RUNNING", "COMPLETED", "FAILED", "SKIPPED", "TIMEOUT"}


def test_f_1_3_9_f_1_4_6_f_x_25_the_words_are_those_of_the_seed() -> None:
    assert set(EXECUTION) == SEED_EXECUTION == set(RUN.values()) == set(MACHINES["pipeline_run"].statuses)
    assert set(STAGE) == SEED_STAGE == set(MACHINES["pipeline_stage"].statuses) == {*UNIT.values(), "TIMEOUT"}
    assert set(TRIGGERS) == {"UPLOAD", "MANUAL", "SCHEDULED", "DEPENDENCY", "RETRY"}
    assert set(MACHINES["run"].statuses) <= set(RUN)


@pytest.mark.parametrize(
    ("run", "category", "max_retries", "status"),
    [
        ("FAILED", "timeout", 0, "TIMEOUT"), ("FAILED", "timeout", 1, "FAILED"), ("FAILED", "external", 0, "FAILED"),
        ("COMPLETED", None, 0, "COMPLETED"), ("COMPENSATING", "business", 0, "RUNNING"),
        ("CANCELLED", "timeout", 0, "CANCELLED"), ("PENDING", "timeout", 0, "PENDING"),
    ],
)  # fmt: skip
def test_f_x_6_every_timeout_is_final_only_where_nothing_is_tried_again(
    run: str, category: str | None, max_retries: int, status: str
) -> None:
    assert execution_status(run, category, max_retries) == status


def test_f_2_4_every_stage_whose_time_is_over() -> None:
    assert stage_status("FAILED", "timeout") == "TIMEOUT" and stage_status("FAILED", "external") == "FAILED"
    assert stage_status("SUCCEEDED", None) == "COMPLETED" and stage_status("SKIPPED", "timeout") == "SKIPPED"


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("PP-400-JSON", 400), ("PP-403-SCOPE", 403), ("PP-404-EXEC", 404), ("PP-409-IDEMP", 409),
        ("PP-409-STATE", 409), ("PP-500-IO", 500),
    ],
)  # fmt: skip
def test_f_10_1_f_10_2_f_10_3_f_10_4_f_10_5_f_10_6_the_codes_say_their_status(code: str, status: int) -> None:
    (kind,) = [kind for kind in vars(errors).values() if getattr(kind, "code", "") == code]
    assert kind.http == status and kind.hint


def test_f_x_8_every_conflict_has_its_reason_and_its_state() -> None:
    refused = DIALECT.error(StatusConflict(what="execution e", status="PENDING", verb="cancel", allowed="RUNNING"))
    assert refused.code == "PP-409-STATE"
    assert (refused.facts["reason"], refused.facts["state"]) == ("STATE_CONFLICT", "PENDING")


def test_every_status_and_processor_has_a_label_in_two_tongues() -> None:
    labels = DIALECT.labels
    assert set(labels.run) == SEED_EXECUTION and set(labels.node) == SEED_STAGE
    net_types = {n.type for n in lowered(pipeline()).nodes}
    assert {*PROCESSORS, *net_types} <= set(labels.types)


def test_f_1_1_3_the_title_is_the_name() -> None:
    assert DIALECT.title(lowered(pipeline(pipeline_name="그림")), lambda: None) == "그림"
