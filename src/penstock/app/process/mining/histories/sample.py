"""Something to mine in a new store of a demo: the log of a process from before, and a few instances of it under way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.app.process.mining.histories.logs import EventLogs
from penstock.app.process.work_items import WorkItems
from penstock.app.releases.start_release import start
from penstock.sample_tenant.claim_log import NAME, PROCESS, claim_log

if TYPE_CHECKING:
    from penstock.app.penstock import Penstock

_CLERK, _HEAD, _FINANCE = "operator@example.com", "manager@example.com", "approver@example.com"
#: what is handed in, activity by activity: those who do it, and their results
_RECEIVED = {"customer": "한빛", "amount": 240_000}
_UNDER_WAY: tuple[tuple[tuple[str, dict[str, Any]], ...], ...] = (
    (),
    ((_CLERK, {"customer": "누리", "amount": 60_000}),),
    ((_CLERK, {"customer": "다온", "amount": 90_000}),),
    ((_CLERK, _RECEIVED),),
    ((_CLERK, _RECEIVED),),
)


async def begin(door: Penstock) -> None:
    logs = EventLogs(door)
    if logs.each(PROCESS):
        return
    await logs.add(claim_log(door.now()), NAME, process=PROCESS, by="admin@example.com")
    trigger = {"type": "manual", "source": "demo", "initiator": _CLERK}
    for steps in _UNDER_WAY:
        run = await start(door, PROCESS, {}, trigger=trigger)
        for user, result in steps:
            for item in door.store.work_of(door.row(run).no):
                await WorkItems(door).submit(f"{run}~{item.firing}", result, by=user)
