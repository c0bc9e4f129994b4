"""The turn: one commit per batch, one journal row per run, and nothing goes out before its intent is committed."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

from penstock.errors import PenstockError, Refused, RunNotFound, StatusConflict, StoreFull
from penstock.executors.contract import Done, failed
from penstock.kernel import command as C
from penstock.kernel.state import WAITING
from penstock.net.compiled import Compiled
from penstock.store.run_store import Batch
from penstock.store.sqlite import Sqlite
from tests.host.rig import QUICK, Fn, Rig, call, chain, ended, eventually, fan, go, pause, quiet, task, wait, work

FLAKY = failed("FLAKY", "transient", "try again")


def test_many_runs_are_one_commit(rig: Rig) -> None:
    """D-X.27: group commit; no run waits for another one's turn, and none has a commit of its own."""
    host = rig.open(Fn())
    net = host.release(chain(task("a")))
    runs = [host.start(net, n) for n in range(300)]
    before = rig.store.commits
    asks = host.turns.turn()
    assert rig.store.commits == before + 1
    assert len(asks) == 300 and len(set(runs)) == 300
    with rig.reading() as store:
        assert store.last_run() == 300


def test_a_backlog_is_shared_between_tenants_and_then_by_priority(rig: Rig) -> None:
    """M3: a tenant that calls all of its runs urgent gets no more than its share."""
    host = rig.open(Fn(), batch=10)
    net = host.release(chain(task("a")))
    for n in range(30):
        host.start(net, n, tenant="loud")
    for n in range(5):
        host.start(net, n, tenant="quiet", priority=2000)
    host.start(net, 0, tenant="quiet", priority=1)
    first = [(ask.loaded.tenant, ask.loaded.priority) for ask in host.turns.turn()]
    assert first.count(("quiet", 1)) == 1 and first.count(("quiet", 2000)) == 4 and first.count(("loud", 1000)) == 5
    assert first.index(("quiet", 1)) < first.index(("quiet", 2000))
    rest = [ask.loaded.tenant for _ in range(5) for ask in host.turns.turn()]
    assert rest.count("quiet") == 1 and rest.count("loud") == 25


def test_what_a_tenant_had_before_the_backlog_does_not_count(rig: Rig) -> None:
    """M3: an old tenant is not starved by a new one that has had nothing yet."""
    host = rig.open(Fn(), batch=10)
    net = host.release(chain(wait("w")))

    def start(tenant: str, count: int) -> None:
        for n in range(count):
            host.start(net, n, tenant=tenant)

    for _ in range(5):
        start("old", 15)
        host.turns.turn()
        host.turns.turn()
    start("new", 100)
    start("old", 10)
    for _ in range(4):
        host.turns.turn()
    with rig.reading() as store:
        tenants = [row.tenant for row in store.runs(limit=40)]
    assert tenants.count("old") == 10


def test_all_commands_of_a_run_in_a_batch_are_one_turn(rig: Rig) -> None:
    """D-X.27: the commands of one run are serial, and those that lie there together are one journal row."""
    host = rig.open(Fn())
    run = host.start(host.release(fan(*(wait(f"w{i}", f"go{i}") for i in range(5)))))
    host.iterate()
    no = rig.store.run_by_id(run).no
    answers: list[Any] = []
    for i in range(5):
        host.send(no, C.signal("", f"go{i}"), answers.append)
    host.iterate()
    assert answers == [None] * 5
    assert rig.turns(run) == 2 and rig.status(run) == "COMPLETED"
    rig.sound()


