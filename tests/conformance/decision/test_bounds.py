"""Numbers have bounds: whatever is too large is told at its place, and no run meets it."""

from __future__ import annotations

import copy
from typing import Annotated, Any, get_args, get_origin

import pytest

from penstock.lang.decision import limits
from penstock.lang.decision.workflow import EdgeFields, TopFields
from penstock.lang.fields import Fields
from tests.conformance.decision import broken
from tests.conformance.decision.make import act, approval, document, found, value, wait

HUGE = 10**18


def numbers(kind: type[Fields]) -> list[str]:
    """The fields of a map that hold a number, or a list of them."""
    return [name for name, hint in broken.hints_of(kind).items() if _numeric(hint) and name not in kind.IDLE]


def _numeric(wanted: Any) -> bool:
    if wanted in (int, float):
        return True
    if get_origin(wanted) is Annotated:
        return _numeric(get_args(wanted)[0])
    return any(_numeric(part) for part in get_args(wanted) if get_origin(wanted) is not dict)


EVERY = [
    *broken.places(),
    *(("TOP", struct, at, broken.top()) for struct, at in broken.parts(TopFields, broken.top(), "")),
]
CASES = [(who, at, name, whole) for who, struct, at, whole in EVERY for name in numbers(struct)]


@pytest.mark.parametrize(("who", "at", "name", "whole"), CASES, ids=[f"{w}{a}/{n}" for w, a, n, _ in CASES])
def test_every_number_has_a_largest(who: str, at: str, name: str, whole: Any) -> None:
    """W-7.2.1, W-7.3.1, W-7.5.1, W-8.1.4, W-4.1.7, W-4.5.2: told there with what may be written."""
    made = copy.deepcopy(whole)
    held: Any = made
    for part in at.split("/")[1:]:
        held = held[int(part) if isinstance(held, list) else part]
    held[name] = [HUGE] if name == "reminder_intervals" else HUGE
    told = [f for f in found(made) if f.where.pointer.startswith(f"{at}/{name}") and f.severity == "error"]
    assert told and "most" in told[0].message + told[0].hint or name == "rule_pack_version", who


def test_edges_durations_and_streams() -> None:
    """C-35, C-13, C-26: priorities, durations in every unit, and the parameters of a stream."""
    assert numbers(EdgeFields) == ["priority"]
    made = document([act("a"), act("b")], [("a>b", {"priority": HUGE})])
    assert [f.where.pointer for f in found(made)] == ["/edges/0/priority"]
    for unit in ("ms", "seconds", "minutes", "hours", "days"):
        name = f"duration_{unit}"
        made = document([wait("w", {"type": "time", name: HUGE})])
        assert [(f.rule, f.where.pointer) for f in found(made)] == [("wrong_type", f"/nodes/0/condition/{name}")]
        made = document([approval("w", timeout={name: HUGE})])
        assert [(f.rule, f.where.pointer) for f in found(made)] == [("wrong_type", f"/nodes/0/timeout/{name}")]
    assert found(document([wait("w", {"type": "time", "duration_days": limits.DAYS})])) == []
    for name in ("max_messages", "max_wait_ms"):
        source = {"type": "stream", "query": "s", "params": {name: HUGE}}
        told = found(document([{"id": "d", "type": "DATA", "source": source}]))
        assert [(f.rule, f.where.pointer) for f in told] == [("wrong_type", f"/nodes/0/source/params/{name}")]


def test_an_integer_that_nobody_can_hold() -> None:
    """C-08: a number in an expression is held to 64 bits when the document is checked."""
    for text in ("9223372036854775808", "input.n + 99999999999999999999"):
        (told,) = found(document([value("v", text)]))
        assert (told.rule, told.where.pointer) == ("expression_syntax", "/nodes/0/output/expression")
