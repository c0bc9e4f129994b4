"""Definitions and stages: every column of F-1.1 and F-1.2 with its type and default, and what each is lowered to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import pytest

from penstock.executors.processors import BUILTIN
from penstock.lang.compile import check_document
from penstock.lang.pipeline import PROCESSORS, ProcessorType, editor_schema
from penstock.lang.pipeline.checks import dependency_cycle
from penstock.lang.pipeline.fields import PipelineFields, StageFields
from penstock.net.soundness import verdicts
from tests.conformance.pipeline.make import lowered, node, pipeline, rules, said, stage
from tests.kernel.harness import Sim

EXAMPLES = Path(__file__).parents[3] / "examples" / "pipeline"
#: the columns of the seed and their defaults
DEFINITION = [
    ("F-1.1.1", "id", None),
    ("F-1.1.2", "pipeline_code", ""),
    ("F-1.1.3", "pipeline_name", ""),
    ("F-1.1.4", "description", ""),
    ("F-1.1.5", "file_type", None),
    ("F-1.1.6", "pipeline_type", "ASYNC"),
    ("F-1.1.7", "trigger_conditions", None),
    ("F-1.1.8", "configuration", {}),
    ("F-1.1.9", "default_params", None),
    ("F-1.1.10", "max_file_size", None),
    ("F-1.1.11", "timeout_seconds", 300),
    ("F-1.1.12", "max_retries", 3),
    ("F-1.1.13", "retry_delay_seconds", 60),
    ("F-1.1.14", "priority", 100),
    ("F-1.1.15", "parallelism", 1),
    ("F-1.1.16", "resource_requirements", None),
    ("F-1.1.17", "dependencies", None),
    ("F-1.1.18", "success_actions", []),
    ("F-1.1.18", "failure_actions", []),
    ("F-1.1.19", "notification_config", None),
    ("F-1.1.20", "is_active", True),
    ("F-1.1.21", "version", 1),
    ("F-1.1.22", "created_at", None),
    ("F-1.1.22", "updated_at", None),
    ("F-1.1.23", "created_by", None),
]
STAGE = [
    ("F-1.2.1", "id", None),
    ("F-1.2.2", "pipeline_id", None),
    ("F-1.2.3", "stage_code", ""),
    ("F-1.2.4", "stage_name", ""),
    ("F-1.2.5", "description", ""),
    ("F-1.2.6", "sequence_order", None),
    ("F-1.2.7", "processor_type", ""),
    ("F-1.2.8", "processor_config", {}),
    ("F-1.2.9", "input_validation", None),
    ("F-1.2.9", "output_validation", None),
    ("F-1.2.10", "is_optional", False),
    ("F-1.2.11", "is_parallel", False),
    ("F-1.2.12", "condition", None),
    ("F-1.2.13", "timeout_seconds", 60),
    ("F-1.2.14", "max_retries", 3),
    ("F-1.2.15", "retry_strategy", "EXPONENTIAL"),
    ("F-1.2.16", "on_failure", "FAIL"),
    ("F-1.2.17", "resource_allocation", None),
    ("F-1.2.17", "metrics_config", None),
    ("F-1.2.18", "is_active", True),
    ("F-1.2.19", "created_at", None),
    ("F-1.2.19", "updated_at", None),
]


def default_of(kind: type, name: str) -> Any:
    value = getattr(kind(), name)
    return msgspec.to_builtins(value, order="sorted") if name != "configuration" else {}


@pytest.mark.parametrize(("requirement", "name", "default"), DEFINITION)
def test_every_column_of_a_definition_has_its_default(requirement: str, name: str, default: Any) -> None:
    assert default_of(PipelineFields, name) == default and name in PipelineFields.__struct_fields__


@pytest.mark.parametrize(("requirement", "name", "default"), STAGE)
def test_every_column_of_a_stage_has_its_default(requirement: str, name: str, default: Any) -> None:
    assert default_of(StageFields, name) == default and name in StageFields.__struct_fields__


def test_there_are_no_other_columns() -> None:
    assert {name for _, name, _ in DEFINITION} == set(PipelineFields.__struct_fields__)
    assert {name for _, name, _ in STAGE} == set(StageFields.__struct_fields__)


def test_a_document_may_have_every_column() -> None:
    """What the store sets is read and left alone."""
    full = pipeline(
        stage(
            "only", id=1, pipeline_id=1, description="d", processor_config={"x": 1},
            input_validation={"type": "object"}, output_validation={}, is_optional=0, is_parallel=0,
            condition=None, timeout_seconds=5, max_retries=1, retry_strategy="LINEAR",
            on_failure="SKIP", resource_allocation={"memory_mb": 64},
            metrics_config={"emit": ["a"], "sample": 0.5}, is_active=1, created_at="x", updated_at="y",
        ),
        id=4, description="d", pipeline_type="BATCH", trigger_conditions={"field": "size", "op": "gt", "value": 1},
        configuration={"batch_size": 3, "batch_window_seconds": 9, "max_executions": 2, "manual_retry_mode": "rerun"},
        default_params={"a": 1}, max_file_size=9, timeout_seconds=9, max_retries=0, retry_delay_seconds=0, priority=-1,
        parallelism=3, resource_requirements={"labels": ["gpu"], "memory_mb": 9, "cpu_seconds": 2.5},
        dependencies={"after": ["A"]}, success_actions=[{"type": "event", "name": "done"}],
        failure_actions=[{"type": "webhook", "url": "https://example.com/x"}],
        notification_config={"on": ["FAILED"], "channels": [{"type": "log"}, {"type": "email", "to": "a@b.c"}]},
        is_active=1, version=3, created_at="x", updated_at="y", created_by="me",
    )  # fmt: skip
    assert said(full) == []
    net = lowered(full)
    assert net.queued and net.declares.version == 3 and net.active_timeout_ms == 9000
    assert node(net, "only").effect.args["limits"] == {"labels": ["gpu"], "memory_mb": 64, "cpu_seconds": 2.5}
    assert node(net, "only").effect.args["metrics"] == {"emit": ["a"], "sample": 0.5}


@pytest.mark.parametrize("name", ["pipeline_code", "pipeline_name", "file_type"])
def test_what_must_be_there(name: str) -> None:
    document = pipeline()
    del document[name]
    assert ("missing_field", "") in rules(document)


@pytest.mark.parametrize("name", ["stage_code", "stage_name", "sequence_order", "processor_type"])
def test_what_a_stage_must_have(name: str) -> None:
    lacking = stage("a")
    del lacking[name]
    assert ("missing_field", "/stages/0") in rules(pipeline(lacking))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("file_type", "MOVIE"), ("pipeline_type", "async"), ("timeout_seconds", 0), ("timeout_seconds", "5"),
        ("max_retries", -1), ("parallelism", 0), ("priority", 2**31), ("pipeline_code", "x" * 51),
        ("pipeline_name", "x" * 101), ("is_active", 2), ("is_active", "yes"), ("max_file_size", -1),
        ("dependencies", ["A"]), ("success_actions", {"type": "event"}), ("configuration", []), ("version", 0),
    ],
)  # fmt: skip
def test_a_wrong_value_is_told_at_its_place(name: str, value: Any) -> None:
    assert ("wrong_type", f"/{name}") in rules(pipeline(**{name: value}))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("retry_strategy", "FIXED"), ("on_failure", "STOP"), ("timeout_seconds", 0), ("max_retries", 1.5),
        ("processor_config", []), ("stage_code", "x" * 51), ("is_parallel", "1"), ("condition", []),
    ],
)  # fmt: skip
def test_a_wrong_value_of_a_stage_is_told_at_its_place(name: str, value: Any) -> None:
    assert ("wrong_type", f"/stages/0/{name}") in rules(pipeline({**stage("a"), name: value}))


def test_an_unknown_field_is_told_with_the_one_that_was_meant() -> None:
    assert said(pipeline(max_retry=3)) == [("unknown_field", "/max_retry", "Did you mean «max_retries»?")]
    in_stage = said(pipeline(stage("a", time_out_seconds=3)))
    assert in_stage == [("unknown_field", "/stages/0/time_out_seconds", "Did you mean «timeout_seconds»?")]


@pytest.mark.parametrize(
    ("stages", "rule", "at"),
    [
        ([], "no_stages", "/stages"),
        ([3], "wrong_type", "/stages/0"),
        ([stage("a"), stage("a")], "duplicate_stage", "/stages/1/stage_code"),
        ([stage("a.b")], "bad_code", "/stages/0/stage_code"),
        ([stage("../x")], "bad_code", "/stages/0/stage_code"),
        ([stage("input")], "reserved_name", "/stages/0/stage_code"),
        ([stage("a", is_active=0)], "no_stages", "/stages"),
        ([stage(f"s{n}") for n in range(501)], "too_many_stages", "/stages"),
    ],
)
def test_f_1_2_20_codes_of_stages(stages: list[Any], rule: str, at: str) -> None:
    assert rules({**pipeline(), "stages": stages}) == [(rule, at)]


def test_a_code_of_a_pipeline_is_part_of_keys() -> None:
    assert rules(pipeline(pipeline_code="a#b")) == [("bad_code", "/pipeline_code")]


def test_f_x_14_every_unknown_processor_is_refused() -> None:
    assert said(pipeline(stage("a", processor="ImageThumbnial"))) == [
        ("unknown_processor", "/stages/0/processor_type", "Did you mean «ImageThumbnail»?")
    ]
    assert lowered(pipeline(stage("a", processor="Own")), Own=ProcessorType("Own"))


def test_f_x_14_the_names_are_those_of_the_shelf() -> None:
    """What the executors have and the language does not name could never be used."""
    assert set(BUILTIN) <= set(PROCESSORS)
    named = "Copy Checksum MetadataExtractor TextExtractor ImageResizer ImageThumbnail CsvToJson HtmlToText"
    assert {*named.split(), "OcrProcessor", "Command", "HttpCall"} <= set(PROCESSORS)


@pytest.mark.parametrize("name", ["input_validation", "output_validation"])
def test_f_x_10_every_schema_is_checked_when_it_is_read(name: str) -> None:
    assert rules(pipeline(stage("a", **{name: {"type": "objekt"}}))) == [("bad_schema", f"/stages/0/{name}/type")]
    assert rules(pipeline(stage("a", **{name: {"$ref": "http://example.com/s.json"}})))[0][0] == "bad_schema"


@pytest.mark.parametrize(
    ("fields", "rule", "at"),
    [
        ({"success_actions": [{"type": "mail"}]}, "wrong_type", "/success_actions/0/type"),
        ({"success_actions": [{"name": "x"}]}, "missing_field", "/success_actions/0"),
        ({"success_actions": [{"type": "event"}]}, "missing_field", "/success_actions/0"),
        ({"failure_actions": [{"type": "pipeline"}]}, "missing_field", "/failure_actions/0"),
        ({"failure_actions": [{"type": "webhook"}]}, "missing_field", "/failure_actions/0"),
        ({"failure_actions": [{"type": "webhook", "url": "file:///etc"}]}, "bad_address", "/failure_actions/0/url"),
        ({"success_actions": [{"type": "pipeline", "code": "a b"}]}, "bad_code", "/success_actions/0/code"),
        ({"success_actions": [{"type": "pipeline", "code": "IMG_BASIC"}]}, "pipeline_cycle", "/success_actions/0"),
        ({"notification_config": {"on": ["FAILED"]}}, "missing_field", "/notification_config"),
        ({"notification_config": {"on": ["FAILD"], "channels": []}}, "wrong_type", "/notification_config/on/0"),
        (
            {"notification_config": {"on": ["FAILED"], "channels": [{"type": "email"}]}},
            "missing_field",
            "/notification_config/channels/0",
        ),
        (
            {"notification_config": {"on": ["FAILED"], "channels": [{"type": "email", "to": "x"}]}},
            "bad_address",
            "/notification_config/channels/0/to",
        ),
        ({"dependencies": {"after": ["IMG_BASIC"]}}, "pipeline_cycle", "/dependencies/after/0"),
        ({"dependencies": {"after": ["A", "A"]}}, "duplicate_dependency", "/dependencies/after/1"),
        ({"default_params": {"a": {"$expr": "secrets.x"}}}, "reserved_key", "/default_params"),
        ({"configuration": {"batch_size": 3}}, "idle_field", "/configuration"),
    ],
)
def test_f_x_12_f_x_13_what_follows_the_end(fields: dict[str, Any], rule: str, at: str) -> None:
    assert (rule, at) in rules(pipeline(**fields))


def test_text_of_a_definition_is_never_an_expression() -> None:
    config = {"deep": [{"$expr": "secrets.key", "x": 1}]}
    assert rules(pipeline(stage("a", processor_config=config))) == [("reserved_key", "/stages/0/processor_config")]


@pytest.mark.parametrize(
    ("after", "circle"),
    [
        ({}, []),
        ({"a": ["b"], "b": ["c"]}, []),
        ({"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []}, []),
        ({"a": ["b"], "b": ["a"]}, ["a", "b", "a"]),
        ({"x": ["a"], "a": ["b"], "b": ["c"], "c": ["a"]}, ["a", "b", "c", "a"]),
        ({"a": ["a"]}, ["a", "a"]),
    ],
)
def test_f_x_12_circles_of_pipelines(after: dict[str, list[str]], circle: list[str]) -> None:
    assert dependency_cycle(after) == circle


# ---- lowering --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("strategy", "delays"),
    [("IMMEDIATE", [0, 0, 0]), ("LINEAR", [2000, 4000, 6000]), ("EXPONENTIAL", [2000, 4000, 8000])],
)
def test_f_x_6a_f_a_6_every_stage_is_tried_again_after_its_delays(strategy: str, delays: list[int]) -> None:
    """Three retries, then the execution fails with the stage's code: no retry of the whole."""
    document = pipeline(stage("a", retry_strategy=strategy, processor_config={"retry_delay_seconds": 2}), max_retries=0)
    m = Sim(msgspec.structs.replace(lowered(document), queued=False))
    waited = []
    for _ in delays:
        m.bad("a", "IO", "external")
        wake = min(t.due for t in m.run.st.timers.values())
        waited.append(wake - m.now)
        m.tick()
    m.bad("a", "IO", "external")
    assert waited == delays and m.status == "FAILED"
    assert m.st.failure is not None and (m.st.failure.code, m.st.failure.node) == ("IO", "a")