def test_e1_an_effect_finds_its_own_intent_committed(rig: Rig) -> None:
    """E1: every effect asks a second connection for the fact that asked for it, on every attempt, first of all."""
    reader: Any = None

    def look(request: Any) -> Any:
        row = reader.run_by_id(request.run)
        facts = [f for j in reader.journal(row.no) for f in _facts(j.body)]
        asked = [f for f in facts if f["fact"] == "effect.asked" and f["attempt"] == request.attempt]
        found.append(bool(asked))
        return FLAKY if request.attempt < 3 else "ok"

    found: list[bool] = []

    async def scene() -> None:
        nonlocal reader
        host = rig.open(Fn(look))
        reader = Sqlite(rig.path, engine=False)
        net = host.release(chain(task("a", retry=QUICK), task("b", retry=QUICK)))
        async with rig.driving() as host:
            runs = [host.start(net, n) for n in range(20)]
            await ended(host, *runs)
        reader.close()

    go(scene())
    assert found == [True] * 120
    rig.sound()


def _facts(body: bytes) -> list[dict[str, Any]]:
    from penstock.kernel import fact as F

    return [{"fact": F.name_of(f), **F.fields_of(f)} for f in F.decode_facts(body)]


def test_e2_e5_every_attempt_has_the_same_key_and_there_are_as_many_as_allowed(rig: Rig) -> None:
    """E2, E5: retry max=2 is three attempts, one key; a permanent failure is attempted once."""
    kinds = {"t": "transient", "p": "permanent", "v": "validation"}
    flaky = Fn(lambda request: failed("NO", kinds[request.node], "no"))

    async def scene() -> list[str]:
        async with rig.driving(flaky) as host:
            runs = [host.start(host.release(chain(task(kind, retry=QUICK), name=kind))) for kind in kinds]
            await ended(host, *runs)
            return runs

    runs = go(scene())
    by_run = {run: [(r.attempt, r.key) for r in flaky.seen if r.run == run] for run in runs}
    assert [[a for a, _ in calls] for calls in by_run.values()] == [[1, 2, 3], [1], [1]]
    assert all(len({key for _, key in calls}) == 1 for calls in by_run.values())
    assert [rig.status(run) for run in runs] == ["FAILED"] * 3
    assert by_run[runs[0]][0][1] == f"default/{runs[0]}/t@~0#1"


def test_e2_the_key_is_the_same_after_a_crash(rig: Rig) -> None:
    """D-X.23: a node that had consumed but not emitted runs again under the same key, so it counts once. E2, E3."""
    never = Fn(lambda request: asyncio.get_running_loop().create_future())
    again = Fn(lambda request: "done")

    async def scene() -> str:
        async with rig.driving(never) as host:
            run: str = host.start(host.release(chain(task("a"))), 7)
            await eventually(lambda: never.seen)
        await rig.finish(again)
        return run

    run = go(scene())
    assert again.keys == never.keys and [r.attempt for r in again.seen] == [1]
    assert [i.body for r in again.seen for i in r.inputs] == [7]
    assert rig.status(run) == "COMPLETED" and len(rig.facts(run, "effect.asked")) == 1
    rig.sound()


def test_e4_late_and_double_answers_change_nothing(rig: Rig) -> None:
    """E4, K16: at most one result per effect reaches the journal; the others are ignored, with a reason."""

    async def scene() -> str:
        async with rig.driving(Fn(lambda request: FLAKY if request.attempt == 1 else request.attempt)) as host:
            run: str = host.start(host.release(chain(task("a", retry=QUICK), wait("w"))))
            await eventually(lambda: host.row(run) and host.row(run).status == WAITING)
            no = host.store.run_by_id(run).no
            for late in (C.done(2, 1, body="late"), C.done(2, 2, body="double"), C.done(99, 1, body="whose?")):
                await host.ask(no, late)
            await host.ask(no, C.signal("", "go"))
            return run

    run = go(scene())
    assert rig.status(run) == "COMPLETED"
    settled = [f for f in rig.facts(run, "settled") if f["node"] == 1]
    assert [f["body"] for f in settled] == [2]
    assert [(f["why"], f["what"]) for f in rig.facts(run, "ignored")] == [
        ("superseded", 2), ("superseded", 2), ("unknown", 99),
    ]  # fmt: skip
    rig.sound()


