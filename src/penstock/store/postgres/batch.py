"""A batch as one round trip: for each kind of row one prepared statement, its rows in arrays of columns.

`unnest` in one pipeline is the fastest of what was measured. A statement may touch a row once, so what a batch says
twice about the same row is put together here, the later word over the earlier one.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from penstock.errors import StoreError
from penstock.store import deployment_tables as D
from penstock.store import execution_tables as E
from penstock.store import job_tables as J
from penstock.store import run_tables as R
from penstock.store import table_shape as shape
from penstock.store import tables as T
from penstock.store import task_tables as K
from penstock.store.executions import ADDED, LARGEST, LOG_MOVED, MOVED, usage_added
from penstock.store.jobs import PAUSED
from penstock.store.postgres.connection import ARRAYS
from penstock.store.postgres.schema import columns_of, key_of
from penstock.store.projects import PROJECT_BEGAN, PROJECT_MOVED
from penstock.store.run_store import Batch, with_checksums
from penstock.store.work_items import AGENT

Rows = list[tuple[Any, ...]]
#: name of the prepared statement, its parameters
Ready = tuple[bytes, list[bytes]]

#: no row is changed, and the division is an error that takes the whole batch with it, in the same round trip
FENCE = (
    "WITH held AS (UPDATE worker SET commit_id=$1::text, beat=(extract(epoch FROM clock_timestamp())*1000)::bigint"
    " WHERE id=$2::bigint AND fence=$3::bigint RETURNING 1) SELECT 1/count(*) FROM held"
)


class Write(msgspec.Struct, frozen=True):
    """What one list of a batch does."""

    field: str
    sql: str
    types: tuple[shape.Type, ...]
    once: Callable[[Rows], Iterable[tuple[Any, ...]]] | None = None

    @property
    def name(self) -> bytes:
        return f"penstock_{self.field}".encode()

    def arguments(self, rows: Rows) -> list[bytes]:
        try:
            given = rows if self.once is None or len(rows) == 1 else self.once(rows)
            columns = list(zip(*given, strict=True))
            return [ARRAYS[kind][0](column) for kind, column in zip(self.types, columns, strict=True)]
        except (TypeError, ValueError, AttributeError, struct.error) as error:
            raise StoreError(why=f"a row of {self.field} is not one: {error}") from error


def _last(*key: int) -> Callable[[Rows], Iterable[tuple[Any, ...]]]:
    """The last row of each key."""

    def once(rows: Rows) -> Iterable[tuple[Any, ...]]:
        return {tuple([row[i] for i in key]): row for row in rows}.values()

    return once


def _pair(rows: Rows) -> Iterable[tuple[Any, ...]]:
    return {row[:2]: row for row in rows}.values()


def _moves(rows: Rows) -> Iterable[tuple[Any, ...]]:
    """Who moved an item last stays, when the last move does not name anybody."""
    merged: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for status, by, at, run, firing in rows:
        was = merged.get((run, firing))
        merged[run, firing] = (status, was[1] if by is None and was is not None else by, at, run, firing)
    return merged.values()


def _works(rows: Rows) -> Iterable[tuple[Any, ...]]:
    """Who has an item and how it is done stay, when the last move says nothing of it."""
    merged: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for status, assignee, mode, version, run, firing in rows:
        was = merged.get((run, firing), (None, None, None))
        kept = (was[1] if assignee is None else assignee, was[2] if mode is None else mode)
        merged[run, firing] = (status, *kept, version, run, firing)
    return merged.values()


def _sums(rows: Rows) -> Iterable[tuple[Any, ...]]:
    """What is added to a tenant's day, together."""
    merged: dict[tuple[Any, ...], list[Any]] = {}
    for tenant, day, *more in rows:
        sums = merged.setdefault((tenant, day), [0] * len(more))
        for n, (name, value) in enumerate(zip(ADDED, more, strict=True)):
            sums[n] = max(sums[n], value) if name == LARGEST else sums[n] + value
    return [(*key, *sums) for key, sums in merged.items()]


def _arrays(types: Sequence[shape.Type]) -> str:
    return ", ".join(f"${n}::{ARRAYS[kind][1]}" for n, kind in enumerate(types, 1))


