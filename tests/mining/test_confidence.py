"""Bounds of a counted share: exact for one look, and right at all looks at once."""

from __future__ import annotations

import random
from functools import cache

import pytest

from penstock.mining.confidence import Bounds, exact_bounds, sequence_bounds, worsenings

DRAWS, LONGEST = 1000, 200
sequence = cache(sequence_bounds)
exact = cache(exact_bounds)


def drawn(share: float, seed: int, count: int = LONGEST) -> list[bool]:
    chance = random.Random(seed)
    return [chance.random() < share for _ in range(count)]


@pytest.mark.parametrize("trials", [1, 2, 5, 30, 59, 300, 5000])
def test_the_exact_bounds_are_those_of_another_library(trials: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    for successes in {0, 1, trials // 3, trials // 2, trials - 1, trials}:
        for level in (0.9, 0.95, 0.999):
            lower, upper = exact_bounds(successes, trials, level)
            wanted = stats.beta.ppf(1 - level, successes, trials - successes + 1) if successes else 0.0
            assert lower == pytest.approx(wanted, abs=1e-11)
            wanted = stats.beta.ppf(level, successes + 1, trials - successes) if successes < trials else 1.0
            assert upper == pytest.approx(wanted, abs=1e-11)


def test_bounds_that_everybody_knows() -> None:
    """59 without a mistake show 95 % at 95 %: the rule of the demonstration test; and 29 show 90 %."""
    assert exact_bounds(58, 58).lower < 0.95 <= exact_bounds(59, 59).lower
    assert exact_bounds(28, 28).lower < 0.90 <= exact_bounds(29, 29).lower
    assert exact_bounds(0, 0) == sequence_bounds(0, 0) == Bounds(0.0, 1.0)


def test_what_it_costs_to_look_as_often_as_one_likes() -> None:
    """93 without a mistake instead of 59; 158 for somebody who expects nothing."""
    assert sequence_bounds(92, 92, expected=0.95).lower < 0.95 <= sequence_bounds(93, 93, expected=0.95).lower
    assert sequence_bounds(157, 157).lower < 0.95 <= sequence_bounds(158, 158).lower
    for successes in (0, 3, 250, 480, 500):
        wide, narrow = sequence_bounds(successes, 500, expected=0.95), exact_bounds(successes, 500)
        assert wide.lower <= narrow.lower <= successes / 500 <= narrow.upper <= wide.upper


@pytest.mark.parametrize("share", [0.8, 0.9, 0.95, 0.99])
def test_the_bounds_hold_at_every_look_in_95_of_100_draws(share: float) -> None:
    """1,000 draws with a known share, looked at after each of 200 cases: how many are never wrong; and what looking
    again and again does to the bound for one look, here every ten cases."""
    held = held_once = 0
    for seed in range(DRAWS):
        good, right, right_once = 0, True, True
        for count, success in enumerate(drawn(share, seed), 1):
            good += success
            lower, upper = sequence(good, count, 0.95, 0.95)
            right = right and lower <= share <= upper
            if right_once and count % 10 == 0:
                right_once = exact(good, count).lower <= share
        held, held_once = held + right, held_once + right_once
    print(f"share {share}: both bounds held in {held} of {DRAWS} draws, the lower one for one look in {held_once}")
    assert held >= 0.95 * DRAWS
    assert share == 0.99 or held_once < 0.95 * DRAWS, "why there is a bound for many looks"


def test_a_worsening_is_heard_soon_and_seldom_said_wrongly() -> None:
    kept = [True] * 400
    assert worsenings(kept, 0.95) == []
    heard = worsenings([*kept, *[False] * 9], 0.95)
    assert heard == [405], "five mistakes in a row, whatever was before"
    wrong = [worsenings(drawn(0.95, seed, 1000), 0.95) for seed in range(300)]
    said = sum(map(bool, wrong))
    print(f"of 300 histories of 1,000 cases that keep to 95 %, {said} were called worse")
    assert said < 300 * 0.64, "at most once in 1,000 cases on average: 1 - 1/e of such histories have one"
    delays = [worsenings([*kept, *drawn(0.7, seed, 200)], 0.95) for seed in range(300)]
    assert all(delays)


@pytest.mark.parametrize(
    "wrong", [lambda: exact_bounds(3, 2), lambda: sequence_bounds(-1, 2), lambda: exact_bounds(1, 2, 1.0),
              lambda: sequence_bounds(1, 2, 0.95, 1.0), lambda: worsenings([True], 1.0)],
)  # fmt: skip
def test_what_is_no_share_is_refused(wrong: object) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        wrong()  # type: ignore[operator]
