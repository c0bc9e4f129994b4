"""Definitions as models of what happened: what fits, and what is proposed where it does not."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.app.process.mining.conformance import check_conformance
from tests.conformance.process.make import event, gateway, process, service, task


def fitting(definition: dict[str, Any], *cases: str) -> list[bool]:
    return list(check_conformance(definition, {tuple(case): 1 for case in cases}).fits)


LINE = process([task("a"), task("b"), task("c")], ["a>b", "b>c"])
CHOICE = process(
    [task("a"), gateway("g", conditions={"b": "x == 1", "default": "c"}), task("b"), task("c"), task("d")],
    ["a>g", "g>b", "g>c", "b>d", "c>d"],
)
BOTH = process(
    [task("a"), gateway("f", "parallel"), task("b"), task("c"), gateway("j", "parallel"), task("d")],
    ["a>f", "f>b", "f>c", "b>j", "c>j", "j>d"],
)
SOME = process(
    [task("a"), gateway("f", "inclusive", conditions={"b": "x == 1", "c": "y == 1"}), task("b"), task("c"),
     gateway("j", "inclusive"), task("d")],
    ["a>f", "f>b", "f>c", "b>j", "c>j", "j>d"],
)  # fmt: skip
LOOP = process(
    [event("s", "start"), task("a"), task("b"), gateway("g", conditions={"a": "x == 1", "default": "e"}),
     event("e", "end")],
    ["s>a", "a>b", "b>g", "g>a", "g>e"],
)  # fmt: skip
SUB = process(
    [task("a"), {"id": "s", "name": "s", "type": "subProcess"}, task("b", parent="s"), task("c", parent="s"),
     event("t", "boundary", "timer", attached_to="s", timer={"duration": "PT1H"}), task("d"), task("late")],
    ["a>s", "s>d", "t>late"],
)  # fmt: skip
AD_HOC = process(
    [task("a"), {"id": "s", "name": "s", "type": "subProcess", "bpmn": "adHocSubProcess"}, task("b", parent="s"),
     task("c", parent="s"), task("d")],
    ["a>s", "s>d"],
)  # fmt: skip
SEVERAL = process([task("a"), task("b", multi={"items": "xs"}), task("c")], ["a>b", "b>c"])
TOOL = process([task("a"), service("t", tool="http"), task("b")], ["a>t", "t>b"])
ASKED = process(
    [task("a"), gateway("which", ask={"who": "previous"}), task("b"), task("c")], ["a>which", "which>b", "which>c"]
)
REMINDED = process(
    [task("a"), event("t", "boundary", "timer", attached_to="a", interrupting=False, timer={"duration": "PT1H"}),
     task("r"), task("b")],
    ["a>b", "t>r"],
)  # fmt: skip
STOPPED = process(
    [gateway("f", "parallel"), task("a"), task("b"), event("e", "end", "terminate"), event("x", "end")],
    ["f>a", "f>b", "a>e", "b>x"],
)
LISTENING = process(
    [task("a"), task("b"), {"id": "h", "name": "h", "type": "subProcess", "triggered_by_event": True},
     event("m", "start", "message", message="stop", parent="h"), task("c", parent="h")],
    ["a>b", "m>c"],
)  # fmt: skip


@pytest.mark.parametrize(
    ("definition", "fits", "not_fitting"),
    [
        (LINE, ["abc"], ["ab", "acb", "abbc", "", "abcx"]),
        (CHOICE, ["abd", "acd"], ["ad", "abcd", "bd"]),
        (BOTH, ["abcd", "acbd"], ["abd", "abdc"]),
        (SOME, ["abcd", "acbd", "abd", "acd"], ["ad", "abdc"]),
        (LOOP, ["ab", "abab", "ababab"], ["aba", "a", "abb"]),
        (SUB, ["abcd", "acbd", "alate"], ["abd", "ad"]),
        (AD_HOC, ["ad", "abd", "acbcd"], ["a", "abda"]),
        (SEVERAL, ["ac", "abc", "abbbc"], ["abcb", "c"]),
        (TOOL, ["ab", "atb"], ["attb", "tab"]),
        (REMINDED, ["ab", "arb", "abr", "rab"], ["arrb", "b"]),
        (STOPPED, ["ab", "ba", "a"], ["b", "abb"]),
        (LISTENING, ["ab", "ac", "c", "abc"], ["b", "acb", "cc"]),
    ],
)  # fmt: skip
def test_what_fits_a_definition(definition: dict[str, Any], fits: list[str], not_fitting: list[str]) -> None:
    """P-7.2.2: every shape of BPMN that may be in a definition, the answers by hand."""
    if definition is SUB:
        late = {("a", "late"): 1, ("a", "b", "late"): 1, ("a", "b", "c", "d"): 1, ("a", "late", "d"): 1}
        assert check_conformance(definition, late).fits == (True, True, True, False)
        fits = [case for case in fits if "late" not in case]
    assert fitting(definition, *fits) == [True] * len(fits)
    assert fitting(definition, *not_fitting) == [False] * len(not_fitting)


def test_an_asked_way_may_have_its_own_event() -> None:
    """P-X.9, P-7.2.2: the person's answer is a work item of the gateway's name, and no unknown activity."""
    cases = {("a", "which", "b"): 1, ("a", "c"): 1, ("which", "a", "b"): 1}
    assert check_conformance(ASKED, cases).fits == (True, True, False)
