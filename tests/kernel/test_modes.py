"""Who does the work: modes of work items and every switch between them, edited drafts, answers without a branch."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import NoBranch, ProcessChanged, Refused, StatusConflict
from penstock.kernel import command as C
from penstock.net.model import INCLUSIVE, MERGE, Body, Effect, Node, Retry, Trigger, Work
from tests.kernel.harness import Sim
from tests.kernel.nets import S, X, edge, net, task

ARGS = {"told": {"$expr": "feedback"}, "draft": {"$expr": "draft"}, "mode": {"$expr": "mode"}}


def activity(id: str = "a", *, agent: bool = False, approve: bool = False, **more: Any) -> Node:
    """As the process language lowers one: the agent's effect is there whatever the mode."""
    work = Work(agent=agent, approve=approve, modes=True)
    return Node(id=id, kind="work", work=work, effect=Effect(executor="agent", args=ARGS), **more)


def started(node: Node, *, modes: dict[str, str] | None = None, ways: str = "s>a a>x", more: Any = ()) -> Sim:
    options = {"modes": modes} if modes is not None else {}
    return Sim(net([S, node, *more, X], ways), options=options)


def moves(m: Sim) -> list[tuple[str, str]]:
    return [(x.data["event"], x.data["to"]) for x in m.of("work.moved")]


def mode(m: Sim, node: str = "a") -> str:
    return m.st.items[m.item(node)].mode


# ---- which mode an item begins in ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("agent", "approve", "expected"),
    [(False, False, "MANUAL"), (True, False, "AUTONOMOUS"), (True, True, "SUPERVISED"), (False, True, "MANUAL")],
)
def test_the_definition_says_the_first_mode(agent: bool, approve: bool, expected: str) -> None:
    """P-3.1.2, P-4.2.1, P-4.2.2, P-4.2.3, P-X.40: it is in the fact; the agent begins only where it has the item."""
    m = started(activity(agent=agent, approve=approve))
    assert mode(m) == expected and m.of("work.opened")[0].data["mode"] == expected
    assert bool(m.asked("a")) is (expected != "MANUAL")
    if expected == "MANUAL":
        m.do(C.work(m.item("a"), "submit", "kim", {"ok": 1}))
    else:
        m.ok("a", {"ok": 1})
        assert m.status == ("COMPLETED" if expected == "AUTONOMOUS" else "WAITING")
    if expected == "SUPERVISED":
        assert m.st.items[m.item("a")].status == "SUBMITTED"
        m.do(C.work(m.item("a"), "approve", "boss"))
    assert m.status == "COMPLETED" and m.output("a") == {"ok": 1}


def test_a_run_may_be_started_with_other_modes() -> None:
    """P-X.40: by the author's id of the activity; they are journaled, so a crash forgets none."""
    m = started(activity("a.do", origin="a", agent=True), modes={"a": "MANUAL"}, ways="s>a.do a.do>x")
    assert mode(m, "a.do") == "MANUAL" and not m.effects()
    m.crash()
    assert m.st.options["modes"] == {"a": "MANUAL"}
    m = started(activity(), modes={"a": "SUPERVISED"})
    m.ok("a", "draft")
    assert m.st.items[m.item("a")].status == "SUBMITTED"
    plain = net([S, Node(id="a", kind="work", work=Work()), X], "s>a a>x")
    for options in ({"a": "manual"}, {"b": "MANUAL"}, ["a"], {"a": None}):
        with pytest.raises(Refused):
            started(activity(), modes=options)  # type: ignore[arg-type]
    with pytest.raises(Refused, match="no activity that has a mode"):
        Sim(plain, options={"modes": {"a": "MANUAL"}})
    bare = Node(id="a", kind="work", work=Work(modes=True))
    with pytest.raises(Refused, match="has no agent"):
        started(bare, modes={"a": "AUTONOMOUS"})


def test_an_item_without_modes_is_as_it_was() -> None:
    m = Sim(net([S, Node(id="a", kind="work", work=Work()), X], "s>a a>x"))
    assert "mode" not in m.of("work.opened")[0].data and m.st.items[m.item("a")].mode == ""
    with pytest.raises(Refused, match="has no mode"):
        m.do(C.work(m.item("a"), "set_mode", "kim", "MANUAL"))
    assert len(m.facts[-1]) <= 7


