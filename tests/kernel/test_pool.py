"""Pools: an attempt takes a named place while its effect is under way; order, limits, stops and wishes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from penstock.errors import MigrationBlocked, NodeNotFound, Refused, StatusConflict
from penstock.kernel import command as C
from penstock.net.compiled import Compiled
from penstock.net.model import MERGE, Edge, Effect, Net, Node, OnError, Pool, Retry, Work
from tests.kernel.harness import Sim
from tests.kernel.nets import S, net

FAILED = (OnError(match="fatal", action="halt:failed"), OnError(match="*", action="park:failed"))


def worker(id: str, *, place: str = "", priority: int = 1000, max: int = 0, **more: Any) -> Node:
    """A task that an agent does in a place of the pool `p`, at most once."""
    effect = Effect(executor="x", args={"in": {"$expr": "place"}, "said": {"$expr": "feedback"}})
    return Node(
        id=id, kind="work", work=Work(agent=True, approve_if="draft.confidence < 80"), effect=effect, pool="p",
        place=place, priority=priority, max_iter=1, at_max="absorb", on_error=FAILED,
        retry=Retry(max=max, delays_ms=(0, 5000)), **more,
    )  # fmt: skip


def pooled(nodes: list[Node], edges: str = "", *, places: str = "a b", most: int = 2) -> Net:
    starts = " ".join(f"s>{node.id}" for node in nodes)
    return net(
        [S, *nodes], f"{starts} {edges}", pools={"p": Pool(places=tuple(places.split()), most=most)}, on_stuck="stop"
    )


def at_work(m: Sim) -> dict[str, str]:
    return {m.net.nodes[f.node].id: f.place for f in m.effects()}


SURE = {"confidence": 100}


def test_t_7_2_1_places_are_taken_in_order_and_given_back() -> None:
    """T-7.2.1, T-7.2.2, T-7.2.3, T-X.28: never more than `most` at once; who ends lets the next one by priority in."""
    m = Sim(pooled([worker("t1"), worker("t2"), worker("t3", priority=7), worker("t4", priority=5)], most=2))
    assert at_work(m) == {"t4": "a", "t3": "b"}
    m.crash()
    m.ok("t3", SURE)
    assert at_work(m) == {"t4": "a", "t1": "b"}
    m.ok("t4", SURE)
    m.ok("t1", SURE)
    m.ok("t2", SURE)
    assert m.status == "COMPLETED"
    assert [line.data["place"] for line in m.of("effect.asked")] == ["a", "b", "b", "a"]


def test_t_2_3_1_one_task_per_agent() -> None:
    """T-2.3.1, T-X.9, T-X.10: who wants a place that is taken waits for it, and others go on meanwhile."""
    m = Sim(pooled([worker("t1", place="a"), worker("t2", place="a"), worker("t3")], most=3))
    assert at_work(m) == {"t1": "a", "t3": "b"}
    m.ok("t3", SURE)
    assert at_work(m) == {"t1": "a"}
    m.ok("t1", SURE)
    assert at_work(m) == {"t2": "a"}


def test_t_5_2_7_the_executor_hears_which_place_it_has() -> None:
    m = Sim(pooled([worker("t1", place="b")]))
    assert [line.data["args"]["in"] for line in m.of("effect.asked")] == ["b"]


def test_t_x_15_a_failed_attempt_gives_its_place_back_until_it_is_tried_again() -> None:
    """T-X.15: between two attempts the task waits, others have the place; up to 3 retries are 4 attempts."""
    m = Sim(pooled([worker("t1", max=3, priority=1), worker("t2")], places="a", most=1))
    m.bad("t1", category="transient")
    assert at_work(m) == {"t2": "a"}
    m.tick()
    assert m.firing("t1").phase == 6 and m.status == "RUNNING"
    m.crash()
    m.ok("t2", SURE)
    assert at_work(m) == {"t1": "a"} and m.firing("t1").attempt == 2
    for _ in range(2):
        m.bad("t1", category="transient")
        m.tick()
    m.bad("t1", category="transient")
    assert [line.data["attempt"] for line in m.of("effect.asked") if line.node == "t1"] == [1, 2, 3, 4]
    assert m.status == "COMPLETED" and len(m.st.parked) == 1


def test_t_x_14_what_is_doubtful_waits_for_a_person_without_a_place() -> None:
    """T-X.14: below 80 it stays, the agent is released; a reject asks again with the comment, 80 itself completes."""
    m = Sim(pooled([worker("t1", max=3), worker("t2"), worker("t3")], places="a", most=1))
    m.ok("t1", {"confidence": 70})
    assert m.st.items[m.firing("t1").no].status == "SUBMITTED" and at_work(m) == {"t2": "a"}
    m.do(C.work(m.firing("t1").no, "reject", "ann", None, "no tests"))
    assert m.firing("t1").phase == 6 and m.firing("t1").place == ""
    m.ok("t2", SURE)
    assert at_work(m) == {"t1": "a"}
    assert [line.data["args"]["said"] for line in m.of("effect.asked") if line.node == "t1"] == [None, "no tests"]
    for _ in range(3):  # what was rejected is no failure: all retries are left
        m.bad("t1", category="transient")
        m.ok("t3", SURE) if m.asked("t3") else None
        m.tick()
    m.ok("t1", {"confidence": 80})
    assert m.status == "COMPLETED"


def test_t_7_1_10_a_stopped_pool_lets_who_works_end_and_nobody_begin() -> None:
    """T-7.1.10, T-X.32: no new ones start; those that run finish; it rests, visibly, and goes on when it is told to."""
    m = Sim(pooled([worker("t1", max=1), worker("t2"), worker("t3")], most=1))
    m.do(C.limit("p", 0, "stop"))
    m.do(C.limit("p", 0, "stop"))
    assert m.of("ignored")[-1].data["why"] == "already"
    m.bad("t1", category="transient")
    m.tick()
    assert at_work(m) == {} and m.status == "WAITING" and m.st.stopped == {"p": "stop"}
    m.crash()
    m.do(C.limit("p", 2))
    assert at_work(m) == {"t1": "a", "t2": "b"} and m.st.stopped == {}
    with pytest.raises(NodeNotFound):
        m.do(C.limit("q", 1))
    with pytest.raises(Refused):
        m.do(C.limit("p", -1))


def test_a_run_may_begin_stopped() -> None:
    m = Sim(pooled([worker("t1")]), options={"pools": {"p": 0}})
    assert m.status == "WAITING" and m.st.stopped == {"p": "idle"} and at_work(m) == {}


def test_t_5_2_1_somebody_has_one_task_done_though_the_plan_is_stopped() -> None:
    """T-5.2.1 (manual), T-5.2.3, T-5.2.4, T-A.4: ready and free, or refused; queued if wanted; its retries go on."""
    m = Sim(pooled([worker("t1", place="a", max=1), worker("t2", place="a"), worker("t3")], "t2>t3"),
            options={"pools": {"p": 0}})  # fmt: skip
    with pytest.raises(Refused):
        m.do(C.execute("t3"))
    with pytest.raises(NodeNotFound):
        m.do(C.execute("s"))
    m.do(C.execute("t1"))
    assert at_work(m) == {"t1": "a"}
    with pytest.raises(StatusConflict):
        m.do(C.execute("t1"))
    with pytest.raises(Refused):
        m.do(C.execute("t2"))
    m.do(C.execute("t2", True))
    m.crash()
    m.bad("t1", category="transient")
    m.tick()
    assert at_work(m) == {"t2": "a"}
    m.ok("t2", SURE)
    assert at_work(m) == {"t1": "a"} and m.st.wanted and m.firing("t1").attempt == 2
    m.ok("t1", SURE)
    assert at_work(m) == {} and m.status == "WAITING" and m.st.wanted == {}


def test_t_x_3_who_is_told_to_end_is_waited_for() -> None:
    """T-X.3, T-1.2.3: the place is kept until the process has ended; whatever it answers, the task is cancelled."""
    m = Sim(pooled([worker("t1"), worker("t2"), worker("t3")], "t1>t3", places="a", most=1))
    m.do(C.stop("t1", "cancel"))
    assert m.run.tells and at_work(m) == {"t1": "a"} and m.firing("t1").stopping == "cancel"
    m.bad("t1", "STOPPED", "transient")
    assert at_work(m) == {"t2": "a"} and not any(m.net.nodes[f.node].id == "t1" for f in m.st.firings.values())
    m.do(C.stop("t3", "cancel"))  # T-1.2.4: pending
    m.ok("t2", SURE)
    assert m.status == "COMPLETED"
    with pytest.raises(Refused):
        Sim(pooled([worker("t1")])).do(C.stop("t1", "otherwise"))


def test_t_x_3_what_is_done_before_it_hears_of_it_is_done() -> None:
    m = Sim(pooled([worker("t1")]))
    m.do(C.stop("t1", "cancel"))
    m.do(C.stop("t1", "cancel"))
    assert m.of("ignored")[-1].data["what"] == m.firing("t1").no
    m.ok("t1", SURE)
    assert [line.data["status"] for line in m.of("settled") if line.node == "t1"] == ["done"]


def test_t_x_32_put_back_is_pending_again_and_counts_as_no_retry() -> None:
    """T-X.32: a second stop cancels them back to pending; T-9.2.3: so does a process that a restart has found dead."""
    m = Sim(pooled([worker("t1", max=1)]))
    m.do(C.limit("p", 0, "stop"))
    m.do(C.stop("t1", "put_back"))
    m.bad("t1", "STOPPED", "cancelled")
    assert m.firing("t1").phase == 6 and m.status == "WAITING"
    m.do(C.limit("p", 2))
    firing = m.asked("t1")
    assert firing is not None and firing.attempt == 2
    m.do(C.returned(firing.no, firing.attempt, "lost"))
    assert at_work(m) == {"t1": "a"} and m.firing("t1").attempt == 3
    m.bad("t1", category="transient")
    m.tick()
    assert m.firing("t1").attempt == 4
    m.bad("t1", category="transient")
    assert m.status == "COMPLETED" and len(m.st.parked) == 1


def test_t_x_32_what_somebody_wanted_is_put_back_for_good() -> None:
    """T-X.32, T-X.25: of a stopped plan nothing begins again, also not what was executed by hand."""
    m = Sim(pooled([worker("t1"), worker("t2", max=1)], most=2), options={"pools": {"p": 0}})
    m.do(C.execute("t1"), C.execute("t2"))
    m.bad("t2", category="transient")
    m.do(C.stop("t1", "put_back"), C.stop("t2", "put_back"))
    m.bad("t1", "STOPPED", "cancelled")
    assert at_work(m) == {} and m.st.wanted == {} and m.firing("t1").phase == m.firing("t2").phase == 6
    m.do(C.limit("p", 2))
    assert at_work(m) == {"t1": "a", "t2": "b"}


def test_t_x_14_what_is_rejected_in_a_stopped_plan_is_pending() -> None:
    """T-X.14: it goes back to pending, and begins when the plan does."""
    m = Sim(pooled([worker("t1")]), options={"pools": {"p": 0}})
    m.do(C.execute("t1"))
    m.ok("t1", {"confidence": 10})
    m.do(C.work(m.firing("t1").no, "reject", "ann", None, "again"))
    assert m.firing("t1").phase == 6 and m.status == "WAITING" and m.st.wanted == {}


def test_t_x_18_a_fatal_failure_stops_the_pool() -> None:
    """T-X.18, T-7.1.8: the task has failed, nobody begins anything else, and it is told."""
    m = Sim(pooled([worker("t1", max=3), worker("t2"), worker("t3")], most=1))
    m.bad("t1", "COMMAND_NOT_FOUND", "fatal")
    assert at_work(m) == {} and m.st.stopped == {"p": "fatal"} and m.status == "WAITING"
    assert [line.data["code"] for line in m.of("incident")] == ["COMMAND_NOT_FOUND"]
    m.do(C.retry("here", next(iter(m.st.parked))))
    assert m.firing("t1").phase == 6
    m.do(C.limit("p", 1))
    assert at_work(m) == {"t1": "a"}


def test_t_x_27_only_blocked_tasks_stop_the_pool_and_are_named() -> None:
    """T-X.27, T-A.14: a cycle stops it; one of them completed by hand lets the other begin; what comes late is gone."""
    m = Sim(pooled([worker("a"), worker("b")], "a>b b>a"))
    assert m.st.stopped == {"p": "deadlock"} and m.status == "WAITING"
    assert [d["node"] for d in m.of("incident")[-1].data["detail"]] == ["a", "b"]
    m.do(C.limit("p", 2))
    assert m.st.stopped == {"p": "deadlock"}
    m.do(C.resolve("a", {"reason": "checked"}))
    m.do(C.limit("p", 2))
    m.ok("b", SURE)
    assert m.status == "COMPLETED"


def test_t_x_29_an_optional_dependency_that_is_retried_later_disturbs_nobody() -> None:
    """T-X.29, T-X.1: its dependent has begun without it; done after all, its token is absorbed."""
    route = Node(id="m", kind="route", join=MERGE, max_iter=1, at_max="absorb")
    made = pooled([worker("a"), worker("b")])
    edges = (
        *made.edges, Edge(id="a:done>m", src="a", dst="m"), Edge(id="a:failed>m", src="a", dst="m", port="failed"),
        Edge(id="m>b", src="m", dst="b"),
    )  # fmt: skip
    m = Sim(msgspec.structs.replace(made, nodes=(*made.nodes, route), edges=edges))
    assert at_work(m) == {"a": "a"}
    m.bad("a")
    assert at_work(m) == {"b": "a"}
    m.do(C.retry("here", next(iter(m.st.parked))))
    m.ok("a", SURE)
    m.ok("b", SURE)
    assert m.status == "COMPLETED"


def test_t_8_3_5_a_net_that_changes_takes_the_run_along() -> None:
    """T-8.3.5: a dependency goes, a task comes, another goes: tokens follow, what is under way is not disturbed."""
    before = Compiled(pooled([worker("a"), worker("b"), worker("gone")], "a>b b>gone", places="x y", most=1))
    after = Compiled(pooled([worker("new"), worker("a"), worker("b")], "a>new", places="x y", most=1))
    m = Sim(before.net, check=False)
    m.do(C.migrate(after, puts=["s>new"], drops=["s>gone"]), C.nudge())
    assert m.run.decided == 1  # what comes after it is for the run in its new net
    m.net, m.check = after, True
    m.reader.net_of = lambda _: after
    m.run = m.reload()
    m.do(C.nudge())
    assert at_work(m) == {"a": "x"}
    m.ok("a", SURE)
    assert at_work(m) == {"new": "x"}
    m.ok("new", SURE)
    m.ok("b", SURE)
    assert m.status == "COMPLETED"


def test_t_8_3_5_an_agent_at_work_cannot_go() -> None:
    m = Sim(pooled([worker("a")], places="x y"))
    with pytest.raises(MigrationBlocked, match="«x» is at work and is gone"):
        m.do(C.migrate(Compiled(pooled([worker("a")], places="y"))))
    with pytest.raises(MigrationBlocked, match="s>none"):
        m.do(C.migrate(m.net, puts=["s>none"]))