def test_f_x_6a_the_base_is_the_definition_s_and_the_cap_one_hour() -> None:
    retry = node(lowered(pipeline(stage("a"), retry_delay_seconds=7)), "a").retry
    assert (retry.base_ms, retry.max, retry.cap_ms, retry.kind) == (7000, 3, 3_600_000, "exponential")
    assert node(lowered(pipeline(stage("a"), retry_delay_seconds=9999)), "a").retry.base_ms == 3_600_000


@pytest.mark.parametrize("wrong", ["x", -1, True])
def test_f_x_6a_every_delay_is_a_number(wrong: Any) -> None:
    document = pipeline(stage("a", processor_config={"retry_delay_seconds": wrong}))
    assert rules(document) == [("wrong_type", "/stages/0/processor_config/retry_delay_seconds")]


@pytest.mark.parametrize(
    ("fields", "action", "final"),
    [
        ({}, None, "restart"),
        ({"on_failure": "RETRY"}, None, "here"),
        ({"on_failure": "SKIP"}, "skip", "here"),
        ({"on_failure": "CONTINUE"}, "continue", "here"),
        ({"is_optional": 1}, "continue", "here"),
        ({"is_optional": True, "on_failure": "RETRY"}, "continue", "here"),
        ({"is_optional": 1, "on_failure": "SKIP"}, "skip", "here"),
    ],
)
def test_f_x_6b_what_follows_a_failure(fields: dict[str, Any], action: str | None, final: str) -> None:
    made = node(lowered(pipeline(stage("a", **fields))), "a")
    assert [row.action for row in made.on_error] == ([action] if action else []) and made.on_final == final


