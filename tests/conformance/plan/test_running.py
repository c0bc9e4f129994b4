"""Lowered plans in the kernel, with scripted answers: who runs when, on whose place, and what follows each end."""

from __future__ import annotations

import random
from typing import Any

import pytest

from penstock.errors import NodeNotFound, Refused, StatusConflict
from penstock.kernel import command as C
from penstock.lang.plan.dependencies import dependencies_of, executable
from tests.conformance.plan.make import INPUT, lowered, plan, task
from tests.kernel.harness import Sim

DONE = {"confidence": 100, "completed_by_recovery": False}
DOUBTFUL = {"confidence": 79, "completed_by_recovery": False}


def started(*tasks: dict[str, Any], **settings: Any) -> Sim:
    return Sim(lowered(plan(*tasks, **settings)), INPUT)


def at_work(m: Sim) -> dict[str, str]:
    """Tasks in progress, and their agents."""
    return {m.net.nodes[firing.node].id: firing.place for firing in m.effects()}


def began(m: Sim) -> list[str]:
    return [line.node for line in m.of("effect.asked")]


def args(m: Sim, id: str) -> dict[str, Any]:
    told: dict[str, Any] = next(line.data["args"] for line in reversed(m.of("effect.asked")) if line.node == id)
    return told


def finish(m: Sim) -> list[str]:
    """Every task succeeds as soon as it runs; the order in which they ended."""
    ended = []
    while at_work(m):
        first = next(iter(at_work(m)))
        m.ok(first, DONE)
        ended.append(first)
    return ended


def settled(m: Sim) -> dict[str, str]:
    return dict(line for line in m.settled() if m.net.by_id[line[0]].spec.type == "task")


def test_three_at_once_each_on_its_own_agent() -> None:
    """T-A.15, T-7.1.4, T-7.2.1, T-7.2.2, T-7.2.3, T-2.3.1: six tasks, never more than three, the next as one ends."""
    m = started(*(task(f"t{n}") for n in range(6)))
    assert at_work(m) == {"t0": "ann", "t1": "bob", "t2": "cid"}
    most = 0
    while at_work(m):
        most = max(most, len(at_work(m)))
        assert len({*at_work(m).values()}) == len(at_work(m))
        m.ok(next(iter(at_work(m))), DONE)
        m.crash()
    assert most == 3 and m.status == "COMPLETED"
    assert began(m) == ["t0", "t1", "t2", "t3", "t4", "t5"]


def test_a_pool_is_never_larger_than_its_agents() -> None:
    """T-X.9, T-2.2.1: one agent and the implicit one do two tasks at a time."""
    m = started(*(task(f"t{n}") for n in range(4)), agents=["zed"], max_concurrent=10)
    assert at_work(m) == {"t0": "default", "t1": "zed"}


def test_the_order_is_priority_then_creation_then_id() -> None:
    """T-A.15, T-7.1.5, T-X.28: also among tasks that became ready later."""
    m = started(
        task("e"), task("d", created="2026-01-02"), task("c", created="2026-01-01"), task("b", priority=2),
        task("a", priority=10), task("first", priority=1), task("late", "first", priority=3), max_concurrent=1,
    )  # fmt: skip
    assert finish(m) == ["first", "b", "late", "a", "c", "d", "e"]


def test_an_assigned_task_waits_for_its_agent_and_others_do_not() -> None:
    """T-5.1.4, T-X.9, T-X.10: the loop goes on with another task."""
    m = started(task("a", assigned_agent="bob"), task("b", assigned_agent="bob"), task("c"))
    assert at_work(m) == {"a": "bob", "c": "ann"}
    m.ok("a", DONE)
    assert at_work(m) == {"c": "ann", "b": "bob"}


def test_what_the_executor_is_told() -> None:
    """T-5.2.6, T-5.2.7, T-X.11: values, not expressions: the agent is the one whose place it got."""
    document = plan(
        task("a", description="Do it.", skill="s", success_criteria=["ok"]), agents=[{"name": "ann", "preset": "shell"}]
    )
    document["skills"] = [{"id": "s", "text": "Like this."}]
    m = Sim(lowered(document), INPUT)
    told = args(m, "a")
    assert (told["project"], told["project_id"], told["trusted"], told["feedback"]) == (
        "/somewhere/site",
        "site",
        True,
        None,
    )
    assert told["agent"]["name"] == "ann" and told["agent"]["preset"] == "shell"
    assert told["task"]["skill_text"] == "Like this." and told["task"]["success_criteria"] == ["ok"]
    assert told["limits"]["timeout_s"] == 3600 and told["limits"]["budget"] == {}


