"""Answering a node that waits for a person, by somebody whose rights are known."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from penstock.app.access.candidates import Who, id_of
from penstock.app.inbox.comments import check_may_decide
from penstock.app.inbox.open_items import find_open
from penstock.app.language import app_language
from penstock.app.runs.commands.answers import firings_of
from penstock.app.runs.runs import Runs
from penstock.errors import ItemDecided, ItemNotFound, NotAllowed, Refused

_OTHERWISE = {"approval": "approved or rejected", "review": "given its verdict"}


async def answer(door: Runs, run: str, node: str, value: Any, *, by: Who, permissions: Collection[str]) -> None:
    """Only who may decide; and what is decided by a vote or a verdict is not answered. NODE~FIRING is one of several. A
    node that is stuck gets its result by an operator's hand. An activity of a process is submitted, by whoever
    may. Raises ApproverDenied, FourEyes, ItemClaimed, NotAllowed, Refused, NotWaiting, ItemAmbiguous."""
    try:
        item, reading = find_open(door, f"{run}/{node}")
    except (ItemNotFound, ItemDecided):
        if "run.edit" not in permissions and _stuck(door, run, node):
            raise NotAllowed(user=id_of(by), permission="run.edit") from None
    else:
        if item.kind in _OTHERWISE:
            raise Refused(why=f"«{item.id}» is {_OTHERWISE[item.kind]}, and not answered")
        rules = app_language(reading.net.net.language).work_rules
        if rules is not None:
            if (needed := rules.permission("TODO")) not in permissions:
                raise NotAllowed(user=id_of(by), permission=needed)
            await rules.submit(door, item.run, item.firing, value, by=by)
            return
        check_may_decide(door, item, by)
        run, node = item.run, item.firing_name
    await door.respond(run, node, value, by=by)


def _stuck(door: Runs, run: str, node: str) -> bool:
    reading = door.reading(run)
    return any(reading.state.firings[no].blocked for no in firings_of(reading, node))
