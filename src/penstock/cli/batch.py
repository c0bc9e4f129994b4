"""Commands about batches: one verb for many runs, done by whoever drives the store; here when nobody does."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import getpass
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import typer

from penstock.app.access.audit import AuditLog
from penstock.app.access.roles import PERMISSIONS
from penstock.app.penstock import Penstock
from penstock.app.runs.commands import batches as desk
from penstock.app.runs.commands.batch_care import Care
from penstock.app.runs.commands.batches import Batch, Batches
from penstock.app.runs.commands.bulk import BulkCommand, BulkOutcome, command_many, matching_runs
from penstock.app.runs.commands.migration import approved_release
from penstock.app.runs.commands.moves import PERMISSIONS as NEEDED
from penstock.app.runs.queries import Queries
from penstock.app.runs.search import Filters
from penstock.cli.drive import attached, driving, driving_or_attached, until_done
from penstock.cli.identity import KEY, By, identify
from penstock.cli.open_store import reading
from penstock.cli.options import STORE, Json, Limit, Store, read_text_or_value
from penstock.cli.output import DONE, FAILED, TONES, moment, print_json, print_list, print_one, say, short, store_option
from penstock.cli.run import idle
from penstock.errors import BadInput, StoreBusy
from penstock.store.address import driver_of

Verb = Literal["cancel", "pause", "resume", "retry", "signal", "compensate", "migrate", "undo_migration"]
Runs = Annotated[list[str] | None, typer.Argument(metavar="[RUN]...", help="These runs; without them a filter says.")]
States = Annotated[
    list[str] | None, typer.Option("--state", metavar="STATE", help="Only runs in this state; repeatable.")
]
Name = Annotated[str | None, typer.Option("--name", metavar="ID", help="Only of this document.")]
Text = Annotated[str, typer.Option("--find", metavar="TEXT", help="Only those that the list of runs finds by this.")]
Code = Annotated[str | None, typer.Option("--code", metavar="CODE", help="Only those that failed with this code.")]
Node = Annotated[str | None, typer.Option("--node", metavar="NODE", help="Only those in which something rests there.")]
Since = Annotated[str | None, typer.Option("--since", metavar="TIME", help="Only those that began then or later.")]
Until = Annotated[str | None, typer.Option("--until", metavar="TIME", help="Only those that began before.")]
Restart = Annotated[bool, typer.Option("--restart", help="retry: from the start nodes, not where they failed.")]
Boundary = Annotated[bool, typer.Option("--boundary", help="cancel: let what is in flight finish first.")]
Signal = Annotated[str, typer.Option("--signal", metavar="NAME", help="signal: its name.")]
Payload = Annotated[str | None, typer.Option("--payload", metavar="JSON", help="signal: what it carries.")]
To = Annotated[
    int | None, typer.Option("--to", metavar="VERSION", min=1, help="migrate: to this version of the document --name.")
]
Reason = Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why; it is kept with the batch.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say how many it would be done to, and who would refuse.")]
Detach = Annotated[bool, typer.Option("--detach", help="Do not wait until it is over.")]
PerSecond = Annotated[
    int | None, typer.Option("--per-second", metavar="N", min=1, max=1000, help="So many runs a second at most.")
]
First = Annotated[
    int | None,
    typer.Option("--first", metavar="N", min=1, max=100, help="Wait for the results of so many before the rest."),
]
MostFailed = Annotated[
    int | None,
    typer.Option(
        "--most-failed", metavar="N", min=0, max=99, help="Pause when more of the last 100 results are failures again."
    ),
]
Id = Annotated[str, typer.Argument(metavar="BATCH", help="Its id, as `penstock batch ls` shows it.")]
_STYLES = {
    "running": TONES["moving"], "paused": TONES["held"], "done": TONES["done"], "cancelled": TONES["held"],
    "failed": TONES["failed"],
}  # fmt: skip
_LOOK_S, _QUIET_S = 0.1, 0.25


def start(
    verb: Annotated[
        Verb,
        typer.Argument(
            metavar="VERB", help="cancel, pause, resume, retry, signal, compensate, migrate or undo_migration."
        ),
    ],
    runs: Runs = None,
    state: States = None,
    name: Name = None,
    find: Text = "",
    code: Code = None,
    node: Node = None,
    since: Since = None,
    until: Until = None,
    restart: Restart = False,
    boundary: Boundary = False,
    signal: Signal = "",
    payload: Payload = None,
    to: To = None,
    reason: Reason = None,
    by: By = None,
    dry_run: DryRun = False,
    per_second: PerSecond = None,
    first: First = None,
    most_failed: MostFailed = None,
    detach: Detach = False,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Do one thing to many runs, in slices, and say how far it is. It goes on after a crash of whoever does it, and
    after Ctrl-C; `penstock batch cancel` ends it. What is done stays done."""
    filters = Filters(
        text=find, states=state or [], name=name, code=code, node=node, since=_time(since, "--since"),
        until=_time(until, "--until"),
    )  # fmt: skip
    if bool(runs) == (filters != Filters()):
        raise BadInput(what="the runs", why="either they are named, or a filter says which", hint="See --help.")
    if (verb == "migrate") != (to is not None) or to is not None and name is None:
        raise BadInput(what="migrate", why="it needs --name and --to, and no other verb does", hint="See --help.")
    command = BulkCommand(
        verb=verb, mode="boundary" if boundary else "now", how="restart" if restart else "here", name=signal,
        payload=None if payload is None else read_text_or_value(payload, "the payload"),
    )  # fmt: skip
    care = Care(per_second=per_second, first=first, most_failed=most_failed)
    asked = _Asked(command, None if runs else filters, runs or None, reason, by, care, (name or "", to))
    if dry_run:
        return _would(until_done(asked.dry_run(store)), json)
    batch = until_done(asked.done(store, wait=not detach))
    print_one(batch, json, msgspec.to_builtins, _print_whole)
    if batch.state == "running" and not json:
        say((f"  it goes on: penstock batch show {batch.id}{store_option(store)}", "bright_black"))
    return FAILED if batch.state == "failed" else DONE


