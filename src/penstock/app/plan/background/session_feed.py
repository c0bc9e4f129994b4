"""What sessions say while they run: events for subscribers, and figures for the rows of their executions."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.app.penstock import Penstock
from penstock.app.plan.events import PlanEvents
from penstock.executors.cli_agent import SessionEvent
from penstock.store.tasks import SessionRow

#: characters of a text that an event carries; the log has the rest
_TEXT = 2000
_LINE = 160
#: what a session says of itself, by the names of the row
_FIGURES = ("pid", "pid_started_at", "started_at", "last_heartbeat_at", "progress", "tokens_in", "tokens_out")


class SessionFeed:
    def __init__(self, door: Penstock, hub: PlanEvents) -> None:
        self.door, self.hub = door, hub
        self.rows: dict[str, SessionRow] = {}
        self.spoken: dict[str, SessionEvent] = {}
        self.unsaved: dict[str, None] = {}

    def heard(self, event: SessionEvent) -> None:
        if event.kind != "stream":
            self.rows[event.session] = _changed(self._row(event), event)
        elif event.data.get("text"):  # there may be very many: the last one is looked at when it is written
            self.spoken[event.session] = event
        self.unsaved[event.session] = None
        if event.name:
            self.hub.publish(event.tenant, event.project, event.name, _data(event), event.at)
        if event.kind in ("started", "ended"):  # T-3.2.1: it runs from now on
            self.save()
        if event.kind == "ended":
            self.rows.pop(event.session, None)

    def _row(self, event: SessionEvent) -> SessionRow:
        """One that was adopted has a row already."""
        known = self.rows.get(event.session) or self.door.store.session(event.session)
        return known or SessionRow(session=event.session, tenant=event.tenant, project=event.project)

    def save(self) -> None:
        """Writes what is new, in one commit."""
        for event in self.spoken.values():
            self.rows[event.session] = _changed(self._row(event), event)
        self.spoken.clear()
        rows = [self.rows[session] for session in self.unsaved if session in self.rows]
        self.unsaved.clear()
        self.door.store.put_sessions(rows)
        self.hub.saved()


def _changed(row: SessionRow, event: SessionEvent) -> SessionRow:
    data = event.data
    told: dict[str, Any] = {name: data[name] for name in _FIGURES if isinstance(data.get(name), int)}
    if isinstance(data.get("cost_usd"), int | float):
        told["cost_micros"] = round(data["cost_usd"] * 1_000_000)
    line = data.get("last_line") or data.get("text") if event.kind != "started" else None
    if isinstance(line, str) and line.strip():
        told["last_line"] = line.strip().splitlines()[-1][:_LINE]
    told["last_heartbeat_at"] = max(told.get("last_heartbeat_at") or 0, event.at, row.last_heartbeat_at or 0)
    return msgspec.structs.replace(row, **told)


def _data(event: SessionEvent) -> dict[str, Any]:
    told = event.data
    detail = told.get("data")
    return {
        "session": event.session, "taskId": event.task, "agentName": event.agent, "number": told.get("number"),
        "kind": told.get("kind"), "text": str(told.get("text") or "")[:_TEXT],
        "data": None if isinstance(detail, msgspec.Raw) else detail,
        **({"progress": told["progress"]} if "progress" in told else {}),
    }  # fmt: skip
