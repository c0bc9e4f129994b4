"""The product's kernel against the model: the same net and commands give the same firings, variables, refusals."""

from __future__ import annotations

import os
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from penstock.errors import PenstockError
from penstock.kernel import command as C
from penstock.kernel import rework as redo
from penstock.kernel import token
from penstock.kernel import work_item as item
from penstock.kernel.evolve import origin
from penstock.kernel.failure import Failure
from penstock.kernel.state import PHASE
from tests.kernel import mutants
from tests.kernel.harness import Sim
from tests.model import random_nets as R
from tests.model.bridge import to_product
from tests.model.kernel import Refused
from tests.model.random_runs import World
from tests.model.sim import Sim as Model
from tests.model.state import TERMINAL

LAWS = settings(
    max_examples=int(os.environ.get("PENSTOCK_EXAMPLES", "60")),
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
    derandomize=bool(os.environ.get("CI")),
)


class Pair:
    """One net in the model and in the product, given the same commands."""

    def __init__(self, net: Any, given: Any, *, laws: bool = True) -> None:
        self.model = Model(net, input=given, check=False)
        self.product = Sim(to_product(net), given, check=laws)
        self.numbers = self.product.reader.named
        self.remember()

    def remember(self) -> None:
        run = self.product.run
        for no, firing in run.st.firings.items():
            self.numbers[run.firing_id(firing)] = no

    def do(self, command: dict[str, Any], now: int) -> None:
        self.model.now = self.product.now = now
        refused = ours = ""
        try:
            self.model.do(**command)
        except Refused as error:
            refused = error.code
        try:
            self.product.do(self.translate(command))
        except PenstockError as error:
            ours = error.code
        self.remember()
        assert bool(refused) == bool(ours), f"{command}: the model said {refused!r}, the product {ours!r}"

    def translate(self, c: dict[str, Any]) -> C.Command:
        what = c["c"]
        if what == "outcome":
            attempt, _, probe = c["effect"].rpartition("/a")[2].partition(".")
            no = self.product.reader.asked.get(c["effect"], 10**6)
            if c["status"] == "done":
                return C.done(no, int(attempt), int(probe or 0), c.get("output"))
            if c["status"] == "skipped":
                return C.skipped(no, int(attempt), probe=int(probe or 0))
            return C.failed(no, int(attempt), Failure(c["failure"]["code"], c["failure"]["category"]), int(probe or 0))
        if what == "tick":
            return C.tick()
        if what == "signal":
            more = {"broadcast": bool(c.get("broadcast")), "keep": c.get("keep", True)}
            return C.signal(c["id"], c["name"], c.get("payload"), **more)
        if what == "work":
            data = c.get("output", c.get("vote", c.get("mode")))
            return C.work(self.numbers.get(c["item"], 10**6), c["verb"], c.get("by"), data)
        if what == "cancel":
            return C.cancel(c.get("mode", "now"))
        no = self.numbers.get(c.get("firing", ""), 0)
        return {
            "pause": C.pause(),
            "resume": C.resume(),
            "retry": C.retry(c.get("how", "here"), no),
            "compensate": C.compensate(),
            "resolve": C.resolve(no, c.get("output")),
            "cancel_firing": C.cancel_firing(no),
        }[what]

    def same(self) -> None:
        mine, theirs = self.product, self.model
        state = theirs.state
        fired = [
            (f["node"], f["scope"], f["epoch"], f["visit"] if f["comp"] is None else 0) for f in theirs.said("fired")
        ]
        ours = [(x.node, x.scope, x.epoch, 0 if "undoes" in x.data else x.data["visit"]) for x in mine.of("fired")]
        assert ours == fired
        assert mine.status == state["status"]
        failure = mine.st.failure
        assert (failure.code if failure is not None else None) == (state["failure"] or {}).get("code")
        assert sorted(run_items(mine)) == sorted(
            (name, i["status"], i["level"], i["mode"])
            for name, i in state["items"].items()
            if i["firing"] in state["firings"]
        )
        assert mine.vars() == state["vars"]
        in_flight = set(state["effects"])
        run = mine.run
        asked = {f"{run.firing_id(f)}/a{f.attempt}" + (f".{f.probe}" if f.probe else "") for f in mine.effects()}
        assert asked == in_flight
        settled = [(f["firing"].partition("@")[0], f["status"]) for f in theirs.said("settled")]
        assert mine.settled() == settled
        assert sorted(t.due for t in run.st.timers.values()) == sorted(t["due"] for t in state["timers"].values())
        assert sum(s.live for s in run.st.scopes.values()) == len(state["tokens"])
        assert [e.status for e in run.st.ledger] == [e["status"] for e in state["ledger"]]
        assert run.st.paused == state["paused"] and run.st.draining == state["draining"]
        phases = sorted((run.firing_id(f), PHASE[f.phase]) for f in run.st.firings.values())
        assert [p[0] for p in phases] == sorted(state["firings"])


def run_items(sim: Sim) -> list[tuple[str, str, int, str]]:
    st = sim.st
    return [(sim.run.firing_id(st.firings[no]), i.status, i.level, i.mode) for no, i in st.items.items()]


