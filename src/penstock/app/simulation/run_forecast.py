"""The forecast of a run: the rest of an open one, or what a run with its input takes from the start."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import msgspec

from penstock.app.runs.queries import StoreReader
from penstock.app.simulation.report import simulate
from penstock.app.simulation.subject import of_run

#: virtual runs, and at most so many for somebody who waits for the answer
RUNS, MOST_RUNS = 500, 5_000


class RunForecast(msgspec.Struct, frozen=True, kw_only=True):
    """`status` is that of an open run, whose rest is forecast; without it the run has ended. No value of the run is in
    it."""

    run: str
    name: str
    language: str
    version: int | None
    status: str | None
    elapsed_ms: int
    simulated_at: int
    forecast: dict[str, Any]
    warnings: list[str]


def forecast_run(
    store: Path, tenant: str, run: str, *, runs: int = RUNS, seed: int = 0, due_ms: int | None = None
) -> RunForecast:
    """By a reader of its own: it computes for a while, and is called beside the loop. Raises RunNotFound, BadInput."""
    with contextlib.closing(StoreReader(store, tenant)) as reader:
        report = simulate(of_run(reader, run), runs=runs, seed=seed, due_ms=due_ms, variations=1)
    warnings = [code for code in report.warnings if code.endswith("HISTORY")]
    return RunForecast(
        run=report.run or run, name=report.name, language=report.language, version=report.version,
        status=report.status, elapsed_ms=report.elapsed_ms, simulated_at=report.simulated_at,
        forecast=msgspec.to_builtins(report.monte_carlo), warnings=warnings,
    )  # fmt: skip
