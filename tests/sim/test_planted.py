"""The gate of planted bugs: a simulation that finds nothing may be blind. Each must be found by the seeds of CI."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sim.mutants import MUTANTS, planted
from tests.sim.nth import SCENARIOS, crashes
from tests.sim.shrink import check_of, shrink
from tests.sim.sim import Sim

MOST = 2000


@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_bug_is_found(name: str, record_property: Any) -> None:
    with planted(name):
        found = next((seed for seed in range(MOST) if Sim(seed).run().violation), None)
    assert found is not None, f"{name}: {MUTANTS[name][0]}: not found in {MOST} seeds"
    record_property("planted", (name, found))


def test_a_bug_goes_when_it_is_taken_out() -> None:
    """The patches leave nothing behind: the seeds that found them are clean without them."""
    before = [Sim(seed).run().hash for seed in range(5)]
    for name in MUTANTS:
        with planted(name):
            pass
    assert [Sim(seed).run().hash for seed in range(5)] == before


def test_crashes_at_every_call_find_an_effect_that_is_not_asked_again() -> None:
    with planted("not-asked-again"):
        wrong = [n for n, result in crashes(SCENARIOS[0], "before") if result.violation]
    assert wrong


def test_a_failing_seed_is_made_small() -> None:
    with planted("M7"):
        seed = next(s for s in range(MOST) if len(Sim(s).works) > 1 and Sim(s).run().violation)
        first = Sim(seed)
        check = check_of(first.run().violation)
        options = shrink(seed)
        assert len(options["keep"]) <= len(first.works) and len(options["plan"]) <= len(first.plan.enabled)
        assert check_of(Sim(seed, **options).run().violation) == check
