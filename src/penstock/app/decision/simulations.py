"""Simulations for people: listed, looked at with every judgment, and their reports in three formats."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.errors import BadInput, ExtraMissing, SimulationNotFound
from penstock.executors.parts.reports import FORMATS, ReportImpossible, render
from penstock.store.simulations import SimulationRow

if TYPE_CHECKING:
    from penstock.app.runs.queries import Queries

_unpack = msgspec.msgpack.decode
#: the mode of a report about a version of a definition, and what it is kept as
RELEASE, _RELEASE_FORMATS = "release", ("html", "json")


class SimulatedArtifact(msgspec.Struct):
    type: str
    id: str


class SimulationSummary(msgspec.Struct, kw_only=True):
    """A simulation in a list."""

    simulation_id: str
    run_id: str
    node: str
    document: str
    artifact: SimulatedArtifact
    candidate_version: str | None
    baseline_version: str | None
    mode: str
    created_at: int
    since: int | None
    until: int | None
    total_samples: int
    recommendation: str
    reports: list[str]


class Simulation(SimulationSummary, kw_only=True):
    """A simulation with its result; its samples are asked for by themselves."""

    result: dict[str, Any]


class SimulatedJudgment(msgspec.Struct, kw_only=True):
    """One sample: what was decided before and what would be decided after."""

    judgment: str
    run: str | None
    node: str | None
    at: int
    line_id: str | None
    before: str | None
    after: str
    label: str | None
    missed: bool


def simulations(
    door: Queries, *, artifact: str | None = None, type: str | None = None, run: str | None = None, limit: int = 50
) -> list[SimulationSummary]:  # fmt: skip
    """Newest first."""
    rows = door.store.simulations(door.tenant, artifact_type=type, artifact_id=artifact, run=run, limit=limit)
    return [SimulationSummary(**_fields(row, _unpack(row.result))) for row in rows]


def simulation(door: Queries, id: str) -> Simulation:
    """Raises SimulationNotFound."""
    row = _row(door, id)
    result = _unpack(row.result)
    return Simulation(
        **_fields(row, result), result={name: value for name, value in result.items() if name != "samples"}
    )


def simulated_judgments(
    door: Queries, id: str, *, before: str | None = None, after: str | None = None, misses: bool = False,
    changed: bool = False, limit: int = 200,
) -> list[SimulatedJudgment]:  # fmt: skip
    """The samples, newest first: those of one cell of the matrix, those that changed, or those newly missed."""
    rows = _unpack(_row(door, id).result).get("samples") or []
    chosen = [
        row
        for row in reversed(rows)
        if not (row.get("failed") and (before or after or changed))  # what could not be judged is in no cell
        and (before is None or row["before"] == before)
        and (after is None or row["after"] == after)
        and (not misses or row["missed"])
        and (not changed or row["before"] != row["after"])
    ]
    fields = SimulatedJudgment.__struct_fields__
    return [SimulatedJudgment(**{name: row[name] for name in fields}) for row in chosen[:limit]]


def report(door: Queries, id: str, format: str, language: str | None = None) -> bytes:
    """The report as it was asked for, else made from the result now. Raises SimulationNotFound, ExtraMissing."""
    return report_maker(door, id, format, language)()


def report_maker(door: Queries, id: str, format: str, language: str | None = None) -> Callable[[], bytes]:
    """Reads what the report is made of here; what it returns makes it and needs no store, so any thread may call it."""
    row = _row(door, id)
    result = _unpack(row.result)
    kept = (result.get("report") or {}).get("language")
    stored = row.report
    if row.mode == RELEASE:
        return _of_release(row, result, format)
    if stored is not None and row.format == format and language in (None, kept):
        return lambda: stored
    return partial(_rendered, result, format, language or kept or "ko")


def _of_release(row: SimulationRow, result: dict[str, Any], format: str) -> Callable[[], bytes]:
    """The report about a version of a definition (W-9.4.1), which is kept as a page. Raises BadInput."""
    if format not in _RELEASE_FORMATS:
        hint = "Ask for report.html or report.json."
        raise BadInput(what="the format", why=f"the report of a version is not made as {format}", hint=hint)
    return lambda: msgspec.json.encode(result) if format == "json" else row.report or b""


def _rendered(result: dict[str, Any], format: str, language: str) -> bytes:
    try:
        return render(result, format, language)
    except ReportImpossible:
        raise ExtraMissing(extra="reports") from None


def _row(door: Queries, id: str) -> SimulationRow:
    row = door.store.simulation(door.tenant, id)
    if row is None:
        raise SimulationNotFound(id=id)
    return row


def _fields(row: SimulationRow, result: dict[str, Any]) -> dict[str, Any]:
    subject = result["subject"]
    return {
        "simulation_id": row.id, "run_id": row.run, "node": row.node, "document": row.document,
        "artifact": SimulatedArtifact(row.artifact_type, row.artifact_id), "candidate_version": row.candidate,
        "baseline_version": row.baseline, "mode": row.mode, "created_at": row.created_at, "since": subject["since"],
        "until": subject["until"], "total_samples": result["summary"]["total_samples"],
        "recommendation": result["recommendation"],
        "reports": list(_RELEASE_FORMATS if row.mode == RELEASE else FORMATS),
    }  # fmt: skip