# ---- commits that fail -----------------------------------------------------------------------------------------------


class Breaks(Sqlite):
    """A store whose n-th commit fails: before anything is written, or after all of it is."""

    def __init__(self, path: Any, at: int, after: bool) -> None:
        super().__init__(path)
        self.at, self.after, self.count = at, after, 0

    def commit(self, batch: Batch) -> None:
        self.count += 1
        if self.count != self.at:
            return super().commit(batch)
        if self.after:
            super().commit(batch)
        raise StoreFull


@pytest.mark.parametrize("after", [False, True], ids=["not committed", "committed, answer lost"])
@pytest.mark.parametrize("at", range(1, 7))
def test_h5_a_commit_that_failed_is_folded_again_from_what_is_there(rig: Rig, at: int, after: bool) -> None:
    """H5, H13, D-12.8: whatever became of the commit, the run goes on from the store's truth, and no answer is lost;
    when only the answer to the commit was lost, nobody notices."""
    flaky = Fn(lambda request: FLAKY if request.attempt == 1 else f"{request.node}{request.attempt}")

    async def scene() -> None:
        store = Breaks(rig.path, at, after)
        host = rig.open(flaky, store=store)
        net = host.release(chain(task("a", retry=QUICK), task("b", retry=QUICK)))
        host.start(net, id="r1")
        broken = False
        for _ in range(400):
            try:
                if not host.iterate():
                    await asyncio.sleep(0.001)
            except StoreFull:
                broken = True
            row = host.row("r1")
            if row is not None and row.status >= 5:
                break
        assert broken == (store.count >= at and not after)
        await host.close()

    go(scene())
    assert rig.status("r1") == "COMPLETED"
    assert [f["body"] for f in rig.facts("r1", "settled")] == ["a2", "b2"]
    assert [(r.node, r.attempt) for r in flaky.seen] == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]
    assert all(len({r.key for r in flaky.seen if r.node == node}) == 1 for node in "ab")
    rig.sound()


@pytest.mark.parametrize("safe", ["at_least_once", "at_most_once"])
@pytest.mark.parametrize("width", [1, 8], ids=["in the queue", "in flight"])
def test_what_is_on_its_way_when_a_commit_fails_is_neither_repeated_nor_lost(rig: Rig, width: int, safe: str) -> None:
    """H5: the commit with one branch's answer fails; the answer is kept, the other branch's effect goes on, and its
    answer counts."""
    hold = asyncio.Event()

    async def answer(request: Any) -> str:
        await hold.wait()
        return str(request.node)

    x, quick = Fn(answer), Fn(name="y")

    async def scene() -> None:
        store = Breaks(rig.path, 3 if safe == "at_most_once" else 2, after=False)
        host = rig.open(x, quick, store=store, width=width)
        ahead = [task("ahead", "x")] if width == 1 else []
        net = fan(*ahead, task("slow", safe=safe), task("quick", "y"), wait("w"))
        host.start(host.release(net), id="r1")
        host.iterate()
        await eventually(lambda: quick.seen and host.turns.ready)
        with pytest.raises(StoreFull):
            host.iterate()
        hold.set()
        host.send(1, C.signal("", "go"))
        for _ in range(500):
            host.iterate()
            await asyncio.sleep(0.001)
            if host.store.run_by_id("r1").status >= 5:
                break
        await host.close()

    go(scene())
    assert rig.status("r1") == "COMPLETED" and [r.node for r in x.seen].count("slow") == 1
    assert len(quick.seen) == 1
    rig.sound()