# ---- switching -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("to", ["SUPERVISED", "AUTONOMOUS"])
def test_an_item_is_given_to_an_agent_while_nobody_has_begun(to: str) -> None:
    """P-X.40: set-mode starts the agent at once; who set it is told and is not the one who does it."""
    m = started(activity())
    item = m.item("a")
    m.do(C.work(item, "set_mode", "boss", to, "too many of them"))
    line = m.of("work.moved")[0].data
    assert (line["event"], line["mode"], line["by"], line["comment"]) == ("set_mode", to, "boss", "too many of them")
    held = m.st.items[item]
    assert (held.mode, held.status, held.by) == (to, "IN_PROGRESS", "agent") and m.asked("a").attempt == 1  # type: ignore[union-attr]
    with pytest.raises(StatusConflict):
        m.do(C.work(item, "set_mode", "boss", "MANUAL"))
    m.ok("a", 1)
    assert m.status == ("COMPLETED" if to == "AUTONOMOUS" else "WAITING")


def test_modes_that_are_none_are_refused() -> None:
    """P-X.40: nothing changes."""
    m = started(activity())
    for wrong in ("manual", None, 3, "AUTO"):
        with pytest.raises(Refused, match="a mode is MANUAL"):
            m.do(C.work(m.item("a"), "set_mode", "boss", wrong))
    m.do(C.work(m.item("a"), "set_mode", "boss", "MANUAL"))
    assert m.st.items[m.item("a")].status == "TODO" and not m.effects()
    m = started(Node(id="a", kind="work", work=Work(modes=True)))
    with pytest.raises(Refused, match="has no agent"):
        m.do(C.work(m.item("a"), "set_mode", "boss", "AUTONOMOUS"))
    with pytest.raises(Refused, match="nothing to do with"):
        m.do(C.work(m.item("a"), "cancel", "boss"))


def test_a_person_takes_over_from_a_running_agent() -> None:
    """P-X.40: the agent is told to stop, the mode is MANUAL, the status stays, and its late answer changes nothing."""
    m = started(activity(agent=True, approve=True))
    slow, item = m.asked("a"), m.item("a")
    assert slow is not None
    m.do(C.work(item, "take_over", "kim"))
    held = m.st.items[item]
    assert (held.mode, held.status, held.by) == ("MANUAL", "IN_PROGRESS", "kim") and m.run.stops == [slow.no]
    assert m.of("work.moved")[-1].data["mode"] == "MANUAL"
    m.crash()
    assert m.do(C.done(slow.no, slow.attempt, body=1))[0].fact == "ignored"
    m.do(C.work(item, "submit", "kim", 2))
    assert m.status == "COMPLETED" and m.output("a") == 2, "P-X.14: what a person submits needs no approval"


@pytest.mark.parametrize("verb", ["take_over", "reassign"])
def test_an_agent_in_back_off_is_not_asked_again(verb: str) -> None:
    """P-X.40."""
    m = started(activity(agent=True, retry=Retry(max=3, base_ms=10)))
    m.bad("a", "X", "transient")
    m.do(C.work(m.item("a"), verb, "kim"))
    assert not m.st.timers and mode(m) == "MANUAL"
    m.do(C.work(m.item("a"), "submit", "kim", 2))
    assert m.status == "COMPLETED"


def test_after_a_person_the_next_agent_asks_a_new_attempt() -> None:
    """P-X.40, E4: an answer to the first asking is never taken for one to the second."""
    m = started(activity(agent=True))
    first = m.asked("a")
    assert first is not None and first.attempt == 1
    m.do(C.work(m.item("a"), "reassign", "kim"))
    m.do(C.work(m.item("a"), "set_mode", "boss", "AUTONOMOUS"))
    again = m.asked("a")
    assert again is not None and again.attempt == 2
    assert m.do(C.done(again.no, 1, body="old"))[0].fact == "ignored"
    m.ok("a", "new")
    assert m.output("a") == "new"


def test_an_escalated_item_is_with_people() -> None:
    """C-34, P-X.40: the agent was too slow; nobody else starts it by himself."""
    late = Trigger(after_ms=100, action="reopen", times=2, value=["boss"])
    m = started(activity(agent=True, triggers=(late,)))
    m.tick()
    assert mode(m) == "MANUAL" and not m.effects() and m.of("work.opened")[-1].data["mode"] == "MANUAL"
    m.do(C.work(m.item("a"), "set_mode", "boss", "SUPERVISED"))
    m.ok("a", 1)
    m.tick()
    assert mode(m) == "SUPERVISED" and m.st.items[m.item("a")].status == "SUBMITTED", "a draft waits for others"


def test_a_timer_that_tries_again_leaves_a_manual_item_with_its_person() -> None:
    """P-X.40, C-75: armed anew, and no agent is asked."""
    late = Trigger(after_ms=100, action="fail", again=True)
    m = started(activity(triggers=(late,), retry=Retry(max=1, base_ms=10, on=("timeout",))))
    m.tick()
    m.tick()
    assert not m.effects() and m.status == "WAITING" and len(m.st.timers) == 1
    m.do(C.work(m.item("a"), "set_mode", "boss", "AUTONOMOUS"))
    assert m.asked("a").attempt == 2  # type: ignore[union-attr]
    m.ok("a")
    assert m.status == "COMPLETED"


