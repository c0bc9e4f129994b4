"""Scenarios of work items: candidates, drafts, votes, escalation, and decisions that come too late."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import NodeNotFound, Refused, StatusConflict
from penstock.kernel import command as C
from penstock.net.model import Effect, Node, OnError, Retry, Trigger, Work
from tests.kernel.harness import Sim
from tests.kernel.nets import S, X, net, task

LONG = 1000


def asked(work: Work, ways: str = "s>a a>x", *more: Node, given: Any = None, **fields: Any) -> Sim:
    effect = Effect(executor="agent") if work.agent else None
    return Sim(net([S, Node(id="a", kind="work", work=work, effect=effect, **fields), *more, X], ways), given)


def vote(m: Sim, by: str, data: Any = "approved") -> None:
    m.do(C.work(m.item("a"), "vote", by, data))


# ---- who may do it ---------------------------------------------------------------------------------------------------


def test_candidates_are_resolved_when_the_item_opens() -> None:
    """W-4.6.4: a value tree, like the prompt; what it yields is journaled and does not change afterwards."""
    m = asked(Work(candidates={"type": "user", "targets": [{"$expr": "input.boss"}, "kim"]}), given={"boss": "lee"})
    assert m.of("work.opened")[0].data["candidates"] == {"type": "user", "targets": ["lee", "kim"]}
    assert m.st.items[m.item("a")].candidates == {"type": "user", "targets": ["lee", "kim"]}
    m = asked(Work(candidates={"$expr": "1 / input"}), given=0)
    assert m.status == "FAILED" and m.st.failure is not None and m.st.failure.code == "EXPR_DIV_ZERO"


# ---- votes -----------------------------------------------------------------------------------------------------------


def test_a_vote_keeps_who_what_why_and_when() -> None:
    """W-4.6.4, W-4.6.7: nobody is counted twice; the output names every vote."""
    m = asked(Work(quorum=2))
    m.now = 5
    vote(m, "kim", {"vote": "approved", "comment": "fine", "target": "role:quality"})
    with pytest.raises(Refused, match="kim has voted approved"):
        vote(m, "kim")
    for nonsense in (None, "maybe", {"vote": 1}, {"comment": "x"}):
        with pytest.raises(Refused, match="approved"):
            vote(m, "lee", nonsense)
    with pytest.raises(Refused, match="who votes"):
        vote(m, "")
    m.now = 9
    vote(m, "lee")
    assert m.status == "COMPLETED" and m.output("a") == {
        "status": "approved", "approver": "lee", "comment": None, "approved_at": "1970-01-01T00:00:00.009Z",
        "approvals": [
            {"user": "kim", "target": "role:quality", "decision": "approved", "comment": "fine",
             "at": "1970-01-01T00:00:00.005Z"},
            {"user": "lee", "target": None, "decision": "approved", "comment": None, "at": "1970-01-01T00:00:00.009Z"},
        ],
        "timed_out": False, "escalation_level": 0, "request_id": "r1/a@~0#1",
    }  # fmt: skip


def test_the_first_rejection_decides() -> None:
    """C-32, W-4.6.1."""
    m = asked(Work(quorum=3), "s>a a>x a:rejected>r r>x", task("r"))
    vote(m, "kim")
    vote(m, "lee", {"vote": "rejected", "comment": "no"})
    assert m.asked("r") and m.output("a")["status"] == "rejected" and m.output("a")["approver"] == "lee"
    assert m.output("a")["approved_at"] is None and [a["user"] for a in m.output("a")["approvals"]] == ["kim", "lee"]


@pytest.mark.parametrize("targets", [["user:kim", "role:qa"], {"type": "all_of", "targets": ["user:kim", "role:qa"]}])
def test_all_of_needs_every_candidate(targets: Any) -> None:
    """C-32, W-4.6.4: each target by a distinct user; a second vote for one target is no vote for the other."""
    m = asked(Work(all_of=True, candidates=targets))
    vote(m, "kim", {"vote": "approved", "target": "user:kim"})
    vote(m, "lee", {"vote": "approved", "target": "user:kim"})
    assert m.status == "WAITING"
    vote(m, "park", {"vote": "approved", "target": "role:qa"})
    assert m.status == "COMPLETED"
    m = asked(Work(all_of=True, quorum=3, candidates=targets))
    for by in ("kim", "lee"):
        vote(m, by)
    assert m.status == "WAITING", "a larger number counts"
    vote(m, "park")
    assert m.status == "COMPLETED"


def test_votes_and_submits_do_not_mix() -> None:
    """W-4.6.4: nobody completes by a submit what others have to approve."""
    m = asked(Work(quorum=2))
    with pytest.raises(Refused, match="decided by votes"):
        m.do(C.work(m.item("a"), "submit", "kim", 1))
    m = asked(Work())
    with pytest.raises(Refused, match="not put to the vote"):
        vote(m, "kim")
    m.do(C.work(m.item("a"), "submit", "kim", 1))
    assert m.status == "COMPLETED"


def test_a_decision_that_comes_too_late_is_a_conflict() -> None:
    """W-4.6.5: 409 with the status; only what never was an item is not found."""
    m = asked(Work(quorum=1), "s>a a>b b>x", task("b"))
    item = m.item("a")
    vote(m, "kim")
    for verb in ("vote", "submit", "rework"):
        with pytest.raises(StatusConflict, match="is DONE"):
            m.do(C.work(item, verb, "lee", "approved"))
    m.do(C.cancel())
    with pytest.raises(StatusConflict, match="is DONE"):
        m.do(C.work(item, "vote", "lee", "approved"))
    with pytest.raises(NodeNotFound):
        m.do(C.work(99, "vote", "lee", "approved"))
    m = asked(Work())
    item = m.item("a")
    m.do(C.cancel())
    m.crash()
    with pytest.raises(StatusConflict, match="is CANCELLED"):
        m.do(C.work(item, "submit", "lee"))


def test_of_closed_items_only_the_newest_are_remembered() -> None:
    loop = [S, Node(id="m", join=X.join), Node(id="a", kind="work", work=Work()), X]
    m = Sim(net(loop, ["s>m m>a", "a:done>m"], max_visits=400), check=False)
    first = m.item("a")
    for _ in range(300):
        m.do(C.work(m.item("a"), "submit", "kim"))
    assert len(m.st.closed_items) == 256 and first not in m.st.closed_items
    with pytest.raises(NodeNotFound):
        m.do(C.work(first, "submit"))


# ---- nobody decides --------------------------------------------------------------------------------------------------


def escalating(times: int, **fields: Any) -> Trigger:
    return Trigger(after_ms=LONG, action="reopen", times=times, code="APPROVAL_TIMEOUT", **fields)


def test_an_item_goes_to_others_with_the_full_time() -> None:
    """W-4.6.1, C-33, C-34: votes so far are gone, reminders begin anew, and after the last level it fails."""
    reminder = Trigger(port="remind", after_ms=400, interrupting=False)
    others = {"$expr": "input"}
    m = asked(
        Work(quorum=2, candidates=["kim", "lee"]), "s>a a>x a:remind>x",
        given=["boss"], triggers=(escalating(1, value=others), reminder),
    )  # fmt: skip
    item = m.item("a")
    vote(m, "kim")
    m.tick()
    m.tick()
    assert m.now == LONG and m.status == "WAITING"
    held = m.st.items[item]
    assert (held.level, held.status, held.votes, held.by, held.candidates) == (1, "TODO", {}, None, ["boss"])
    assert sorted(t.due for t in m.st.timers.values()) == [LONG + 400, 2 * LONG]
    m.crash()
    vote(m, "kim")
    m.tick()
    m.tick()
    assert m.status == "FAILED" and m.fired().count("x") == 2
    failure = m.st.failure
    assert failure is not None and (failure.code, failure.category) == ("APPROVAL_TIMEOUT", "timeout")
    assert failure.detail["status"] == "timeout" and failure.detail["escalation_level"] == 1
    assert [a["user"] for a in failure.detail["approvals"]] == ["kim"] and failure.detail["timed_out"]


def test_without_new_candidates_the_same_are_asked_again() -> None:
    m = asked(Work(candidates=["kim"]), triggers=(escalating(2),))
    m.tick()
    assert [x.data["candidates"] for x in m.of("work.opened")] == [["kim"], ["kim"]]
    m.do(C.work(m.item("a"), "submit", "kim", 7))
    assert m.status == "COMPLETED" and m.output("a") == 7 and not m.st.timers


def test_a_draft_that_nobody_approves_goes_to_others_as_it_is() -> None:
    """C-34, P-4.1.11: work that was handed in is not done again."""
    m = asked(
        Work(agent=True, approve=True), "s>a a>x", task("u", off_path=True), undo=("u",), triggers=(escalating(1),)
    )
    m.ok("a", "draft")
    m.tick()
    held = m.st.items[m.item("a")]
    assert (held.status, held.draft, held.level) == ("SUBMITTED", "draft", 1)
    m.do(C.work(m.item("a"), "reject", "boss"))
    assert [e.status for e in m.st.ledger] == ["withdrawn"]
    m.ok("a", "better")
    m.do(C.work(m.item("a"), "approve", "boss"))
    assert m.status == "COMPLETED" and m.output("a") == "better"


@pytest.mark.parametrize("failed", [False, True])
def test_an_agent_that_is_too_slow_is_out(failed: bool) -> None:
    """C-34: its answer comes too late, or its retry does not come any more; a person may finish."""
    m = asked(Work(agent=True), triggers=(escalating(1, value=["kim"]),), retry=Retry(max=3, base_ms=5 * LONG))
    slow = m.asked("a")
    assert slow is not None
    if failed:
        m.bad("a", "X", "transient")
    m.tick()
    assert m.status == "WAITING" and m.st.items[slow.no].status == "TODO" and not m.st.asked
    if not failed:
        assert m.run.stops == [slow.no]
    assert m.do(C.done(slow.no, 1, body=1))[0].fact == "ignored"
    m.do(C.work(m.item("a"), "submit", "kim", 2))
    assert m.status == "COMPLETED" and m.output("a") == 2


def test_a_vote_that_times_out_yields_what_the_net_says() -> None:
    """W-4.6.7: on_timeout reject or auto_approve; the value may tell what was decided so far and leaves by its port."""
    value = {"status": "rejected", "approvals": {"$expr": "approvals"}, "level": {"$expr": "escalation_level"}}
    late = Trigger(after_ms=LONG, action="value", value=value, port="rejected")
    m = asked(Work(quorum=2), "s>a a>x a:rejected>r r>x", task("r"), triggers=(late,))
    vote(m, "kim")
    m.tick()
    assert m.asked("r") and m.output("a")["status"] == "rejected" and m.output("a")["level"] == 0
    assert [a["user"] for a in m.output("a")["approvals"]] == ["kim"]


# ---- drafts ----------------------------------------------------------------------------------------------------------


def test_only_a_doubtful_draft_needs_approval() -> None:
    """T-X.14: below 80 somebody looks at it, 80 itself completes."""
    m = asked(Work(agent=True, approve_if="draft.confidence < 80"))
    m.ok("a", {"confidence": 79})
    assert m.status == "WAITING" and m.st.items[m.item("a")].status == "SUBMITTED"
    m.do(C.work(m.item("a"), "reject", "kim"))
    m.ok("a", {"confidence": 80})
    assert m.status == "COMPLETED" and m.output("a") == {"confidence": 80}
    m = asked(Work(agent=True, approve_if="draft > 'x'"), on_error=(OnError(match="EXPR_TYPE", action="skip"),))
    m.ok("a", 3)
    assert m.status == "COMPLETED" and m.settled()[-2] == ("a", "skipped")


def test_a_swept_draft_is_compensated_once() -> None:
    """P-5.5.4: the sweep has moved the item; the step that undoes the draft does not move it again."""
    work = Node(id="a", kind="work", work=Work(agent=True, approve=True), effect=Effect(executor="agent"), undo=("u",))
    m = Sim(net([S, work, task("b"), Node(id="j"), X, task("u", off_path=True)], "s>a s>b a>j b>j j>x"))
    m.ok("a", "draft")
    m.bad("b")
    m.ok("u")
    assert m.status == "COMPENSATED"
    assert [x.data["to"] for x in m.of("work.moved")].count("COMPENSATED") == 1
    assert m.st.closed_items == {2: "COMPENSATED"}