@pytest.mark.parametrize("after", [False, True], ids=["not committed", "committed, answer lost"])
@pytest.mark.parametrize("at", range(1, 6))
def test_k23_a_commit_that_failed_loses_no_child(rig: Rig, at: int, after: bool) -> None:
    """K23, H5: whichever commit of parent and child fails, there is one child, and the parent gets its answer."""
    child = chain(task("a"), name="child")

    async def scene() -> None:
        store = Breaks(rig.path, at, after)
        host = rig.open(Fn(lambda request: "answer"), store=store)
        host.release(child)
        net = host.release(chain(call("c", Compiled(child).hash)))
        host.start(net, id="r1")
        for _ in range(500):
            with contextlib.suppress(StoreFull):
                host.iterate()
            await asyncio.sleep(0.001)
            row = host.row("r1")
            if row is not None and row.status >= 5:
                break
        await host.close()

    go(scene())
    assert rig.status("r1") == "COMPLETED"
    with rig.reading() as store:
        assert [row.status for row in store.runs()] == [5, 5]
    rig.sound()


def test_nobody_is_told_yes_when_the_commit_failed(rig: Rig) -> None:
    """H13: no command is acknowledged that is not in the store."""

    async def scene() -> None:
        store = Breaks(rig.path, 2, after=False)
        host = rig.open(Fn(), store=store)
        run = host.start(host.release(chain(wait("w"))))
        host.iterate()
        with pytest.raises(StoreFull):
            await asyncio.gather(host.ask(store.run_by_id(run).no, C.signal("", "go")), lapped(host))
        await host.close()

    async def lapped(host: Any) -> None:
        await asyncio.sleep(0)
        with pytest.raises(StoreFull):
            host.iterate()

    go(scene())
    with rig.reading() as store:
        assert [r.status for r in store.runs()] == [WAITING]


# ---- commands that are refused ---------------------------------------------------------------------------------------


def test_a_refused_command_takes_nothing_from_those_beside_it(rig: Rig) -> None:
    """One turn: a good signal, a command that is refused, another good signal. Both good ones count."""
    host = rig.open(Fn())
    run = host.start(host.release(chain(wait("v", "one"), wait("w", "two"), wait("x", "three"))))
    host.iterate()
    no = rig.store.run_by_id(run).no
    told: dict[str, PenstockError | None] = {}
    one, two = C.signal("", "one"), C.signal("", "two")
    for name, command in (("one", one), ("bad", C.resume()), ("two", two), ("worse", C.work(99, "submit"))):
        host.send(no, command, lambda error, name=name: told.__setitem__(name, error))
    while host.iterate():
        pass
    assert told["one"] is None and told["two"] is None
    assert isinstance(told["bad"], Refused) and isinstance(told["worse"], PenstockError)
    assert rig.status(run) == "WAITING"
    with rig.reading() as store:
        assert [name for name, *_ in store.c.execute("SELECT name FROM waiting")] == ["three"]
    rig.sound()


def test_refused_commands_leave_nothing_behind(rig: Rig) -> None:
    """No row, no fact, nothing in memory."""
    host = rig.open(Fn())
    run = host.start(host.release(chain(wait("w"))))
    host.iterate()
    no, turns = rig.store.run_by_id(run).no, rig.turns(run)
    told: list[Any] = []
    for _ in range(3):
        host.send(no, C.resume(), told.append)
        host.iterate()
    host.send(999, C.resume(), told.append)
    host.iterate()
    assert [type(error) for error in told] == [Refused] * 3 + [RunNotFound]
    assert rig.turns(run) == turns and len(host.turns.runs) == 0


def test_a_run_that_has_ended_refuses(rig: Rig) -> None:
    """K3: a terminal status is absorbing; cancel of a finished run is a conflict that names its status."""

    async def scene() -> None:
        host = rig.open(Fn())
        run = host.start(host.release(chain(wait("w"))))
        async with rig.driving() as host:
            await eventually(lambda: host.row(run))
            no = host.store.run_by_id(run).no
            await host.ask(no, C.cancel())
            for command in (C.cancel(), C.pause(), C.set_variable("x", 1)):
                with pytest.raises(StatusConflict, match="CANCELLED"):
                    await host.ask(no, command)
            await host.ask(no, C.signal("", "go"))

    go(scene())
    rig.sound()


