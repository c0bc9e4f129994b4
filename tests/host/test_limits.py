"""Limits that hold for everybody: each has its own code, refuses before anything is made, and loses nothing."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from penstock.errors import FactsLimit, StartsLimit, TooManyRuns, TooManyWorkItems
from penstock.host.clock import ManualClock
from penstock.host.embedded import Host
from penstock.host.limits import OpenCount
from penstock.kernel import command as C
from penstock.kernel.state import STATUS
from penstock.net.compiled import Compiled
from penstock.net.model import MERGE, Body, Edge, Net, Node, Work
from penstock.store.events import EventRow
from penstock.store.releases import ReleaseRow
from tests.host.rig import END, START, Fn, Rig, call, chain, task, wait

SOURCE = "tick"


def laps(host: Host, count: int = 30) -> None:
    for _ in range(count):
        host.iterate()


def calls(child: Net, items: str = "input.items") -> Net:
    """Calls the child once for every item, side by side."""
    body = Body(mode="each", items=items, entry="c", collect="outputs")
    scope = Node(id="p", kind="scope", body=body)
    called = msgspec.structs.replace(call("c", Compiled(child).hash), scope="p")
    edges = (Edge(id="s>p", src="s", dst="p"), Edge(id="p>e", src="p", dst="e"))
    return Net(name="caller", nodes=(START, scope, called, END), edges=edges)


def opened(rig: Rig, clock: ManualClock | None = None, **settings: Any) -> Host:
    named = {name.replace("__", "."): value for name, value in settings.items()}
    return rig.open(Fn(), clock=clock or ManualClock(), settings=named, serve=False)


def children(host: Host) -> int:
    return sum(row.id.startswith("c") for row in host.store.runs(limit=1000))


def test_h_one_child_too_many_fails_its_call_before_it_is_made(rig: Rig) -> None:
    host = opened(rig, limits__children_per_run=5)
    child = chain(wait("w"), name="child")
    host.release(child)
    run = host.start(host.release(calls(child)), {"items": list(range(8))})
    laps(host)
    failures = [f["failure"] for f in rig.facts(run, "effect.answered") if f["status"] == "failed"]
    assert len(failures) == 3 and {f[0] for f in failures} == {"CHILDREN_LIMIT"} and failures[0][4] == {"limit": 5}
    assert children(host) == 5


def test_h_a_run_that_calls_itself_ends_at_the_depth(rig: Rig) -> None:
    host = opened(rig, limits__call_depth=3)
    nets = [chain(wait("w"), name="n0")]
    for level in range(1, 6):
        nets.append(chain(call("c", Compiled(nets[-1]).hash), name=f"n{level}"))
    numbers = [host.release(net) for net in nets]
    run = host.start(numbers[-1])
    laps(host)
    rows = host.store.runs(limit=100)
    assert len(rows) == 4, "three runs below the first"
    assert STATUS[host.store.run_by_id(run).status] == "FAILED"
    deepest = rows[0]
    failure = rig.facts(deepest.id, "run.moved")[-1]["failure"]
    assert failure[0] == "CALL_DEPTH_LIMIT" and failure[4] == {"limit": 3}


def test_h_a_run_starts_so_many_in_a_minute_and_the_others_wait(rig: Rig) -> None:
    clock = ManualClock()
    host = opened(rig, clock, limits__starts_per_minute=4)
    child = chain(wait("w"), name="child")
    host.release(child)
    run = host.start(host.release(calls(child)), {"items": list(range(10))})
    laps(host)
    assert children(host) == 4 and len(host.children.paced) == 6
    assert host.children.next_due() == clock.now() + 60_000
    clock.at += 30_000
    laps(host)
    assert children(host) == 4
    clock.at += 30_001
    laps(host)
    assert children(host) == 8
    clock.at += 60_001
    laps(host)
    assert children(host) == 10 and not host.children.paced
    assert STATUS[host.store.run_by_id(run).status] == "RUNNING"


def test_h_a_paced_call_that_is_stopped_starts_nothing(rig: Rig) -> None:
    clock = ManualClock()
    host = opened(rig, clock, limits__starts_per_minute=1)
    child = chain(wait("w"), name="child")
    host.release(child)
    run = host.start(host.release(calls(child)), {"items": [1, 2]})
    laps(host)
    host.send(host.store.run_by_id(run).no, C.cancel())
    laps(host)
    clock.at += 120_000
    laps(host)
    assert children(host) == 1 and STATUS[host.store.run_by_id(run).status] == "CANCELLED"


def test_h_a_crash_while_calls_are_paced_loses_none(rig: Rig) -> None:
    clock = ManualClock()
    host = opened(rig, clock, limits__starts_per_minute=2)
    child = chain(wait("w"), name="child")
    host.release(child)
    host.start(host.release(calls(child)), {"items": list(range(5))})
    laps(host)
    assert children(host) == 2
    host = opened(rig, clock, limits__starts_per_minute=2)
    host.recover()
    laps(host)
    clock.at += 61_000
    laps(host)
    clock.at += 61_000
    laps(host)
    assert children(host) == 5


def test_h_open_runs_are_counted_per_tenant_and_room_comes_back(rig: Rig) -> None:
    clock = ManualClock()
    host = opened(rig, clock, limits__open_runs=3, tenants__big__limits__open_runs=5)
    net = host.release(chain(wait("w")))
    for _ in range(3):
        host.start_limits.check("small")
        host.start(net, tenant="small")
    laps(host)
    with pytest.raises(TooManyRuns) as refused:
        host.start_limits.check("small")
    assert refused.value.code == "PS-429-RUNS" and refused.value.http == 429 and refused.value.facts["retry_s"] == 5
    host.start_limits.check("big", count=5)
    with pytest.raises(TooManyRuns):
        host.start_limits.check("big", count=6)
    host.send(1, C.cancel())
    laps(host)
    clock.at += 1001
    host.start_limits.check("small")


def test_h_a_full_tenant_is_counted_again_at_most_once_a_second() -> None:
    clock, counted, there = ManualClock(), 0, 4998

    def count(tenant: str, most: int) -> int:
        nonlocal counted
        counted += 1
        return min(there, most)

    runs = OpenCount(count, clock.now)
    for _ in range(2):
        assert not runs.full("t", 5000)
        runs.added("t")
    assert counted == 1, "what was counted and what came since is less than the limit"
    there = 5000
    for _ in range(50):
        assert runs.full("t", 5000)
    assert counted == 1
    clock.at += 1001
    assert runs.full("t", 5000) and runs.full("t", 5000) and counted == 2
    there, clock.at = 10, clock.at + 1001
    assert not runs.full("t", 5000) and not runs.full("t", 5000) and counted == 3


def test_h_open_work_items_hold_starts_back(rig: Rig) -> None:
    clock = ManualClock()
    host = opened(rig, clock, limits__open_work_items=2)
    net = host.release(chain(Node(id="w", kind="work", work=Work())))
    for _ in range(2):
        host.start_limits.check("default")
        host.start(net)
    laps(host)
    with pytest.raises(TooManyWorkItems) as refused:
        host.start_limits.check("default")
    assert refused.value.code == "PS-429-WORK" and refused.value.http == 429
    (opened_item,) = rig.facts(host.store.runs()[0].id, "work.opened")
    host.send(host.store.runs()[0].no, C.work(opened_item["firing"], "submit", "u", 1))
    laps(host)
    clock.at += 1001
    host.start_limits.check("default")


def test_h_who_starts_by_a_run_is_refused_after_so_many(rig: Rig) -> None:
    clock = ManualClock()
    host = opened(rig, clock, limits__starts_per_minute=2)
    for _ in range(2):
        host.start_limits.check("t", "run1")
    host.start_limits.check("t", "run2")
    with pytest.raises(StartsLimit) as refused:
        host.start_limits.check("t", "run1")
    assert refused.value.code == "PS-429-STARTS" and refused.value.facts["retry_s"] == 60
    clock.at += 60_001
    host.start_limits.check("t", "run1")


def listen(host: Host, net: Net) -> None:
    """An active release that an event starts."""
    document = msgspec.json.encode(
        {"id": "wf", "version": 1, "trigger": {"type": "event", "config": {"source": SOURCE}}}
    )
    host.store.put_release(
        ReleaseRow("default", "wf", 1, "wf1", "active", "h", host.release(net), document, SOURCE, None, 1)
    )


def send(host: Host, id: str) -> None:
    host.store.put_event(EventRow("default", id, SOURCE, msgspec.msgpack.encode({}), host.clock.now()))
    host.intake.poll()


def test_h_events_wait_for_room_and_none_is_lost(rig: Rig) -> None:
    clock = ManualClock()
    host = opened(rig, clock, limits__open_runs=2)
    listen(host, chain(wait("w", "go")))
    for i in range(5):
        send(host, f"e{i}")
    laps(host)
    assert len(host.store.runs()) == 2 and len(host.intake.starts.held) == 3
    for row in host.store.runs():
        host.send(row.no, C.cancel())
    laps(host)
    clock.at += 1001
    laps(host)
    assert len(host.store.runs()) == 4 and len(host.intake.starts.held) == 1
    host = opened(rig, clock)  # a crash: the last one is open still
    host.recover()
    laps(host)
    assert len(host.store.runs()) == 5


def test_h_events_that_one_run_sends_start_so_many_in_a_minute(rig: Rig) -> None:
    """A workflow that starts itself by its own events."""
    clock = ManualClock()
    host = opened(rig, clock, limits__starts_per_minute=3)
    listen(host, chain(wait("w", "go")))
    for i in range(10):
        send(host, f"publish:default/run1/a@~0#{i}")
    send(host, "from outside")
    laps(host)
    assert len(host.store.runs()) == 4 and len(host.intake.starts.held) == 7
    clock.at += 60_001
    laps(host)
    assert len(host.store.runs()) == 7


def test_m3_an_event_of_another_tenant_does_not_stand_behind_a_flood(rig: Rig) -> None:
    host = opened(rig)
    for i in range(3000):
        host.store.put_event(EventRow("loud", f"e{i}", "noise", msgspec.msgpack.encode({}), 1))
    listen(host, chain(wait("w", "go")))
    send(host, "e1")
    host.iterate()
    assert len(host.intake.going) <= 401, "taken up: some of each tenant"
    laps(host, 2)
    assert len(host.store.runs()) == 1
    laps(host, 60)
    host.intake.poll()
    left = 0
    while host.store.open_events(each=10_000):
        host.intake.poll()
        host.iterate()
        left += 1
        assert left < 100


def endless(rounds: int) -> Net:
    nodes = (START, Node(id="m", join=MERGE), Node(id="g", split="first"), END)
    edges = (
        Edge(id="s>m", src="s", dst="m"), Edge(id="m>g", src="m", dst="g"),
        Edge(id="g>m", src="g", dst="m", guard=f"visit < {rounds}"), Edge(id="g>e", src="g", dst="e", default=True),
    )  # fmt: skip
    return Net(name="endless", nodes=nodes, edges=edges, max_visits=rounds + 1)


def test_k22_a_run_without_end_is_paused_and_resumed_with_a_higher_limit(rig: Rig) -> None:
    host = opened(rig, limits__facts_warning=1000, limits__facts_per_run=3000)
    run = host.start(host.release(endless(5000)))
    laps(host)
    no = host.store.run_by_id(run).no
    assert [f["code"] for f in rig.facts(run, "incident")] == ["FACTS_WARNING", "FACTS_LIMIT"]
    assert [f["why"] for f in rig.facts(run, "paused")] == ["facts_limit"]
    answers: list[Any] = []
    host.send(no, C.resume(), answers.append)
    laps(host)
    assert isinstance(answers[0], FactsLimit) and answers[0].code == "PS-409-FACTS"
    host = opened(rig)
    host.send(no, C.resume(), answers.append)
    laps(host, 100)
    assert answers[1] is None and rig.status(run) == "COMPLETED"
    rig.sound()


def test_h_no_turn_of_a_run_without_effects_makes_more_than_its_slice(rig: Rig) -> None:
    """Counted: facts per row of the journal. Another run has its turn in between."""
    host = opened(rig)
    run = host.start(host.release(endless(3000)))
    host.iterate()
    other = host.start(host.release(chain(wait("w"))))
    host.iterate()
    assert rig.status(run) == "RUNNING" and rig.status(other) == "WAITING"
    laps(host, 60)
    assert rig.status(run) == "COMPLETED"
    with rig.reading() as store:
        rows = list(store.journal(store.run_by_id(run).no))
    assert max(row.seq_to - row.seq_from for row in rows) < 520 and len(rows) >= 12
    rig.sound()


def test_h_a_crash_between_two_slices_goes_on(rig: Rig) -> None:
    host = opened(rig)
    run = host.start(host.release(endless(3000)))
    host.iterate()
    host.iterate()
    assert rig.status(run) == "RUNNING"
    host = opened(rig)
    host.recover()
    laps(host, 60)
    assert rig.status(run) == "COMPLETED"
    rig.sound()


def test_h_recovery_takes_some_runs_per_iteration_and_new_ones_need_not_wait(rig: Rig) -> None:
    async def never(request: Any) -> None:
        raise AssertionError("nobody lets it go out")

    host = opened(rig)
    net = host.release(chain(task("a")))
    for _ in range(300):
        host.start(net)
    while host.turns.ready:
        host.turns.turn()
    host = rig.open(Fn(never), clock=ManualClock(), serve=False)
    host.dispatch.draining = True
    assert host.recover() == 300
    assert not host.turns.runs, "ready at once"
    waiting = host.start(host.release(chain(wait("w"))))
    folded = host.turns.folded
    host.iterate()
    assert rig.status(waiting) == "WAITING"
    assert 0 < host.turns.folded - folded <= 32 * 10 and len(host.recovery.left) == 300 - 32
    for _ in range(20):
        host.iterate()
    assert not host.recovery.under_way and len(host.turns.runs) == 300


def test_h_recovery_wires_one_large_net_per_iteration(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of many large nets hold the loop for one net at a time; those of small ones go together."""
    host = rig.open(Fn(), clock=ManualClock(), serve=False)
    large = [host.release(chain(*(task(f"t{net}_{n}") for n in range(10)))) for net in range(5)]
    small = host.release(chain(task("a")))
    for net in (*large, *[small] * 20):
        host.start(net)
    while host.turns.ready:
        host.turns.turn()
    monkeypatch.setattr("penstock.host.recovery.MOST_NODES", 9)
    host = rig.open(Fn(), clock=ManualClock(), serve=False)
    host.dispatch.draining = True
    assert host.recover() == 25
    wired = list[int]()
    while host.recovery.under_way:
        before = host.nets.wired
        host.iterate()
        wired.append(host.nets.wired - before)
    assert len(wired) == 6 and sum(wired) > 50 and max(wired) < 2 * min(wired[:5]), wired
    assert len(host.turns.runs) == 25


def test_h_a_run_that_is_touched_before_recovery_has_come_to_it_asks_its_effects_once(rig: Rig) -> None:
    x = Fn()
    host = rig.open(x, clock=ManualClock(), serve=False)
    net = host.release(chain(task("a")))
    for _ in range(100):
        host.start(net)
    while host.turns.ready:
        host.turns.turn()
    host = rig.open(x, clock=ManualClock(), serve=False)
    asked: list[int] = []
    host.dispatch.out = lambda asks: asked.extend(ask.loaded.no for ask in asks)  # type: ignore[method-assign]
    host.recover()
    host.send(90, C.set_variable("x", 1))
    for _ in range(10):
        host.iterate()
    assert sorted(asked) == list(range(1, 101))
