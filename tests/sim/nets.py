"""Workloads: nets that the simulation runs, and what is known about them beforehand."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.net.codec import content_hash
from penstock.net.model import (
    ANY,
    MERGE,
    Body,
    Breaker,
    Cache,
    Concurrency,
    Dedupe,
    Edge,
    Effect,
    Join,
    Net,
    Node,
    OnError,
    Poll,
    Rate,
    Retry,
    RunRetry,
    Set,
    Trigger,
    Work,
)
from tests.model import random_nets as R
from tests.model.bridge import to_product
from tests.model.sim import Sim as Model

ONCE = "at_most_once"
QUICK = Retry(max=2, base_ms=10, jitter=True)
SLOW = Retry(max=3, base_ms=100, kind="exponential")


@dataclass
class Workload:
    """`tame`: whatever the order of answers, the end is the same, so it is compared with the model's. `sound`: it never
    gets stuck by itself. `fails`: nodes that always fail, for good. `with_nets`: what it calls."""

    name: str
    net: Net
    given: Any = None
    tame: bool = False
    sound: bool = False
    fails: frozenset[str] = frozenset()
    model: Any = None
    with_nets: tuple[Net, ...] = ()

    def expected(self) -> tuple[str, dict[str, Any]]:
        """Status and variables that the model ends with; every effect answers with the name of its node."""
        sim = Model(self.model, input=self.given, check=False)
        for _ in range(5000):
            effects = sorted(sim.state["effects"])
            if not effects:
                return sim.state["status"], sim.state["vars"]
            effect = effects[0]
            if effect.partition("@")[0] in self.fails:
                failure = {"code": "X", "category": "permanent"}
                sim.do(c="outcome", effect=effect, status="failed", failure=failure)
            else:
                sim.do(c="outcome", effect=effect, status="done", output=effect.partition("@")[0])
        raise AssertionError("the model does not end")


# ---- random nets ---------------------------------------------------------------------------------------------------


def structured(rng: random.Random) -> Workload:
    net = R.structured(rng.randrange(10**9), depth=rng.choice([2, 3, 3]))
    return Workload("structured", to_product(net), R.bits(rng.randrange(256)), tame=True, sound=True, model=net)


def racing(rng: random.Random) -> Workload:
    net = R.structured(rng.randrange(10**9), race=True)
    return Workload("racing", to_product(net), R.bits(rng.randrange(256)), sound=True)


def dag(rng: random.Random) -> Workload:
    size = rng.randrange(3, 11)
    net = R.dag(rng.randrange(10**9), size)
    fails = frozenset(f"n{i}" for i in range(1, size) if rng.random() < 0.2)
    return Workload("dag", to_product(net), R.bits(rng.randrange(256)), tame=True, sound=True, fails=fails, model=net)


def spice(rng: random.Random) -> Workload:
    return Workload("spice", to_product(R.spice(rng.randrange(10**9))), R.bits(rng.randrange(256)))


def process(rng: random.Random) -> Workload:
    """People and agents; what is done may be done again."""
    return Workload("process", to_product(R.process(rng.randrange(10**9))), R.bits(rng.randrange(256)))


def arbitrary(rng: random.Random) -> Workload:
    return Workload("arbitrary", to_product(R.arbitrary(rng.randrange(10**9))), R.bits(rng.randrange(256)))


# ---- nets by hand --------------------------------------------------------------------------------------------------


def task(id: str, *, safe: Any = "at_least_once", **more: Any) -> Node:
    gate = {k: more.pop(k) for k in ("breaker", "rate", "cache", "dedupe", "concurrency") if k in more}
    return Node(id=id, kind="task", effect=Effect(executor="x", safe=safe, **gate), **more)


def net(name: str, nodes: list[Node], ways: str, *more: Edge, **options: Any) -> Net:
    """`ways`: «a>b c>d:port»; start and end are made when they are named."""
    known = {n.id for n in nodes}
    edges = []
    for i, way in enumerate(ways.split()):
        src, _, rest = way.partition(">")
        dst, _, port = rest.partition(":")
        edges.append(Edge(id=f"{way}.{i}", src=src, dst=dst, port=port or "done"))
    every = [*edges, *more]
    ends = {e.src for e in every} | {e.dst for e in every}
    if "s" in ends - known:
        nodes = [Node(id="s", kind="start"), *nodes]
    if "e" in ends - known:
        nodes = [*nodes, Node(id="e", kind="end", join=MERGE)]
    return Net(name=name, nodes=tuple(nodes), edges=tuple(every), **options)


def chain(name: str, *nodes: Node, **options: Any) -> Net:
    names = ["s", *(n.id for n in nodes), "e"]
    return net(name, list(nodes), " ".join(f"{a}>{b}" for a, b in zip(names, names[1:], strict=False)), **options)


def fan() -> Net:
    nodes = [task(n, retry=QUICK, out=(f"x_{n}",)) for n in "abcd"]
    return net("fan", [*nodes, Node(id="j", kind="route")], "s>a s>b s>c s>d a>j b>j c>j d>j j>e")


def epochs() -> Net:
    """A loop controller that lets the next round go before the last one is over: rounds must not be mixed up."""
    head = Node(id="h", kind="route", join=MERGE)
    nodes = [head, task("a"), task("b"), task("j", out=("joined",))]
    back = Edge(id="again", src="h", dst="h", guard="epoch < 2", raises=True)
    return net("epochs", nodes, "s>h h>a h>b a>j b>j j>e", back)


def twice() -> Net:
    """Two tokens go the same way: each join needs one from either side, not two from one."""
    nodes = [Node(id="m", kind="route", join=MERGE), task("a"), task("b"), task("j")]
    return net("twice", nodes, "s>m s>m m>a m>b a>j b>j j>e")


def k_of_n() -> Net:
    """Two of three are enough, three rounds; the third branch may fail and then owes nothing."""
    lost = (OnError(match="*", action="port:lost"),)
    nodes = [
        Node(id="m", kind="route", join=MERGE),
        *(task(n, on_error=lost) for n in "abc"),
        task("j", join=Join(mode="k", k=2, late="absorb")),
        Node(id="d", kind="route", split="first"),
        Node(id="gone", kind="end", join=MERGE),
    ]
    back = Edge(id="again", src="d", dst="m", guard="visit < 3")
    leave = Edge(id="leave", src="d", dst="e", default=True)
    ways = "s>m m>a m>b m>c a>j b>j c>j j>d a>gone:lost b>gone:lost c>gone:lost"
    return net("k_of_n", nodes, ways, back, leave, on_stuck="fail")


def any_of() -> Net:
    nodes = [task("a"), task("b"), task("c"), task("j", join=ANY)]
    return net("any", nodes, "s>a s>b s>c a>j b>j c>j j>e")


def timers() -> Net:
    """Back-off, a boundary that interrupts, one that reminds, a wait, a join that gives up, a token that expires."""
    late = Trigger(port="late", kind="timer", after_ms=300)
    remind = Trigger(port="tick", kind="timer", after_ms=40, interrupting=False, repeat_ms=40, times=3)
    nodes = [
        task("a", retry=SLOW, triggers=(late,)),
        task("b", triggers=(remind,)),
        Node(id="w", kind="wait", triggers=(Trigger(kind="timer", after_ms=70_000),)),
        Node(id="j", kind="route", join_timeout_ms=90_000, on_error=(OnError(match="*", action="port:alt"),)),
        task("note", join=MERGE),
        Node(id="alt", kind="end", join=MERGE),
    ]
    ttl = Edge(id="b>e.ttl", src="b", dst="late_b", ttl_ms=50)
    return net(
        "timers", [*nodes, task("late_b", join_timeout_ms=500, on_error=(OnError(match="*", action="skip"),))],
        "s>a s>b s>w a>j w>j b>note:tick a>note:late note>alt j>e j>alt:alt late_b>alt", ttl,
    )  # fmt: skip


def once() -> Net:
    lost = (OnError(match="permanent", action="skip"),)
    a, b, c = task("a", safe=ONCE), task("b", safe=ONCE, retry=QUICK, on_error=lost), task("c", safe=ONCE)
    return chain("once", a, b, task("x"), c)


def saga(policy: Any = "stop") -> Net:
    """Three steps that can be undone, two of them side by side, and one that fails."""
    undo = {"retry": QUICK, "undo_on": ("failure", "cancel", "manual")}
    nodes = [
        *(task(n, undo=(f"un_{n}",), late_success="undo", **undo) for n in "abc"),
        task("pay", retry=Retry(max=1, base_ms=20)),
        *(task(f"un_{n}", off_path=True, retry=Retry(max=1, base_ms=5)) for n in "abc"),
    ]
    return net(f"saga_{policy}", nodes, "s>a a>b a>c b>pay c>pay pay>e", undo_policy=policy)


def signals() -> Net:
    stop = Trigger(port="stop", kind="signal", name="stop")
    news = Trigger(port="news", kind="signal", name="news", interrupting=False)
    nodes = [
        Node(id="w1", kind="wait", triggers=(Trigger(kind="signal", name="go"),), out=("go1",)),
        Node(id="w2", kind="wait", triggers=(Trigger(kind="signal", name="go"),), out=("go2",)),
        task("a", triggers=(stop, news)),
        Node(id="either", kind="wait", triggers=(
            Trigger(kind="signal", name="yes", port="yes"), Trigger(kind="timer", after_ms=5_000, port="no"),
        )),
        Node(id="stopped", kind="end", join=MERGE),
    ]  # fmt: skip
    return net("signals", nodes, "s>w1 w1>w2 w2>e s>a a>either a>stopped:stop a>stopped:news either>e:yes either>e:no")


def work() -> Net:
    nodes = [
        Node(id="ask", kind="work", work=Work(prompt="do it")),
        Node(id="draft", kind="work", work=Work(agent=True, approve=True), effect=Effect(executor="x"), retry=QUICK),
        Node(id="vote", kind="work", work=Work(quorum=2)),
        Node(id="no", kind="end", join=MERGE),
    ]
    return net("work", nodes, "s>ask s>draft ask>vote vote>e vote>no:rejected draft>e")


def poll() -> Net:
    nodes = [task("p", poll=Poll(every_ms=50, until="response != 'again'", max_errors=2), retry=QUICK), task("after")]
    return chain("poll", *nodes, run_retry=RunRetry(max=1, delay_ms=200))


def gated() -> Net:
    lost = (OnError(match="*", action="skip"),)
    place = Concurrency(name="place", limit=1)
    nodes = [
        *(task(n, concurrency=place, on_error=lost) for n in "abc"),
        *(task(f"r{n}", rate=Rate(name="rate", limit=1, per_ms=100), on_error=lost) for n in "ab"),
        task("k1", cache=Cache(key="'same'", ttl_ms=1_000), on_error=lost),
        task("k2", dedupe=Dedupe(key="'same'", ttl_ms=1_000), concurrency=place, on_error=lost),
        task("f", breaker=Breaker(name="b", failures=2, window=4, half_open_requests=1, cooldown_ms=500),
             retry=Retry(max=3, base_ms=200, on=("transient", "refused", "timeout")), on_error=lost),
        Node(id="j", kind="route"),
    ]  # fmt: skip
    names = [n.id for n in nodes if n.id != "j"]
    return net("gated", nodes, " ".join([*(f"s>{n} {n}>j" for n in names), "j>e"]))


def child() -> Net:
    wait = Node(id="w", kind="wait", triggers=(Trigger(kind="timer", after_ms=60), Trigger(kind="signal", name="go")))
    return chain("child", task("a", retry=QUICK), wait, task("b", result="b"))


def caller() -> Net:
    args = {"net": content_hash(child())}
    lost = (OnError(match="*", action="skip"),)
    calls = [Node(id=f"c{i}", kind="call", effect=Effect(executor="call", args=args), on_error=lost) for i in (1, 2)]
    late = Trigger(port="late", kind="timer", after_ms=100)
    calls.append(Node(id="c3", kind="call", effect=Effect(executor="call", args=args), triggers=(late,), on_error=lost))
    return net("caller", calls, "s>c1 s>c2 s>c3 c1>e c2>e c3>e c3>e:late")


def regions() -> Net:
    """Children of a scope that time out, are swept and retried; variables of their own."""
    each = Node(
        id="each", kind="scope", retry=QUICK,
        body=Body(mode="each", items="[1, 2, 3]", entry="in", timeout_ms=400, on_fail="continue", need=2),
    )  # fmt: skip
    inner = [
        Node(id="in", kind="start", scope="each"),
        task("do", scope="each", retry=QUICK, sets=(Set(name="seen", expr="visit"),)),
        Node(id="rest", kind="wait", scope="each", triggers=(Trigger(kind="timer", after_ms=30),)),
    ]
    return net("regions", [each, *inner], "s>each each>e in>do do>rest")


def queued() -> Net:
    """Files in a line: one at a time, stages side by side; what fails goes back into the line, and begins anew or goes
    on where it was."""
    lost = (OnError(match="permanent", action="skip"),)
    nodes = [
        task("check", on_final="restart", retry=QUICK),
        task("small", group="side", on_final="here"),
        task("large", group="side", on_error=lost),
        task("tell", on_final="here"),
    ]
    limits = {"executions": 1, "side": 1}
    ways = "s>check check>small check>large small>tell large>tell tell>e"
    return net("queued", nodes, ways, queued=True, limits=limits, run_retry=RunRetry(max=2, delay_ms=300))


Make = Callable[[], Net]
#: by name; the flag: it never gets stuck by itself
BY_HAND: dict[str, tuple[Make, bool]] = {
    "fan": (fan, True), "epochs": (epochs, True), "twice": (twice, True), "k_of_n": (k_of_n, False),
    "two_of_three": (k_of_n, False), "any": (any_of, True),
    "timers": (timers, False), "once": (once, True), "saga": (saga, True),
    "saga_continue": (lambda: saga("continue"), True), "signals": (signals, True), "work": (work, True),
    "poll": (poll, True), "gated": (gated, True), "caller": (caller, True), "regions": (regions, True),
}  # fmt: skip


@functools.cache
def made(name: str) -> Net:
    return BY_HAND[name][0]() if name in BY_HAND else queued()


def in_line() -> Workload:
    """Of those beside the drawn ones, so that what was found by a seed stays found by it."""
    return Workload("queued", made("queued"))


def by_hand(name: str) -> Workload:
    called = (child(),) if name == "caller" else ()
    fails = frozenset({"c"}) if name == "two_of_three" else frozenset[str]()
    return Workload(name, made(name), sound=BY_HAND[name][1], with_nets=called, fails=fails)


RANDOM = (structured, structured, racing, dag, spice, spice, spice, arbitrary)


def draw(rng: random.Random) -> Workload:
    if rng.random() < 0.5:
        return by_hand(rng.choice(sorted(BY_HAND)))
    return rng.choice(RANDOM)(rng)
