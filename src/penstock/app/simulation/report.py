"""The report of a simulation: dry run and Monte Carlo of one subject, as data, JSON and a page for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.app.simulation.dry_run import VARIATIONS, DryRun, check_answers, dry_run
from penstock.app.simulation.monte_carlo import MonteCarlo, monte_carlo
from penstock.app.simulation.run_counts import RUNS
from penstock.app.simulation.subject import MOST_RUNS, MissingReference, Subject
from penstock.errors import BadInput

if TYPE_CHECKING:
    from penstock.app.simulation.replay import ReplayReport


class SimulationReport(msgspec.Struct, kw_only=True):
    """Of a run that has not ended there is no dry run: its Monte Carlo goes on from where it stands."""

    name: str
    language: str
    version: int | None
    hash: str
    run: str | None = None
    status: str | None = None
    elapsed_ms: int = 0
    simulated_at: int = 0
    inputs_from: str = "given"
    dry_run: DryRun | None = None
    monte_carlo: MonteCarlo | None = None
    missing: list[MissingReference] = []
    warnings: list[str] = []

    @property
    def ok(self) -> bool:
        return self.dry_run is None or self.dry_run.ok

    def as_json(self) -> dict[str, Any]:
        """Times are milliseconds, shares lie between 0 and 1."""
        document = {"name": self.name, "language": self.language, "version": self.version, "hash": self.hash}
        return {
            "document": document, "run": self.run, "status": self.status, "elapsed_ms": self.elapsed_ms,
            "simulated_at": self.simulated_at, "inputs_from": self.inputs_from, "ok": self.ok,
            "dry_run": None if self.dry_run is None else self.dry_run.as_json(),
            "monte_carlo": None if self.monte_carlo is None else msgspec.to_builtins(self.monte_carlo),
            "missing": msgspec.to_builtins(self.missing), "warnings": self.warnings,
        }  # fmt: skip

    def as_html(self, locale: str = "en", replay: ReplayReport | None = None) -> str:
        """A page of its own: no script, no font and no picture is fetched. With a replay it stands below."""
        from penstock.app.simulation.pages.report_page import report_page

        return report_page(self, locale, replay)


def simulate(
    subject: Subject, *, runs: int = RUNS, seed: int = 0, due_ms: int | None = None,
    answers: Mapping[str, Any] | None = None, processes: int | None = None, variations: int = VARIATIONS,
) -> SimulationReport:  # fmt: skip
    """Dry run, then Monte Carlo with `runs` virtual runs (0: the dry run alone). Nothing is written, sent or started.
    Raises BadInput."""
    _check(runs, due_ms)
    check_answers(subject.compiled, answers)
    report = SimulationReport(
        name=subject.name, language=subject.net.language, version=subject.version, hash=subject.compiled.hash,
        run=subject.run, status=subject.status, elapsed_ms=subject.elapsed_ms, simulated_at=subject.now,
        inputs_from=subject.inputs_from, missing=subject.missing, warnings=[],
    )  # fmt: skip
    if subject.state is None:
        report.dry_run = dry_run(
            subject.net, subject.inputs[0] if subject.inputs else {}, now=subject.now, history=subject.history,
            answers=answers, seed=seed, options=subject.options, variations=variations, called=subject.called,
            more_inputs=subject.inputs[1:],
        )  # fmt: skip
    if runs:
        report.monte_carlo = monte_carlo(
            subject.compiled, inputs=subject.inputs, now=subject.now, runs=runs, seed=seed, history=subject.history,
            answers=dict(answers or {}), options=subject.options, due_ms=due_ms, state=subject.state,
            processes=processes, resolve=subject.resolve if subject.state is not None else None,
            called=subject.called,
        )  # fmt: skip
    report.warnings += _warnings(report, subject)
    return report


def _check(runs: int, due_ms: int | None) -> None:
    if not 0 <= runs <= MOST_RUNS:
        raise BadInput(what="the number of runs", why=f"it is from 0 to {MOST_RUNS}, and {runs} is not")
    if due_ms is not None and due_ms <= 0:
        raise BadInput(what="the due time", why="it is a time after the start", hint="For example 30m, 2h or 1d.")


def _warnings(report: SimulationReport, subject: Subject) -> list[str]:
    """Codes: whoever shows them has the words."""
    warnings = []
    if not subject.history.runs:
        warnings.append("NO_HISTORY")
    elif subject.history.runs < 30:
        warnings.append("LITTLE_HISTORY")
    if report.dry_run is not None and report.dry_run.unresolved:
        warnings.append("UNRESOLVED")
    if report.missing:
        warnings.append("MISSING")
    if report.dry_run is not None and report.dry_run.unreached:
        warnings.append("UNREACHED")
    if subject.inputs_from in ("schema", "expressions", "nothing"):
        warnings.append("NO_INPUT")
    return warnings