def groups(*stages: dict[str, Any]) -> list[set[str]]:
    """Which stages run side by side, in order."""
    net = lowered(pipeline(*stages, parallelism=9))
    scopes: dict[str, set[str]] = {}
    for n in net.nodes:
        if n.kind == "task":
            scopes.setdefault(n.scope or n.id, set()).add(n.id)
    return list(scopes.values())


def test_f_x_15_stages_form_groups() -> None:
    side: dict[str, Any] = {"is_parallel": 1}
    assert groups(stage("a", 1), stage("b", 2)) == [{"a"}, {"b"}]
    assert groups(stage("b", 2), stage("a", 1)) == [{"a"}, {"b"}]
    assert groups(stage("a", 1), stage("b", 1), stage("c", 2)) == [{"a", "b"}, {"c"}]
    assert groups(stage("a", 1, **side), stage("b", 2, **side), stage("c", 3)) == [{"a", "b"}, {"c"}]
    assert groups(stage("a", 1, **side), stage("b", 2), stage("c", 3, **side)) == [{"a"}, {"b"}, {"c"}]
    assert groups(stage("a", 1, **side), stage("b", 2, **side), stage("c", 2)) == [{"a"}, {"b", "c"}]
    assert groups(stage("a", 1), stage("b", 1, is_active=0), stage("c", 2)) == [{"a"}, {"c"}]
    assert groups(stage("a", 1), stage("b", 1), stage("c", 2), stage("d", 2)) == [{"a", "b"}, {"c", "d"}]


