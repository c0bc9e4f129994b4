"""Reports of projects: submitted one by one as things happen, and collected from every active project (T-6.1)."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from penstock.app.penstock import Penstock
from penstock.app.plan import health as health_checks
from penstock.app.plan.events import plan_events
from penstock.app.plan.health import Health
from penstock.app.plan.projects import project_row
from penstock.app.plan.reporting.alerts import Alert, alerts_of, tell
from penstock.app.plan.reporting.periodic_report import periodic_body, periodic_faults
from penstock.errors import BadInput
from penstock.store.projects import ProjectRow
from penstock.store.reports import ReportRow

#: T-R.1 to T-R.8
TYPES = ("completion", "progress", "failure", "periodic", "incident", "zombie", "error", "summary")
#: T-X.33: how long a report stays among those that are listed
KEPT_DAYS = 30
KEPT_SETTING = "plans.reports_kept_days"
_DAY_MS = 86_400_000
log = logging.getLogger("penstock")


class Report(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """`project` is None of a report about none in particular."""

    id: str
    project: str | None
    type: str
    generated_at: int
    body: dict[str, Any]


class Skipped(msgspec.Struct, rename="camel", frozen=True):
    project: str
    why: str


class Collected(msgspec.Struct, rename="camel", kw_only=True):
    """`skipped`: those whose folder is not there, or whose report would not have been valid. `archived`: how many old
    reports were put away."""

    reports: list[Report] = []
    skipped: list[Skipped] = []
    alerts: list[Alert] = []
    archived: int = 0


class _Unusable(Exception):
    """A project that gets no report; the text says why."""


def submit(
    door: Penstock, project: str | None, type: str, body: Mapping[str, Any], *, id: str | None = None
) -> Report:  # fmt: skip
    """Kept at once. With an `id` the same report again changes nothing: an event may be told of twice."""
    if type not in TYPES:
        raise BadInput(what="the report", why=f"there is no type «{type}»", hint=f"They are {', '.join(TYPES)}.")
    now = door.now()
    made = Report(id=id or secrets.token_hex(8), project=project, type=type, generated_at=now, body=dict(body))
    row = ReportRow(made.id, door.tenant, project, type, now, msgspec.json.encode(made.body).decode())
    if not door.store.add_report(row):
        kept = door.store.report(door.tenant, made.id)
        return made if kept is None else _report(kept)
    return made


def reports(
    door: Penstock, type: str | None = None, project: str | None = None, limit: int = 100, *, archived: bool = False
) -> list[Report]:
    """The newest first."""
    wanted = project_row(door, project).id if project is not None else None
    rows = door.store.reports(door.tenant, type=type, project=wanted, limit=limit, archived=archived)
    return [_report(row) for row in rows]


def _report(row: ReportRow) -> Report:
    return Report(
        id=row.id, project=row.project, type=row.type, generated_at=row.generated_at, body=json.loads(row.body)
    )


async def collect(door: Penstock) -> Collected:
    """T-6.1.1 to T-6.1.10, of every active project. One that cannot be reported on is logged and skipped."""
    collected = Collected()
    for row in door.store.projects(door.tenant):
        if not row.enabled:
            continue
        try:
            health = _checked(door, row)
            report = _periodic(door, row, health)
        except Exception as error:
            why = str(error) if isinstance(error, _Unusable) else f"{type(error).__name__}: {error}"
            log.error("no periodic report of project %s: %s", row.id, why)
            collected.skipped.append(Skipped(row.id, why))
            continue
        alerts = alerts_of(row, row.health, health)
        tell(door, row, alerts)
        collected.reports.append(report)
        collected.alerts += alerts
        _refresh(door, row, report, alerts)
        await asyncio.sleep(0)  # other work goes on between two projects
    collected.archived = _archive(door)
    return collected


def check(door: Penstock, project: str) -> Health:
    """A health check by itself; people are told when health has fallen."""
    row = project_row(door, project)
    health = health_checks.check(door, row.id)
    fell = [alert for alert in alerts_of(row, row.health, health) if alert.kind == "health"]
    tell(door, row, fell)
    data = {"health": health.status, "score": health.score, "alerts": msgspec.to_builtins(fell)}
    plan_events(door).publish(door.tenant, row.id, "dashboard:update", data)
    return health


def _checked(door: Penstock, row: ProjectRow) -> Health:
    if not Path(row.path).is_dir():
        raise _Unusable("its folder is not there")
    return health_checks.check(door, row.id)


def _periodic(door: Penstock, row: ProjectRow, health: Health) -> Report:
    """T-6.1.6 to T-6.1.8: made, looked at, and kept."""
    body = periodic_body(door, row, health)
    faults = periodic_faults(door, row, body)
    if faults:
        raise _Unusable(f"its report is not valid: {'; '.join(faults)}")
    report = submit(door, row.id, "periodic", body)
    door.store.project_seen(door.tenant, row.id, report.generated_at)
    return report


def _refresh(door: Penstock, row: ProjectRow, report: Report, alerts: list[Alert]) -> None:
    """T-6.1.9."""
    data = {
        "report": report.id, "counts": report.body["task_counts"], "health": report.body["health"]["status"],
        "score": report.body["health"]["score"], "alerts": msgspec.to_builtins(alerts),
    }  # fmt: skip
    plan_events(door).publish(door.tenant, row.id, "dashboard:update", data)


def _archive(door: Penstock) -> int:
    kept = door.settings.get(KEPT_SETTING, KEPT_DAYS)
    days = kept if isinstance(kept, int | float) and not isinstance(kept, bool) and kept >= 0 else KEPT_DAYS
    return door.store.archive_reports(door.now() - int(days * _DAY_MS))
