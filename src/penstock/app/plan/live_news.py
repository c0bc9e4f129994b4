"""Events of plans for everybody who listens to the server. What agents say is thinned: its reader reads the log."""

from __future__ import annotations

from penstock.app.language import Tell
from penstock.app.penstock import Penstock
from penstock.app.plan.events import STREAM, plan_events
from penstock.app.plan.views import PlanEvent

#: milliseconds between two lines of one session that are passed on
EVERY_MS = 200
#: sessions that are remembered at most
_SESSIONS = 1000


class LiveNews:
    def __init__(self, door: Penstock, tell: Tell) -> None:
        self.tell = tell
        self.told_at: dict[str, int] = {}
        plan_events(door).listeners.append(self._pass_on)

    def _pass_on(self, tenant: str, told: PlanEvent) -> None:
        if told.event == STREAM and not self._is_due(f"{tenant}/{told.data.get('session')}", told.at):
            return
        self.tell(tenant, told.event, {**told.data, "project": told.project, "at": told.at})

    def _is_due(self, session: str, at: int) -> bool:
        if at - self.told_at.get(session, -EVERY_MS) < EVERY_MS:
            return False
        if len(self.told_at) >= _SESSIONS:
            self.told_at.clear()
        self.told_at[session] = at
        return True
