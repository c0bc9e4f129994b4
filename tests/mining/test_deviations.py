"""Deviations are named as they were planted, with the fewest that explain a case."""

from __future__ import annotations

from random import Random

import pytest

from penstock.mining.block_tree import ProcessTree, leaf
from penstock.mining.conformance import conformance
from penstock.mining.flow_model import tree_model
from penstock.mining.replay import Replayer
from tests.mining.random_trees import played, random_tree


def line(names: str) -> ProcessTree:
    return ProcessTree("sequence", children=tuple(map(leaf, names)))


@pytest.mark.parametrize(
    ("case", "kind", "activity", "before", "after", "places"),
    [
        ("acde", "skipped", "b", "a", "c", (1,)),
        ("bcde", "skipped", "a", "", "b", (0,)),
        ("abbcde", "repeated", "b", "b", "c", (2,)),
        ("abcdbcde", "repeated", "b", "d", "c", (4, 5, 6)),
        ("abxcde", "unknown", "x", "b", "c", (2,)),
        ("abdce", "order", "d", "b", "c", (2,)),
        ("abcd", "missing_end", "e", "d", "", (3,)),
        ("abc", "missing_end", "d", "c", "", (2,)),
    ],
)
def test_a_deviation_has_the_name_that_a_person_expects(
    case: str, kind: str, activity: str, before: str, after: str, places: tuple[int, ...]
) -> None:
    """P-7.2.2: a b c d e is what the model says; expected values by hand."""
    found = conformance(tree_model(line("abcde")), {tuple("abcde"): 7, tuple(case): 3})
    assert (found.cases, found.fitting, found.fits, found.bounded) == (10, 7, (True, False), False)
    (only,) = found.deviations
    assert (only.kind, only.activity, only.before, only.after) == (kind, activity, before, after)
    assert (only.cases, only.variants, found.first, found.deviating) == (3, (1,), (-1, 0), ((), places))


def test_a_case_with_several_deviations_counts_at_its_first() -> None:
    """P-7.2.2, console 14.7: the cases of all deviations are those that do not fit."""
    found = conformance(tree_model(line("abcdef")), {tuple("acdef"): 5, tuple("acdff"): 2})
    assert [(one.kind, one.activity, one.cases) for one in found.deviations] == [
        ("skipped", "b", 7), ("repeated", "f", 0), ("skipped", "e", 0),
    ]  # fmt: skip
    assert sum(one.cases for one in found.deviations) == found.cases - found.fitting


def test_planted_deviations_are_found_again() -> None:
    """P-7.2.2: 60 generated processes, each with a skip, a repetition, an invention and a swap planted into a case."""
    random, planted = Random(17), {"skipped": 0, "repeated": 0, "unknown": 0, "order": 0}
    for size in range(60):
        inner = random_tree(random, [f"x{i}" for i in range(1 + size % 5)], silent=0.0)
        tree = ProcessTree("sequence", children=(leaf("p"), leaf("q"), inner, leaf("r"), leaf("s"), leaf("t")))
        case = played(tree, random)
        r = case.index("r")
        cases = {
            "skipped": ([*case[:r], *case[r + 1 :]], ("r", case[r - 1], "s")),
            "repeated": ([*case[: r + 1], "r", *case[r + 1 :]], ("r", "r", "s")),
            "unknown": ([*case[: r + 1], "new", *case[r + 1 :]], ("new", "r", "s")),
            "order": (["q", "p", *case[2:]], ("q", "", "p")),
        }
        for kind, (changed, expected) in cases.items():
            found = conformance(tree_model(tree), {tuple(case): 4, tuple(changed): 1})
            assert [(one.kind, one.activity, one.before, one.after) for one in found.deviations] == [(kind, *expected)]
            assert (found.fitting, found.cases) == (4, 5)
            planted[kind] += 1
    assert set(planted.values()) == {60}


def test_played_cases_fit_and_fitness_is_one() -> None:
    """P-7.2.2: what a model plays out fits the model, with loops, choices and parallel parts."""
    random = Random(23)
    for size in range(80):
        tree = random_tree(random, [f"x{i}" for i in range(1 + size % 8)])
        cases = {tuple(played(tree, random)): 1 for _ in range(10)}
        found = conformance(tree_model(tree), cases)
        assert all(found.fits) and found.fitness == 1.0 and found.deviations == ()


def test_fitness_is_one_less_the_cost_of_the_worst() -> None:
    """P-8.5: abcde without b: 1 deviation; at worst its 4 events and 5 activities; with 9 cases that fit 90 more."""
    found = conformance(tree_model(line("abcde")), {tuple("acde"): 1, tuple("abcde"): 9})
    assert found.fitness == pytest.approx(1 - 1 / (9 + 90))


def test_precision_counts_what_was_allowed_and_not_seen() -> None:
    """P-7.4.4: of X(a, b), c only a c was seen: before the first event 2 are allowed and 1 escapes, then 1 of 1."""
    tree = ProcessTree("sequence", children=(ProcessTree("xor", children=(leaf("a"), leaf("b"))), leaf("c")))
    assert conformance(tree_model(tree), {("a", "c"): 6}).precision == pytest.approx(1 - 1 / 3)
    assert conformance(tree_model(tree), {("a", "c"): 6, ("b", "c"): 1}).precision == 1.0


def test_a_search_that_is_ended_says_so() -> None:
    """P-7.2.2: the bound is reported, and there is an answer."""
    flower = ProcessTree("parallel", children=tuple(leaf(f"x{i}") for i in range(14)))
    case = (*tuple(f"x{i}" for i in range(13)), "x0", "y")
    model = tree_model(flower)
    assert not Replayer(model).fits(case)
    found = Replayer(model, 5).explain(case)
    assert found.bounded and found.cost >= 3 and [m.at for m in found.moves if m.kind != "model"] == list(range(15))
    assert conformance(model, {case: 1}, most=5).bounded
    assert not conformance(tree_model(line("abc")), {tuple("ab"): 1}).bounded
