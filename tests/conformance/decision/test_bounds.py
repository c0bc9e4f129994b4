"""Numbers have bounds: whatever is too large is told at its place, and no run meets it."""

from __future__ import annotations

import pytest

from penstock.lang.decision import limits
from tests.conformance.decision import broken, form_of_seed
from tests.conformance.decision.make import act, approval, document, found, value, wait

HUGE = 10**18


#: every field that is a number, and a list of numbers; the version of a rule pack is a name, and may be any
CASES = [
    *((who, at) for who, at, kind in form_of_seed.kinds() if kind in (int, float)),
    ("APPROVAL", "/nodes/0/timeout/reminder_intervals"),
    ("BI", "/nodes/0/analysis/bucket_config/edges"),
]


@pytest.mark.parametrize(("who", "pointer"), CASES, ids=lambda part: part)
def test_every_number_has_a_largest(who: str, pointer: str) -> None:
    """W-7.2.1, W-7.3.1, W-7.5.1, W-8.1.4, W-4.1.7, W-4.5.2: told there with what may be written."""
    made = broken.top() if who == "TOP" else broken.whole(who)
    at, _, name = pointer.rpartition("/")
    broken.at(made, at)[name] = [HUGE] if name in ("reminder_intervals", "edges") else HUGE
    told = [f for f in found(made) if f.where.pointer.startswith(pointer) and f.severity == "error"]
    assert told and "most" in told[0].message + told[0].hint


def test_no_number_is_left_out() -> None:
    """W-12.1.2: those that the reader declares are those that are tried above; versions are names, and a moment that
    nobody can live to see is refused when the run comes to it."""
    names = {
        ("JUDGMENT", "policy/rule_pack_version"), ("DEPLOY", "artifact/version"),
        ("DEPLOY", "rollback/specific_version"), ("ROLLBACK", "artifact/version"),
        ("ROLLBACK", "target_version/specific_version"), ("SIMULATE", "artifact/version"),
        ("SIMULATE", "mode/replay/time_range/start"), ("SIMULATE", "mode/replay/time_range/end"),
    }  # fmt: skip
    assert broken.declared()["numbers"] - set(CASES) == {(who, f"/nodes/0/{path}") for who, path in names}


def test_edges_durations_and_streams() -> None:
    """C-35, C-13, C-26: priorities, durations in every unit, and the parameters of a stream."""
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
