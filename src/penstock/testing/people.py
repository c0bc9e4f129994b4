"""Scripted people: they approve, reject, judge, answer, claim and hand in what waits for them."""

from __future__ import annotations

from typing import Any

from penstock.app.inbox.comments import Comments
from penstock.app.inbox.inbox import DECISIONS
from penstock.app.inbox.open_items import InboxItem, fold_items
from penstock.app.language import WorkRules, app_language
from penstock.errors import NothingWaits, Refused
from penstock.testing.contract import Scene
from penstock.testing.tested_run import TestedRun

_MOST = 1000


class Person:
    """A user of the tenant. What waits is looked for in all runs of the test; `run` names one, and `within` lets time
    pass until it is there."""

    def __init__(self, scene: Scene, user: str) -> None:
        self._scene, self.user = scene, user

    async def approve(self, node: str, *, comment: str | None = None, value: Any = None, **where: Any) -> None:
        await self._decide(node, "approved", comment, value, where)

    async def reject(self, node: str, *, comment: str | None = None, value: Any = None, **where: Any) -> None:
        await self._decide(node, "rejected", comment, value, where)

    async def judge(self, node: str, decision: str, *, comment: str | None = None, **where: Any) -> None:
        """Give a review its verdict: normal, warning, critical or unknown."""
        item = await self._item(node, **where)
        await self._scene.door.inbox.judge(item.exact, decision, by=self.user, comment=comment)
        await self._scene.rest()

    async def answer(self, node: str, value: Any = None, **where: Any) -> None:
        """Answer what asks for a value, or hand in work."""
        item = await self._item(node, **where)
        rules = self._rules(item)
        if rules is not None:
            with rules.error_words():
                await rules.submit(self._scene.door, item.run, item.firing, value, by=self.user)
        else:
            await self._scene.door.inbox.answer(item.exact, value, by=self.user)
        await self._scene.rest()

    async def claim(self, node: str, **where: Any) -> None:
        """Take it, so that nobody else does."""
        item = await self._item(node, **where)
        rules = self._rules(item)
        if rules is not None:
            with rules.error_words():
                await rules.claim(self._scene.door, item.run, item.firing, by=self.user)
        else:
            Comments(self._scene.door).claim(item.exact, self.user)
        await self._scene.rest()

    async def _decide(self, node: str, verdict: str, comment: str | None, value: Any, where: dict[str, Any]) -> None:
        item = await self._item(node, **where)
        door = self._scene.door
        if item.kind == "review":
            hint = f"Judge it instead: {', '.join(DECISIONS)}."
            raise Refused(why=f"«{node}» asks for a verdict, and not for an approval", hint=hint)
        if item.kind == "work":
            await self._decide_work(item, verdict, comment)
        elif verdict == "approved":
            await door.inbox.approve(item.exact, by=self.user, comment=comment, value=value)
        else:
            await door.inbox.reject(item.exact, by=self.user, comment=comment, value=value)
        await self._scene.rest()

    async def _decide_work(self, item: InboxItem, verdict: str, comment: str | None) -> None:
        rules = self._rules(item)
        if rules is None:
            raise Refused(why=f"«{item.node}» asks for an answer, and is not {verdict}", hint="Answer it.")
        door = self._scene.door
        with rules.error_words():
            if verdict == "approved":
                await rules.approve(door, item.run, item.firing, by=self.user, comment=comment)
            else:
                await rules.reject(door, item.run, item.firing, by=self.user, comment=comment or "rejected")

    def _rules(self, item: InboxItem) -> WorkRules | None:
        if item.kind != "work":
            return None
        return app_language(self._scene.door.reading(item.run).net.net.language).work_rules

    async def _item(self, node: str, *, run: TestedRun | None = None, within: str = "0s") -> InboxItem:
        """What waits at the node, oldest first; time passes until it is there. Raises NothingWaits."""
        item = self._open(node, run)
        if item is None:
            await self._scene.advance_until(lambda: self._open(node, run) is not None, within=within)
            item = self._open(node, run)
        if item is None:
            raise NothingWaits(who=self.user, node=node, why=self._instead(within))
        return item

    def _open(self, node: str, run: TestedRun | None) -> InboxItem | None:
        door = self._scene.door
        rows = door.store.open_items(door.tenant, _MOST)
        items = (each.item for each in fold_items(door, rows))
        return next((item for item in items if item.node == node and run in (None, self._run_of(item))), None)

    def _run_of(self, item: InboxItem) -> TestedRun:
        return self._scene.run(item.run)

    def _instead(self, within: str) -> str:
        waits = [wait.node for run in self._scene.runs if not run.ended for wait in run.waits]
        waiting = (
            f"what waits is {', '.join(f'«{node}»' for node in dict.fromkeys(waits))}" if waits else "nothing waits"
        )
        return waiting if within == "0s" else f"{waiting}, within {within}"
