"""The kernel is a function: equal bytes twice, after a reload, under other hash seeds and Pythons; K19 and K20."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import PenstockError
from penstock.kernel import command as C
from penstock.kernel import fact as F
from penstock.kernel.evolve import EVOLVE
from penstock.net.model import INCLUSIVE, Body, Net, Node, Set
from tests.kernel.digest import digest
from tests.kernel.harness import Sim
from tests.kernel.mutants import plant
from tests.kernel.nets import S, X, edge, net, task, tasks
from tests.kernel.storm import World, answer, drive, laws, tangled, told
from tests.model import random_nets as R
from tests.model.bridge import to_product

ROOT = Path(__file__).parents[2]
SEEDS = st.integers(0, 10**9)
INPUTS = st.integers(0, 255).map(R.bits)


# ---- K19: equal bytes ------------------------------------------------------------------------------------------------


def elsewhere(python: str, *what: str, **env: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join((str(ROOT), str(ROOT / "src")))
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", **env}
    command = [python, *(what or ("-m", "tests.kernel.digest"))]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT)


def test_k19_two_calls_give_equal_bytes():
    """K19."""
    assert digest(range(6)) == digest(range(6))


def test_k19_hash_seeds_do_not_matter():
    """K19: three values of PYTHONHASHSEED, three processes."""
    found = [elsewhere(sys.executable, PYTHONHASHSEED=seed) for seed in ("0", "1", "77")]
    assert all(run.returncode == 0 for run in found), found[0].stderr
    assert {run.stdout.strip() for run in found} == {digest()}


def other_pythons() -> list[str]:
    """Those on the path, and those named in PENSTOCK_PYTHONS, that have what the kernel needs."""
    named = os.environ.get("PENSTOCK_PYTHONS", "").split(os.pathsep)
    paths = [p for p in [*named, *(shutil.which(f"python3.{n}") or "" for n in range(11, 16))] if p]
    able = [p for p in paths if elsewhere(p, "-c", "import penstock.kernel.step").returncode == 0]
    return [p for p in able if Path(p).resolve() != Path(sys.executable).resolve()]


def test_k19_python_versions_do_not_matter():
    """K19: whichever other Pythons this machine has."""
    pythons = other_pythons()
    if not pythons:
        pytest.skip("no other Python here can import penstock; name some in PENSTOCK_PYTHONS")
    for python in pythons:
        run = elsewhere(python)
        assert run.returncode == 0, run.stderr
        assert run.stdout.strip() == digest(), python


def same_bytes_after_a_reload(one: Net, input: Any, seed: int) -> None:
    """The same commands to a run that stays in memory and to one that is folded anew before each of them."""
    warm, cold = Sim(one, input, check=False), Sim(one, input, check=False)
    world = World(random.Random(seed))
    for _ in range(300):
        command = world.next(warm)
        if command is None:
            break
        cold.now = warm.now
        cold.crash()
        refused = []
        for sim in (warm, cold):
            try:
                sim.do(command)
            except PenstockError as error:
                refused.append(error.code)
        assert len(refused) != 1 and len(set(refused)) < 2
        assert warm.turns[-1] == cold.turns[-1], f"K19: {C.NAMES[command[0]]} differs after a reload"


@laws(2)
@given(SEEDS, INPUTS)
def test_k19_a_reload_changes_no_byte_on_nets_with_everything(seed, input):
    """K19, K1: facts are a function of state and command, not of what a process remembers besides."""
    same_bytes_after_a_reload(to_product(R.spice(seed)), input, seed)


@laws(2)
@given(SEEDS, INPUTS)
def test_k19_a_reload_changes_no_byte_on_any_graph(seed, input):
    """K19, K1."""
    same_bytes_after_a_reload(tangled(seed, spiced=True), input, seed)


def test_k19_one_branch_rests_while_another_goes_on():
    """K19, K1: a token that waits before a join is asked again after a reload; that must not show in the facts."""
    one = net([S, *tasks("a", "b", "c"), Node(id="j"), X], "s>a s>b a>j b>c c>j j>x")
    turns = []
    for crash in (False, True):
        sim = Sim(one)
        for node in "abc":
            if crash:
                sim.crash()
            sim.ok(node)
        turns.append(sim.turns)
    assert turns[0] == turns[1]


# ---- K20: order does not show ----------------------------------------------------------------------------------------


def fan(width: int = 4) -> Net:
    """Independent branches that meet at an inclusive join; a scope of the same; results are named and collected."""
    inner = [Node(id="i", kind="start", scope="p"), task("t", scope="p", args={"$expr": "item"})]
    names = [f"n{k}" for k in range(width)]
    work = [task(n, out=(f"o_{n}",), sets=(Set(name=f"v_{n}", expr="output"),)) for n in names]
    scope = Node(id="p", kind="scope", body=Body(mode="each", items="[1, 2, 3]", entry="i"), out=("all",))
    ways = [*(f"s>{n} {n}>j" for n in names), "j>p i>t p>x"]
    return net([S, *work, Node(id="j", join=INCLUSIVE), scope, *inner, X], ways)


def ends_of_all_orders() -> list[dict[str, Any]]:
    found = []
    for first in itertools.permutations(range(4)):
        sim = Sim(fan(), check=False)
        effects = {sim.net.nodes[f.node].id: f for f in sim.effects()}
        for k in first:
            sim.do(answer(effects[f"n{k}"], f"of {k}"))
        rest = sim.effects()
        random.Random(str(first)).shuffle(rest)
        for firing in rest:
            sim.do(answer(firing, firing.args * 10))
        assert sim.status == "COMPLETED"
        found.append(sim.vars())
    return found


def test_k20_every_permutation_of_independent_results_ends_alike():
    """K20: all 24 orders of four branches, and random orders of three children."""
    ends = ends_of_all_orders()
    assert len(ends) == 24 and all(end == ends[0] for end in ends)
    assert [r["output"] for r in ends[0]["all"].values()] == [10, 20, 30]


@laws()
@given(SEEDS, INPUTS, st.integers(0, 10**6))
def test_k20_permutations_on_structured_nets(seed, input, order):
    """K20: any order, one by one or several in one turn."""
    one = to_product(R.structured(seed))
    straight = drive(one, input, random.Random(0), crash=False, check=False)
    rng = random.Random(order)
    sim = Sim(one, input, check=False)
    while sim.effects():
        some = rng.sample(sim.effects(), rng.randint(1, len(sim.effects())))
        sim.do(*[answer(firing, told(sim, firing)) for firing in some])
    assert sim.status == straight.status == "COMPLETED"
    assert sim.vars() == straight.vars() and sorted(sim.fired()) == sorted(straight.fired())


def test_k20_a_declared_race_may_show():
    """K20: `any` takes the first; that is what it is for."""
    ends = set()
    for order in ("ab", "ba"):
        branches = Body(mode="each", items="['a', 'b']", entry="i", need=1, collect="first")
        nodes = [S, Node(id="p", kind="scope", body=branches, out=("won",)), Node(id="i", kind="start", scope="p")]
        sim = Sim(net([*nodes, task("t", scope="p", args={"$expr": "item"}), X], "s>p p>x i>t"))
        firing = next(f for f in sim.effects() if f.args == order[0])
        sim.do(answer(firing, firing.args))
        ends.add(sim.vars()["won"])
    assert ends == {"a", "b"}


# ---- mutants ---------------------------------------------------------------------------------------------------------


def test_an_order_that_shows_is_found(monkeypatch):
    """K20: a variable that remembers in which order scopes were closed."""

    def wrong(state: Any, fact: Any) -> None:
        right(state, fact)
        state.vars.setdefault("order", []).append(state.scopes[fact[1]].index)

    right = EVOLVE[F.SCOPE_CLOSED]
    plant(monkeypatch, right, wrong)
    ends = ends_of_all_orders()
    assert any(end != ends[0] for end in ends)


def test_an_answer_of_chance_is_found(monkeypatch):
    """K19: numbers that depend on how often the process was asked."""
    asked = itertools.count(1000)
    monkeypatch.setattr("penstock.kernel.retry.delay_ms", lambda *_: next(asked))
    assert digest(range(15)) != digest(range(15))


def test_guards_of_one_branch_do_not_see_another():
    """K20: a guard reads only what its own firing made."""
    ways = ["s>a s>b", edge("a>x", guard="output == 1"), edge("b>x", guard="output == 1")]
    for order in ("ab", "ba"):
        sim = Sim(net([S, *tasks("a", "b"), X], ways))
        for node in order:
            sim.ok(node, 1 if node == "a" else 2)
        assert sim.fired().count("x") == 1 and sim.status == "COMPLETED"
