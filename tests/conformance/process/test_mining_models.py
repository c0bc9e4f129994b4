"""Definitions as models of what happened: what fits, and what is proposed where it does not."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from penstock.app.process.mining.conformance import check_conformance
from penstock.app.process.mining.editing.tree_definition import tree_definition
from penstock.app.process.mining.model_diff import model_diff
from penstock.app.process.mining.proposal import can_run, propose_model
from penstock.mining.activity_map import activity_map
from penstock.mining.conformance import conformance
from penstock.mining.event import Case, Event
from penstock.mining.flow_model import tree_model
from penstock.mining.inductive_miner import discover_tree
from tests.conformance.process.make import event, gateway, in_a_file, process, service, task
from tests.mining.random_trees import log_of, random_tree


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


# ---- models that are proposed ----------------------------------------------------------------------------------------

CLAIM = process(
    [
        task("claim", name="Receive claim", role="service"),
        service("sort", "AUTONOMOUS", name="Classify", agent="sorter"),
        gateway("big", name="How big?", conditions={"inspect": "amount > 9", "visit": "far", "default": "pass"}),
        task("inspect", name="Inspect item", role="quality"), task("visit", name="Site visit", role="quality"),
        task("cause", name="Find cause", role="quality"), task("decide", name="Decide liability", role="quality"),
        task("pass", name="Pay", role="finance"), task("notify", name="Notify customer", role="service"),
    ],
    ["claim>sort", "sort>big", "big>inspect", "big>visit", "big>pass", "inspect>cause", "visit>cause", "cause>decide",
     "decide>pass", "pass>notify"],
    roles=[{"id": id, "name": id} for id in ("service", "quality", "finance")],
)  # fmt: skip
R, S, X, C, D, P, N = (
    "Receive claim", "Classify", "Inspect item", "Find cause", "Decide liability", "Pay", "Notify customer",
)  # fmt: skip
CLAIMS = {
    (R, S, X, C, D, P, N): 800, (R, S, P, N): 300,
    (R, S, C, D, P, N): 56,  # the check was left out: a rule
    (R, S, X, C, D, C, D, P, N): 32,  # back for more evidence
    (R, S, X, C, D, N, P): 8,  # told before paid
    (R, S, P): 1,  # too seldom to be learned
}  # fmt: skip


def test_a_proposal_keeps_the_base_and_adds_what_happened() -> None:
    """P-7.2.2, P-7.5.1, console 14.8-9: a return path, two side by side, a step that nobody took; a check that was left
    out stays a deviation."""
    made = propose_model(CLAIM, CLAIMS)
    assert check_conformance(CLAIM, CLAIMS).fitting == 1100
    assert (made.conformance.fitting, made.conformance.cases) == (1140, 1197)
    names = {one["name"] for one in made.definition["activities"]}
    assert names == {R, S, X, C, D, P, N}
    kept = {one["id"]: one for one in made.definition["activities"]}
    assert kept == {one["id"]: one for one in CLAIM["activities"] if one["id"] != "visit"}
    assert {(one.deviation.kind, one.deviation.activity, one.reason) for one in made.not_learned} == {
        ("skipped", X, "control"), ("missing_end", N, "seldom"),
    }  # fmt: skip
    assert can_run(made.definition)
    assert propose_model(CLAIM, {(R, S, P, N): 40}).definition["transitions"] == CLAIM["transitions"]


def test_an_optional_step_comes_beside_what_follows_it() -> None:
    """Console 14.8: as in the picture «Pay?» becomes inclusive, Notify comes in any case, and both meet in a join."""
    base = process(
        [task("a"), gateway("whose", conditions={"ours": "x == 1", "theirs": "x == 2"}), task("grant"),
         gateway("pay", conditions={"yes": "y == 1", "no": "y == 2"}), task("money"), task("tell")],
        ["a>whose", ("whose>grant", {"name": "ours"}), ("whose>tell", {"name": "theirs"}), "grant>pay",
         ("pay>money", {"name": "yes"}), ("pay>tell", {"name": "no"}), "money>tell"],
    )  # fmt: skip
    log = {("a", "grant", "money", "tell"): 80, ("a", "grant", "tell"): 20, ("a", "tell"): 20}
    made = propose_model(base, {**log, ("a", "grant", "tell", "money"): 8})
    assert made.conformance.fitting == 128 and made.conformance.precision > 0.8
    changed = {one["id"]: one for one in made.definition["gateways"]}
    assert changed["pay"]["type"] == "inclusiveGateway" and changed["pay"]["conditions"]["yes"] == "y == 1"
    assert changed["whose"] == base["gateways"][0]
    assert made.definition["activities"] == base["activities"] and can_run(made.definition)


def test_a_way_is_not_taken_out_where_a_run_could_get_stuck() -> None:
    """P-7.5.1: of three conditions without a default each is needed; with a default one may go."""
    ways = ["g>a", "g>b", "g>c", "a>e", "b>e", "c>e"]
    elements = [task("a"), task("b"), task("c"), task("e")]
    needed = process([gateway("g", conditions={"a": "x == 1", "b": "x == 2", "c": "x == 3"}), *elements], ways)
    free = process([gateway("g", conditions={"a": "x == 1", "b": "x == 2", "default": "c"}), *elements], ways)
    log: dict[tuple[str, ...], int] = {("a", "e"): 60, ("c", "e"): 60}
    assert len(propose_model(needed, log).definition["activities"]) == 4
    assert [one["id"] for one in propose_model(free, log).definition["activities"]] == ["a", "c", "e"]
    assert len(propose_model(free, dict.fromkeys(log, 20)).definition["activities"]) == 4


@pytest.mark.parametrize(
    ("control", "learned"),
    [
        ({}, True), ({"name": "Approve"}, False), ({"name": "결재"}, False),
        ({"type": "serviceTask", "agent_mode": "SUPERVISED"}, False),
        ({"orchestration": {"approvers": ["user:kim"]}}, False), ({"rule_pack": "limits"}, False),
    ],
)  # fmt: skip
def test_a_control_is_never_unlearned(control: dict[str, Any], learned: bool) -> None:
    """Console 14.9: whatever makes it a control, a thousand cases that left it out do not."""
    base = process([task("a"), task("x", **control), task("b")], ["a>x", "x>b"])
    name = control.get("name", "x")
    for case in (("a", "b"), (name, "a", "b"), ("a", "b", name)):
        made = propose_model(base, {("a", name, "b"): 10, case: 1000})
        assert (made.conformance.fitting == 1010) is learned, case
        assert [one.reason for one in made.not_learned] == ([] if learned else ["control"])


def test_what_a_proposal_adds_can_be_run_and_drawn() -> None:
    """P-7.4.1: an activity that the process does not have, and one that may be left out; drawn near its neighbours."""
    base = in_a_file(process([task("a"), task("b"), task("c")], ["a>b", "b>c"]))
    made = propose_model(base, {tuple("abc"): 90, tuple("ac"): 20, tuple("abxc"): 20}).definition
    assert fitting(made, "abc", "ac", "abxc") == [True] * 3
    assert {entry["name"] for entry in made["activities"]} == {"a", "b", "c", "x"}
    drawn = made["diagram"]["shapes"]
    assert {one["id"] for name in ("activities", "gateways", "events") for one in made[name]} == set(drawn)
    assert {one["id"] for one in made["transitions"]} == set(made["diagram"]["edges"])
    again = in_a_file(made)
    assert [drawn[one]["bounds"] for one in drawn] == [again["diagram"]["shapes"][one]["bounds"] for one in drawn]
    assert fitting(again, "abc", "ac", "abxc", "axc") == [True, True, True, False]


def test_a_log_without_a_base_becomes_a_definition() -> None:
    """P-7.4.1, P-7.2.2: sound, drawn, with all of its cases."""
    made = propose_model(None, CLAIMS, id="claims", name="Claims")
    assert made.algorithm == "inductive miner" and made.conformance.fitting == 1197 and made.conformance.fitness == 1.0
    assert can_run(made.definition)
    again = in_a_file(made.definition)
    assert check_conformance(again, CLAIMS).fitting == 1197


def test_trees_of_random_logs_are_sound_definitions() -> None:
    """P-7.4.1: what a tree allows and what its definition allows is the same, and every run can end."""
    random = Random(29)
    for size in range(25):
        names = [f"x{i}" for i in range(2 + size % 6)]
        log = log_of(random_tree(random, names), random, 30)
        tree = discover_tree(log)
        made = tree_definition(tree, None, "p", "P")
        assert can_run(made), tree
        others = {tuple(random.sample(names, random.randrange(len(names) + 1))): 1 for _ in range(20)}
        as_tree, as_definition = conformance(tree_model(tree), log | others), check_conformance(made, log | others)
        assert as_tree.fits == as_definition.fits
        assert as_tree.precision == pytest.approx(as_definition.precision)


def test_activities_of_the_base_keep_what_is_said_of_them() -> None:
    """P-7.4.1: ids, roles, modes and agents."""
    made = tree_definition(discover_tree(CLAIMS), CLAIM, "claims", "Claims")
    assert made["roles"] == CLAIM["roles"]
    base = {one["name"]: one for one in CLAIM["activities"]}
    assert all(one == base[one["name"]] for one in made["activities"])
    assert can_run(made)


# ---- what a model would change ---------------------------------------------------------------------------------------

HOUR = 3_600_000


def history(cases: dict[tuple[str, ...], int]) -> list[Case]:
    """Every step waits 2 hours and takes 1; Notify waits 4; a case begins every hour, one after the other."""
    found = []
    for number, case in enumerate(case for case, count in cases.items() for _ in range(count)):
        at, events = number * HOUR, []
        for name in case:
            started = at + (4 if name == N else 2) * HOUR
            at = started + HOUR
            events.append(Event(name, at, started, "kim", "MANUAL"))
        found.append(Case(f"c{number}", tuple(events)))
    return found


def test_a_diff_tells_each_change_with_its_evidence() -> None:
    """Console 14.8-9, P-7.2.2: three changes, the cases behind each, and the hours a week that they would save."""
    made = propose_model(CLAIM, CLAIMS)
    found = activity_map(history(CLAIMS))
    diff = model_diff(CLAIM, made.definition, CLAIMS, found)
    assert [(one.kind, one.shape, one.activities, one.cases) for one in diff.changes] == [
        ("added", "path_back", (C, D), 32), ("changed", "beside", (N, P), 8),
        ("removed", "step_removed", ("Site visit",), 0),
    ]  # fmt: skip
    assert (diff.base_fit, diff.model_fit, diff.cases, diff.sound) == (1100, 1140, 1197, True)
    assert [(one.kind, one.activity, rule) for one, rule in zip(diff.still_not, diff.rules, strict=True)] == [
        ("skipped", X, True), ("missing_end", N, False),
    ]  # fmt: skip
    assert found.begin is not None and found.end is not None
    weeks = (found.end - found.begin) / (7 * 24 * HOUR)
    back, beside, gone = diff.changes
    assert back.saved_ms_per_week == round(32 * 3 * HOUR / weeks)  # three steps before «Find cause», 1 h each
    assert beside.saved_ms_per_week == round(1196 * 3 * HOUR / weeks)  # Pay takes 2 h + 1 h, Notify 4 h + 1 h
    assert gone.saved_ms_per_week is None
    assert beside.title == "«Notify customer» beside «Pay»"
    parts = ("activities", "gateways", "events", "transitions")
    known = {one["id"] for model in (CLAIM, made.definition) for part in parts for one in model[part]}
    assert all(set(one.elements) <= known for one in diff.changes)


def test_a_diff_of_equal_models_is_empty() -> None:
    """P-7.2.2."""
    diff = model_diff(CLAIM, CLAIM, CLAIMS, activity_map(history(CLAIMS)))
    assert diff.changes == () and diff.base_fit == diff.model_fit == 1100


def test_a_diff_tells_a_new_step_and_one_that_may_be_left_out() -> None:
    """Console 14.8."""
    base = process([task("a"), task("b"), task("c")], ["a>b", "b>c"])
    log = {tuple("abc"): 90, tuple("ac"): 20, tuple("abxc"): 7}
    diff = model_diff(base, propose_model(base, log).definition, log, activity_map(history(log)))
    told = {(one.shape, one.activities, one.cases) for one in diff.changes}
    assert told == {("optional", ("b",), 20), ("step_added", ("x",), 7)}


def test_an_unsound_model_is_reported_and_a_foreign_one_can_be_compared() -> None:
    """P-7.5.1: a model of somebody else in which a join waits for ever."""
    stuck = process(
        [task("a"), gateway("g", conditions={"b": "x == 1", "default": "c"}), task("b"), task("c"),
         gateway("j", "parallel"), task("d")],
        ["a>g", "g>b", "g>c", "b>j", "c>j", "j>d"],
    )  # fmt: skip
    log = {tuple("abd"): 3}
    diff = model_diff(LINE, stuck, log, activity_map(history(log)))
    assert not diff.sound and diff.model_fit == 0 and diff.changes