def test_a_task_waits_for_what_it_depends_on() -> None:
    """T-1.2.1, T-5.1.3, T-A.3: and executing it by hand is refused."""
    m = started(task("a"), task("b", "a"), task("c", "a", "b"))
    assert at_work(m) == {"a": "ann"}
    with pytest.raises(Refused):
        m.do(C.execute("b"))
    assert finish(m) == ["a", "b", "c"] and m.status == "COMPLETED"


def test_a_busy_agent_refuses_unless_the_task_may_queue() -> None:
    """T-A.4, T-5.2.4, T-X.10: AgentBusy; queued it starts when the agent is free."""
    tasks = [task("a", assigned_agent="bob"), task("b", assigned_agent="bob"), task("c")]
    m = Sim(lowered(plan(*tasks)), INPUT, options={"pools": {"agents": 0}})
    assert at_work(m) == {}
    m.do(C.execute("a"))
    assert at_work(m) == {"a": "bob"}
    with pytest.raises(Refused):
        m.do(C.execute("b"))
    m.do(C.execute("b", True))
    assert at_work(m) == {"a": "bob"}
    m.ok("a", DONE)
    assert at_work(m) == {"b": "bob"}


def test_an_optional_dependency_passes_however_it_ends() -> None:
    """T-X.29: completed, failed and cancelled; once only."""
    needs_a = {"id": "a", "optional": True}
    for end in ("done", "failed", "cancelled"):
        m = started(task("a"), task("b", needs_a), max_retries=0)
        assert at_work(m) == {"a": "ann"}
        if end == "done":
            m.ok("a", DONE)
        elif end == "failed":
            m.bad("a")
        else:
            m.do(C.stop("a", "cancel"))
            m.bad("a", "STOPPED", "cancelled")
        assert at_work(m) == {"b": "ann"}, end
        m.ok("b", DONE)
        assert m.status == "COMPLETED"


def test_a_failed_task_that_is_retried_does_not_start_others_twice() -> None:
    """T-X.1, T-X.29: the optional dependent has run; what comes later is absorbed."""
    m = started(task("a"), task("b", {"id": "a", "optional": True}), task("z"), max_retries=0)
    m.bad("a")
    m.ok("b", DONE)
    m.do(C.retry("here", _failed(m, "a")))
    m.ok("a", DONE)
    m.ok("z", DONE)
    assert began(m).count("b") == 1 and m.status == "COMPLETED"


def _failed(m: Sim, id: str) -> int:
    """The number of the firing that was parked."""
    return next(no for no, parked in m.st.parked.items() if m.net.nodes[parked.node].id == id)


def test_a_failed_dependency_blocks_and_pauses() -> None:
    """T-X.27, T-X.29, T-8.3.4: when only blocked tasks remain; a retry by hand goes on."""
    m = started(task("a"), task("b", "a"), task("c"), max_retries=0)
    m.bad("a")
    assert m.incidents() == [] and at_work(m) == {"c": "bob"}
    m.ok("c", DONE)
    assert m.incidents() == ["DEADLOCK"] and m.st.stopped == {"agents": "deadlock"}
    assert m.status != "COMPLETED" and at_work(m) == {}
    m.do(C.retry("here", _failed(m, "a")), C.limit("agents", 3))
    assert finish(m) == ["a", "b"] and m.status == "COMPLETED"


def test_a_failed_leaf_does_not_hold_a_plan() -> None:
    """T-X.27, T-7.1.9: completed when no task is pending or in progress."""
    m = started(task("a"), task("b"), max_retries=0)
    m.bad("a")
    m.ok("b", DONE)
    assert m.status == "COMPLETED" and settled(m) == {"a": "failed", "b": "done"}


def test_the_circle_of_the_seed_is_broken() -> None:
    """T-A.13, T-8.3.3: order b, a, c; all complete."""
    m = started(task("a", "b"), task("b", {"id": "c", "optional": True}), task("c", "a"))
    assert finish(m) == ["b", "a", "c"] and m.status == "COMPLETED"


def test_a_circle_that_cannot_be_broken_waits_for_a_person() -> None:
    """T-A.14, T-8.3.4, T-8.3.5, T-X.30: paused at once; a is completed by hand, then b runs."""
    m = started(task("a", "b"), task("b", "a"), task("c"))
    m.ok("c", DONE)
    assert m.incidents() == ["DEADLOCK"] and m.st.stopped == {"agents": "deadlock"} and at_work(m) == {}
    m.do(C.resolve("a", {"reason": "done by hand"}))
    assert at_work(m) == {}
    m.do(C.limit("agents", 3))
    assert finish(m) == ["b"] and m.status == "COMPLETED" and settled(m) == {"a": "done", "b": "done", "c": "done"}


