"""Bad input is normal: whatever a definition holds is answered with findings, quickly, never with a traceback."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from penstock.lang.compile import check_document
from tests.conformance.process.make import (
    EXAMPLES,
    as_bytes,
    compiled,
    event,
    findings,
    gateway,
    process,
    rules,
    service,
    task,
)
from tests.counted import grows_evenly

WHOLE = process(
    [
        event("S", "start"),
        task(
            "A", role="r", due="PT1H", escalate_to=["user:x"], input_data=[{"name": "d", "type": "db", "source": "c"}]
        ),
        service("B", "SUPERVISED", compensation={"tool": "t", "params": {"a": "${x}"}}, multi={"items": "xs"}),
        gateway("G", conditions={"G>C": "n > 1", "default": "G>D"}),
        task("C", type="subProcess"),
        task("C1", parent="C", compensation="K"),
        task("D", type="scriptTask", python_code="result = {}"),
        task("K", is_for_compensation=True),
        event("T", "boundary", "timer", attached_to="A", timer={"cycle": "R2/PT1M"}, interrupting=False),
        task("H", type="subProcess", triggered_by_event=True),
        event("HS", "start", "message", message="m", parent="H", correlation={"k": "${v}"}),
        task("H1", parent="H"),
        gateway("V", "eventBased"),
        event("M", "catch", "signal", signal="s"),
        event("W", "catch", "timer", timer={"date": "2030-01-01T00:00:00Z"}),
        event("E", "end", "terminate"),
    ],
    ["S>A", "A>B", "B>G", "G>C", "G>D", "C>V", "V>M", "V>W", "M>E", "HS>H1", ("D>E", {"condition": "x == 1"})],
    roles=[{"id": "r", "name": "R", "assignment_rule": "round_robin"}],
    lanes=[{"id": "l", "name": "L", "role": "r", "elements": ["C1"]}],
)
JUNK: tuple[Any, ...] = (
    None, True, -1, 1e300, "", "A", "G", "H", "C", "${", "${x", "$expr", "한글", "x" * 3000, [], {}, [[]], [None],
    {"$expr": "1"},
)  # fmt: skip


def spots(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(value, dict):
        return found + [one for key, inner in value.items() for one in spots(inner, (*path, key))]
    if isinstance(value, list):
        return found + [one for i, inner in enumerate(value) for one in spots(inner, (*path, i))]
    return found


def mutated(chance: random.Random) -> dict[str, Any]:
    document = copy.deepcopy(WHOLE)
    for _ in range(chance.randint(1, 3)):
        places = spots(document)
        *way, last = chance.choice(places)
        at: Any = document
        for step in way:
            at = at[step]
        if chance.random() < 0.3 and isinstance(at, dict):
            del at[last]
        elif chance.random() < 0.2 and isinstance(at, list):
            at.append(copy.deepcopy(at[last]))
        else:
            at[last] = copy.deepcopy(chance.choice(JUNK))
    return document


def test_the_whole_is_good() -> None:
    """P-X.25: everything the language has in one definition, and nothing is wrong with it."""
    assert [str(one) for one in findings(WHOLE) if one.severity == "error"] == []


@pytest.mark.parametrize("seed", range(400))
def test_broken_at_random(seed: int) -> None:
    """P-X.1: every finding has a place in the document and a hint; nothing raises."""
    for found in findings(mutated(random.Random(seed))):
        assert found.hint and found.message and found.where.line >= 1


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"1", b'{"process_definition_id": []}', b"\xff\xfe", b"null"])
def test_no_definition_at_all(text: bytes) -> None:
    """P-X.1: what is no document is told as one finding."""
    _, found = check_document(text, name="p.json", language="process")
    assert found and all(one.hint for one in found if one.severity == "error")


def _row(count: int) -> dict[str, Any]:
    return process([task(f"A{i}") for i in range(count)], [f"A{i}>A{i + 1}" for i in range(count - 1)])


def _star(count: int) -> dict[str, Any]:
    return process(
        [gateway("F", "parallel"), *(task(f"A{i}") for i in range(count)), gateway("J", "parallel"), task("Z")],
        [*(f"F>A{i}" for i in range(count)), *(f"A{i}>J" for i in range(count)), "J>Z"],
    )


@pytest.mark.parametrize("shape", [_row, _star])
def test_large_ones_are_answered_with_work_that_grows_evenly(shape: Callable[[int], dict[str, Any]]) -> None:
    """P-8.1: a thousand activities in a row, and in one fork; three times as many are three times the work."""

    def large(count: int) -> Callable[[], Any]:
        data = as_bytes(shape(count))
        return lambda: check_document(data, name="p.json")

    assert grows_evenly(large, 60)
    large(1000)()


def test_what_is_too_wide_to_be_played_through_is_told_soon() -> None:
    """P-X.1: ten thousand tokens at once are no way to keep a release waiting; nothing is claimed that was not seen."""
    for document in (
        process([task("A"), task("B")], [("A>B", {"id": f"f{i}"}) for i in range(10_000)]),
        process([*(task(f"A{i}") for i in range(3000)), task("Z")], [f"A{i}>Z" for i in range(3000)]),
    ):
        assert [one.rule for one in findings(document)] == ["soundness_undecided"], "the budget counts tokens, too"


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"due": f"P{'9' * 400}D"}, ""),
        ({"due": "PT0.0S"}, ""),
        ({"compensation": {"tool": "t", "retry": {"max": 10**9}}}, "wrong_type"),
        ({"compensation": {"tool": "t", "retry": {"max": True}}}, "wrong_type"),
        ({"compensation": {"tool": "t", "retry": {"backoff_ms": -1}}}, "wrong_type"),
        ({"compensation": {"tool": ""}}, "missing_field"),
        ({"multi": {"count": 1_000_000}}, "wrong_type"),
        ({"form": {"$ref": "http://169.254.169.254/"}}, "json_schema"),
    ],
)
def test_numbers_and_places_out_of_this_world(fields: dict[str, Any], rule: str) -> None:
    """P-X.1, P-X.21, P-X.34: each is told or cut to what can be; none raises."""
    assert rules(process([task("A", **fields), task("B")], ["A>B"])) == ([rule] if rule else [])


def test_a_cycle_of_endless_digits() -> None:
    """P-X.1: a number that no integer should be made of."""
    timer = {"cycle": f"R{'9' * 5000}/PT1M"}
    ringing = event("T", "boundary", "timer", attached_to="A", timer=timer, interrupting=False)
    assert rules(process([task("A"), ringing, task("B")], ["T>B"])) == []


def test_a_time_that_is_next_to_nothing_is_still_a_limit() -> None:
    """P-X.34, P-5.3.10: a step of no milliseconds would be one without a limit."""
    net = compiled(process([task("A", compensation={"tool": "t", "timeout": 1e-9})], [])).net
    (undo,) = [one for one in net.nodes if one.id == "A.undo"]
    assert undo.timeout_ms == 1


SECRET = "${secrets.KEY}"


@pytest.mark.parametrize(
    "document",
    [
        process([task("A", compensation={"tool": "t", "params": {"k": SECRET}})], []),
        process([gateway("G", conditions={"G>A": "secrets.KEY == 'x'", "default": "G>B"}), task("A"), task("B")],
                ["G>A", "G>B"]),
        process([task("A", due=SECRET)], []),
        process([task("A", multi={"items": SECRET})], []),
        process([task("A", type="subProcess", orchestration={"sub_process": "x", "input": {"k": SECRET}})], []),
        process([task("A"), event("T", "throw", "message", message="m", payload={"k": SECRET})], ["A>T"]),
        process([task("A"), event("T", "catch", "message", message="m", correlation={"k": SECRET})], ["A>T"]),
    ],
    ids=["params", "condition", "due", "items", "input", "payload", "correlation"],
)  # fmt: skip
def test_no_expression_reads_a_secret(document: dict[str, Any]) -> None:
    """P-X.9, P-X.18: what expressions give goes into facts, forms and prompts; a secret belongs to a tool."""
    found = [one for one in findings(document) if one.rule == "secret_in_expression"]
    assert found and found[0].severity == "error" and "Register" in found[0].hint


def test_hostile_names_are_only_names() -> None:
    """P-X.9: a text that looks like an expression, a template or a reference stays a text."""
    nasty = ["${secrets.key}", "{{x}}", "$expr", "'; DROP TABLE run; --", "<b>x</b>", "a\u202eb"]
    for name in nasty:
        document = process([task("A", name=name, instruction=name)], [], process_definition_name=name)
        assert rules(document) == []
        (node,) = [one for one in compiled(document).net.nodes if one.id == "A"]
        assert node.work is not None and node.work.prompt["title"] == name and node.work.prompt["instruction"] == name


def test_the_examples_have_no_trailing_words() -> None:
    """P-2.2.9: examples are plain JSON, UTF-8, one definition each."""
    for file in EXAMPLES.rglob("*.json"):
        assert json.loads(file.read_text("utf-8"))["process_definition_id"]


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("extensions", {"file": "x"}), ("extensions", {"elements": [None]}), ("extensions", {"beside": {"p": "x"}}),
        ("extensions", {"elements": {"A": {"attributes": {"a": 1}}}}), ("extensions", {"script": {"A": "x"}}),
        ("diagram", {"shapes": {"A": {"bounds": -1}}}), ("diagram", {"shapes": {"A": {"bounds": ["x"]}}}),
        ("diagram", {"edges": {"f": {"points": [[1]]}}}), ("diagram", {"more": [7]}), ("diagram", {"shapes": [1]}),
    ],
)  # fmt: skip
def test_what_is_kept_of_a_file_has_its_form(part: str, value: Any) -> None:
    """P-2.3.1, P-X.25: a drawing or extensions that nobody could write again are refused where they stand."""
    found = findings(process([task("A")], [], **{part: value}))
    assert [(one.rule, one.severity, one.where.pointer) for one in found] == [("wrong_type", "error", f"/{part}")]