class _Asked(msgspec.Struct):
    command: BulkCommand
    filters: Filters | None
    ids: list[str] | None
    reason: str | None
    by: str | None
    care: Care
    to: tuple[str, int | None] = ("", None)  # the document and the version that runs are migrated to

    def _by_whom(self, door: Queries) -> BulkCommand:
        user, permissions = _acting(door, self.by, NEEDED[self.command.verb])
        to = "" if self.to[1] is None else door.hash_of(approved_release(door, *self.to).net)
        return msgspec.structs.replace(self.command, to=to, user=user, permissions=permissions)

    async def dry_run(self, store: Path) -> BulkOutcome:
        with attached(store) as door:
            runs, more = self.ids or [], False
            if self.filters is not None:
                runs, more = await matching_runs(door, self.filters)
            return await command_many(door, self._by_whom(door), runs, more=more)

    async def done(self, store: Path, *, wait: bool) -> Batch:
        async with contextlib.AsyncExitStack() as stack:
            door = await driving_or_attached(stack, store) if wait else stack.enter_context(attached(store))
            batch = self._begun(door)
            if not wait:
                return batch
            if door.drives:
                return await _carry_out(door, batch.id)
            over = await _followed(store, door, batch.id)
        return over if over is not None else await _taken_over(store, batch.id)

    def _begun(self, door: Penstock) -> Batch:
        """Recorded before it is done, as the server does it."""
        command = self._by_whom(door)
        command.check()
        body = {"verb": command.verb, "filter": self.filters, "ids": self.ids, "reason": self.reason}
        AuditLog(door.store).record(door.tenant, command.user, "batch.begin", "batches", body)
        return desk.begin(door, command, self.filters, self.ids, self.reason, self.care)


async def _carry_out(door: Penstock, id: str) -> Batch:
    """Here, and then until its runs have ended or wait."""
    batches = Batches(door, AuditLog(door.store))
    try:
        while (batch := batches.get(door, id)).state == "running":
            door.raise_if_stopped()
            batches.look()
            await asyncio.sleep(_LOOK_S)
        quiet = 0.0
        while quiet < _QUIET_S:
            door.raise_if_stopped()
            quiet = quiet + 0.05 if idle(door.host) else 0.0
            await asyncio.sleep(0.05)
    finally:
        await batches.close()
    return batch


async def _followed(store: Path, door: Penstock, id: str) -> Batch | None:
    """None when nobody drives the store any more."""
    while (batch := desk.get(door, id)).state == "running":
        if driver_of(store) is None:
            return None
        await asyncio.sleep(_LOOK_S)
    return batch