@pytest.mark.parametrize(
    "answer",
    [2**70, {"n": 2**70}, [object()], {"deep": {"o": object()}}, "half \ud800 a pair", {"t": "\ud800"}, {1, object()}],
    ids=["int", "int in dict", "object", "object in dict", "surrogate", "surrogate in dict", "set"],
)
def test_an_answer_that_cannot_be_stored_is_a_failure_of_its_node(rig: Rig, answer: Any) -> None:
    """OUTPUT_INVALID, and nobody else's turn is lost with it."""
    x = Fn(lambda request: answer if request.node == "bad" else "fine")

    async def scene() -> tuple[str, str]:
        async with rig.driving(x) as host:
            bad = host.start(host.release(chain(task("bad", retry=QUICK))))
            good = host.start(host.release(chain(task("good"))))
            await ended(host, bad, good)
            return bad, good

    bad, good = go(scene())
    assert (rig.status(bad), rig.status(good)) == ("FAILED", "COMPLETED")
    (moved,) = rig.facts(bad, "run.moved")
    assert moved["failure"][:2] == ["OUTPUT_INVALID", "validation"] and moved["failure"][3] == "bad"
    assert len(x.seen) == 2
    rig.sound()


def test_a_start_that_cannot_be_stored_is_refused(rig: Rig) -> None:
    host = rig.open(Fn())
    net = host.release(chain(task("a")))
    told: list[Any] = []
    host.turns.start("r1", net, {"x": object()}, reply=told.append)
    host.turns.start("r2", net, {"x": 1}, reply=told.append)
    host.turns.turn()
    assert isinstance(told[0], Refused) and told[1] is None
    assert [r.id for r in rig.store.runs()] == ["r2"] and len(host.turns.runs) == 1


# ---- memory ----------------------------------------------------------------------------------------------------------


def test_waiting_runs_are_not_in_memory(rig: Rig) -> None:
    """D-X.27: 20,000 runs wait for a signal, a person or a far moment: no task, no lock, no object is held for them."""
    host = rig.open(Fn())
    nets = [host.release(chain(n, name=n.id)) for n in (wait("w"), work("p"), pause("t", 3_600_000))]
    for n in range(20_000):
        host.start(nets[n % 3], n)
    while host.iterate():
        pass
    assert len(host.turns.runs) == 0 and len(host.timers.near) == 0 and len(host.timers.due) == 0
    assert rig.store.last_run() == 20_000
    told: list[Any] = []
    for no in range(1, 301, 3):
        host.send(no, C.signal("", "go"), told.append)
    host.iterate()
    assert told == [None] * 100 and len(host.turns.runs) == 0
    with rig.reading() as store:
        assert len(store.runs(status=[5], limit=1000)) == 100


def test_runs_that_have_ended_are_not_in_memory(rig: Rig) -> None:
    async def scene() -> None:
        async with rig.driving(Fn()) as host:
            net = host.release(chain(task("a"), task("b")))
            for n in range(500):
                host.start(net, n)
            await quiet(host)
            assert len(host.turns.runs) == 0 and len(host.dispatch.in_flight) == 0

    go(scene())
    with rig.reading() as store:
        assert {r.status for r in store.runs(limit=1000)} == {5}
    rig.sound()


def test_a_loop_costs_the_same_in_every_round(rig: Rig) -> None:
    """A run of many turns gets checkpoints, and opening it folds only what came after the last one."""

    async def scene() -> None:
        async with rig.driving(Fn(lambda request: Done(request.visit))) as host:
            net = host.release(chain(*(task(f"t{i}") for i in range(400)), wait("w")))
            run = host.start(net)
            await eventually(lambda: host.row(run) and host.row(run).status == WAITING)

    go(scene())
    with rig.reading() as store:
        ((row, tail),) = store.load([1])
        assert row.checkpoint_seq > 1000 and len(tail) == 0
    rig.sound()