def test_f_x_15_names_of_the_net_give_way_to_stages() -> None:
    net = lowered(pipeline(stage("start", 1), stage("group", 2), stage("end", 2), stage("last", 3)))
    assert {"start", "group", "end", ".start", ".group", ".end"} <= {n.id for n in net.nodes}


def test_f_x_9_every_skipped_member_of_a_group_ends_its_branch() -> None:
    small = {"field": "size", "op": "lt", "value": 5}
    net = lowered(pipeline(stage("a", 1, condition=small), stage("b", 1), stage("c", 2), parallelism=2))
    assert {v.status for v in verdicts(net).values()} == {"sound"}
    m = Sim(msgspec.structs.replace(net, queued=False), {"size": 10})
    m.ok("b", {"output": 1})
    m.ok("c", {"output": 2})
    assert m.status == "COMPLETED" and "a" not in m.fired()


def test_the_first_stages_are_told_of_no_output() -> None:
    """Also not by way of a stage that was skipped: what a run was begun with is no stage's output."""
    never = {"field": "size", "op": "lt", "value": 5}
    document = pipeline(stage("a", 1, condition=never), stage("b", 2), stage("c", 3))
    m = Sim(msgspec.structs.replace(lowered(document), queued=False), {"size": 10, "params": {"p": 1}})
    m.ok("b", {"output": 1})
    told = {line.node: line.data["args"] for line in m.of("effect.asked")}
    assert told["b"]["input"] is None and told["c"]["input"] == {"output": 1}
    assert told["b"]["params"] == {"p": 1} and told["b"]["seq"] == 2 and told["b"]["timeout_s"] == 60


