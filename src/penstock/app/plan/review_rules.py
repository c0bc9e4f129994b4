"""Rules for what a plan puts into the inbox: results in doubt wait for people, and nothing else is decided (T-X.14)."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from penstock.app.language import Door, ItemWork
from penstock.errors import Refused
from penstock.kernel.state import Item
from penstock.net.compiled import CNode, Compiled

if TYPE_CHECKING:  # the language is known to those who list items; what they list is imported when it is asked for
    from penstock.app.inbox.open_items import InboxItem
    from penstock.app.runs.commands.moves import Move

REVIEW = "plan.review"


class ReviewRules:
    def permission(self, status: str) -> str:
        return REVIEW

    def busy_elsewhere(self, item: Item, user: str) -> bool:
        """Its agent works, or will."""
        return item.status != "SUBMITTED"

    def work_of(self, waiting: InboxItem, net: Compiled, item: Item) -> ItemWork:
        """`id` is PROJECT/TASK."""
        project = waiting.data.get("project") if isinstance(waiting.data, dict) else None
        return ItemWork(
            id=f"{project or ''}/{waiting.node}", mode="", assignee=None, activity_type="task", agent=True, error=None
        )

    def moves(
        self, waiting: InboxItem, node: CNode, item: Item, user: str, permissions: Collection[str]
    ) -> list[Move]:  # fmt: skip
        from penstock.app.runs.commands.moves import Move

        if item.status != "SUBMITTED" or REVIEW not in permissions:
            return []
        return [
            Move(verb=verb, label_key=f"move.{verb}", confirm="B", effect_key=f"move.{verb}.effect",
                 needs=["reason"] if verb == "reject" else [], target=waiting.node)
            for verb in ("approve", "reject")
        ]  # fmt: skip

    def error_words(self) -> AbstractContextManager[None]:
        return contextlib.nullcontext()

    async def submit(self, door: Door, run: str, firing: int, value: Any, *, by: Any) -> None:
        raise Refused(why="a task of a plan is done by its agent", hint="When it is in doubt: `penstock plan review`.")

    async def claim(self, door: Door, run: str, firing: int, *, by: Any) -> None:
        raise Refused(why="a result in doubt is approved or rejected, and not taken")

    async def approve(self, door: Door, run: str, firing: int, *, by: Any, comment: str | None) -> None:
        from penstock.app.plan.task_commands import approve

        await approve(door, *_task(door, run, firing), comment=comment or "", by=by)

    async def reject(self, door: Door, run: str, firing: int, *, by: Any, comment: str) -> None:
        from penstock.app.plan.task_commands import reject

        await reject(door, *_task(door, run, firing), comment=comment, by=by)


def _task(door: Door, run: str, firing: int) -> tuple[str, str]:
    """Project and task of a firing."""
    reading = door.reading(run)
    return str(reading.state.input["project_id"]), str(reading.net.nodes[reading.state.firings[firing].node].id)
