"""Escalating by hand: an approval goes to others before its time is over (W-4.6, escalate_action)."""

from __future__ import annotations

import re

from penstock.app.access.candidates import Who, id_of
from penstock.app.inbox.comments import Comments
from penstock.app.inbox.items import item
from penstock.app.inbox.open_items import InboxItem, find
from penstock.app.runs.runs import Runs
from penstock.errors import BadInput
from penstock.kernel import command as C

_HINT = "Say to whom: user:…, role:… or group:…."


async def escalate(door: Runs, id: str, *, by: Who, to: str | None = None, comment: str | None = None) -> InboxItem:
    """To `to`, else to those whom its document names for it. Only who may decide may pass it on; what is known of it
    stays, and its history says who did it. Raises ApproverDenied, TargetNotFound, BadInput."""
    waiting = find(door, id)
    targets = [to] if to else _next(door, waiting, by)
    if not targets:
        raise BadInput(what=f"«{waiting.id}»", why="its document names nobody to escalate it to", hint=_HINT)
    for target in targets:
        Comments(door).delegate(waiting.exact, by, target, comment)
    await door.command(waiting.run, C.work(waiting.firing, "reassign", id_of(by), None, comment))
    return find(door, waiting.exact)


def _next(door: Runs, waiting: InboxItem, by: Who) -> list[str]:
    then = item(door, by, (), waiting.exact).due_then
    if then is None or then.kind != "escalate" or not then.to:
        return []
    return [part for part in re.split(r"[,\s]+", then.to) if part]