def test_a_circle_is_also_opened_by_cancelling_one_of_its_tasks() -> None:
    """T-8.3.5: with an optional dependency on it the rest goes on; its own tokens vanish."""
    m = started(task("a", "b"), task("b", "a"))
    m.do(C.cancel_firing("a"))
    assert settled(m) == {"a": "interrupted"}
    assert m.status != "COMPLETED" and at_work(m) == {}
    m.do(C.cancel_firing("b"))
    assert m.status == "COMPLETED"


def test_a_doubtful_result_waits_for_review() -> None:
    """T-A.7, T-5.1.8, T-5.2.8, T-X.14: its agent is free meanwhile; approved it is completed."""
    m = started(task("a"), task("b", "a"), task("c"), agents=[], max_concurrent=1)
    m.ok("a", DOUBTFUL)
    item = m.st.items[m.item("a")]
    assert item.status == "SUBMITTED" and at_work(m) == {"c": "default"}
    m.ok("c", DONE)
    assert at_work(m) == {} and m.incidents() == []
    m.do(C.work(m.item("a"), "approve", "lead"))
    assert at_work(m) == {"b": "default"}


def test_a_rejected_result_is_done_again_with_the_comment() -> None:
    """T-X.14: pending again, the comment is an extra instruction; retries count anew."""
    m = started(task("a"))
    m.ok("a", DOUBTFUL)
    m.do(C.work(m.item("a"), "reject", "lead", None, "Mind the title."))
    assert at_work(m) == {"a": "ann"} and args(m, "a")["feedback"] == "Mind the title."
    m.ok("a", DONE)
    assert m.status == "COMPLETED"


@pytest.mark.parametrize(
    ("confidence", "recovered", "reviewed"),
    [(80, False, False), (79, False, True), (0, True, False), (79.9, False, True)],
)
def test_eighty_is_enough(confidence: float, recovered: bool, reviewed: bool) -> None:
    """T-A.7, T-A.8, T-X.14, T-X.20: 80 itself completes; what recovery completed is not held back."""
    m = started(task("a"))
    m.ok("a", {"confidence": confidence, "completed_by_recovery": recovered})
    assert bool(m.st.items) is reviewed and (m.status == "COMPLETED") is not reviewed


def test_four_attempts_then_failed() -> None:
    """T-A.5, T-5.1.11, T-5.1.12, T-X.15: retries after 0, 5 and 10 s; another task may use the agent between."""
    m = started(task("a"), agents=[])
    waited = []
    for _ in range(4):
        while not at_work(m):
            before = m.now
            m.tick()
            waited.append(m.now - before)
        m.bad("a", "EXIT_CODE", "transient")
    assert [ms for ms in waited if ms] == [5000, 10_000]
    assert began(m) == ["a"] * 4 and settled(m) == {"a": "failed"} and m.status == "COMPLETED"


def test_two_failures_then_success() -> None:
    """T-A.6: two retries are counted."""
    m = started(task("a"))
    for _ in range(2):
        m.bad("a", "EXIT_CODE", "transient")
        if not at_work(m):
            m.tick()
    assert m.firing("a").attempt == 3
    m.ok("a", DONE)
    assert settled(m) == {"a": "done"}


def test_what_cannot_help_is_not_tried_again() -> None:
    """T-X.15, T-X.19: over the budget it fails at once; a timeout is tried again."""
    m = started(task("a"), task("b"))
    m.bad("a", "BUDGET_EXCEEDED", "permanent")
    assert settled(m) == {"a": "failed"}
    m.bad("b", "TIMEOUT", "timeout")
    m.tick()
    assert at_work(m) == {"b": "ann"}


def test_a_fatal_error_stops_the_plan() -> None:
    """T-7.1.8, T-X.18: nothing more begins; what runs goes on; resumed, the loop continues."""
    m = started(*(task(f"t{n}") for n in range(5)), max_concurrent=2)
    m.bad("t0", "COMMAND_NOT_FOUND", "fatal")
    assert m.st.stopped == {"agents": "fatal"} and m.incidents() == ["COMMAND_NOT_FOUND"]
    m.ok("t1", DONE)
    assert at_work(m) == {}
    m.do(C.limit("agents", 2))
    assert finish(m) == ["t2", "t3", "t4"] and m.status == "COMPLETED"


def test_a_cancelled_task_never_runs() -> None:
    """T-1.2.3, T-1.2.4, T-X.3: pending at once, running after its process has ended; later tokens vanish."""
    m = started(task("a"), task("b", "a"), task("c"), max_concurrent=1)
    m.do(C.cancel_firing("b"))
    m.do(C.stop("a", "cancel"))
    assert at_work(m) == {"a": "ann"}
    m.bad("a", "STOPPED", "cancelled")
    assert at_work(m) == {"c": "ann"}
    m.ok("c", DONE)
    assert began(m) == ["a", "c"] and m.status == "COMPLETED"
    assert settled(m) == {"a": "interrupted", "b": "interrupted", "c": "done"}


