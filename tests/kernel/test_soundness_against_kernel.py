"""K21: what the checker calls sound the kernel runs to its end; L10: reductions change no verdict."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel import command as C
from penstock.net.checks import check
from penstock.net.model import MERGE, Edge, Net, Node
from penstock.net.soundness import Verdict, explain, verdict, verdicts
from tests.kernel.harness import Sim
from tests.kernel.nets import S, X, edge, net, tasks
from tests.kernel.storm import answer, laws, pick
from tests.model import net as model
from tests.model import random_nets as R
from tests.model.bridge import to_node, to_product
from tests.model.soundness import check as model_check
from tests.model.test_k21 import Draft

SEEDS = st.integers(0, 10**9)
BUDGET = 800
CHOICES = range(4)
VISITS = 64


def drawn(draft: Draft, *, defaults: bool = True) -> Net:
    """The draft as a net of the product: a choice is read from the input by edge and visit; the last way is default."""
    last = {src: k for k, (src, _) in enumerate(draft.edges)}
    ways = []
    for k, (src, dst) in enumerate(draft.edges):
        chooses = draft.nodes[src].split != "all"
        default = chooses and defaults and last[src] == k
        guard = f"input[{k}][visit % {VISITS}]" if chooses and not default else None
        ways.append(Edge(id=f"{src}>{dst}.{k}", src=src, dst=dst, guard=guard, default=default))
    nodes = tuple(to_node(node) for node in draft.nodes.values())
    return Net(name="draft", nodes=nodes, edges=tuple(ways), max_visits=200)


def choices(one: Net, choice: int) -> list[list[bool]]:
    rng = random.Random(choice)
    return [[rng.random() < 0.45 for _ in range(VISITS)] for _ in one.edges]


def completes(one: Net, choice: int) -> bool:
    """Does the run complete, with one end, and without relaxing a join?"""
    rng = random.Random(choice)
    sim = Sim(one, choices(one, choice), check=False)
    for step in range(400):
        if not sim.effects():
            break
        sim.do(answer(pick(sim, rng), step))
    end = next(n.id for n in one.nodes if n.kind == "end")
    relaxed = any(line.data.get("relaxed") for line in sim.of("fired"))
    return sim.status == "COMPLETED" and sim.fired().count(end) == 1 and not relaxed


def both(one: Net, scope: str = "") -> Verdict:
    """The verdict with reductions, which agrees with the one without unless one of them ran out of budget."""
    reduced, whole = verdict(one, scope, budget=BUDGET), verdict(one, scope, budget=BUDGET, reductions=False)
    status = {reduced.status, whole.status}
    assert "undecided" in status or len(status) == 1, (reduced, whole)
    return reduced


@laws(2)
@given(SEEDS)
def test_k21_sound_means_that_every_run_completes(seed):
    """K21, L10: four runs with other choices each."""
    one = drawn(Draft(seed))
    if both(one).status == "sound":
        for choice in CHOICES:
            assert completes(one, choice), (seed, choice)


@laws(2)
@given(SEEDS)
def test_k21_the_checker_agrees_with_the_models_checker(seed):
    """K21: two checkers, one meaning. The model's knows no default ways, so there are none here."""
    draft = Draft(seed)
    ours = verdict(drawn(draft, defaults=False), budget=BUDGET).status
    theirs = model_check(draft.net(0), budget=BUDGET).verdict
    assert "undecided" in (ours, theirs) or ours == theirs


def test_k21_a_default_way_excludes_the_guarded_ones():
    """K21: finer than the model: of an inclusive split either guarded ways are taken or the default one, never both."""
    nodes = [S, Node(id="f", split="every"), *tasks("a", "b"), Node(id="m", join=MERGE), X]
    guarded = net(nodes, ["s>f a>m b>m m>x", edge("f>a", guard="input"), edge("f>b", default=True)])
    free = net(nodes, ["s>f a>m b>m m>x", edge("f>a", guard="input"), edge("f>b", guard="input")])
    assert both(guarded).status == "sound" and both(free).status == "unsound"
    for given_ in (True, False):
        sim = Sim(guarded, given_)
        while sim.effects():
            sim.do(answer(sim.effects()[0], 1))
        assert sim.status == "COMPLETED" and sim.fired().count("x") == 1


