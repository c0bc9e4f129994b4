"""One verb for many runs: which they are, what would be refused and why, and then doing it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from penstock.app.runs.commands.migration import Move, planned, way_back
from penstock.app.runs.commands.moves import PERMISSIONS, moves
from penstock.app.runs.runs import Runs
from penstock.app.runs.search import Filters, find_rows
from penstock.dialects import dialect_of
from penstock.errors import BadInput, MigrationBlocked, NotAllowed, PenstockError, StoreError
from penstock.store.run_store import RunRow

VERBS = ("cancel", "pause", "resume", "retry", "signal", "compensate", "migrate", "undo_migration")
#: what is offered for no run by itself: whether it can be done shows its plan
MIGRATIONS = ("migrate", "undo_migration")
#: so many at once
MOST = 1000
_SAMPLE = 20
#: so many are looked at before others have their turn
SLICE = 20


class Refusal(msgspec.Struct, frozen=True):
    """`state` where it is the reason, in the word of the kernel."""

    run: str
    code: str
    reason: str
    state: str | None = None


class BulkOutcome(msgspec.Struct, kw_only=True):
    """`count` is how many it was done to, or would be; `more`: others fit the filter that were not looked at."""

    verb: str
    dry_run: bool
    count: int
    sample: list[str]
    refused: list[Refusal]
    more: bool


class BulkCommand(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be done, by whom. `to` is the hash of the net that runs are migrated to."""

    verb: str
    mode: str = "now"
    how: str = "here"
    name: str = ""
    payload: Any = None
    to: str = ""
    user: str = ""
    permissions: frozenset[str] = frozenset()

    def check(self) -> None:
        """Raises NotAllowed, BadInput."""
        if self.verb == "signal" and not self.name:
            raise BadInput(what="the signal", why="it has no «name»")
        if self.verb == "migrate" and not self.to:
            raise BadInput(what="the migration", why="it has no «version»")
        if PERMISSIONS[self.verb] not in self.permissions:
            raise NotAllowed(user=self.user, permission=PERMISSIONS[self.verb])


async def command_many(
    door: Runs, command: BulkCommand, runs: Sequence[str], *, more: bool = False, dry_run: bool = True
) -> BulkOutcome:
    """Each by itself: one that is refused keeps nobody else from it. After every few others have their turn."""
    command.check()
    done, refused = list[str](), list[Refusal]()
    for number, run in enumerate(dict.fromkeys(runs), 1):
        try:
            refusal = await command_run(door, command, run, dry_run=dry_run)
        except StoreError as error:
            refusal = Refusal(run, error.code, error.message)
        if refusal is None:
            done.append(door.row(run).id)
        else:
            refused.append(refusal)
        if number % SLICE == 0:
            await asyncio.sleep(0)
    verb = command.verb
    return BulkOutcome(verb=verb, dry_run=dry_run, count=len(done), sample=done[:_SAMPLE], refused=refused, more=more)


async def command_run(
    door: Runs, command: BulkCommand, run: str, *, dry_run: bool = False, id: str = ""
) -> Refusal | None:  # fmt: skip
    """To one of many: why not, or None. A signal with the same `id` is taken once. Raises StoreError."""
    verb = command.verb
    try:
        row = door.row(run)
        if verb in MIGRATIONS:
            return await _migrate_one(door, command, row, dry_run=dry_run)
        offered = moves(door.reading(row), permissions=command.permissions, settings=door.settings)
        allowed = {move.verb for move in offered}
        if verb not in allowed and not (verb == "signal" and "pause" in allowed):
            language, now = door.nets.get(row.net).net.language, door.status(row.id)
            code = dialect_of(language).conflict.code
            return Refusal(row.id, code, f"It is {now.status}, so it cannot be asked to {verb}.", now.state)
        if not dry_run:
            await _command_one(door, command, row.id, id)
    except StoreError:
        raise
    except PenstockError as error:
        return Refusal(run, error.code, error.message)
    return None


async def _migrate_one(door: Runs, command: BulkCommand, row: RunRow, *, dry_run: bool) -> Refusal | None:
    """To another version, or back to the one before. What is on that version already is refused."""
    reading = await door.reading_ahead(row.id)
    move = Move(to=command.to) if command.verb == "migrate" else way_back(door, reading)
    if move.to == reading.net.hash:
        return Refusal(row.id, MigrationBlocked.code, "it is on this version already")
    planned_move = planned(door, reading, move)
    if planned_move.obstacles:
        return Refusal(row.id, MigrationBlocked.code, "; ".join(planned_move.obstacles))
    if not dry_run:
        await door.migrate(row.id, move)
    return None


async def _command_one(door: Runs, command: BulkCommand, run: str, id: str) -> None:
    if command.verb == "cancel":
        await door.cancel(run, mode=command.mode)
    elif command.verb == "retry":
        await door.retry(run, how=command.how)
    elif command.verb == "pause":
        await door.pause(run)
    elif command.verb == "resume":
        await door.resume(run)
    elif command.verb == "compensate":
        await door.compensate(run)
    else:
        await door.signal(run, command.name, command.payload, id=id)


async def matching_runs(door: Runs, filters: Filters) -> tuple[list[str], bool]:
    """The ids of the runs that fit, newest first, and whether there are more than can be done at once."""
    ids, cursor = list[str](), None
    while len(ids) < MOST:
        page, cursor = await find_rows(door, filters, cursor, min(200, MOST - len(ids)))
        ids += [row.id for row in page]
        if cursor is None:
            return ids, False
    return ids, True
