"""finish: what an executor of a decision answers is transformed and held against the author's schema."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from pathlib import Path

import pytest

from penstock.executors.contract import Done, Failed
from penstock.executors.parts.json_schema import schema_failure
from penstock.executors.parts.node_output import finish_output
from penstock.executors.parts.processes import jq
from tests.executors.bench import Bench

SAMPLE = ".items | map({code: .item_code, qty: .quantity})"


def ended(bench: Bench, body, transform=None, schema=None, **fields):
    output = {}
    if transform is not None:
        output["transform"] = {"type": "jq", "expression": transform}
    if schema is not None:
        output["schema"] = schema
    return asyncio.run(finish_output(bench.request({"output": output}, **fields), body, {"kept": 1}))


def wrong(outcome):
    assert isinstance(outcome, Failed), outcome
    return outcome.failure


def test_the_sample_transform(bench):
    """W-4.4.2: jq is applied to the answer before it is stored; the sample expression works."""
    body = {"items": [{"item_code": "A1", "quantity": 5, "x": 0}, {"item_code": "B2", "quantity": 0}]}
    assert ended(bench, body, SAMPLE) == Done([{"code": "A1", "qty": 5}, {"code": "B2", "qty": 0}], {"kept": 1}, None)


def test_the_transform_comes_before_the_schema(bench):
    """W-4.1.6: a result that does not fit output.schema is a validation failure that names the place."""
    schema = {"type": "array", "items": {"properties": {"qty": {"type": "integer"}}}}
    body = {"items": [{"item_code": "A1", "quantity": 5}, {"item_code": "B2", "quantity": "many"}]}
    failure = wrong(ended(bench, body, SAMPLE, schema))
    assert (failure.code, failure.category) == ("OUTPUT_SCHEMA", "validation")
    assert failure.detail["pointer"] == "/1/qty"
    assert "«/1/qty»" in failure.message
    assert isinstance(ended(bench, {"items": []}, SAMPLE, schema), Done)


def test_without_output_the_answer_is_as_it_was(bench):
    assert asyncio.run(finish_output(bench.request(None), "text", None, "raw_text")) == Done("text", None, "raw_text")
    assert asyncio.run(finish_output(bench.request({"output": None}), (1, 2))).body == [1, 2]


@pytest.mark.parametrize(
    ("program", "code"),
    [
        (". as [", "TRANSFORM_INVALID"),
        ("nothing_like_that(1)", "TRANSFORM_INVALID"),
        (".items | keys | .[] ", "TRANSFORM_FAILED"),
        (".items[]", "TRANSFORM_FAILED"),
        ('error("no")', "TRANSFORM_FAILED"),
        ("x" * 70_000, "TRANSFORM_LIMIT"),
    ],
)
def test_a_program_that_is_wrong_is_the_authors_to_mend(bench, program, code):
    """C-54: what jq says is told, as a validation failure."""
    failure = wrong(ended(bench, {"items": ["a", "b"]}, program))
    assert (failure.code, failure.category) == (code, "validation")


def test_no_result_is_null(bench):
    assert ended(bench, {"a": 1}, "select(.a > 1)").body is None


@pytest.mark.parametrize(
    "bomb", ["def f: f; f", "def f: [f]; f", "[range(1e12)]", 'reduce range(99) as $i ("x"; . + .)', '"x" * 1e8']
)
def test_a_bomb_ends(bench, bomb):
    """A program that never ends or eats memory is killed, and the next one works."""
    outcome = ended(bench, {}, bomb)
    assert wrong(outcome).code == "TRANSFORM_LIMIT"
    assert ended(bench, {"a": 1}, ".a").body == 1


def test_the_limit_is_never_more_than_the_nodes_own(bench):
    failure = wrong(ended(bench, {}, "def f: f; f", timeout_ms=300))
    assert failure.code == "TRANSFORM_LIMIT" and "0.3 s" in failure.message


def test_a_program_sees_neither_the_environment_nor_files(bench, monkeypatch, tmp_path: Path):
    monkeypatch.setenv("PENSTOCK_TEST_WORD", "visible")
    jq.close()
    assert ended(bench, {}, "[$ENV, env]").body == [{}, {}]
    (tmp_path / "data.json").write_text('["visible"]')
    failure = wrong(ended(bench, {}, f'import "data" as $d {{search: "{tmp_path}"}}; $d'))
    assert failure.code == "TRANSFORM_INVALID"


def test_a_cancelled_transform_leaves_no_process_behind(bench):
    """W-4.1.8: what nobody waits for any more is stopped."""

    async def cancelled() -> set[str]:
        jq.close()
        before = children()
        task = asyncio.create_task(jq.apply("def f: f; f", 1, 60))
        while not (made := children() - before):
            await asyncio.sleep(0.02)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        return made

    made = asyncio.run(cancelled())
    assert made
    ends = time.monotonic() + 60
    while made & children() and time.monotonic() < ends:
        time.sleep(0.02)
    assert not made & children()


def children() -> set[str]:
    found = set()
    for task in Path(f"/proc/{os.getpid()}/task").iterdir():
        with contextlib.suppress(OSError):
            found |= set((task / "children").read_text().split())
    return found


def test_a_schema_fetches_nothing():
    """W-12.1.5: the meta-schema is known; nothing else is fetched, from the net or from files."""
    draft7 = {"$ref": "http://json-schema.org/draft-07/schema#"}
    assert schema_failure({"type": "string"}, draft7) is None
    assert schema_failure({"type": "no such"}, draft7).failure.detail["pointer"] == "/type"
    for uri in ("http://127.0.0.1:9/x", "file:///etc/hostname"):
        failure = schema_failure(1, {"$ref": uri}).failure
        assert failure.code == "OUTPUT_SCHEMA"
        assert "not fetched" in failure.message


@pytest.mark.parametrize("schema", [{"type": "nonsense"}, 5, {"pattern": "("}, {"minimum": "x"}])
def test_a_schema_that_is_none_is_told(schema):
    failure = schema_failure("x", schema).failure
    assert failure.category == "validation"
    assert "schema itself" in failure.message


@pytest.mark.parametrize(
    ("format", "right", "other"),
    [
        ("date", "2024-01-31", "2024-01-32"),
        ("date-time", "2024-01-31T10:00:00Z", "today"),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123"),
        ("duration", "P1DT2H", "1 day"),
    ],
)
def test_formats_are_checked(format, right, other):
    """W-4.1.6: the sample schema says `format: date`."""
    assert schema_failure(right, {"format": format}) is None
    assert schema_failure(other, {"format": format}).failure.code == "OUTPUT_SCHEMA"


def test_a_pattern_that_backtracks_for_ever_ends():
    """W-4.1.6: what has not been found to fit when the limit is reached does not fit."""
    schema = {"pattern": r"^(?=a)(a+)+\1\1$"}
    assert schema_failure("a" * 9, schema) is None
    ended = schema_failure("a" * 60 + "!", schema).failure
    assert (ended.code, ended.detail["schema_pointer"]) == ("OUTPUT_SCHEMA", "/pattern")
