"""Answering a node that waits for a person, by somebody whose rights are known."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from penstock.app.inbox import find
from penstock.app.remarks import may_decide
from penstock.errors import ItemDecided, ItemNotFound, NotAllowed, Refused

if TYPE_CHECKING:
    from penstock.app.penstock import Penstock

_OTHERWISE = {"approval": "approved or rejected", "review": "given its verdict"}


async def answer(door: Penstock, run: str, node: str, value: Any, *, by: str, permissions: Collection[str]) -> None:
    """Only who may decide; and what is decided by a vote or a verdict is not answered. A node that is stuck gets its
    result by an operator's hand. Raises ApproverDenied, FourEyes, ItemClaimed, NotAllowed, Refused, NotWaiting."""
    try:
        item = find(door, f"{run}/{node}")
    except (ItemNotFound, ItemDecided):
        if "run.edit" not in permissions and _stuck(door, run, node):
            raise NotAllowed(user=by, permission="run.edit") from None
    else:
        if item.kind in _OTHERWISE:
            raise Refused(why=f"«{item.id}» is {_OTHERWISE[item.kind]}, and not answered")
        may_decide(door, item, by)
    await door.respond(run, node, value, by=by)


def _stuck(door: Penstock, run: str, node: str) -> bool:
    return any(one.node == node and one.for_ == "operator" for one in door.look(run).waiting)
