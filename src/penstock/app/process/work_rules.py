"""Rules for work items of processes: who does them, and what may be done with one now (P-X.13, P-X.14, P-X.40)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from penstock.app.language import Door, ItemWork
from penstock.kernel.state import Item
from penstock.lifecycle.work_item import WORK_ITEM
from penstock.net.compiled import CNode, Compiled

if TYPE_CHECKING:  # the language is known to those who list items; what they list is imported when it is asked for
    from penstock.app.inbox.open_items import InboxItem
    from penstock.app.process.work_items import WorkItems
    from penstock.app.runs.commands.moves import Move

_WORK, _APPROVE = "process.work", "process.approve"
_NEEDS = {"reject": ["reason"], "rework": ["reason"], "submit": ["input"], "set_mode": ["mode"], "delegate": ["to"]}


class ProcessWorkRules:
    def permission(self, status: str) -> str:
        return _APPROVE if status == "SUBMITTED" else _WORK

    def busy_elsewhere(self, item: Item, user: str) -> bool:
        return busy_elsewhere(item, user)

    def work_of(self, waiting: InboxItem, net: Compiled, item: Item) -> ItemWork:
        node = next((node for node in net.nodes if (node.spec.origin or node.id) == waiting.node), None)
        return ItemWork(
            id=f"{waiting.run}~{waiting.firing}", mode=item.mode, assignee=item.by,
            activity_type=node.spec.type if node is not None else "",
            agent=node is not None and node.effect is not None, error=item.why,
        )  # fmt: skip

    def moves(
        self, waiting: InboxItem, node: CNode, item: Item, user: str, permissions: Collection[str]
    ) -> list[Move]:  # fmt: skip
        from penstock.app.runs.commands.moves import Move

        return [
            Move(verb=verb, label_key=f"move.{verb}", confirm="A" if verb == "start" else "B",
                 effect_key=f"move.{verb}.effect", needs=_NEEDS.get(verb, []), target=waiting.node)
            for verb in _verbs(node, item, user)
            if (_APPROVE if verb in ("approve", "reject", "rework") else _WORK) in permissions
        ]  # fmt: skip

    def error_words(self) -> AbstractContextManager[None]:
        from penstock.app.process.error_words import process_words

        return process_words()

    async def submit(self, door: Door, run: str, firing: int, value: Any, *, by: Any) -> None:
        await _items(door).submit(f"{run}~{firing}", value, by=by)

    async def claim(self, door: Door, run: str, firing: int, *, by: Any) -> None:
        await _items(door).start(f"{run}~{firing}", by=by)

    async def approve(self, door: Door, run: str, firing: int, *, by: Any, comment: str | None) -> None:
        await _items(door).approve(f"{run}~{firing}", by=by, comment=comment)

    async def reject(self, door: Door, run: str, firing: int, *, by: Any, comment: str) -> None:
        await _items(door).reject(f"{run}~{firing}", by=by, comment=comment)


def _items(door: Door) -> WorkItems:
    from penstock.app.process.work_items import WorkItems

    return WorkItems(door)


def busy_elsewhere(item: Item, user: str) -> bool:
    """An agent does it, or somebody else has begun: it does not wait for this one."""
    return item.status == "IN_PROGRESS" and item.why is None and item.by not in (None, user)


def _verbs(node: CNode, item: Item, user: str) -> Iterator[str]:
    work = node.spec.work
    if work is not None and work.alone and item.status == "IN_PROGRESS" and item.why is None:
        return
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