def test_an_item_is_given_to_somebody_else() -> None:
    """P-X.13, P-X.40: to whom is told; it is no reason why the item would be stuck."""
    m = started(activity(agent=True))
    m.do(C.work(m.item("a"), "reassign", "boss", "user:kim", "she knows it"))
    told = m.of("work.moved")[-1].data
    assert (told["to"], told["by"], told["target"], told["mode"]) == ("TODO", "boss", "user:kim", "MANUAL")
    assert told["comment"] == "she knows it" and told["why"] is None and not m.effects()


def test_a_version_that_was_seen_is_the_one_that_is_meant() -> None:
    """P-2.3.5: refused unless the item is as it was at that fact, in whatever way it has moved; also after a crash."""
    m = started(activity())
    item = m.item("a")
    seen = m.st.items[item].version
    assert [x.seq for x in m.of("work.opened")] == [seen]
    m.do(C.work(item, "set_mode", "kim", "MANUAL", None, seen))
    m.crash()
    for verb, data in (("set_mode", "MANUAL"), ("start", None), ("submit", 1), ("reassign", "user:lee")):
        with pytest.raises(ProcessChanged, match=f"not {seen}"):
            m.do(C.work(item, verb, "lee", data, None, seen))
    m.do(C.work(item, "submit", "kim", 1, None, m.st.items[item].version))
    assert m.output("a") == 1


def test_what_a_person_submits_was_done_by_hand() -> None:
    """P-X.40, P-7.5.4: the exported mode is the mode at completion."""
    m = started(activity(agent=True))
    m.do(C.work(m.item("a"), "submit", "kim", 1))
    assert m.of("work.moved")[-1].data["mode"] == "MANUAL" and m.output("a") == 1 and m.run.stops


# ---- drafts ----------------------------------------------------------------------------------------------------------


def test_a_rejected_draft_goes_back_to_the_agent_with_the_comment() -> None:
    """P-X.14, P-A.9, P-4.1.7: REWORK and TODO are both told; the agent sees what was wrong and what it had made."""
    m = started(activity(agent=True, approve=True))
    assert m.of("effect.asked")[0].data["args"] == {"told": None, "draft": None, "mode": "SUPERVISED"}
    m.ok("a", {"n": 1})
    m.do(C.work(m.item("a"), "reject", "boss", None, "the sum is wrong"))
    assert moves(m)[2:] == [("reject", "REWORK"), ("redo", "TODO"), ("start", "IN_PROGRESS")]
    assert m.of("work.moved")[2].data["comment"] == "the sum is wrong"
    asked = m.of("effect.asked")[1].data
    assert asked["args"] == {"told": "the sum is wrong", "draft": {"n": 1}, "mode": "SUPERVISED"}
    assert asked["attempt"] == 2 and m.st.items[m.item("a")].comment == "the sum is wrong"
    m.ok("a", {"n": 2})
    m.do(C.work(m.item("a"), "rework", "boss"))
    assert m.of("effect.asked")[2].data["args"]["told"] is None, "what was said before is not said again"


@pytest.mark.parametrize(
    ("draft", "given", "result"),
    [
        ({"a": 1, "b": 2}, None, {"a": 1, "b": 2}),
        ({"a": 1, "b": 2}, {"b": 3, "c": 4}, {"a": 1, "b": 3, "c": 4}),
        ("text", "better", "better"),
        ("text", {"b": 1}, {"b": 1}),
        ({"a": 1}, "text", "text"),
    ],
)
def test_an_approver_may_edit_the_draft(draft: Any, given: Any, result: Any) -> None:
    """P-X.14: result_overrides."""
    m = started(activity(agent=True, approve=True))
    m.ok("a", draft)
    m.do(C.work(m.item("a"), "approve", "boss", given))
    assert m.output("a") == result and m.status == "COMPLETED"


# ---- no branch -------------------------------------------------------------------------------------------------------


