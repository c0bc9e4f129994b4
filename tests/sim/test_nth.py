"""A crash before and after every host call of fixed scenarios: each run still ends, and breaks no law."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sim.nth import SCENARIOS, VARIANTS, Scenario, crashes, run_once


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_a_crash_at_every_call(scenario: Scenario, variant: str, record_property: Any) -> None:
    """C7, E3, E6, H8: whatever the last thing was that the process did, the next one goes on."""
    runs = list(crashes(scenario, variant))
    record_property("nth", len(runs))
    wrong = [f"call {n}: {result.violation}" for n, result in runs if result.violation]
    assert not wrong, "\n" + "\n".join(wrong)
    assert len(runs) > 3


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_without_a_crash(scenario: Scenario) -> None:
    result = run_once(scenario, None)
    assert result.violation is None and not result.counters.get("processes_died")
