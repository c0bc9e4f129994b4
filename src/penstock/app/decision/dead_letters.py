"""Dead letters: runs that ended badly, looked at and replayed (W-7.5)."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from penstock.dialects.decision.dead_letters import ReplayPolicy, dead_letter_policy
from penstock.errors import LetterNotFound, PenstockError, ReplayRefused
from penstock.store.dead_letters import LetterRow
from penstock.store.releases import ReleaseRow
from penstock.store.run_store import Batch

if TYPE_CHECKING:
    from penstock.app.releases.documents import Release
    from penstock.app.runs.queries import Queries
    from penstock.app.runs.runs import Runs

_unpack = msgspec.msgpack.decode
_MANY = 10_000


class DeadLetter(msgspec.Struct, kw_only=True):
    """`error`, `input`, `context_snapshot` and `execution_history` are there as the document includes them."""

    run: str
    document: str
    version: int
    queue: str
    status: str
    code: str
    category: str
    at: int
    until: int
    replays: int
    max_replays: int
    error: Any = None
    input: Any = None
    context_snapshot: Any = None
    execution_history: list[Any] | None = None


def letters(door: Queries, *, name: str | None = None, since: int = 0, limit: int = 100) -> list[DeadLetter]:
    """Newest first."""
    return [_letter(door, row) for row in door.store.letters(door.tenant, name=name, since=since, limit=limit)]


def letter(door: Queries, run: str) -> DeadLetter:
    """Of a run: by its id, its key, or a beginning that is enough."""
    return _letter(door, _row(door, run))


def discard(door: Runs, run: str) -> None:
    """Somebody has looked at it, and it is not to be replayed: it lies there no more. The run is as it was; where it is
    revived and ends badly again there is a new one."""
    batch = Batch()
    batch.letter_gone.append((_row(door, run).run,))
    door.store.commit(batch)


def _row(door: Queries, run: str) -> LetterRow:
    row = door.store.letter(door.tenant, door.row(run).id)
    if row is None:
        raise LetterNotFound(run=run)
    return row


def _replay_policy(door: Queries, run: str) -> ReplayPolicy:
    policy = dead_letter_policy(door.net_of(door.hash_of(door.row(run).net))).replay or ReplayPolicy()
    return policy if policy.enabled else ReplayPolicy(enabled=False, max_replay_attempts=0)


def _letter(door: Queries, row: LetterRow) -> DeadLetter:
    body = _unpack(row.body)
    return DeadLetter(
        run=row.run, document=row.name, version=row.version, queue=row.queue, status=row.status, code=row.code,
        category=row.category, at=row.at, until=row.until, replays=row.replays,
        max_replays=_replay_policy(door, row.run).max_replay_attempts, error=body.get("error"),
        input=body.get("input"), context_snapshot=body.get("context_snapshot"),
        execution_history=body.get("execution_history"),
    )  # fmt: skip


async def replay(door: Runs, run: str, release: Release | str | None = None, key: str | None = None) -> str:
    """A new run with the same input, of the same net or of a release that mends it; its id.

    The new run has a key made of the letter and the number of the replay: asked for twice, after a crash too, it is
    one run; with a key of the caller's, it is one also after it was counted. What is replayed is the input as it came
    in, not as the letter shows it."""
    row = _row(door, run)
    known = door.store.run_by_key(door.tenant, key) if key is not None else None
    if known is not None:
        trigger = door.reading(known).state.options.get("trigger") or {}
        door.store.letter_replayed(row.run, int(trigger.get("attempt") or 0))  # a crash may have come in between
        return known.id
    again = _again(door, row)
    what = release if release is not None else door.hash_of(door.row(row.run).net)
    begin = door.start if door.drives else door.hand_in
    new = await begin(what, again.input, key=key or again.key, trigger=again.trigger)
    door.store.letter_replayed(row.run, again.number)
    return new


class _Again(NamedTuple):
    number: int
    input: Any
    key: str
    trigger: dict[str, Any]


def _again(door: Runs, row: LetterRow) -> _Again:
    """What the next replay is started with. Raises ReplayRefused where there is to be none."""
    policy = _replay_policy(door, row.run)
    if not policy.enabled:
        raise ReplayRefused(run=row.run, why="its document switches replays off")
    number = row.replays + 1
    if number > policy.max_replay_attempts:
        raise ReplayRefused(run=row.run, why=f"it was replayed {row.replays} times already")
    trigger = {"type": "replay", "replay_of": row.run, "attempt": number}
    return _Again(number, door.input_of(door.row(row.run)), f"replay:{row.run}:{number}", trigger)


def _wanting(door: Runs, name: str) -> list[LetterRow]:
    """Letters that ask to be replayed by themselves, and were not yet."""
    rows = door.store.letters(door.tenant, name=name, limit=_MANY)
    return [row for row in rows if row.replays == 0 and _replay_policy(door, row.run).auto_replay_on_fix]


async def replay_fixed(door: Runs, name: str, release: Release | str) -> list[str]:
    """W-7.5.4: a document was mended: what its letters ask for themselves is replayed with it. The ids of the new runs;
    a letter that cannot be replayed is left as it is."""
    started = []
    for row in _wanting(door, name):
        with contextlib.suppress(PenstockError):  # an input that the new version refuses, for example
            started.append(await replay(door, row.run, release))
    return started


def replay_with(door: Runs, release: ReleaseRow) -> list[str]:
    """The same for a version that was put in force, with letters of older ones; the runs begin with the next turn."""
    started = []
    for row in _wanting(door, release.name):
        if row.version < release.version:
            with contextlib.suppress(PenstockError):
                again = _again(door, row)
                new = door.ask_for(door.hash_of(release.net), again.input, key=again.key, trigger=again.trigger)
                door.store.letter_replayed(row.run, again.number)
                started.append(new)
    return started
