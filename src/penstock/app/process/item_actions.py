"""Work items of processes in the inbox: who does them, and what may be done with one now (P-X.13, P-X.14, P-X.40)."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import msgspec

from penstock.app.inbox.inbox import Waiting
from penstock.app.runs.moves import Move
from penstock.app.runs.queries import Queries
from penstock.kernel.state import Item
from penstock.lifecycle.work_item import WORK_ITEM
from penstock.net.compiled import CNode, Compiled

_WORK, _APPROVE = "process.work", "process.approve"
_NEEDS = {"reject": ["reason"], "rework": ["reason"], "submit": ["input"], "set_mode": ["mode"], "delegate": ["to"]}


class ItemWork(msgspec.Struct, frozen=True):
    """`id` is its name among the work items of processes. `modes`: it may be given to a person, or to an agent."""

    id: str
    mode: str
    assignee: str | None
    activity_type: str
    agent: bool
    error: str | None


def of_process(net: Compiled) -> bool:
    return net.net.language == "process"


def needs(door: Queries, net: int, status: str) -> str:
    """The permission that whoever acts has to have."""
    nets = door._held.nets
    assert nets is not None
    if not of_process(nets.get(net)):
        return "inbox.decide"
    return _APPROVE if status == "SUBMITTED" else _WORK


def busy_elsewhere(item: Item, user: str) -> bool:
    """An agent does it, or somebody else has begun: it does not wait for this one."""
    return item.status == "IN_PROGRESS" and item.why is None and item.by not in (None, user)


def work_of(one: Waiting, net: Compiled, item: Item) -> ItemWork:
    node = next((node for node in net.nodes if (node.spec.origin or node.id) == one.node), None)
    return ItemWork(
        id=f"{one.run}~{one.firing}", mode=item.mode, assignee=item.by,
        activity_type=node.spec.type if node is not None else "",
        agent=node is not None and node.effect is not None, error=item.why,
    )  # fmt: skip


def work_moves(one: Waiting, node: CNode, item: Item, user: str, permissions: Collection[str]) -> list[Move]:
    """Only what its life allows now, and the caller may do."""
    return [
        Move(verb=verb, label_key=f"move.{verb}", confirm="A" if verb == "start" else "B",
             effect_key=f"move.{verb}.effect", needs=_NEEDS.get(verb, []), target=one.node)
        for verb in _verbs(node, item, user)
        if (_APPROVE if verb in ("approve", "reject", "rework") else _WORK) in permissions
    ]  # fmt: skip


def _verbs(node: CNode, item: Item, user: str) -> Iterator[str]:
    by_hand = item.mode in ("", "MANUAL") or item.why is not None
    elsewhere = busy_elsewhere(item, user)
    if WORK_ITEM.allows(item.status, "start") and by_hand:
        yield "start"
    if WORK_ITEM.allows(item.status, "submit") and by_hand and not elsewhere:
        yield "submit"
    if WORK_ITEM.allows(item.status, "approve"):
        yield from ("approve", "reject", "rework")
    if WORK_ITEM.allows(item.status, "take_over") and (elsewhere or not by_hand):
        yield "take_over"
    if WORK_ITEM.allows(item.status, "set_mode") and item.mode and node.effect is not None:
        yield "set_mode"
    if item.status in ("TODO", "IN_PROGRESS", "SUBMITTED"):
        yield "delegate"
