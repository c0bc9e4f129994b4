"""Flat cost, counted and not timed: a loop costs the same in round 2,000, and a branch the same among 2,000 others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from penstock.kernel import command as C
from penstock.kernel import fact as F
from penstock.kernel import step as step_module
from penstock.kernel.run import Run
from penstock.kernel.state import COMPLETED, EFFECT, encode_state
from penstock.kernel.step import step
from penstock.net.compiled import Compiled
from penstock.net.model import ALL, ANY, DIAGRAM, INCLUSIVE, MERGE, Body, Edge, Join, Net, Node
from tests.counted import lines_of
from tests.kernel.nets import S, X, edge, net, task

ROUNDS = 2000
GROWS = 1.25  # numbers get longer: a round's bytes may grow by digits, not by rounds


class Meter:
    """Runs a net to its end and counts what it costs."""

    def __init__(self, one: Net, given: Any = None) -> None:
        self.run = Run.fresh(Compiled(one))
        self.facts: list[int] = []
        self.bytes: list[int] = []
        self.state: list[int] = []
        self.waiting: list[int] = []
        self.turn(C.start("r", given))

    def turn(self, *commands: C.Command) -> None:
        facts = step(self.run, list(commands), 0)
        self.facts.append(len(facts))
        self.bytes.append(len(F.encode_facts(facts)))
        self.waiting += self.run.asks

    def answer(self, *, newest: bool = False) -> None:
        """The oldest or the newest effect in flight. A firing that was swept meanwhile is skipped."""
        firings = self.run.st.firings
        while self.waiting:
            firing = firings.get(self.waiting.pop(-1 if newest else 0))
            if firing is not None and firing.phase == EFFECT:
                self.turn(C.done(firing.no, firing.attempt, firing.probe, "x"))
                return

    def rounds(self, count: int) -> None:
        for _ in range(count):
            self.answer()
            self.state.append(len(encode_state(self.run.st)))

    def to_the_end(self, *, newest: bool = False) -> None:
        while self.run.st.asked:
            self.answer(newest=newest)
        assert self.run.st.status == COMPLETED, self.run.st.failure


# ---- loops -----------------------------------------------------------------------------------------------------------


def loop(*body: Node, ways: str, back: str = "g>m", raises: bool = False) -> Net:
    """s > m > t > …body… > g, and from g round again."""
    again = edge(back, guard=f"visit < {ROUNDS + 99} && epoch < {ROUNDS + 99}", raises=raises)
    nodes = [S, Node(id="m", join=MERGE), task("t"), *body, Node(id="g", split="first"), X]
    return net(nodes, [f"s>m m>t {ways}", again, edge("g>x", default=True)], max_visits=ROUNDS + 100)


def diagram() -> Net:
    """A loop controller as a diagram has it: a START edge, a condition, a back edge that raises the epoch."""
    head = task("t", join=DIAGRAM)
    gate = Node(id="g", split="first", join=Join(mode="k", take="all"))
    again = Edge(id="g>t", src="g", dst="t", role="cond", guard=f"epoch < {ROUNDS + 99}", raises=True)
    ways = [Edge(id="s>t", src="s", dst="t", role="start"), "t>g", again, edge("g>x", role="cond", default=True)]
    return net([S, head, gate, X], ways, max_visits=ROUNDS + 100)


def rounds_of_a_scope() -> Net:
    body = Body(mode="loop", entry="i", again=f"round < {ROUNDS + 99}", collect="last")
    nodes = [S, Node(id="l", kind="scope", body=body), Node(id="i", kind="start", scope="l"), task("t", scope="l"), X]
    return net(nodes, "s>l l>x i>t", max_visits=ROUNDS + 100)


FORK = (Node(id="f"), Node(id="a"), Node(id="b"))
LOOPS: dict[str, Callable[[], Net]] = {
    "a back edge": lambda: loop(ways="t>g"),
    "a loop controller": lambda: loop(ways="t>g", raises=True),
    "a loop controller of a diagram": diagram,
    "a scope that loops": rounds_of_a_scope,
    "fork and join": lambda: loop(*FORK, Node(id="j"), ways="t>f f>a f>b a>j b>j j>g"),
    "fork and join in a controller": lambda: loop(*FORK, Node(id="j"), ways="t>f f>a f>b a>j b>j j>g", raises=True),
    "any of two": lambda: loop(*FORK, Node(id="j", join=ANY), ways="t>f f>a f>b a>j b>j j>g"),
    "any of two in a controller": lambda: loop(
        *FORK, Node(id="j", join=ANY), ways="t>f f>a f>b a>j b>j j>g", raises=True
    ),
    "inclusive": lambda: loop(*FORK, Node(id="j", join=INCLUSIVE), ways="t>f f>a f>b a>j b>j j>g"),
    "a branch that ends aside": lambda: loop(Node(id="f"), Node(id="e", kind="end", join=MERGE), ways="t>f f>e f>g"),
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_round_costs_the_same_after_two_thousand(name):
    """D4: facts per round are equal; bytes of a round's facts and of the whole state do not grow with the rounds."""
    meter = Meter(LOOPS[name]())
    meter.rounds(ROUNDS)
    assert meter.run.st.asked == 1 and len(meter.facts) == ROUNDS + 1
    assert len(set(meter.facts[3:])) == 1, "facts per round"
    assert meter.bytes[-1] <= GROWS * meter.bytes[200], "journal per round"
    assert meter.state[-1] <= GROWS * meter.state[200], "state"


