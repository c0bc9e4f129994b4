"""Planted faults are found: the random nets are strong enough to tell."""

from __future__ import annotations

import pytest

from tests.model.mutants import MUTANTS, goes_wrong, planted

SEEDS = (35, 374, 423, 657)  # nets with inclusive joins inside inclusive joins inside loops


@pytest.mark.parametrize("name", MUTANTS)
def test_planted_fault_is_found(name):
    with planted(name):
        assert any(goes_wrong(seed) for seed in SEEDS)


def test_the_right_rule_is_right_there():
    assert not any(goes_wrong(seed) for seed in SEEDS)