def answer_all(pair: Pair, rng: random.Random, *, fails: frozenset[str] = frozenset(), crash: bool = False) -> None:
    """Answer effects in random order until there are none."""
    for _ in range(2000):
        effects = sorted(pair.model.state["effects"])
        if not effects:
            break
        effect = rng.choice(effects)
        node = effect.partition("@")[0]
        if crash and rng.random() < 0.5:
            pair.product.crash()
        if node in fails:
            pair.do(
                {
                    "c": "outcome",
                    "effect": effect,
                    "status": "failed",
                    "failure": {"code": "X", "category": "permanent"},
                },
                0,
            )
        else:
            pair.do({"c": "outcome", "effect": effect, "status": "done", "output": node}, 0)
        pair.same()
    else:
        raise AssertionError("no end")


@LAWS
@given(st.integers(0, 10**9), st.integers(2, 12), st.integers(0, 255))
def test_acyclic_nets(seed: int, size: int, given_: int) -> None:
    rng = random.Random(seed)
    fails = frozenset(f"n{i}" for i in range(1, size) if rng.random() < 0.2)
    pair = Pair(R.dag(seed, size), R.bits(given_))
    answer_all(pair, rng, fails=fails, crash=True)
    assert pair.product.status == "COMPLETED"


@LAWS
@given(st.integers(0, 10**9), st.integers(0, 255), st.booleans())
def test_structured_nets(seed: int, given_: int, race: bool) -> None:
    pair = Pair(R.structured(seed, race=race), R.bits(given_))
    answer_all(pair, random.Random(seed), crash=True)
    assert pair.product.status == "COMPLETED"


@LAWS
@given(st.integers(0, 10**9), st.integers(0, 255))
@example(3881, 68)  # two nodes to start with, each of which hands on at once
@example(11559, 37)  # a split of which one way raises the epoch and the other stays
@example(891454153, 156)  # what blocked a join has left, and another token has come in its place before it was asked
def test_arbitrary_nets(seed: int, given_: int) -> None:
    pair = Pair(R.arbitrary(seed), R.bits(given_))
    answer_all(pair, random.Random(seed), crash=True)


@LAWS
@given(st.integers(0, 10**9), st.integers(0, 255))
@example(136205947, 177)  # policy `group`: a fork that a retry fires again is the same group
@example(585897799, 171)  # limits count anew after a restart of the run's own
@example(55742079, 254)  # the same, with what a fork passes on unchanged
@example(606259578, 92)  # an undo node in a scope that a retry has opened again undoes what was done there before
@example(491839590, 138)  # tokens are stuck in a scope of a group: the scope says how to go on
def test_everything_at_once(seed: int, given_: int) -> None:
    """Retries, boundaries, polls, work, undo, run retry, pause, cancel, signals, ticks, late answers, crashes."""
    pair = Pair(R.spice(seed), R.bits(given_))
    world = World(random.Random(seed ^ 77))
    for _ in range(1500):
        if world.ended(pair.model.state):
            break
        if world.rng.random() < 0.2:
            pair.product.crash()
        pair.do(world.next(pair.model.state), world.now)
        pair.same()
    else:
        raise AssertionError("no end")


@LAWS
@given(st.integers(0, 10**9), st.integers(0, 255))
@example(1, 47)  # it fails, and nobody retries it
def test_people_and_agents(seed: int, given_: int) -> None:
    """P-X.15, P-X.40: items go to and fro, and finished work is done again wherever nothing was made of it."""
    pair = Pair(R.process(seed), R.bits(given_))
    world = World(random.Random(seed ^ 99), eager=True)
    for _ in range(1500):
        if world.ended(pair.model.state):
            break
        if world.rng.random() < 0.2:
            pair.product.crash()
        pair.do(world.next(pair.model.state), world.now)
        pair.same()
    assert pair.model.state["status"] in TERMINAL, "no end"  # the world draws anew whether somebody retries it


FAULTS = {
    "joins forget what else they took": (token.merged, mutants.never_shared, (331, 350, 361)),
    "what was made of work does not bind it": (origin.sealed, mutants.never_sealed, (32, 79, 121)),
    "begun work is taken back": (redo._check_untouched, mutants.nothing, (32, 42, 79)),
    "a switched mode is forgotten": (item.for_agent, mutants.mode_of_the_net, (17, 20, 63)),
    "an attempt is asked twice": (item.next_attempt, mutants.same_attempt, (44, 50, 120)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_model_finds_what_is_wrong_with_people_and_agents(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """P-X.15, P-X.40: each fault shows in at least one of these runs."""
    right, wrong, seeds = FAULTS[fault]
    mutants.plant(monkeypatch, right, wrong(right))
    assert any(shows(seed) for seed in seeds)


def shows(seed: int) -> bool:
    try:
        test_people_and_agents.hypothesis.inner_test(seed, seed % 256)  # type: ignore[attr-defined]
    except (AssertionError, PenstockError, KeyError):
        return True
    return False


@pytest.mark.parametrize("seed", range(5))
def test_the_pair_can_tell_a_difference(seed: int) -> None:
    """A check that cannot fail is no check: an answer that only one of the two gets is seen."""
    pair = Pair(R.structured(seed), R.bits(seed))
    effects = sorted(pair.model.state["effects"])
    if not effects:
        return
    pair.model.do(c="outcome", effect=effects[0], status="done", output=1)
    with pytest.raises(AssertionError):
        pair.same()