async def _taken_over(store: Path, id: str) -> Batch:
    while True:
        try:
            async with driving(store) as mine:
                return await _carry_out(mine, id)
        except StoreBusy:  # somebody else was faster
            with attached(store) as door:
                batch = await _followed(store, door, id)
                if batch is not None:
                    return batch


def _would(outcome: BulkOutcome, json: bool) -> int:
    if json:
        print_json(outcome)
        return DONE
    more = ", and of more than were looked at" if outcome.more else ""
    say(f"{outcome.verb} would be done to {outcome.count}{more}; {len(outcome.refused)} would refuse")
    for refusal in outcome.refused[:20]:
        say(f"  {refusal.run}  ", (refusal.code, TONES["failed"]), f"  {refusal.reason}")
    return DONE


def _time(text: str | None, what: str) -> int | None:
    if text is None:
        return None
    try:
        return round(datetime.datetime.fromisoformat(text).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        raise BadInput(what=what, why=f"«{text}» is no time", hint="Write 2025-01-31T08:00.") from None


def _acting(door: Queries, by: str | None, permission: str) -> tuple[str, frozenset[str]]:
    """Who has a key may do what it says; else whoever owns the store may do what the other commands do."""
    if os.environ.get(KEY, "").strip():
        who: Any = identify(door, by, permission)
        return who.user, who.permissions
    return by or _me(), frozenset(PERMISSIONS)


def _me() -> str:
    try:
        return f"{getpass.getuser()} (command line)"
    except (OSError, KeyError, ImportError):  # a user without a name
        return "command line"


def ls(limit: Limit = 20, json: Json = False, store: Store = STORE) -> int:
    """List the batches, newest first. Those that are over are kept for 30 days."""
    with reading(store) as door:
        listed = desk.each(door, limit=limit)
    return print_list(listed, json, msgspec.to_builtins, _print, empty="There are no batches.")


def _print(batch: Batch) -> None:
    of = f" of {batch.total}" if batch.total is not None else ""
    refused = f", {batch.refused} refused" if batch.refused else ""
    refused += f", {batch.back} failed again" if batch.back else ""
    counts = f"{batch.verb}  {batch.done} done{refused}, {batch.looked}{of} looked at"
    say((batch.id, "bold"), "  ", (batch.state, _STYLES[batch.state]), f"  {counts}")
    why = f": {short(batch.reason)}" if batch.reason else ""
    say((f"  {moment(batch.started_at)}, by {batch.by}{why}", "bright_black"))


def _print_whole(batch: Batch) -> None:
    _print(batch)
    if batch.code:
        say("  ", (batch.code, TONES["failed"]), f"  {batch.message}")
    for refusal in batch.refusals:
        say(f"  {refusal.run}  ", (refusal.code, TONES["failed"]), f"  {refusal.reason}")
    if batch.refused > len(batch.refusals):
        say((f"  and {batch.refused - len(batch.refusals)} more", "bright_black"))


def show(batch: Id, json: Json = False, store: Store = STORE) -> int:
    """Show how far a batch is, and which runs have refused, and why."""
    with reading(store) as door:
        return print_one(desk.get(door, batch), json, msgspec.to_builtins, _print_whole)


def cancel(batch: Id, by: By = None, json: Json = False, store: Store = STORE) -> int:
    """Begin nothing more of a batch. What is done stays done; the slice under way is finished."""
    return _turned(desk.cancel, "batch.cancel", batch, by, json, store)


def pause(batch: Id, by: By = None, json: Json = False, store: Store = STORE) -> int:
    """Begin nothing more of a batch until it is resumed."""
    return _turned(desk.pause, "batch.pause", batch, by, json, store)


def resume(batch: Id, by: By = None, json: Json = False, store: Store = STORE) -> int:
    """Go on with a batch that was paused, or has stopped by itself, where it was."""
    return _turned(desk.resume, "batch.resume", batch, by, json, store)


def _turned(
    turn: Callable[[Queries, str], Batch], action: str, batch: str, by: str | None, json: bool, store: Path
) -> int:
    with attached(store) as door:
        desk.get(door, batch)
        user, _ = _acting(door, by, "run.steer")
        AuditLog(door.store).record(door.tenant, user, action, f"batches/{batch}")
        return print_one(turn(door, batch), json, msgspec.to_builtins, _print_whole)


batch = {"start": start, "ls": ls, "show": show, "pause": pause, "resume": resume, "cancel": cancel}