def test_a_cancelled_task_whose_dependency_completes_stays_cancelled() -> None:
    """T-1.3.3, T-1.3.4: the token that comes is absorbed, and the plan can end."""
    m = started(task("a"), task("b", "a"))
    m.do(C.cancel_firing("b"))
    m.ok("a", DONE)
    assert began(m) == ["a"] and m.status == "COMPLETED"


def test_stop_waits_for_what_runs() -> None:
    """T-A.16, T-7.1.10, T-X.32: running ones finish, nothing new begins; with --now they are pending again."""
    m = started(*(task(f"t{n}") for n in range(5)))
    m.do(C.limit("agents", 0, "stopped"))
    m.ok("t0", DONE)
    assert at_work(m) == {"t1": "bob", "t2": "cid"}
    m.do(C.stop("t1", "put_back"))
    m.bad("t1", "STOPPED", "cancelled")
    m.ok("t2", DONE)
    assert at_work(m) == {} and m.status not in ("COMPLETED", "FAILED")
    m.crash()
    m.do(C.limit("agents", 3))
    assert {*at_work(m)} == {"t1", "t3", "t4"}
    finish(m)
    assert m.status == "COMPLETED"


def test_a_task_whose_process_is_gone_is_pending_again_and_no_retry_is_counted() -> None:
    """T-9.2.3, T-X.20, T-X.24: the executor returns it."""
    m = started(task("a"), max_retries=0)
    firing = m.asked("a")
    assert firing is not None
    m.do(C.limit("agents", 0, "restarted"))
    m.do(C.returned(firing.no, firing.attempt, "lost"))
    assert at_work(m) == {}
    m.do(C.limit("agents", 3))
    m.ok("a", DONE)
    assert settled(m) == {"a": "done"}


def test_what_was_over_before_the_run_began() -> None:
    """T-X.38, T-X.29: completed lets dependents run, failed and cancelled block the required ones only."""
    m = started(task("a", status="completed"), task("b", "a"))
    assert finish(m) == ["b"] and m.status == "COMPLETED"
    for status in ("failed", "cancelled"):
        m = started(task("a", status=status), task("b", "a"), task("c", {"id": "a", "optional": True}))
        assert finish(m) == ["c"] and m.incidents() == ["DEADLOCK"]


@pytest.mark.parametrize("seed", range(40))
def test_random_plans_keep_the_rules(seed: int) -> None:
    """T-2.3.1, T-7.2.1, T-X.29: whatever ends how, with crashes between: places, limits, dependencies, once."""
    chance = random.Random(seed)
    tasks: list[dict[str, Any]] = []
    needs: dict[str, list[dict[str, Any]]] = {}
    for n in range(chance.randint(1, 14)):
        entries = [
            {"id": other, "optional": chance.random() < 0.4}
            for other in chance.sample([*needs], min(len(needs), chance.randint(0, 3)))
        ]
        needs[f"t{n}"] = entries
        agent = chance.choice([None, None, "ann", "bob"])
        tasks.append(task(f"t{n}", *entries, **({"assigned_agent": agent} if agent else {})))
    most = chance.randint(1, 4)
    m = started(*tasks, max_concurrent=most, max_retries=0)
    ended: dict[str, str] = {}
    while work := at_work(m):
        assert len(work) <= most and len({*work.values()}) == len(work)
        for id in work:
            assert id not in ended
            for entry in needs[id]:
                assert ended.get(entry["id"]) == "done" or entry["optional"] and entry["id"] in ended
        id = chance.choice([*work])
        how = chance.choice(["done", "done", "failed", "cancelled"])
        if how == "done":
            m.ok(id, DONE)
        elif how == "failed":
            m.bad(id)
        else:
            m.do(C.stop(id, "cancel"))
            m.bad(id, "STOPPED", "cancelled")
        ended[id] = how
        if chance.random() < 0.3:
            m.crash()
    left = needs.keys() - ended.keys()
    assert (m.status == "COMPLETED") is not bool(left)
    assert m.incidents() == (["DEADLOCK"] if left else [])
    statuses = dict.fromkeys(left, "pending") | {id: {"done": "completed"}.get(how, how) for id, how in ended.items()}
    depends_on = {id: dependencies_of(entries) for id, entries in needs.items()}
    assert executable(statuses, depends_on, {}) == []


def test_a_task_that_does_not_exist_and_one_that_is_over() -> None:
    """T-1.3.1, T-1.3.2: refused, and nothing has changed."""
    m = started(task("a"), task("b"))
    m.ok("a", DONE)
    with pytest.raises(NodeNotFound):
        m.do(C.execute("nobody"))
    with pytest.raises((Refused, NodeNotFound, StatusConflict)):
        m.do(C.execute("a"))
    with pytest.raises(NodeNotFound):
        m.do(C.cancel_firing("a"))
