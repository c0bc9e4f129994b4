"""One verb for many runs: which they are, what would be refused and why, and then doing it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from penstock.app.runs.commands.moves import PERMISSIONS, moves
from penstock.app.runs.runs import Runs
from penstock.app.runs.search import Filters, find_runs
from penstock.dialects import dialect_of
from penstock.errors import NotAllowed, PenstockError

VERBS = ("cancel", "pause", "resume", "retry", "signal")
#: so many at once
MOST = 1000
_SAMPLE = 20


class Refusal(msgspec.Struct, frozen=True):
    run: str
    code: str
    reason: str


class BulkOutcome(msgspec.Struct, kw_only=True):
    """`count` is how many it was done to, or would be; `more`: others fit the filter that were not looked at."""

    verb: str
    dry_run: bool
    count: int
    sample: list[str]
    refused: list[Refusal]
    more: bool


async def command_many(
    door: Runs, verb: str, runs: Sequence[str], *, more: bool = False, dry_run: bool = True, mode: str = "now",
    how: str = "here", name: str = "", payload: Any = None, user: str = "", permissions: Collection[str] = (),
) -> BulkOutcome:  # fmt: skip
    """Each by itself: one that is refused keeps nobody else from it."""
    if PERMISSIONS[verb] not in permissions:
        raise NotAllowed(user=user, permission=PERMISSIONS[verb])
    done, refused = list[str](), list[Refusal]()
    for run in dict.fromkeys(runs):
        try:
            row = door.row(run)
            allowed = {move.verb for move in moves(door.reading(row), permissions=permissions)}
            if verb not in allowed and not (verb == "signal" and "pause" in allowed):
                language, now = door.nets.get(row.net).net.language, door.status(row.id)
                code = dialect_of(language).conflict.code
                refused.append(Refusal(row.id, code, f"It is {now.status}, so it cannot be asked to {verb}."))
                continue
            if not dry_run:
                await _command_one(door, verb, row.id, mode, how, name, payload)
            done.append(row.id)
        except PenstockError as error:
            refused.append(Refusal(run, error.code, error.message))
    return BulkOutcome(verb=verb, dry_run=dry_run, count=len(done), sample=done[:_SAMPLE], refused=refused, more=more)


async def _command_one(door: Runs, verb: str, run: str, mode: str, how: str, name: str, payload: Any) -> None:
    if verb == "cancel":
        await door.cancel(run, mode=mode)
    elif verb == "retry":
        await door.retry(run, how=how)
    elif verb == "pause":
        await door.pause(run)
    elif verb == "resume":
        await door.resume(run)
    else:
        await door.signal(run, name, payload)


def matching_runs(door: Runs, filters: Filters) -> tuple[list[str], bool]:
    """The ids of the runs that fit, newest first, and whether there are more than can be done at once."""
    ids, cursor = list[str](), None
    while len(ids) < MOST:
        page, cursor = find_runs(door, filters, cursor, min(200, MOST - len(ids)))
        ids += [line.id for line in page]
        if cursor is None:
            return ids, False
    return ids, True
