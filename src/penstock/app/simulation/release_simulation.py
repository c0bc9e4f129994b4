"""Simulation of releases (W-9.4.1): before a version is approved, and beside the version that is in force."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from penstock.app.simulation.run_counts import RUNS

if TYPE_CHECKING:  # a process that runs a share of a simulation imports this package, and needs none of it
    from penstock.app.runs.queries import Queries
    from penstock.app.simulation.replay import ReplayReport
    from penstock.app.simulation.report import SimulationReport


def simulate_release(
    door: Queries, name: str, version: int | None = None, *, input: Any = None,
    answers: Mapping[str, Any] | None = None, runs: int = RUNS, seed: int = 0, due_ms: int | None = None,
) -> SimulationReport:  # fmt: skip
    """Dry run and Monte Carlo of a version (else of the active one). It reads the store and computes: call it beside
    the loop. Raises ReleaseNotFound, InputInvalid, BadInput."""
    from penstock.app.simulation.report import simulate
    from penstock.app.simulation.subject import of_release

    subject = of_release(door, name, version, input=input)
    return simulate(subject, runs=runs, seed=seed, due_ms=due_ms, answers=answers)


def replay_release(
    door: Queries, name: str, version: int, *, against: int | None = None, limit: int = 200
) -> ReplayReport:  # fmt: skip
    """Real runs of the version `against` (else of the active one), replayed with their recorded answers on another
    version: what would have gone otherwise. Raises ReleaseNotFound."""
    from penstock.app.simulation.replay import replay_release as replayed

    return replayed(door, name, version, against=against, limit=limit)