def _insert(
    field: str, table: shape.Table, *, leave: str = "", replace: Sequence[str] | None = None, ignore: bool = False,
    once: Callable[[Rows], Iterable[tuple[Any, ...]]] | None = None, key: Sequence[str] = (),
) -> Write:  # fmt: skip
    """Rows of a table, but for the column that the server fills. `replace`: which columns a newer row overwrites."""
    columns = [c for c in columns_of(table) if c.name != leave]
    keys = tuple(key) or key_of(table)
    names = ", ".join(f'"{c.name}"' for c in columns)
    sql = f'INSERT INTO "{table.name}"({names}) SELECT * FROM unnest({_arrays([c.type for c in columns])})'
    if ignore:
        sql += " ON CONFLICT DO NOTHING"
    elif replace is not None:
        over = list(replace) or [c.name for c in columns if c.name not in keys]
        on = ", ".join(f'"{n}"' for n in keys)
        new = ", ".join(f'"{n}"=excluded."{n}"' for n in over)
        sql += f" ON CONFLICT ({on}) DO {f'UPDATE SET {new}' if new else 'NOTHING'}"
    return Write(field, sql, tuple(c.type for c in columns), once)


def _change(
    field: str, table: shape.Table, set_: str, names: Sequence[str], types: Sequence[shape.Type],
    once: Callable[[Rows], Iterable[tuple[Any, ...]]], *, key: Sequence[str],
) -> Write:  # fmt: skip
    """Changed columns of rows that are found by their key; `u` is what the batch says."""
    where = " AND ".join(f't."{name}"=u."{name}"' for name in key)
    columns = ", ".join(f'"{name}"' for name in names)
    head = f'UPDATE "{table.name}" t SET {set_}' if set_ else f'DELETE FROM "{table.name}" t'
    joined = "FROM" if set_ else "USING"
    return Write(field, f"{head} {joined} unnest({_arrays(types)}) u({columns}) WHERE {where}", tuple(types), once)


def _and(write: Write, condition: str) -> Write:
    """Only of rows that are as this says, too."""
    return msgspec.structs.replace(write, sql=f"{write.sql} AND {condition}")


def _added_usage() -> Write:
    plain = _insert("usage", E.USAGE)
    return Write(plain.field, plain.sql + usage_added("greatest"), plain.types, _sums)


_TYPES_OF_EXECUTION = {column.name: column.type for column in E.EXECUTION.columns}
_ALL: tuple[str, ...] = ()  # every column but the key
_LETTER_OVER = ("version", "queue", "status", "code", "category", "body", "at", "until")

