"""Alerts of projects (T-6.1.10): health that fell, zombies and stuck tasks, told to people and to whoever watches."""

from __future__ import annotations

import logging

import msgspec

from penstock.app.penstock import Penstock
from penstock.app.plan.health import Health, degraded
from penstock.dialects.notice import Notice
from penstock.host.embedded import Host
from penstock.store.projects import ProjectRow
from penstock.store.run_store import Batch

log = logging.getLogger("penstock")


class Alert(msgspec.Struct, rename="camel", frozen=True):
    """`kind`: health, zombie, stuck, and whatever else somebody has to see to."""

    project: str
    kind: str
    text: str


def alerts_of(row: ProjectRow, before: str, health: Health) -> list[Alert]:
    """What people have to know after a check; `before` is the level that the project had."""
    found = []
    if degraded(before, health.status):
        causes = "; ".join(issue.text for issue in health.issues)
        found.append(Alert(row.id, "health", f"health fell from {before} to {health.status}: {causes}"))
    for kind in ("zombie", "stuck"):
        texts = [issue.text for issue in health.issues if issue.kind == kind]
        if texts:
            found.append(Alert(row.id, kind, "; ".join(texts)))
    return found


def tell(door: Penstock, row: ProjectRow, alerts: list[Alert]) -> None:
    """To people through the tenant's channels, where it has some: on a laptop the log, the board and the reports say
    it. A process that does not drive the store can only log them."""
    for alert in alerts:
        log.warning("project %s: %s", row.id, alert.text)
    host = door.host_here
    if host is None or not alerts or not _has_channels(door, host):
        return
    batch = Batch()
    for alert in alerts:
        host.notices.write(_notice(door, row, alert), 0, 0, batch)
    host.store.commit(batch)
    if host.notices.wrote:
        host.notices.kick()


def _has_channels(door: Penstock, host: Host) -> bool:
    lent = host.dispatch.services.tenant
    if lent is None:
        return False
    tenant = lent(door.tenant)
    return bool(tenant.each("channel")) or "notification" in (tenant.find("config", "tenant") or {})


def _notice(door: Penstock, row: ProjectRow, alert: Alert) -> Notice:
    name = row.title or row.name
    return Notice(
        key=f"alert/{door.tenant}/{row.id}/{alert.kind}/{door.now()}", tenant=door.tenant, run=row.run or "",
        subject=f"[Penstock] {name}: {alert.kind}", text=f"{name}: {alert.text}", escalates=True,
    )  # fmt: skip
