"""Events of plans for everybody who listens to the server. What agents say is thinned: its reader reads the log.

Whoever hears of a line reads what it has changed: it is passed on when the rows have it, the last one of each session.
"""

from __future__ import annotations

from penstock.app.language import Tell
from penstock.app.penstock import Penstock
from penstock.app.plan.events import STREAM, plan_events
from penstock.app.plan.views import PlanEvent


class LiveNews:
    def __init__(self, door: Penstock, tell: Tell) -> None:
        self.tell = tell
        self.lines: dict[tuple[str, str], tuple[str, PlanEvent]] = {}  # by tenant and session
        hub = plan_events(door)
        hub.listeners.append(self._heard)
        hub.on_saved.append(self._saved)

    def _heard(self, tenant: str, told: PlanEvent) -> None:
        if told.event == STREAM:
            self.lines[tenant, str(told.data.get("session"))] = (tenant, told)
        else:
            self._pass_on(tenant, told)

    def _saved(self) -> None:
        lines, self.lines = self.lines, {}
        for tenant, told in lines.values():
            self._pass_on(tenant, told)

    def _pass_on(self, tenant: str, told: PlanEvent) -> None:
        self.tell(tenant, told.event, {**told.data, "project": told.project, "at": told.at})
