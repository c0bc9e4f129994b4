"""The inductive miner: known trees come out again, and every model replays its log."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import BadInput, LogTooLarge
from penstock.mining.block_tree import activities
from penstock.mining.flow_model import tree_model
from penstock.mining.inductive_miner import discover_tree
from penstock.mining.replay import Replayer
from tests.mining.random_trees import Variants, log_of, random_log, random_tree


def fits_all(log: Variants, noise: float = 0.0) -> bool:
    replayer = Replayer(tree_model(discover_tree(log, noise)))
    return all(replayer.fits(case) for case in log)


@pytest.mark.parametrize(
    ("cases", "tree"),
    [
        (["abc"], "->( 'a', 'b', 'c' )"),
        (["abd", "acd"], "->( 'a', X( 'b', 'c' ), 'd' )"),
        (["abcd", "acbd"], "->( 'a', +( 'b', 'c' ), 'd' )"),
        (["abc", "ababc", "abababc"], "->( *( ->( 'a', 'b' ), tau ), 'c' )"),
        (["abacad", "ad"], "->( *( 'a', X( 'b', 'c' ) ), 'd' )"),
        (["ac", "abc"], "->( 'a', X( tau, 'b' ), 'c' )"),
        (["a", "aa", "aaa"], "*( 'a', tau )"),
        (["", "a"], "X( tau, 'a' )"),
    ],
)
def test_known_logs_have_known_trees(cases: list[str], tree: str) -> None:
    """P-7.2.1, P-7.2.2: each cut of the inductive miner (Leemans 2013), written out by hand."""
    assert str(discover_tree({tuple(case): 3 for case in cases})) == tree


def test_models_of_random_logs_replay_them() -> None:
    """P-7.2.2: 200 logs that follow no model, and 100 played out of known trees: every case fits."""
    random = Random(11)
    for _ in range(200):
        log = random_log(random)
        assert fits_all(log), log
    for size in range(100):
        log = log_of(random_tree(random, [f"x{i}" for i in range(2 + size % 9)]), random, 40)
        assert fits_all(log), log


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.lists(st.sampled_from("abcde"), max_size=7).map(tuple), st.integers(1, 9), min_size=1))
def test_no_log_is_found_that_its_model_does_not_replay(log: Variants) -> None:
    """P-7.2.2."""
    assert fits_all(log), log


def test_noise_leaves_rare_pairs_out() -> None:
    """P-8.5, P-8.7: with noise the swapped cases are left out, without it they are in the model."""
    log = {tuple("abcd"): 96, tuple("acbd"): 2, tuple("badc"): 2}
    assert str(discover_tree(log, 0.2)) == "->( 'a', 'b', 'c', 'd' )"
    assert str(discover_tree(log)) != "->( 'a', 'b', 'c', 'd' )"
    assert fits_all(log)
    assert not fits_all(log, 0.2)


def test_noise_on_random_logs_ends_with_a_model_that_names_no_more() -> None:
    """P-8.7."""
    random = Random(5)
    for _ in range(100):
        log = random_log(random)
        assert set(activities(discover_tree(log, 0.3))) <= {activity for case in log for activity in case}


def test_a_log_with_too_many_activities_is_refused() -> None:
    """P-8.5: a typed refusal, and not an hour."""
    with pytest.raises(LogTooLarge) as refused:
        discover_tree({tuple(f"a{i}" for i in range(10_000)): 1})
    assert refused.value.code == "PS-413-LOG"
    assert refused.value.facts["count"] == 10_000
    with pytest.raises(BadInput):
        discover_tree({("a",): 1}, 1.5)


def test_ten_thousand_variants_come_to_a_model() -> None:
    """P-8.5: with 40 activities in any order, which is the worst case."""
    random = Random(3)
    log = {tuple(f"a{random.randrange(40)}" for _ in range(20)): 1 for _ in range(10_000)}
    assert fits_all(dict(list(log.items())[:50])) and set(activities(discover_tree(log))) == {
        f"a{i}" for i in range(40)
    }
