"""Fork at any turn boundary (KERNEL 7): the same past under a new id, and then its own way."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import PenstockError
from penstock.kernel import command as C
from penstock.kernel import fact as F
from penstock.kernel.replay import fold_to
from penstock.kernel.run import Run
from penstock.kernel.state import COMPLETED, EFFECT, State, encode_state
from tests.kernel.harness import Sim
from tests.kernel.nets import S, X, net, task, tasks
from tests.kernel.storm import World, answer, drive, laws, pick, told
from tests.model import random_nets as R
from tests.model.bridge import to_product

SEEDS = st.integers(0, 10**9)
INPUTS = st.integers(0, 255).map(R.bits)
NEW = "r2"  # as long as the name of the run it comes from, so that only the name differs in the bytes


class Forked(Sim):
    """What the host does: the journal up to a turn is copied, and one fact says whose it was."""

    def __init__(self, origin: Sim, turns: int) -> None:
        super().__init__(origin.net.net, begin=False)
        for at, body in origin.turns[:turns]:
            self._append(at, body)
        self.now = origin.turns[turns - 1][0]
        fact = (F.FORKED, NEW, origin.name, self.folded().n, NEW)
        self._append(self.now, F.encode_facts([fact]))
        self.crash()

    def _append(self, at: int, body: bytes) -> None:
        self.turns.append((at, body))
        facts = F.decode_facts(body)
        self.facts += facts
        self.lines += self.reader.turn(at, facts)


def without_name(state: State) -> bytes:
    """Everything but whose it is and how many facts it took."""
    return renamed(encode_state(msgspec.structs.replace(state, run="", parent="", trace="", n=0)))


def renamed(body: bytes) -> bytes:
    """A decision names its item, hence its run."""
    return body.replace(NEW.encode(), b"r1")


def played(seed: int, input: Any) -> tuple[Sim, list[tuple[int, C.Command]]]:
    """A run with everything, and the command of each of its turns."""
    sim = Sim(to_product(R.spice(seed)), input, check=False)
    world, sent = World(random.Random(seed)), [(0, C.start("r1", input))]
    for turn in range(300):
        world.calm = turn > 120
        command = world.next(sim)
        if command is None:
            break
        before = len(sim.turns)
        with suppress(PenstockError):
            sim.do(command)
        if len(sim.turns) > before:
            sent.append((sim.now, command))
    return sim, sent


@laws()
@given(SEEDS, INPUTS, st.data())
def test_the_state_at_any_turn_boundary_is_the_same(seed, input, data):
    """K1: a fork is the fold of the facts before it, under another name."""
    sim, _ = played(seed, input)
    turns = data.draw(st.integers(1, len(sim.turns)))
    fork = Forked(sim, turns)
    facts = [(at, F.decode_facts(body)) for at, body in sim.turns]
    then = fold_to(facts, sum(len(f) for _, f in facts[:turns]))
    assert without_name(fork.st) == without_name(then)
    assert (fork.st.run, fork.st.parent, fork.st.trace) == (NEW, "r1", NEW)
    fork.laws(fork.status, [])
    assert encode_state(sim.st) == encode_state(sim.folded()), "the run it came from is untouched"


@laws()
@given(SEEDS, INPUTS, st.data())
def test_the_same_commands_lead_to_the_same_facts(seed, input, data):
    """K19: from the fork on, the same commands give the same bytes as in the run it came from, reloaded there."""
    sim, sent = played(seed, input)
    turns = data.draw(st.integers(1, len(sim.turns)))
    fork = Forked(sim, turns)
    again = Sim(sim.net.net, begin=False, check=False)
    again.turns = sim.turns[:turns]
    again.reader = type(again.reader)(lambda _: again.net)
    for at, body in again.turns:
        again.reader.turn(at, F.decode_facts(body))
    again.crash()
    fork.check = False
    for now, command in sent[turns:]:
        if fork.st.status >= COMPLETED:
            break
        for one in (fork, again):
            one.now = now
            one.do(command)
        assert renamed(fork.turns[-1][1]) == renamed(again.turns[-1][1])
    assert without_name(fork.st) == without_name(again.st)


@laws()
@given(SEEDS, INPUTS, st.integers(1, 30))
def test_a_fork_ends_like_the_run_it_came_from(seed, input, at):
    """K20: answered in another order, it has the same variables at the end."""
    one = to_product(R.structured(seed))
    whole = drive(one, input, random.Random(seed), crash=False, check=False)
    fork = Forked(whole, min(at, len(whole.turns)))
    rng = random.Random(at)
    while fork.effects():
        firing = pick(fork, rng)
        fork.do(answer(firing, told(fork, firing)))
    assert fork.status == "COMPLETED" and fork.vars() == whole.vars()
    assert sorted(fork.fired()) == sorted(whole.fired())


@laws()
@given(SEEDS, INPUTS, st.data())
def test_keys_contain_the_new_run(seed, input, data):
    """E2: everything in flight is asked anew, under keys that no other run has."""
    sim, _ = played(seed, input)
    turns = data.draw(st.integers(1, len(sim.turns)))
    fork = Forked(sim, turns)
    state = fold_to([(at, F.decode_facts(b)) for at, b in sim.turns], fork.st.n - 1)
    origin = Run.load(sim.net, state)
    mine = [fork.run.effect_key(f) for f in fork.st.firings.values()]
    theirs = [origin.effect_key(f) for f in state.firings.values()]
    assert [key.replace(f"/{NEW}/", "/r1/", 1) for key in mine] == theirs
    assert all(key.startswith(f"default/{NEW}/") for key in mine) and len(set(mine)) == len(mine)


def test_a_fork_goes_its_own_way():
    """KERNEL 7: what the one does, the other does not see."""
    sim = Sim(net([S, *tasks("a", "b"), X], "s>a a>b b>x"))
    sim.ok("a", 1)
    fork = Forked(sim, 2)
    late = fork.asked("b")
    assert late is not None and late.phase == EFFECT
    sim.bad("b")
    fork.ok("b", 2)
    assert (sim.status, fork.status) == ("FAILED", "COMPLETED")
    fork = Forked(sim, len(sim.turns))
    fork.do(C.retry())
    assert fork.asked("b").attempt == 2 and sim.status == "FAILED"
    assert fork.run.effect_key(fork.asked("b")) == f"default/{NEW}/b@~0#1"


def test_a_fork_of_a_fork():
    """KERNEL 7: the journal names each step, and the last name counts."""
    sim = Sim(net([S, task("a"), X], "s>a a>x"))
    first = Forked(sim, 1)
    second = Forked(first, len(first.turns))
    assert [x.data["at_fact"] for x in second.of("forked")] == [sim.st.n, sim.st.n + 1]
    second.ok("a")
    assert second.status == "COMPLETED"


def test_inside_a_turn_there_is_no_boundary():
    """A state in the middle of a turn can be looked at, but a firing that settled there has not put its tokens yet."""
    sim = Sim(net([S, task("a"), X], "s>a a>x"))
    sim.ok("a", 1)
    turns = [(at, F.decode_facts(body)) for at, body in sim.turns]
    half = fold_to(turns, sim.st.n - 2)
    assert half.n == sim.st.n - 2 and half.status < COMPLETED
    assert not half.firings and not half.scopes[0].live, "K4 holds between turns, not inside one"