def branching(kind: str, **more: Any) -> Sim:
    """After `a` no branch is true for {}: at once, behind a chain of routes, beside a parallel branch, in a scope."""
    gate = Node(id="g", split="every" if kind == "inclusive" else "first", join=MERGE)
    ways: list[Any] = [edge("g>y", guard="a.ok == true"), edge("g>z", guard="a.ok == false")]
    end = "j>x" if kind == "inclusive" else "y>x z>x"
    nodes = [activity(**more), gate, *(task(i) for i in "yz")]
    if kind == "chain":
        nodes += [Node(id="r1"), Node(id="r2", join=MERGE)]
        return Sim(net([S, *nodes, X], ["s>a a>r1 r1>r2 r2>g", *ways, end]))
    if kind == "parallel":
        nodes += [Node(id="f"), activity("b")]
        return Sim(net([S, *nodes, X], ["s>a a>f f>g f>b b>x", *ways, end]))
    if kind == "inclusive":
        nodes.append(Node(id="j", join=INCLUSIVE))
        return Sim(net([S, *nodes, X], ["s>a a>g y>j z>j", *ways, end]))
    if kind == "nested":
        inner = [Node(id=n.id, **{**fields(n), "scope": "p"}) for n in nodes]
        outer = Node(id="q", kind="scope", body=Body(entry="h"))
        scope = Node(id="p", kind="scope", scope="q", body=Body(entry="e"))
        starts = [Node(id="e", kind="start", scope="p"), Node(id="h", kind="start", scope="q")]
        return Sim(net([S, outer, scope, *starts, *inner, X], ["s>q h>p e>a a>g q>x", *ways]))
    return Sim(net([S, *nodes, X], ["s>a a>g", *ways, end]))


def fields(node: Node) -> dict[str, Any]:
    return {name: getattr(node, name) for name in ("kind", "join", "split", "work", "effect")}


KINDS = ["plain", "chain", "parallel", "inclusive", "nested"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_submit_that_no_branch_takes_is_refused_whole(kind: str) -> None:
    """P-X.11, P-A.4: nothing is committed; the item is as it was, and a right answer is taken."""
    m = branching(kind)
    item = m.item("a")
    m.do(C.work(item, "start", "kim"))
    before = len(m.facts)
    for wrong in ({}, {"ok": 3}, None):
        with pytest.raises(NoBranch):
            m.do(C.work(item, "submit", "kim", wrong))
    assert len(m.facts) == before and m.st.items[item].status == "IN_PROGRESS"
    m.do(C.work(item, "submit", "kim", {"ok": True}))
    assert m.asked("y") and not m.asked("z")


@pytest.mark.parametrize("kind", KINDS)
def test_an_approval_that_no_branch_takes_is_refused_whole(kind: str) -> None:
    """P-X.11: and the approver may edit the draft so that one does."""
    m = branching(kind, agent=True, approve=True)
    m.ok("a", {"n": 1})
    before = len(m.facts)
    with pytest.raises(NoBranch):
        m.do(C.work(m.item("a"), "approve", "boss"))
    assert len(m.facts) == before and m.st.items[m.item("a")].status == "SUBMITTED"
    m.do(C.work(m.item("a"), "approve", "boss", {"ok": False}))
    assert m.asked("z") and m.output("a") == {"n": 1, "ok": False}


@pytest.mark.parametrize("kind", KINDS)
def test_an_agents_answer_that_no_branch_takes_waits_for_a_person(kind: str) -> None:
    """P-X.11: IN_PROGRESS with the error, an incident, the answer readable; a person submits a corrected result."""
    m = branching(kind, agent=True)
    m.ok("a", {"n": 1})
    item = m.item("a")
    held = m.st.items[item]
    assert (held.status, held.why, held.draft) == ("IN_PROGRESS", "NO_MATCHING_BRANCH", {"n": 1})
    assert m.incidents() == ["NO_MATCHING_BRANCH"] and m.status == "WAITING"
    told = m.of("work.moved")[-1].data
    assert (told["event"], told["why"], told["draft"]) == ("block", "NO_MATCHING_BRANCH", {"n": 1})
    m.crash()
    with pytest.raises(NoBranch):
        m.do(C.work(item, "submit", "kim", {}))
    m.do(C.work(item, "submit", "kim", {"ok": True}))
    assert m.asked("y") and m.output("a") == {"ok": True}


def test_a_blocked_item_is_taken_over_or_asked_again() -> None:
    """P-X.11, P-X.40: after a person has it, an operator's retry asks no agent."""
    m = branching("plain", agent=True)
    m.ok("a", {})
    m.do(C.retry())
    assert m.st.items[m.item("a")].why is None and m.asked("a").attempt == 2  # type: ignore[union-attr]
    m.ok("a", {})
    m.do(C.work(m.item("a"), "take_over", "kim"))
    held = m.st.items[m.item("a")]
    assert (held.status, held.mode, held.why, held.by) == ("IN_PROGRESS", "MANUAL", None, "kim")
    with pytest.raises(StatusConflict):
        m.do(C.retry())
    m.do(C.work(m.item("a"), "submit", "kim", {"ok": False}))
    assert m.asked("z")