@cache
def judged(count: int) -> tuple[list[Net], list[Net]]:
    nets = [drawn(Draft(seed)) for seed in range(count)]
    told = [verdict(one, budget=BUDGET).status for one in nets]
    by = {
        word: [one for one, status in zip(nets, told, strict=True) if status == word] for word in ("sound", "unsound")
    }
    return by["sound"], by["unsound"]


def test_k21_unsound_means_that_some_choice_breaks():
    """K21: the verdict is not only a warning, and most nets get one."""
    sound, unsound = judged(80)
    assert len(sound) >= 30 and len(unsound) >= 8
    broken = [one for one in unsound if not all(completes(one, choice) for choice in range(8))]
    assert len(broken) >= len(unsound) * 2 // 3, f"{len(broken)} of {len(unsound)}"


def test_k21_the_trace_of_an_unsound_verdict_is_told_in_names():
    """K21: every verdict can be explained."""
    for one in judged(80)[1]:
        assert explain(one, verdict(one, budget=BUDGET))


@laws()
@given(SEEDS, st.integers(0, 255).map(R.bits), st.integers(0, 10**6))
def test_k21_what_the_checks_accept_ends_or_waits(seed, input, order):
    """K21, K4: no error at release and every level sound: the run completes."""
    one = to_product(R.structured(seed, race=True))
    assert not [f for f in check(one) if f.severity == "error"]
    assert {found.status for found in verdicts(one, budget=BUDGET).values()} <= {"sound", "undecided"}
    sim, rng = Sim(one, input, check=False), random.Random(order)
    while sim.effects():
        sim.do(answer(pick(sim, rng), 1))
    assert sim.status == "COMPLETED"


@laws()
@given(SEEDS)
def test_l10_structured_nets_are_sound_in_every_scope_with_and_without_reductions(seed):
    """L10."""
    one = to_product(R.structured(seed))
    for scope in ["", *(n.id for n in one.nodes if n.kind == "scope")]:
        assert verdict(one, scope).status == "sound"
        assert verdict(one, scope, reductions=False, budget=3000).status in ("sound", "undecided")


@pytest.mark.parametrize(
    ("split", "join", "status", "why"),
    [
        ("all", model.ALL, "sound", ""),
        ("first", model.ALL, "unsound", "deadlock"),
        ("all", model.XOR, "unsound", "improper end"),
        ("every", model.INC, "sound", ""),
        ("every", model.ALL, "unsound", "deadlock"),
        ("first", model.XOR, "sound", ""),
    ],
)
def test_k21_a_block_breaks_as_the_verdict_says(split: Any, join: model.Join, status: str, why: str):
    """K21: by all choices of a block of two, the run does what the verdict says."""
    draft = Draft.__new__(Draft)
    names = {"s": model.Node("s", "start"), "f": model.Node("f", split=split), "j": model.Node("j", join=join)}
    names |= {n: model.Node(n, "task") for n in "ab"} | {"x": model.Node("x", "end", join=model.XOR)}
    draft.nodes, draft.edges = names, [tuple(w.split(">")) for w in "s>f f>a f>b a>j b>j j>x".split()]
    one = drawn(draft)
    found = both(one)
    assert (found.status, found.why if why else "") == (status, why)
    ends = [completes(one, choice) for choice in range(8)]
    assert all(ends) if status == "sound" else not all(ends)


def test_k21_an_unsound_net_that_is_run_all_the_same_says_where_it_is_stuck():
    """K21, K4: the run-time guard behind an undecided or ignored verdict."""
    ways = ["s>a a>j b>j j>x", edge("s>b", guard="input")]
    one = net([S, *tasks("a", "b"), Node(id="j"), X], ways)
    assert verdict(one).status == "unsound"
    sim = Sim(one, False)
    sim.ok("a")
    assert sim.status == "FAILED" and sim.st.failure.code == "DEADLOCK"
    assert sim.st.failure.detail == [{"node": "j", "held": ["a>j"], "missing": ["b>j"]}]
    assert sim.do(C.tick())[0].fact == "ignored"
