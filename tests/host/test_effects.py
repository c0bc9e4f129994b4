"""Effects on their way: timeouts, cancellation, executors that misbehave, and inputs that belong to the executor."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from typing import Any

import pytest

from penstock.errors import ExtraMissing
from penstock.executors.contract import Done, Failed, Outcome, Request, Services, Skipped, failed
from penstock.executors.function import FunctionExecutor
from penstock.kernel import command as C
from penstock.net.model import Concurrency, Edge, Net, Rate, Retry, Trigger
from tests.host.rig import END, QUICK, START, Fn, Rig, chain, ended, eventually, fan, go, quiet, task


async def one(rig: Rig, net: Net, *executors: Any, given: Any = None, **options: Any) -> str:
    async with rig.driving(*executors, **options) as host:
        run: str = host.start(host.release(net), given)
        await ended(host, run)
        return run


# ---- time ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["async", "thread", "bare"])
def test_what_takes_too_long_is_stopped_and_tried_again(rig: Rig, kind: str) -> None:
    """timeout_ms: NODE_TIMEOUT, category timeout, which a retry is for; the second attempt is quick enough."""
    calls: list[float] = []

    async def slowly(request: Request) -> str:
        calls.append(time.monotonic())
        await asyncio.sleep(30 if request.attempt == 1 else 0)
        return "in time"

    def blocking(request: Request) -> str:
        calls.append(time.monotonic())
        time.sleep(5 if request.attempt == 1 else 0)
        return "in time"

    executor = Fn(slowly) if kind == "bare" else FunctionExecutor("x", slowly if kind == "async" else blocking)
    run = go(one(rig, chain(task("a", timeout_ms=700, retry=QUICK, result="r")), executor))
    assert rig.status(run) == "COMPLETED" and len(calls) == 2
    (failed_once,) = rig.facts(run, "attempt.failed")
    assert failed_once["failure"][:2] == ["NODE_TIMEOUT", "timeout"]
    assert [f["body"] for f in rig.facts(run, "settled") if f["node"] == 1] == ["in time"]


def test_every_attempt_that_times_out_counts(rig: Rig) -> None:
    """E5: three attempts, three time-outs, then the run fails with the last one."""
    x = Fn(lambda request: asyncio.sleep(30))
    run = go(one(rig, chain(task("a", timeout_ms=30, retry=QUICK)), x))
    assert [r.attempt for r in x.seen] == [1, 2, 3] and x.cancelled == 3
    assert rig.failure(run) == "NODE_TIMEOUT"


def test_time_runs_from_the_call_and_not_from_the_queue(rig: Rig) -> None:
    """One lane, five effects of 300 ms each and 1,200 ms for each: none is late because of those before it."""
    x = Fn(lambda request: asyncio.sleep(0.3))
    run = go(one(rig, fan(*(task(f"t{i}", timeout_ms=1200) for i in range(5))), x, width=1))
    assert rig.status(run) == "COMPLETED" and x.cancelled == 0


def test_a_host_that_closes_ends_what_it_has_called(rig: Rig) -> None:
    """Nothing goes on behind it: the call is cancelled before the store is closed, and the next host asks again."""
    x = Fn(lambda request: asyncio.sleep(0 if len(x.seen) > 1 else 600))

    async def scene() -> str:
        async with rig.driving(x) as host:
            run: str = host.start(host.release(chain(task("a"))))
            await eventually(lambda: x.seen)
            await host.close()
            assert (x.cancelled, x.ended) == (1, 1)
        return run

    run = go(scene())
    go(rig.finish(x))
    assert rig.status(run) == "COMPLETED" and len(x.seen) == 2 and len(set(x.keys)) == 1


# ---- stopping --------------------------------------------------------------------------------------------------------


def test_cancel_stops_what_runs(rig: Rig) -> None:
    """E10: the effect in flight is told, its answer is not waited for, nothing new starts."""
    x = Fn(lambda request: asyncio.sleep(30))

    async def scene() -> str:
        async with rig.driving(x, width=1) as host:
            run: str = host.start(host.release(chain(task("a", retry=QUICK), task("b"))))
            await eventually(lambda: x.seen)
            await host.ask(host.store.run_by_id(run).no, C.cancel())
            await eventually(lambda: x.cancelled == 1)
            await quiet(host)
            x.answer = lambda request: "the lane lives on"
            await ended(host, host.start(host.release(chain(task("c")))))
            return run

    run = go(scene())
    assert rig.status(run) == "CANCELLED" and [r.node for r in x.seen] == ["a", "c"]
    rig.sound()


def test_e10_what_waits_in_the_queue_never_starts_once_its_run_is_cancelled(rig: Rig) -> None:
    """E10, with one lane: the second run's effect is queued behind the first one's."""
    hold = asyncio.Event()
    x = Fn(lambda request: hold.wait())

    async def scene() -> list[str]:
        async with rig.driving(x, width=1) as host:
            net = host.release(chain(task("a")))
            runs = [host.start(net) for _ in range(3)]
            await eventually(lambda: x.seen)
            await host.ask(host.store.run_by_id(runs[1]).no, C.cancel())
            hold.set()
            await ended(host, *runs)
        assert [r.run for r in x.seen] == [runs[0], runs[2]]
        return runs

    runs = go(scene())
    assert [rig.status(run) for run in runs] == ["COMPLETED", "CANCELLED", "COMPLETED"]


@pytest.mark.parametrize("where", ["queue", "place", "rate"])
def test_an_effect_that_waits_is_dropped_with_its_firing_while_its_run_goes_on(rig: Rig, where: str) -> None:
    """One branch is interrupted while its effect waits for a lane, a place or its rate; the other branch works on."""
    gate: dict[str, Any] = {
        "queue": {},
        "place": {"concurrency": Concurrency(name="c", limit=1)},
        "rate": {"rate": Rate(name="r", limit=1, per_ms=1500)},
    }[where]
    release = asyncio.Event()
    x = Fn(lambda request: release.wait() if request.node == "b" else None)
    enough = Trigger(port="late", kind="signal", name="enough")
    nodes = (START, task("b", **gate), task("a", triggers=(enough,), **gate), task("z", **gate), END)
    plain = ("sb", "sa", "ae", "be", "ze")
    edges = (*(Edge(id=way, src=way[0], dst=way[1]) for way in plain), Edge(id="late", src="a", dst="z", port="late"))

    async def scene() -> str:
        async with rig.driving(x, width=1 if where == "queue" else 8) as host:
            run: str = host.start(host.release(Net(name="two", nodes=nodes, edges=edges)))
            await eventually(lambda: x.seen and not host.turns.ready)
            await host.ask(host.store.run_by_id(run).no, C.signal("", "enough"))
            release.set()
            await ended(host, run)
            return run

    run = go(scene())
    assert [r.node for r in x.seen] == ["b", "z"]
    assert rig.status(run) == "COMPLETED"
    rig.sound()


WAYS = (("s", "a", "done"), ("a", "e", "done"), ("a", "b", "late"), ("b", "e", "done"))


def test_a_boundary_timer_stops_the_effect_it_interrupts(rig: Rig) -> None:
    """The late answer of an interrupted firing changes nothing, and the way out of the timer is taken."""
    x = Fn(lambda request: asyncio.sleep(30))
    late = task("a", triggers=(Trigger(port="late", kind="timer", after_ms=30),))
    edges = [Edge(id=f"{a}>{b}", src=a, dst=b, port=port) for a, b, port in WAYS]
    net = Net(name="boundary", nodes=(START, late, task("b", "y"), END), edges=tuple(edges))
    y = Fn(name="y")
    run = go(one(rig, net, x, y))
    assert rig.status(run) == "COMPLETED" and x.cancelled == 1 and len(y.seen) == 1
    rig.sound()


# ---- executors that misbehave ----------------------------------------------------------------------------------------


async def _no() -> None:
    raise ValueError("no")


class Odd:
    """An executor that does what no executor should."""

    name = "x"

    def __init__(self, what: str) -> None:
        self.what, self.calls = what, 0

    async def run(self, request: Request, services: Services) -> Outcome:
        self.calls += 1
        if request.node == "good":
            try:
                async with asyncio.TaskGroup() as group:  # needs a task whose cancellations are all accounted for
                    group.create_task(_no())
            except ExceptionGroup:
                return Done("good")
        if self.what == "raises":
            raise KeyError("oops")
        if self.what == "loses a task":
            lost = asyncio.ensure_future(asyncio.sleep(30))
            lost.cancel()
            await lost
        if self.what == "swallows":
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                return Done("too late, but here")
        if self.what == "groups":
            async with asyncio.TaskGroup() as group:
                group.create_task(asyncio.sleep(30))
        if self.what == "a bad failure":
            return failed("NO", "permanent", "no", {"detail": object()})
        if self.what == "none":
            return None  # type: ignore[return-value]
        return Done("fine")


@pytest.mark.parametrize(
    ("what", "failure"),
    [
        ("raises", "EXECUTOR_ERROR"), ("loses a task", "EXECUTOR_ERROR"), ("swallows", None),
        ("groups", "NODE_TIMEOUT"), ("none", "EXECUTOR_ERROR"), ("a bad failure", "OUTPUT_INVALID"),
    ],
)  # fmt: skip
def test_an_odd_executor_fails_its_own_node_and_its_lane_lives_on(rig: Rig, what: str, failure: str | None) -> None:
    """Every effect gets its answer; the one lane performs the next effects as if nothing had been."""
    odd = Odd(what)

    async def scene() -> list[str]:
        async with rig.driving(odd, width=1) as host:
            bad = host.release(chain(task("bad", timeout_ms=40)))
            good = host.release(chain(task("good")))
            runs = []
            for net in (bad, good, bad, good):
                runs.append(host.start(net))
                await ended(host, runs[-1])
            return runs

    runs = go(scene())
    assert [rig.failure(run) for run in runs] == [failure, None, failure, None]
    assert odd.calls == 4
    rig.sound()


def test_an_executor_that_nobody_has_or_that_cannot_be_made_is_a_failure_of_the_run(rig: Rig) -> None:
    class Shelf(dict[str, Any]):
        def get(self, name: str, default: Any = None) -> Any:
            if name == "heavy":
                raise ExtraMissing(extra="heavy")
            return default

    async def scene() -> list[str | None]:
        host = rig.open(Fn())
        host.dispatch.executors = Shelf()
        async with rig.driving() as host:
            runs = [host.start(host.release(chain(task("a", name), name=name))) for name in ("nobody", "heavy")]
            await ended(host, *runs)
        return [rig.failure(run) for run in runs]

    assert go(scene()) == ["EXECUTOR_UNKNOWN", "PS-501-EXTRA"]


# ---- functions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("inline", [False, True])
def test_python_functions_sync_and_async(rig: Rig, inline: bool) -> None:
    """A plain function has a thread of its own unless it promises not to block; a coroutine is awaited on the loop."""
    where: dict[str, str] = {}

    def plain(default: int) -> int:
        where["plain"] = threading.current_thread().name
        return default + 1

    async def coroutine(default: int) -> int:
        where["coroutine"] = threading.current_thread().name
        await asyncio.sleep(0)
        return default * 10

    net = chain(task("a", "plain"), task("b", "coroutine", result="r"))
    parts = (FunctionExecutor("plain", plain, inline), FunctionExecutor("coroutine", coroutine, inline))
    run = go(one(rig, net, *parts, given=4))
    assert [f["body"] for f in rig.facts(run, "settled")][-2:] == [5, 50]
    assert where == {"plain": "MainThread" if inline else "penstock-call", "coroutine": "MainThread"}


def test_what_a_function_returns_is_what_json_holds(rig: Rig) -> None:
    """NaN is null, a tuple a list; what JSON cannot hold fails the node."""
    answers = {"nan": math.nan, "tuple": (1, (2,)), "big": 2**70, "object": object()}
    net = fan(*(task(name) for name in ("nan", "tuple")))
    run = go(one(rig, net, FunctionExecutor("x", lambda request: answers[request.node])))
    assert sorted((f["node"], f["body"]) for f in rig.facts(run, "settled")) == [(1, None), (2, [1, [2]])]
    for name in ("big", "object"):
        run = go(one(rig, chain(task(name)), FunctionExecutor("x", lambda request: answers[request.node])))
        assert rig.failure(run) == "OUTPUT_INVALID"


def test_an_executor_owns_its_inputs(rig: Rig) -> None:
    """Branches get the same token's body, and their arguments come from the net: what one of them does to its own
    reaches neither the others, nor the next run, nor the state (K1)."""
    seen: list[Any] = []

    def spoil(request: Request) -> int:
        body = request.inputs[0].body
        seen.append((body, dict(request.args), list(request.args["list"])))
        body["n"] = 99
        body["list"].append("spoilt")
        request.args["list"].append("spoilt")
        return len(body["list"])

    spoiler = FunctionExecutor("x", spoil, inline=True)
    made = FunctionExecutor("y", lambda: {"n": 1, "list": [1]}, inline=True)
    spoilt = [task(f"t{i}", args={"list": [0]}) for i in range(3)]
    edges = [Edge(id="s>y", src="s", dst="y"), *(Edge(id=f"y>{t.id}", src="y", dst=t.id) for t in spoilt)]
    edges += [Edge(id=f"{t.id}>e", src=t.id, dst="e") for t in spoilt]
    net = Net(name="spoil", nodes=(START, task("y", "y"), *spoilt, END), edges=tuple(edges))
    for _ in range(2):
        run = go(one(rig, net, spoiler, made))
        bodies = [f["body"] for f in rig.facts(run, "settled")]
        assert bodies == [{"n": 1, "list": [1]}, 2, 2, 2]
    assert [args for _, args, _ in seen] == [{"list": [0, "spoilt"]}] * 6 and all(first == [0] for *_, first in seen)
    rig.sound()


# ---- what an executor may answer -------------------------------------------------------------------------------------


def test_an_outcome_is_done_failed_or_skipped(rig: Rig) -> None:
    answers: dict[str, Outcome] = {
        "done": Done({"a": 1}, {"tokens": 7}, "object"),
        "skipped": Skipped("not today"),
        "failed": failed("NO", "business", "no", {"why": 1}),
    }
    x = Fn(lambda request: answers[request.node])
    run = go(one(rig, fan(*(task(name) for name in answers), on_fail="drain"), x))
    (done,) = (f for f in rig.facts(run, "settled") if f["body"])
    assert done["body"] == {"a": 1} and done["meta"]["tokens"] == 7 and done["content_type"] == "object"
    (skipped,) = (f for f in rig.facts(run, "settled") if f["status"] == 2)
    assert skipped["meta"] == {"skip_reason": "not today"}
    assert rig.failure(run) == "NO" and isinstance(answers["failed"], Failed)


def test_a_retry_waits_as_long_as_it_should(rig: Rig) -> None:
    """E5: delays follow the policy: 20, 40, 80 ms."""
    at: list[float] = []

    def flaky(request: Request) -> Any:
        at.append(time.monotonic())
        return failed("NO", "transient", "no") if request.attempt < 4 else "ok"

    policy = Retry(max=3, base_ms=20, kind="exponential")
    run = go(one(rig, chain(task("a", retry=policy)), Fn(flaky)))
    waited = [(b - a) * 1000 for a, b in zip(at, at[1:], strict=False)]
    assert rig.status(run) == "COMPLETED"
    assert [least <= ms for least, ms in zip((19, 39, 79), waited, strict=True)] == [True] * 3
