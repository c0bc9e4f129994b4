"""Sample data for a development store: documents in force, runs under way, and new ones at intervals (dev)."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from penstock import sample_tenant
from penstock.app.language import app_languages
from penstock.app.releases.start_release import start
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from penstock.app.penstock import Penstock

#: what runs when a store is new: an alarm waits for its manager, one for the laboratory, one is stuck, others are done
FIRST: tuple[tuple[str, dict[str, Any]], ...] = (
    ("wf_defect_alert_v2", {"line_id": "L02"}),
    ("wf_defect_alert_v2", {"line_id": "L03"}),
    ("wf_ccp_deviation_v2", {"line_id": "L02"}),
    ("wf_order_import", {}),  # its file is not there yet: somebody has to look
    ("wf_ccp_deviation_v2", {"line_id": "L01"}),
    ("wf_defect_alert_v2", {"line_id": "L01"}),
    ("order_settlement", {"order": "O-1001"}),  # its last step fails, so everything is undone in reverse
    ("data_registration", {"source": "협력사"}),  # waits for somebody to take it
)
EVERY_S = 20.0
#: a demo that is left alone for a night does not fill the disk
MOST = 500
_BY = "admin@example.com"


def put_in_force(door: Penstock) -> list[str]:
    """Release the sample documents, once; returns their names."""
    names = []
    for document in sample_tenant.documents():
        row = door.releases.submit(document, by=_BY).release
        if row.status == "pending_approval":
            row = door.releases.approve(row.name, row.version, by="manager@example.com")
        if row.status == "approved":
            row = door.releases.activate(row.name, row.version)
        names.append(row.name)
    return names


async def begin(door: Penstock) -> None:
    """The first runs of a store that has none."""
    put_in_force(door)
    if door.runs(limit=1):
        return
    for name, given in FIRST:
        await _start(door, name, given)
    for language in app_languages():
        with contextlib.suppress(PenstockError):
            await language.sample(door)


async def go_on(door: Penstock, every_s: float = EVERY_S) -> None:
    """Start one sample run after another, until cancelled."""
    for number in range(MOST):
        await asyncio.sleep(every_s)
        await _start(door, *FIRST[number % 2])


async def _start(door: Penstock, name: str, given: dict[str, Any]) -> None:
    with contextlib.suppress(PenstockError):  # a demo must not stop the server; what is wrong with it is in the store
        await start(door, name, given, trigger={"type": "manual", "source": "demo", "initiator": _BY})
