"""The report about a version before somebody approves it (W-9.4.1): simulated, replayed, and kept for the approver."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from penstock.app.access.roles import locale_of
from penstock.app.releases.releases import Releases
from penstock.app.releases.triggers import active_release
from penstock.app.runs.queries import StoreReader
from penstock.app.runs.runs import Runs
from penstock.executors.parts.simulation.record import SimulationRecord
from penstock.store.releases import ReleaseRow

if TYPE_CHECKING:
    from penstock.app.simulation.replay import ReplayReport
    from penstock.app.simulation.report import SimulationReport

#: virtual runs, and real ones that are replayed, unless more are asked for
RUNS, REPLAYED = 200, 200


class ReleaseReport(msgspec.Struct, frozen=True, kw_only=True):
    """`simulation`: nodes reached, expressions evaluated, unresolved references, what would have been sent or written,
    and how long virtual runs took. `replay`: what real runs of the active version would have done otherwise; none where
    no other version is in force."""

    simulation_id: str
    name: str
    version: int
    baseline: int | None
    ok: bool
    simulation: dict[str, Any]
    replay: dict[str, Any] | None


class ReportRequest(msgspec.Struct, frozen=True, kw_only=True):
    input: Any = None
    answers: Mapping[str, Any] | None = None
    runs: int = RUNS
    seed: int = 0
    due_ms: int | None = None
    replay: int = REPLAYED


class _Found(NamedTuple):
    simulation: SimulationReport
    replay: ReplayReport | None
    page: bytes


async def report_release(door: Runs, name: str, version: int, asked: ReportRequest, by: str = "") -> ReleaseReport:
    """Simulate a version and replay the active one's runs on it, beside the loop; nothing is sent, written or started
    but the report itself. Raises ReleaseNotFound, InputInvalid, BadInput."""
    row = Releases(door).get(name, version)
    active = active_release(door.store, door.tenant, name)
    baseline = active.version if active is not None and active.version != row.version else None
    looking = partial(_looked, door.path, row, baseline, asked, locale_of(door, by))
    found = await asyncio.to_thread(looking)
    now = door.now()
    report = ReleaseReport(
        simulation_id=_id(door.tenant, row.id, now), name=name, version=row.version, baseline=baseline,
        ok=found.simulation.ok, simulation=found.simulation.as_json(),
        replay=None if found.replay is None else found.replay.as_json(),
    )  # fmt: skip
    door.stored_tenant.keep_simulation(_record(report, found.page, now))
    return report


def _looked(store: Path, row: ReleaseRow, baseline: int | None, asked: ReportRequest, locale: str) -> _Found:
    """In a thread: it opens the store for itself, for the engine's own connection is the loop's."""
    from penstock.app.simulation import replay_release, simulate_release

    with contextlib.closing(StoreReader(store, row.tenant)) as reader:
        simulated = simulate_release(
            reader, row.name, row.version, input=asked.input, answers=asked.answers, runs=asked.runs, seed=asked.seed,
            due_ms=asked.due_ms,
        )  # fmt: skip
        replayed = None
        if baseline is not None and asked.replay:
            replayed = replay_release(reader, row.name, row.version, against=baseline, limit=asked.replay)
    return _Found(simulated, replayed, simulated.as_html(locale, replayed).encode())


def _id(tenant: str, release: str, now: int) -> str:
    return "sim_" + hashlib.sha256(f"{tenant}\0{release}\0{now}".encode()).hexdigest()[:16]


def _result(report: ReleaseReport) -> dict[str, Any]:
    """With what every simulation has in a list."""
    replayed = report.replay["runs"] if report.replay is not None else 0
    return {
        "subject": {"since": None, "until": None}, "summary": {"total_samples": replayed},
        "recommendation": _recommendation(report), "ok": report.ok, "simulation": report.simulation,
        "replay": report.replay,
    }  # fmt: skip


def _recommendation(report: ReleaseReport) -> str:
    """Only where real runs were replayed, and every one of them would have gone the same way, nobody need look."""
    replay = report.replay
    same = replay is not None and 0 < replay["runs"] == replay["same"]
    return "deploy" if report.ok and same else "review"


def _record(report: ReleaseReport, page: bytes, now: int) -> SimulationRecord:
    return SimulationRecord(
        id=report.simulation_id, run="", node="", document=report.name, artifact_type="workflow",
        artifact_id=report.name, candidate=str(report.version),
        baseline=None if report.baseline is None else str(report.baseline), mode="release", created_at=now,
        result=_result(report), format="html", report=page,
    )  # fmt: skip
