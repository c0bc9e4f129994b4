"""Commands for runs: here, or through the inbox of the process that drives the store."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.app.access.candidates import Who, for_anybody, id_of
from penstock.app.deployments.rollouts import refuse_live
from penstock.app.engine import Engine
from penstock.app.language import AppLanguage, app_language
from penstock.app.releases.triggers import EventReceipt, event_row, receipt_of
from penstock.app.runs.commands.answers import answer_to, check_result, not_waiting, refusal_of
from penstock.app.runs.queries import Queries
from penstock.app.runs.reading import RunReading
from penstock.app.runs.run_view import calls_of
from penstock.app.runs.timeline.fact_pages import reader_at_checkpoint
from penstock.errors import (
    ApproverDenied,
    MigrationBlocked,
    NodeNotFound,
    NothingToUndo,
    NotTaken,
    NotWaiting,
    Refused,
    RunNotFound,
    StatusConflict,
)
from penstock.host.children import child_id
from penstock.host.clock import SystemClock
from penstock.host.embedded import ReplyWaiter
from penstock.kernel import command as C
from penstock.kernel import fact as F
from penstock.kernel.state import COMPLETED, STATUS
from penstock.lang.rollout_net import ROLLOUT
from penstock.net.author import author
from penstock.store.address import driver_of
from penstock.store.run_store import RunRow

if TYPE_CHECKING:
    from penstock.app.runs.commands.migration import Migration, Move

#: How long a command waits in the inbox until whoever drives the store has taken it.
PATIENCE_S = 10.0


class RunCommands:
    """For the runs of one door. Everything returns when it is committed, and raises when it is refused."""

    def __init__(self, engine: Engine, door: Queries) -> None:
        self.engine, self.door = engine, door

    async def command(self, run: str | RunRow, command: C.Command) -> None:
        """To a run by its name, or by its row where that is in hand."""
        row = self.door.row(run) if isinstance(run, str) else run
        if self.engine.host is not None:
            self.engine.begin()
            waiter = ReplyWaiter(1)
            self.engine.host.send(row.no, command, waiter, row.tenant)
            await self.engine.heard(waiter)
            return
        await self.leave(row.no, msgspec.msgpack.encode(command), row.id)

    async def leave(self, run: int, command: bytes, id: str) -> None:
        """Through the inbox of whoever drives the store, until it is committed there."""
        number = self.door.store.put_inbox(run, command, SystemClock().now())
        if not await self.answered(number, PATIENCE_S):
            pid = driver_of(self.engine.path)
            raise NotTaken(pid=pid or "", seconds=f"{PATIENCE_S:g}", inbox=number, run=id)

    async def answered(self, number: int, patience_s: float) -> bool:
        store = self.door.store
        for waited in range(int(patience_s / 0.05)):
            answer = store.inbox_answer(number)
            if answer is not None:
                body = msgspec.msgpack.decode(answer)
                if "code" in body:
                    raise refusal_of(body)
                return True
            if self.engine.host is None and waited % 4 == 1 and driver_of(self.engine.path) is None:
                return store.inbox_answer(number) is not None
            await asyncio.sleep(0.05)
        return False

    async def migrate(self, run: str, move: Move) -> Migration:
        from penstock.app.runs.commands.migration import planned

        reading = await self.door.reading_ahead(run)
        migration = planned(self.door, reading, move)
        if migration.obstacles:
            raise MigrationBlocked(why="; ".join(migration.obstacles))
        await self.command(reading.row, move.command())
        migration.done = True
        return migration

    async def undo_migration(self, run: str) -> Migration:
        from penstock.app.runs.commands.migration import way_back

        return await self.migrate(run, way_back(self.door, await self.door.reading_ahead(run)))

    async def wake_up(self, run: str) -> None:
        with contextlib.suppress(Refused):  # it has ended
            if self.door.row(run).status < COMPLETED:
                await self.command(run, C.nudge())

    async def signal(self, run: str, name: str, payload: Any, id: str) -> None:
        row = self.door.row(run)
        if row.status >= COMPLETED:
            why = f"Run {row.id} has ended ({STATUS[row.status]}), so no signal can reach it"
            raise NotWaiting(why=why, hint="`penstock show RUN` shows how it ended.")
        await self.command(run, C.signal(id, name, payload))

    async def respond(self, run: str, node: str, value: Any, by: Who | None) -> None:
        reading = await self.door.reading_ahead(run)
        waiting = reading.fold.waiting()
        command = answer_to(reading, node, value, None if by is None else id_of(by))
        if command is None:
            raise not_waiting(self.door.view_of(reading), reading.net, node)
        self._refuse_others(reading, command[1], by)
        for wait in waiting:
            if wait.node == node.partition("~")[0]:
                check_result(wait.prompt, value, node)
        try:
            await self.command(reading.row, command)
        except StatusConflict as refused:  # somebody else was faster: said in the words of whoever answers
            again = await self.door.reading_ahead(reading.row.id)
            raise not_waiting(self.door.view_of(again), again.net, node) from refused

    def _refuse_others(self, reading: RunReading, firing: int, by: Who | None) -> None:
        """P-X.13: work that is for somebody is done by those whom it is for, whichever door they come by; a program
        that names nobody does not do it for them. Raises ApproverDenied."""
        from penstock.app.inbox.comments import check_eligible
        from penstock.app.inbox.open_items import InboxItem, requester

        st, item = reading.state, reading.state.items.get(firing)
        if item is None or for_anybody(item.candidates):
            return
        node = author(reading.net.nodes[st.firings[firing].node])
        asked = InboxItem(
            id=f"{reading.row.id}/{node}~{firing}", run=reading.row.id, node=node, kind="work", title="", firing=firing,
            document=reading.net.net.name, status=item.status, opened_at=0, candidates=item.candidates,
            requested_by=requester(st),
        )  # fmt: skip
        if by is not None:
            check_eligible(self.door, asked, by)
        elif app_language(reading.net.net.language).work_rules is not None:
            raise ApproverDenied(user="Somebody without a name", item=asked.id)

    async def cancel(self, run: str, mode: str) -> None:
        row = self.door.row(run)
        if self.door.nets.get(row.net).net.name == ROLLOUT.name:
            refuse_live(self.door.store, row)
        if await self._language(row).cancel(self.door, row):
            return
        calls = await self._calls(run)
        await self.command(run, C.cancel(mode))
        for id in (child_id(key) for key in calls if mode == "now"):
            with contextlib.suppress(Refused, RunNotFound):
                called = self.door.row(id)
                if called.id == id and called.status < COMPLETED:
                    await self.cancel(id, mode)

    async def retry(self, run: str, how: str) -> None:
        row = self.door.row(run)
        if not await self._language(row).retry(self.door, row, how):
            await self.command(row, C.retry(how))

    def _language(self, row: RunRow) -> AppLanguage:
        return app_language(self.door.nets.get(row.net).net.language)

    async def _calls(self, run: str) -> list[str]:
        """The keys of the runs that it has called and waits for: from its checkpoint, where that names them."""
        row = self.door.row(run)
        if not any(node.calls for node in self.door.nets.get(row.net).nodes):
            return []
        for loaded, tail in self.door.store.load([row.no]):
            reader = reader_at_checkpoint(self.door, loaded)
            if reader is not None:
                for turn in tail:
                    reader.turn(turn.at, F.decode_facts(turn.body))
                return calls_of(reader)[0]
        return (await self.door.reading_ahead(row)).fold.calls()[0]

    async def compensate(self, run: str, only: tuple[str, ...]) -> None:
        """The kernel ignores what there is no reason for; whoever has asked for it hears why."""
        row = self.door.row(run)
        net = self.door.net_of(self.door.hash_of(row.net))
        unknown = [name for name in only if name not in net.by_id]
        if unknown:
            undone = ", ".join(f"«{node.id}»" for node in net.nodes if node.undo) or "none"
            raise NodeNotFound(node=unknown[0], hint=f"Nodes that can be undone: {undone}.")
        before = self.door.reading(row).state.n
        await self.command(row.id, C.compensate(only))
        for fact in (fact for turn in self.door.store.journal(row.no, before) for fact in F.decode_facts(turn.body)):
            if F.name_of(fact) == "ignored" and F.fields_of(fact).get("command") == "compensate":
                again = F.fields_of(fact).get("why") == "running"
                why = "it is being undone already" if again else "nothing that it has done can be undone by hand"
                raise NothingToUndo(run=row.id, why=why)

    async def resolve(self, run: str, node: str, output: Any) -> None:
        """Give a node that works, waits or is stuck its result by hand."""
        reading = self.door.reading(run)
        row, net, st = reading.row, reading.net, reading.state
        held = [no for no, firing in st.firings.items() if author(net.nodes[firing.node]) == node and not firing.kids]
        if not held:
            raise NodeNotFound(node=node, what="that works or waits")
        await self.command(row, C.resolve(held[0], output))

    async def edit(self, run: str, values: Mapping[str, Any]) -> None:
        """Change variables of a run that goes on; each is a fact of its own."""
        for name, value in values.items():
            await self.command(run, C.set_variable(name, value))

    async def send_event(self, source: str, payload: Any, id: str | None) -> EventReceipt:
        store, host = self.door.store, self.engine.host
        event = event_row(self.door.tenant, source, payload, id, self.engine.now())
        new = store.put_event(event) is not None
        if host is not None:
            self.engine.begin()
            host.intake.poll()
            receipt = receipt_of(store, event, new)
            if not receipt.delivered:
                waiter = ReplyWaiter(1)
                host.intake.tell(receipt.number, event.tenant, waiter)
                host.wake_up()
                await self.engine.heard(waiter)
        else:
            for _ in range(int(PATIENCE_S / 0.05)):
                if receipt_of(store, event, new).delivered or driver_of(self.engine.path) is None:
                    break
                await asyncio.sleep(0.05)
        return receipt_of(store, event, new)