def test_counters_of_left_epochs_go():
    """KERNEL 3.5: visits are kept per epoch, and an epoch that nothing lives in any more is forgotten."""
    meter = Meter(LOOPS["a loop controller"]())
    meter.rounds(50)
    (root,) = meter.run.st.scopes.values()
    assert {at >> 20 for at in root.visits} == {50} and len(root.seqs) <= 5


# ---- fans ------------------------------------------------------------------------------------------------------------


def fan(width: int, join: Join, split: Any = "all", **more: Any) -> Net:
    names = [f"t{i}" for i in range(width)]
    group = "g" if more else ""
    nodes = [
        Node(id="s", kind="start", split=split),
        *[task(n, group=group) for n in names],
        Node(id="j", join=join),
        X,
    ]
    return net(nodes, [*(f"s>{n} {n}>j" for n in names), "j>x"], max_visits=width, **more)


def each(width: int, *, limit: int = 0) -> Net:
    body = Body(mode="each", items="input", entry="i", collect="outputs")
    inner = [Node(id="i", kind="start", scope="p"), task("t", scope="p", group="g" if limit else "")]
    return net(
        [S, Node(id="p", kind="scope", body=body), *inner, X], "s>p p>x i>t", limits={"g": limit} if limit else {}
    )


FANS: dict[str, Callable[[int], Net]] = {
    "all": lambda n: fan(n, ALL),
    "merge": lambda n: fan(n, MERGE),
    "any": lambda n: fan(n, ANY),
    "half of them": lambda n: fan(n, Join(mode="k", k=n // 2, late="absorb")),
    "inclusive": lambda n: fan(n, INCLUSIVE, "every"),
    "all, five at once": lambda n: fan(n, ALL, limits={"g": 5}),
    "each": each,
    "each, five at once": lambda n: each(n, limit=5),
}


@contextmanager
def counted(*names: str) -> Iterator[dict[str, int]]:
    """How often the loop asks a candidate, and how often a join is worked out."""
    calls = dict.fromkeys(names, 0)
    right = {name: getattr(step_module, name) for name in names}

    def counting(name: str) -> Any:
        def call(*args: Any, **more: Any) -> Any:
            calls[name] += 1
            return right[name](*args, **more)

        return call

    try:
        for name in names:
            setattr(step_module, name, counting(name))
        yield calls
    finally:
        for name, function in right.items():
            setattr(step_module, name, function)


@pytest.mark.parametrize("newest", [False, True], ids=["oldest first", "newest first"])
@pytest.mark.parametrize("name", FANS)
def test_the_number_of_questions_grows_with_the_branches_only(name, newest):
    """A branch among 2,000 others asks as often as one among 200: `ready` and `consider` are called linearly often."""
    found = []
    for width in (100, 1000) if name.startswith("each") else (200, 2000):
        with counted("ready", "consider") as calls:
            meter = Meter(FANS[name](width), list(range(width)))
            meter.to_the_end(newest=newest)
        found.append((calls["ready"], calls["consider"], sum(meter.facts)))
        assert calls["ready"] <= 4 * width + 20 and calls["consider"] <= 4 * width + 20
    assert all(many <= 10.5 * few for few, many in zip(*found, strict=True))


@pytest.mark.parametrize("name", FANS)
def test_the_work_grows_with_the_branches_only(name):
    """Four times the branches, four times the work (and a little): no hidden walk over all of them at every step."""
    work = []
    for width in (60, 240):
        meter = Meter(FANS[name](width), list(range(width)))
        work.append(lines_of(meter.to_the_end, "/penstock/kernel/"))
    assert work[1] <= 4.8 * work[0], f"{name}: {work[0]} lines for 60 branches, {work[1]} for 240"


def test_the_meter_sees_a_walk_over_everything(monkeypatch):
    """A meter that cannot tell is no meter: a scan of all firings at every question is seen."""
    right = step_module.ready

    def slow(r: Any, *args: Any, **more: Any) -> Any:
        for place in r.st.firings:
            r.watch.get(place)
        return right(r, *args, **more)

    slow.__code__ = slow.__code__.replace(co_filename=right.__code__.co_filename)
    monkeypatch.setattr(step_module, "ready", slow)
    work = [lines_of(Meter(FANS["all"](n)).to_the_end, "/penstock/kernel/") for n in (60, 240)]
    assert work[1] > 4.8 * work[0]