#: in the order in which they are done
WRITES: tuple[Write, ...] = (
    _insert("new", R.RUN),
    _insert("journal", R.JOURNAL),
    _change(
        "moved", R.RUN,
        "status=u.status, updated_at=u.updated_at, wake_at=u.wake_at, checkpoint_seq=u.checkpoint_seq,"
        " checkpoint=u.checkpoint, net=u.net",
        ("status", "updated_at", "wake_at", "checkpoint_seq", "checkpoint", "net", "no"),
        ("int", "int", "int", "int", "blob", "int", "int"), _last(6), key=("no",),
    ),
    _change(
        "ended", R.RUN, "status=u.status, updated_at=u.updated_at, wake_at=NULL, net=u.net",
        ("status", "updated_at", "net", "no"), ("int", "int", "int", "int"), _last(3), key=("no",),
    ),
    _insert("firing", R.FIRING, once=_pair),  # see `again`
    _insert("wait", R.WAITING, replace=_ALL, once=_last(0, 1, 2, 3)),
    _change(
        "unwait", R.WAITING, "", ("tenant", "name", "run", "wait"), ("text", "text", "int", "int"), _last(0, 1, 2, 3),
        key=("tenant", "name", "run", "wait"),
    ),
    _insert("item_new", R.ITEM, replace=_ALL, once=_pair),
    _change(
        "item_moved", R.ITEM, 'status=u.status, "by"=coalesce(u."by", t."by"), moved_at=u.moved_at',
        ("status", "by", "moved_at", "run", "firing"), ("text", "text", "int", "int", "int"), _moves,
        key=("run", "firing"),
    ),
    _change(
        "item_renumbered", R.ITEM, "node=u.node", ("node", "run", "firing"), ("int", "int", "int"), _last(1, 2),
        key=("run", "firing"),
    ),
    _insert("work_new", R.WORK, replace=_ALL, once=_pair),
    _change(
        "work_moved", R.WORK,
        f"status=u.status, mode=coalesce(u.mode, t.mode), version=u.version, assignee=CASE u.assignee WHEN '{AGENT}'"
        " THEN coalesce(t.agent, 'agent') ELSE nullif(coalesce(u.assignee, t.assignee), '') END",
        ("status", "assignee", "mode", "version", "run", "firing"), ("text", "text", "text", "int", "int", "int"),
        _works, key=("run", "firing"),
    ),
    _insert("incident", R.INCIDENT, replace=_ALL, once=_pair),
    _change("cause_gone", R.CAUSE, "", ("run",), ("int",), _last(0), key=("run",)),
    _insert("cause", R.CAUSE, replace=_ALL, once=_last(0)),
    _insert("outbox", R.OUTBOX, leave="no"),
    _insert("intent", R.INTENT, replace=_ALL, once=_last(0)),
    _change("intent_moved", R.INTENT, "state=u.state", ("state", "key"), ("text", "text"), _last(1), key=("key",)),
    _change("intent_gone", R.INTENT, "", ("key",), ("text",), _last(0), key=("key",)),
    _change("inbox_answered", R.INBOX, "answer=u.answer", ("answer", "no"), ("blob", "int"), _last(1), key=("no",)),
    _change("event_taken", T.EVENT, "answer=u.answer", ("answer", "no"), ("blob", "int"), _last(1), key=("no",)),
    _insert("gate", R.GATE, replace=_ALL, once=_last(0)),
    _insert("memo", R.MEMO, replace=_ALL, once=_last(0)),
    _insert("blobs", R.BLOB, ignore=True),
    _insert("judgment", T.JUDGMENT, replace=_ALL, once=_pair),
    _insert("artifact_use", D.ARTIFACT_USE, replace=_ALL, once=_last(0, 1, 2, 3)),
    # a run that was revived and has failed again is still one letter
    _insert("letter", T.LETTER, leave="no", replace=_LETTER_OVER, once=_last(1), key=("run",)),
    _change("letter_gone", T.LETTER, "", ("run",), ("text",), _last(0), key=("run",)),
    _insert("checkpoint", T.CHECKPOINT),
    _change(
        "checkpoint_until", T.CHECKPOINT, "until=u.until", ("until", "run"), ("int", "text"), _last(1), key=("run",),
    ),
    _insert("execution_new", E.EXECUTION),
    _change(
        "execution_moved", E.EXECUTION, ", ".join(f"{name}=u.{name}" for name in MOVED), (*MOVED, "run"),
        (*(_TYPES_OF_EXECUTION[name] for name in MOVED), "int"), _last(len(MOVED)), key=("run",),
    ),
    _insert("stage_log", E.STAGE_LOG, replace=LOG_MOVED, once=_pair),
    _added_usage(),
    _insert("task", K.TASK, replace=_ALL, once=_pair),
    _insert("task_agent", K.TASK_AGENT, replace=_ALL, once=_pair),
    _insert("task_execution", K.TASK_EXECUTION, replace=_ALL, once=_pair),
    _and(
        _change(
            "job_gone", J.JOB, "state='WITHDRAWN', due_at=NULL, ended_at=u.ended_at", ("ended_at", "run", "firing"),
            ("int", "int", "int"), _last(1, 2), key=("run", "firing"),
        ),
        f"(t.{J.OPEN} OR t.state='FAILED')",
    ),
    _insert("job_new", J.JOB, ignore=True),
    _change("job_paused", J.JOB, PAUSED.format("u.paused"), ("paused", "run"), ("int", "int"), _last(1), key=("run",)),
    _change(
        "project_began", K.PROJECT, "run=u.run, status=u.status, why=u.why", PROJECT_BEGAN,
        ("text", "text", "text", "text", "text"), _last(3, 4), key=("tenant", "id"),
    ),
    _change(
        "project_moved", K.PROJECT, "status=u.status, why=u.why", PROJECT_MOVED,
        ("text", "text", "text", "text", "text"), _last(2, 3, 4), key=("tenant", "id", "run"),
    ),
)  # fmt: skip

#: a firing that was revived settles a second time, which is rare: looking for the first one costs every step 2 us
_FIRING = WRITES[4].name
_FIRING_AGAIN = b"penstock_firing_again"
SQL: dict[bytes, bytes] = {
    **{write.name: write.sql.encode() for write in WRITES},
    _FIRING_AGAIN: _insert("", R.FIRING, replace=_ALL).sql.encode(),
}


def packed(batch: Batch, only: frozenset[str] | None = None) -> list[Ready]:
    """The statements that a batch needs, with their rows."""
    ready: list[Ready] = []
    for write in WRITES:
        rows: Rows = getattr(batch, write.field)
        if rows and (only is None or write.field in only):
            ready.append((write.name, write.arguments(with_checksums(rows) if write.field == "journal" else rows)))
    return ready


def again(ready: list[Ready], constraint: str | None) -> list[Ready] | None:
    """The same batch for a store that knows one of its firings already; None when it is something else."""
    if constraint != "firing_pkey":
        return None
    return [(_FIRING_AGAIN if name == _FIRING else name, values) for name, values in ready]
