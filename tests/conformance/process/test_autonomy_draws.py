"""Learned autonomy on simulated histories whose true share of good drafts is known."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from penstock.app.process.autonomy.assessment import advised, assessed, direction
from penstock.app.process.autonomy.rules import AutonomyRules
from penstock.store.autonomy import AutonomyCaseRow

DRAWS, LONGEST, EVERY = 1000, 300, 30
RULES = AutonomyRules()
WRONG = ("corrected", "rejected")


def history(good: Sequence[bool], mode: str = "SUPERVISED") -> list[AutonomyCaseRow]:
    return [
        AutonomyCaseRow("t", n, 1, f"r{n}~1", "p", 1, "a", "bot", mode, "unchanged" if ok else WRONG[n % 2], n, None, 0)
        for n, ok in enumerate(good)
    ]


def drawn(share: float, count: int, seed: int) -> list[bool]:
    chance = random.Random(seed)
    return [chance.random() < share for _ in range(count)]


def proposed(cases: list[AutonomyCaseRow], mode: str) -> str | None:
    return advised(mode, assessed(cases, mode, RULES), RULES)[0]


@pytest.mark.parametrize("share", [0.90, 0.94, 0.99])
def test_the_bound_of_a_proposal_holds_in_95_of_100_draws(share: float) -> None:
    """P-4.2.2, P-X.40: 1,000 simulated histories with a known error rate, evaluated again and again: the bound is never
    above the truth, nor the proposal to raise made below the target, in at least 95 of 100."""
    held = raised = wrongly = 0
    for seed in range(DRAWS):
        cases, right, up = history(drawn(share, LONGEST, seed)), True, False
        for count in range(EVERY, LONGEST + 1, EVERY):
            found = assessed(cases[:count], "SUPERVISED", RULES)
            right = right and found.lower <= share
            up = up or advised("SUPERVISED", found, RULES)[0] == "AUTONOMOUS"
        held, raised, wrongly = held + right, raised + up, wrongly + (up and share < RULES.raise_at)
    print(f"share {share}: the bound held in {held} of {DRAWS} draws; {raised} were raised, {wrongly} of them wrongly")
    assert held >= 0.95 * DRAWS and wrongly <= 0.05 * DRAWS
    assert share < 0.99 or raised > 0.8 * DRAWS, "who is good is seen to be"


def test_planted_mistakes_withdraw_in_every_draw() -> None:
    """P-X.40: 200 good drafts of an agent, then every second is wrong: the proposal to raise is gone, and an agent that
    works alone is to be supervised, soon and in each of 1,000 draws."""
    late = 0
    for seed in range(DRAWS):
        good = [True] * 200
        assert proposed(history(good), "SUPERVISED") == "AUTONOMOUS" if not seed else True
        turned = history([*good, *drawn(0.5, 40, seed)])
        assert proposed(turned, "SUPERVISED") != "AUTONOMOUS"
        assert proposed(turned, "AUTONOMOUS") == "SUPERVISED"
        late += proposed(turned[:220], "AUTONOMOUS") != "SUPERVISED"
    print(f"after 20 cases, half of them wrong, {DRAWS - late} of {DRAWS} were to be lowered already; after 40 all")


def test_who_keeps_to_the_target_is_seldom_to_be_lowered() -> None:
    """P-X.40: 1,000 histories of 300 autonomous cases, 98 % of them good."""
    lowered = 0
    for seed in range(DRAWS):
        cases = history(drawn(0.98, LONGEST, seed), "AUTONOMOUS")
        lowered += any(proposed(cases[:count], "AUTONOMOUS") for count in range(30, LONGEST + 1, 30))
    print(f"{lowered} of {DRAWS} agents that keep to 98 % were to be lowered at some look")
    assert lowered <= 0.05 * DRAWS


def test_a_mode_has_a_direction() -> None:
    assert direction("MANUAL", "SUPERVISED") == direction("SUPERVISED", "AUTONOMOUS") == "raise"
    assert direction("AUTONOMOUS", "SUPERVISED") == direction("SUPERVISED", "MANUAL") == "lower"
