"""A turn in slices: the same facts as in one go, also with a crash before each; fans are opened a few at a time."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import FactsLimit
from penstock.kernel import command as C
from penstock.kernel import fact as F
from penstock.kernel.fact_lines import FactLine
from penstock.kernel.failure import Failure
from penstock.kernel.run import Caps, Run
from penstock.kernel.state import COMPLETED, STATUS, encode_state
from penstock.net.model import MERGE, Body, Edge, Net, Node, Trigger
from tests.kernel.harness import Sim
from tests.kernel.nets import S, X, edge, net, task
from tests.kernel.storm import drive, laws, tangled, told
from tests.model import random_nets as R
from tests.model.bridge import to_product

SEEDS = st.integers(0, 10**9)
INPUTS = st.integers(0, 255).map(R.bits)


class Sliced(Sim):
    """A run whose turns may make `slice` facts; `crash` folds it again before each slice."""

    def __init__(self, net: Net, input: Any = None, *, caps: Caps, crash: bool = False, **more: Any) -> None:
        self.caps, self.crashes, self.most = caps, crash, 0
        super().__init__(net, input, check=False, **more)

    def reload(self) -> Run:
        run = super().reload()
        run.caps = self.caps
        return run

    def do(self, *commands: C.Command) -> list[FactLine]:
        self.run.caps = self.caps
        lines: list[FactLine] = []
        left = list(commands)
        while left or self.run.more:
            before = len(self.facts)
            lines += super().do(*left)
            self.most = max(self.most, len(self.facts) - before)
            left = left[self.run.decided :]
            if self.crashes and (left or self.run.more):
                self.crash()
                assert left or self.run.loaded
                if not left:
                    left = [C.go_on()]
        return lines


def essentials(sim: Sim) -> list[Any]:
    """Facts without those that a slice adds: that the run moves again, and rests."""
    return [f for f in sim.facts if not (f[0] == F.MOVED and f[2] in ("resumed", "wait_started"))]


def fan(**body: Any) -> Net:
    each = {"mode": "each", "items": "input.items", "entry": "t", "collect": "outputs", **body}
    return net([S, Node(id="p", kind="scope", body=Body(**each)), task("t", scope="p"), X], ["s>p p>x"])


def answer_all(sim: Sim) -> None:
    while sim.effects():
        sim.do(*[C.done(f.no, f.attempt, f.probe, sim.st.scopes[f.scope].index) for f in sim.effects()])


@laws()
@given(SEEDS, INPUTS, st.integers(1, 40))
def test_h_slices_make_the_facts_of_one_turn(seed: int, given: Any, slice: int) -> None:
    """RELIABILITY (h): a slice ends a turn, and nothing else about the run."""
    model = R.structured(seed)
    whole = drive(to_product(model), given, random.Random(seed), crash=False, check=False)
    for crash in (False, True):
        sliced = Sliced(to_product(model), given, caps=Caps(slice=slice), crash=crash)
        rng = random.Random(seed)
        while sliced.effects():
            firing = sliced.effects()[rng.randrange(len(sliced.effects()))]
            sliced.do(C.done(firing.no, firing.attempt, firing.probe, told(sliced, firing)))
        assert essentials(sliced) == essentials(whole)
        assert sliced.status == whole.status


@laws()
@given(SEEDS, INPUTS, st.integers(1, 12))
def test_h_slices_of_tangled_nets_end_as_the_whole(seed: int, given: Any, slice: int) -> None:
    model = tangled(seed, spiced=True)
    whole = drive(model, given, random.Random(seed), crash=False, check=False)
    sliced = Sliced(model, given, caps=Caps(slice=slice), crash=bool(seed % 2))
    rng = random.Random(seed)
    while sliced.effects():
        firing = sliced.effects()[rng.randrange(len(sliced.effects()))]
        sliced.do(C.done(firing.no, firing.attempt, firing.probe, told(sliced, firing)))
    assert essentials(sliced) == essentials(whole)


@pytest.mark.parametrize("crash", [False, True])
def test_h_a_fan_of_2000_is_opened_in_slices(crash: bool) -> None:
    sim = Sliced(fan(), {"items": list(range(2000))}, caps=Caps(slice=500), crash=crash)
    assert len(sim.effects()) == 2000 and sim.most < 1000
    answer_all(sim)
    assert sim.status == "COMPLETED" and sim.most < 1000
    assert sim.st.scopes[0].last == list(range(2000))


def test_h_more_items_than_allowed_fail_before_anything_is_made() -> None:
    sim = Sliced(fan(), {"items": [0] * 1001}, caps=Caps(fan_items=1000))
    assert sim.status == "FAILED" and sim.st.failure is not None
    assert sim.st.failure.code == "FAN_LIMIT" and sim.st.failure.detail == {"items": 1001, "limit": 1000}
    assert not any(f[0] in (F.SCOPE_OPENED, F.FANNED) for f in sim.facts)
    assert Sliced(fan(), {"items": [0] * 1000}, caps=Caps(fan_items=1000)).status == "RUNNING"


def test_h_a_sequence_has_the_same_limit() -> None:
    sim = Sliced(fan(mode="each_seq"), {"items": [0] * 11}, caps=Caps(fan_items=10))
    assert sim.st.failure is not None and sim.st.failure.code == "FAN_LIMIT"


def test_a_fan_counts_what_it_has_not_opened_yet() -> None:
    """BPMN: nrOfInstances is the number of all, and a condition on it does not hold too early."""
    sim = Sliced(fan(until="done >= total / 2"), {"items": list(range(300))}, caps=Caps(slice=10))
    firings = sim.effects()
    assert len(firings) == 300
    for firing in firings[:150]:
        assert sim.status == "RUNNING"
        sim.do(C.done(firing.no, firing.attempt, firing.probe, 1))
    assert sim.status == "COMPLETED"
    assert sim.st.scopes[0].last == [1] * 150 + [None] * 150


def test_a_fan_that_is_done_before_it_is_open_says_who_was_skipped() -> None:
    quick = Node(id="t", scope="p")
    body = Body(mode="each", items="input.items", entry="t", collect="array", need=1)
    sim = Sliced(
        net([S, Node(id="p", kind="scope", body=body), quick, X], ["s>p p>x"]), {"items": [0] * 250}, caps=Caps()
    )
    records = sim.st.scopes[0].last
    assert sim.status == "COMPLETED" and len(records) == 250
    assert [r["status"] for r in records[100:]] == ["skipped"] * 150
    assert [r["branch_id"] for r in records] == [str(i) for i in range(250)]


@pytest.mark.parametrize("crash", [False, True])
def test_a_failed_fan_is_revived_in_slices_under_its_old_keys(crash: bool) -> None:
    sim = Sliced(fan(need=300), {"items": list(range(300))}, caps=Caps(slice=50), crash=crash)
    keys = {sim.run.effect_key(f) for f in sim.effects()}
    first, *_ = sim.effects()
    sim.do(C.done(first.no, first.attempt, first.probe, 0))
    second, *_ = sim.effects()
    sim.do(C.failed(second.no, second.attempt, Failure("X", "permanent", "no")))
    assert sim.status == "FAILED"
    sim.do(C.retry())
    again = {sim.run.effect_key(f) for f in sim.effects()}
    assert len(again) == 299 and again < keys
    answer_all(sim)
    assert sim.status == "COMPLETED" and sim.st.scopes[0].last == list(range(300))


def endless(rounds: int) -> Net:
    """s > m > g and back to m, without an effect."""
    nodes = [S, Node(id="m", join=MERGE), Node(id="g", split="first"), X]
    back = Edge(id="g>m", src="g", dst="m", guard=f"visit < {rounds}")
    return net(nodes, ["s>m m>g", back, edge("g>x", default=True)], max_visits=rounds + 1)


def test_h_a_loop_without_effects_gives_way() -> None:
    sim = Sliced(endless(2000), caps=Caps(slice=100))
    assert sim.status == "COMPLETED" and sim.most < 120 and len(sim.turns) > 30


@pytest.mark.parametrize("crash", [False, True])
def test_h_what_finds_no_branch_in_a_later_slice_pauses_the_run(crash: bool) -> None:
    """RELIABILITY (h): no command can be refused for it; an operator sees why, and the run does not go round in it."""
    nodes = [S, Node(id="m", join=MERGE), Node(id="g", split="first"), X]
    ways = [Edge(id="g>m", src="g", dst="m", guard="visit < 200"), Edge(id="g>x", src="g", dst="x", guard="visit < 0")]
    sim = Sliced(net(nodes, ["s>m m>g", *ways], max_visits=300), caps=Caps(slice=100), crash=crash)
    assert sim.st.paused and [i[0] for i in sim.st.incidents] == ["NO_MATCHING_BRANCH"] and len(sim.turns) > 3


def test_h_a_stop_is_heard_between_two_slices_and_other_commands_wait() -> None:
    sim = Sim(endless(2000), check=False, begin=False)
    sim.run.caps = Caps(slice=100)
    sim.do(C.start("r1", None), C.set_variable("x", 1))
    assert sim.run.more and sim.run.decided == 1
    sim.do(C.set_variable("x", 1))
    assert sim.run.decided == 0, "commands are decided in a quiet run"
    sim.do(C.cancel())
    assert sim.status == "CANCELLED" and not sim.run.more


def test_k22_a_run_is_warned_and_then_paused_with_its_reason() -> None:
    """K22: reaching the cap makes an incident and never drops an event."""
    caps = Caps(slice=50, facts_warning=300, facts=1000)
    sim = Sliced(endless(2000), caps=caps)
    assert [i[0] for i in sim.st.incidents] == ["FACTS_WARNING", "FACTS_LIMIT"]
    assert sim.st.paused and STATUS[sim.st.status] == "RUNNING" and 1000 <= sim.st.n < 1100
    with pytest.raises(FactsLimit):
        sim.do(C.resume())
    assert sim.st.paused
    sim.caps = Caps(slice=50)
    sim.do(C.resume())
    assert sim.st.status == COMPLETED


def test_many_answers_at_once_are_taken_in_slices() -> None:
    sim = Sliced(fan(), {"items": list(range(90))}, caps=Caps(slice=20))
    sim.most = 0
    answer_all(sim)
    assert sim.status == "COMPLETED" and sim.most < 50


def test_timers_due_at_once_fire_in_slices() -> None:
    wait = Node(id="t", kind="wait", scope="p", triggers=(Trigger(port="done", kind="timer", after_ms=1000),))
    body = Body(mode="each", items="input.items", entry="t", collect="outputs")
    sim = Sliced(
        net([S, Node(id="p", kind="scope", body=body), wait, X], ["s>p p>x"]), {"items": [0] * 90},
        caps=Caps(slice=20),
    )  # fmt: skip
    assert sim.status == "WAITING"
    sim.now, sim.most, turns = 5000, 0, 0
    while sim.status != "COMPLETED":
        sim.do(C.tick())
        turns += 1
        assert turns < 200
    assert turns > 1 and sim.most < 60


def test_a_sliced_run_is_not_at_rest_in_the_store() -> None:
    """A crash between two slices: whoever finds the run sees that it has to go on, and it goes on."""
    sim = Sim(endless(500), check=False, begin=False)
    sim.run.caps = Caps(slice=100)
    sim.do(C.start("r1", None))
    assert sim.status == "RUNNING" and not sim.st.asked
    before = encode_state(sim.st)
    sim.crash()
    assert encode_state(sim.st) == before
    sim.do(C.go_on())
    assert sim.status == "COMPLETED"


@pytest.mark.parametrize("slice", range(1, 12))
def test_k4_a_slice_before_a_deadlock_is_concluded_after_a_fold(slice: int) -> None:
    """Nothing is ready any more when it is folded again; the next command still finds a run that has come to quiet."""
    way = Node(id="r", kind="route", split="first", port="'a'")
    stuck = net([S, way, task("j"), X], ["s>r r:a>j r:b>j j>x"])
    sim = Sim(stuck, check=False, begin=False)
    sim.run.caps = Caps(slice=slice)
    sim.do(C.start("r1", None))
    while sim.run.more:
        sim.crash()
        sim.run.caps = Caps(slice=slice)
        sim.do(C.tick())
    assert sim.status == "FAILED" and sim.st.failure.code == "DEADLOCK"