def test_f_x_8_every_processor_that_can_undo_has_a_hook() -> None:
    net = lowered(pipeline(stage("a", processor="Own"), stage("b", 2)), Own=ProcessorType("Own", rollback=True))
    assert node(net, "a").undo == ("a.undo",) and node(net, "a").undo_on == ("cancel",) and not node(net, "b").undo
    assert node(net, "a.undo").effect.args["processor"] == "Own"


def test_the_schema_for_editors_is_that_of_the_reader() -> None:
    """What the schema allows and refuses, the reader does, too."""
    file = Path(editor_schema.__file__).with_name("pipeline.schema.json")
    assert file.read_text(encoding="utf-8") == editor_schema.editor_schema_text()
    schema = jsonschema_rs.validator_for(editor_schema.editor_schema())
    asks = {"any": [{"not": {"field": "size", "op": "gt", "value": 1}}, {"expr": "input.size > 1"}]}
    fine = [pipeline(), pipeline(stage("a", condition=asks), is_active=1, configuration={"own": 1})]
    fine += [json.loads(example.read_text(encoding="utf-8")) for example in EXAMPLES.glob("*.json")]
    assert all(schema.is_valid(document) for document in fine)
    for wrong in ({"file_type": "MOVIE"}, {"stages": []}, {"parallelism": 0}, {"no": 1}, {"trigger_conditions": {}}):
        assert not schema.is_valid(pipeline(**wrong)) and rules({**pipeline(), **wrong})


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.json")), ids=lambda file: file.name)
def test_examples_are_whole(file: Path) -> None:
    language, told = check_document(file.read_bytes(), name=file.name)
    assert (language, told) == ("pipeline", [])
    net = lowered(json.loads(file.read_text(encoding="utf-8")))
    assert {v.status for v in verdicts(net).values()} == {"sound"}


def test_f_1_1_10_stages_know_how_large_the_file_may_be() -> None:
    assert node(lowered(pipeline(stage("a"), max_file_size=3)), "a").effect.args["max_file_size"] == 3
    assert "max_file_size" not in node(lowered(pipeline(stage("a"))), "a").effect.args
