"""A store of dicts with an undo log: `Disk` outlives a crash, `SimStore` is one process's hold on it.

It is no second database: the tables are those of `tables.py`, one row per key, and the contract's suite holds it to the
same promises as the file on disk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NoReturn

from penstock.errors import Fenced, RunAmbiguous, RunNotFound, StoreError, StoreFull
from penstock.store.executions import ADDED, LARGEST, MOVED
from penstock.store.run_store import Batch, JournalRow, NetRow, PendingRun, RunRow, checksum
from penstock.store.sql_store import INBOX_KEPT_MS
from penstock.store.table_shape import Table
from penstock.store.tables import TABLES
from penstock.store.work_items import AGENT
from tests.sim.admin import SimAdmin
from tests.sim.autonomy import SimAutonomy
from tests.sim.deployments import SimDeployments
from tests.sim.event_logs import SimEventLogs
from tests.sim.file_schedules import SimFileSchedules
from tests.sim.queues import SimQueues
from tests.sim.registry import SimRegistry
from tests.sim.run_fits import SimRunFits
from tests.sim.simulations import SimSimulations
from tests.sim.tasks import SimTasks

Row = tuple[Any, ...]
_MISSING: Any = object()
_TYPES: dict[str, tuple[type, ...]] = {"int": (int,), "text": (str,), "blob": (bytes, bytearray)}
_OPEN_ITEMS = ("TODO", "IN_PROGRESS", "SUBMITTED", "REWORK")
#: columns of each table that make up its key, and the types that each column takes
KEYS = {t.name: sum(c.key for c in t.columns) for t in TABLES}
COLUMNS = {t.name: [(*_TYPES[c.type], *((type(None),) if c.null else ())) for c in t.columns] for t in TABLES}
#: kind of batch row → its table, and what happens to a row that is there: it is a conflict, goes, or stays
INSERTS: tuple[tuple[str, str, str], ...] = (
    ("firing", "firing", "replace"), ("wait", "waiting", "replace"), ("item_new", "item", "replace"),
    ("work_new", "work", "replace"),
    ("incident", "incident", "replace"), ("cause", "cause", "replace"), ("intent", "intent", "replace"),
    ("gate", "gate", "replace"), ("memo", "memo", "replace"), ("blobs", "blob", "ignore"),
    ("judgment", "judgment", "replace"), ("checkpoint", "checkpoint", "fail"), ("execution_new", "execution", "fail"),
    ("stage_log", "stage_log", "replace"), ("task", "task", "replace"), ("task_agent", "task_agent", "replace"),
    ("task_execution", "task_execution", "replace"), ("artifact_use", "artifact_use", "replace"),
)  # fmt: skip
_REBUILT = (
    "firing", "wait", "unwait", "item_new", "item_moved", "item_renumbered", "work_new", "work_moved",
    "incident", "cause",
    "execution_new", "execution_moved", "stage_log", "usage", "task", "task_agent", "task_execution", "artifact_use",
)  # fmt: skip


class Disk:
    """What survives a crash."""

    def __init__(self) -> None:
        self.fence = 0
        self.room = True
        self.tables: dict[str, dict[Any, Row]] = {t.name: {} for t in TABLES}
        self.journal: dict[int, dict[int, Row]] = {}  # run → seq_from → row
        self.ids: dict[str, int] = {}
        self.keys: dict[tuple[str, str], int] = {}
        self.last = {"journal": 0, "outbox": 0, "inbox": 0}  # numbers given so far
        self.undo: list[tuple[dict[Any, Any], Any, Any]] = []

    def set(self, table: dict[Any, Any], key: Any, value: Any) -> None:
        self.undo.append((table, key, table.get(key, _MISSING)))
        if value is _MISSING:
            table.pop(key, None)
        else:
            table[key] = value

    def rollback(self) -> None:
        while self.undo:
            table, key, old = self.undo.pop()
            if old is _MISSING:
                table.pop(key, None)
            else:
                table[key] = old

    def rows(self, table: str) -> list[Row]:
        """As SQLite would show them."""
        if table == "journal":
            return [row for turns in self.journal.values() for row in turns.values()]
        return list(self.tables[table].values())


#: an execution that has completed
DONE = "COMPLETED"


class SimStore(
    SimRegistry, SimAdmin, SimQueues, SimFileSchedules, SimTasks, SimDeployments, SimSimulations, SimAutonomy,
    SimEventLogs, SimRunFits,
):  # fmt: skip
    def __init__(self, disk: Disk, *, engine: bool = True) -> None:
        self.disk = disk
        self.commits = 0
        self.fence = -1
        if engine:
            disk.fence += 1
            self.fence = disk.fence

    # -- writing ------------------------------------------------------------------------------------------------------

    def commit(self, batch: Batch) -> None:
        self._check_fence()
        if not self.disk.room:
            raise StoreFull
        try:
            self._apply(batch)
        except BaseException:
            self.disk.rollback()
            raise
        self.disk.undo.clear()
        self.commits += 1

    def _check_fence(self) -> None:
        if self.disk.fence != self.fence:
            raise Fenced

    def _apply(self, batch: Batch) -> None:
        disk, tables = self.disk, self.disk.tables
        for row in batch.new:
            self._new_run(row)
        for row in batch.journal:
            self._turn(row)
        for status, at, wake, seq, checkpoint, net, no in batch.moved:
            self._change("run", no, status=status, updated_at=at, wake_at=wake, net=net, seq=seq, checkpoint=checkpoint)
        for status, at, net, no in batch.ended:
            self._change("run", no, status=status, updated_at=at, wake_at=None, net=net)
        for (run,) in batch.cause_gone:
            disk.set(tables["cause"], run, _MISSING)
        self._inserts(batch)
        for key in batch.unwait:
            disk.set(tables["waiting"], key, _MISSING)
        for status, by, at, run, firing in batch.item_moved:
            self._change("item", (run, firing), status=status, moved_at=at, **({} if by is None else {"by": by}))
        for node, run, firing in batch.item_renumbered:
            self._change("item", (run, firing), node=node)
        for status, assignee, mode, version, run, firing in batch.work_moved:
            self._move_work((run, firing), status, assignee, mode, version)
        for *columns, run in batch.execution_moved:
            self._change("execution", run, **dict(zip(MOVED, columns, strict=True)))
        for row in batch.usage:
            self._add_usage(row)
        for run, status, why, tenant, id in batch.project_began:
            self._change("project", (tenant, id), run=run, status=status, why=why)
        for status, why, tenant, id, run in batch.project_moved:
            if (tables["project"].get((tenant, id)) or ())[7:8] == (run,):
                self._change("project", (tenant, id), status=status, why=why)
        for row in batch.outbox:
            self._insert("outbox", (self._number("outbox"), *row), "fail")
        for state, key in batch.intent_moved:
            self._change("intent", key, state=state)
        for (key,) in batch.intent_gone:
            disk.set(tables["intent"], key, _MISSING)
        for answer, no in batch.inbox_answered:
            self._change("inbox", no, answer=answer)
        for answer, no in batch.event_taken:
            self._change("event", no, answer=answer)

    def _add_usage(self, row: Row) -> None:
        there = self.disk.tables["usage"].get(row[:2])
        if there is not None:
            sums = zip(ADDED, there[2:], row[2:], strict=True)
            row = (*row[:2], *(max(old, new) if name == LARGEST else old + new for name, old, new in sums))
        self._insert("usage", row, "replace")

    def _move_work(self, key: Row, status: str, assignee: str | None, mode: str | None, version: int) -> None:
        row = self.disk.tables["work"].get(key)
        if row is None:
            return
        who = row[5] if assignee is None else (row[4] or "agent") if assignee == AGENT else assignee or None
        self._change("work", key, status=status, assignee=who, mode=mode or row[6], version=version)

    def _inserts(self, batch: Batch) -> None:
        for kind, table, conflict in INSERTS:
            for row in getattr(batch, kind):
                self._insert(table, row, conflict)

    def _number(self, table: str) -> int:
        self.disk.set(self.disk.last, table, self.disk.last[table] + 1)
        return self.disk.last[table]

    def _insert(self, table: str, row: Row, conflict: str) -> Any:
        columns = COLUMNS[table]
        if len(row) != len(columns) or not all(isinstance(v, t) for v, t in zip(row, columns, strict=True)):
            _refuse(table, row)
        row = tuple(bytes(v) if type(v) is bytearray else v for v in row)
        key = row[0] if KEYS[table] == 1 else row[: KEYS[table]]
        there = self.disk.tables[table]
        if key in there:
            if conflict == "fail":
                raise Fenced
            if conflict == "ignore":
                return key
        self.disk.set(there, key, row)
        return key

    def _new_run(self, row: Row) -> None:
        disk = self.disk
        no = self._insert("run", row, "fail")
        _, id, tenant, _, key, *_ = row
        if id in disk.ids or key is not None and (tenant, key) in disk.keys:
            raise Fenced
        disk.set(disk.ids, id, no)
        if key is not None:
            disk.set(disk.keys, (tenant, key), no)

    def _turn(self, row: Row) -> None:
        run, first, _, _, body = row
        if not isinstance(body, bytes | bytearray):
            _refuse("journal", row)
        turns = self.disk.journal.get(run)
        if turns is None:
            self.disk.set(self.disk.journal, run, {})
            turns = self.disk.journal[run]
        if first in turns:
            raise Fenced
        self.disk.set(turns, first, (self._number("journal"), *row[:4], bytes(body), checksum(*row)))

    def _change(self, table: str, key: Any, **columns: Any) -> None:
        row = self.disk.tables[table].get(key)
        if row is None:
            return
        if "seq" in columns:
            columns["checkpoint_seq"] = columns.pop("seq")
        at = _PLACES[table]
        new = list(row)
        for name, value in columns.items():
            new[at[name]] = bytes(value) if type(value) is bytearray else value
        self.disk.set(self.disk.tables[table], key, tuple(new))

    # -- runs ---------------------------------------------------------------------------------------------------------

    def _runs(self) -> list[RunRow]:
        return [RunRow(*row) for row in self.disk.tables["run"].values()]

    def load(self, numbers: Iterable[int]) -> list[tuple[RunRow, list[JournalRow]]]:
        found = []
        for no in sorted(set(numbers)):
            row = self.disk.tables["run"].get(no)
            if row is not None:
                run = RunRow(*row)
                found.append((run, list(self.journal(no, run.checkpoint_seq))))
        return found

    def run_by_id(self, prefix: str) -> RunRow:
        low = prefix.lower()
        if not prefix.replace("-", "").isalnum():
            raise RunNotFound(run=prefix)
        if low in self.disk.ids:
            return RunRow(*self.disk.tables["run"][self.disk.ids[low]])
        found = [no for id, no in self.disk.ids.items() if id.startswith(low)]
        if not found:
            raise RunNotFound(run=prefix)
        if len(found) > 1:
            raise RunAmbiguous(run=prefix, count="several")
        return RunRow(*self.disk.tables["run"][found[0]])

    def run_by_key(self, tenant: str, key: str) -> RunRow | None:
        no = self.disk.keys.get((tenant, key))
        return None if no is None else RunRow(*self.disk.tables["run"][no])

    def runs(self, *, status: Iterable[int] | None = None, limit: int = 50) -> list[RunRow]:
        wanted = None if status is None else set(status)
        rows = [r for r in self._runs() if wanted is None or r.status in wanted]
        return sorted(rows, key=lambda r: -r.no)[:limit]

    def unfinished(self) -> list[int]:
        return sorted(r.no for r in self._runs() if r.status in (0, 2, 4))

    def pending_runs(self, after: PendingRun | None, limit: int) -> list[PendingRun]:
        waiting = [r for r in self._runs() if r.status == 1 and r.wake_at is None]
        rows = sorted((r.priority, r.created_at, r.no, r.tenant, r.net) for r in waiting)
        first = (-1, 0, 0) if after is None else (after.priority, after.created_at, after.no)
        behind = [PendingRun(row[2], row[3], row[4], row[0], row[1]) for row in rows if row[:3] > first]
        return behind[:limit]

    def pending_beyond(self, most: int) -> bool:
        return len(self.pending_runs(None, most)) >= most

    def open_by_net(self, status: Sequence[int]) -> list[tuple[int, str, int]]:
        counts = Counter((r.net, r.tenant) for r in self._runs() if r.status in status)
        return [(net, tenant, count) for (net, tenant), count in counts.items()]

    def open_called(self, parent: str, limit: int) -> list[tuple[int, str]]:
        return [(r.no, r.id) for r in self._runs() if r.parent == parent and r.status < 5][:limit]

    def open_below(self, prefix: str) -> list[tuple[int, str]]:
        return [(r.no, r.id) for r in self._runs() if r.id.startswith(prefix) and r.status < 5]

    def due(self, before: int, limit: int, after: tuple[int, int] = (-1, 0)) -> list[tuple[int, int, str]]:
        rows = [(r.no, r.wake_at, r.tenant) for r in self._runs() if r.wake_at is not None and r.wake_at <= before]
        return sorted((r for r in rows if (r[1], r[0]) > after), key=lambda r: (r[1], r[0]))[:limit]

    def count_open_runs(self, tenant: str, most: int) -> int:
        return min(most, sum(r.tenant == tenant and r.status < 5 for r in self._runs()))

    def count_open_items(self, tenant: str, most: int) -> int:
        return min(most, len(self.items()))

    def next_wake(self) -> int | None:
        return min((r.wake_at for r in self._runs() if r.wake_at is not None), default=None)

    def last_run(self) -> int:
        return max(self.disk.tables["run"], default=0)

    def newest_time(self) -> int:
        return max((row[8] for row in self.disk.tables["run"].values()), default=0)

    def journal(self, run: int, after: int = 0) -> Iterator[JournalRow]:
        for first, row in sorted(self.disk.journal.get(run, {}).items()):
            if first > after:
                yield JournalRow(*row[2:])

    # -- nets ---------------------------------------------------------------------------------------------------------

    def add_net(self, row: NetRow) -> int:
        known = self.net_by_hash(row.hash)
        if known is not None:
            return known.no
        nets = self.disk.tables["net"]
        no = len(nets) + 1
        nets[no] = (no, row.hash, row.name, row.language, row.body, row.source, row.released_at)
        return no

    def net(self, no: int) -> NetRow:
        row = self.disk.tables["net"].get(no)
        if row is None:
            raise StoreError(why=f"net {no} is missing")
        return NetRow(*row)

    def net_numbers(self) -> list[int]:
        return sorted(self.disk.tables["net"])

    def net_by_hash(self, hash: str) -> NetRow | None:
        return next((NetRow(*row) for row in self.disk.tables["net"].values() if row[1] == hash), None)

    # -- what waits beside the runs -----------------------------------------------------------------------------------

    def put_inbox(self, run: int, command: bytes, at: int) -> int:
        no = self._number("inbox")
        self._insert("inbox", (no, run, command, at, None), "fail")
        self.disk.undo.clear()
        return no

    def inbox(self, limit: int = 512) -> list[tuple[int, int, bytes]]:
        rows = sorted(row for row in self.disk.tables["inbox"].values() if row[4] is None)
        return [(no, run, command) for no, run, command, _, _ in rows[:limit]]

    def inbox_answer(self, no: int) -> bytes | None:
        row = self.disk.tables["inbox"].get(no)
        return None if row is None else row[4]

    def blob(self, hash: str) -> bytes | None:
        row = self.disk.tables["blob"].get(hash)
        return None if row is None else row[2]

    def memo(self, key: str, now: int) -> tuple[bytes | None] | None:
        row = self.disk.tables["memo"].get(key)
        return None if row is None or row[2] <= now else (row[1],)

    def gates(self) -> list[tuple[str, bytes]]:
        return [(name, body) for name, body, _ in sorted(self.disk.tables["gate"].values())]

    def intents(self) -> list[tuple[str, int, int, int, str]]:
        return [row[:5] for row in sorted(self.disk.tables["intent"].values())]

    def outbox(self, now: int, limit: int) -> list[tuple[int, int, int, str, bytes, int]]:
        rows = sorted(row for row in self.disk.tables["outbox"].values() if row[3] not in ("notice", "follow-up"))
        held = {row[1] for row in rows if row[6] > now and row[5] > 0}
        due = [row for row in rows if row[6] <= now and row[1] not in held]
        return [row[:6] for row in due[:limit]]

    def outbox_left(self) -> bool:
        return any(row[3] not in ("notice", "follow-up") for row in self.disk.tables["outbox"].values())

    def notices(self, now: int, limit: int) -> list[tuple[int, bytes, int]]:
        return self._of_topic("notice", now, limit)

    def first_notice_at(self) -> int | None:
        return min((row[6] for row in self.disk.tables["outbox"].values() if row[3] == "notice"), default=None)

    def follow_ups(self, now: int, limit: int) -> list[tuple[int, bytes, int]]:
        return self._of_topic("follow-up", now, limit)

    def completed_for(self, tenant: str, file: int) -> dict[str, str]:
        names = next(table for table in TABLES if table.name == "execution").names
        rows = [dict(zip(names, row, strict=True)) for row in self.disk.tables["execution"].values()]
        completed = [row for row in rows if (row["tenant_id"], row["file_id"], row["status"]) == (tenant, file, DONE)]
        net_of = {row[0]: row[3] for row in self.disk.tables["run"].values()}
        return {
            self.net(net_of[row["run"]]).name: row["execution_id"]
            for row in sorted(completed, key=lambda row: (row["created_at"], row["run"]))
        }

    def follow_ups_left(self) -> bool:
        return any(row[3] == "follow-up" for row in self.disk.tables["outbox"].values())

    def _of_topic(self, topic: str, now: int, limit: int) -> list[tuple[int, bytes, int]]:
        rows = [r for r in self.disk.tables["outbox"].values() if r[3] == topic and r[6] <= now]
        return [(row[0], row[4], row[5]) for row in sorted(rows, key=lambda row: (row[6], row[0]))[:limit]]

    def outbox_moved(self, done: Iterable[int], later: Iterable[tuple[int, int]]) -> None:
        rows = self.disk.tables["outbox"]
        for no in done:
            rows.pop(no, None)
        for no, at in later:
            row = rows[no]
            rows[no] = (*row[:5], row[5] + 1, at)

    def projected(self, table: Table, run: int | str | None = None) -> list[Row]:
        at = table.names.index("run")
        return [row for row in self.disk.tables[table.name].values() if run is None or row[at] == run]

    def every_tenant(self) -> list[str]:
        places = {t.name: t.names.index("tenant") for t in TABLES if "tenant" in t.names}
        return sorted({row[at] for name, at in places.items() for row in self.disk.tables[name].values()})

    def blob_names(self, after: str = "", limit: int = 1000) -> list[str]:
        return sorted(name for name in self.disk.tables["blob"] if name > after)[:limit]

    def damage(self, *, quick: bool = False) -> Iterator[str]:
        return iter(())

    def still_there(self) -> None:
        """Nobody can take it away."""

    def tidy(self, now: int) -> None:
        self.tidy_requests(now)
        self.tidy_batches(now)
        self.tidy_queues(now)
        self.tidy_sessions(now)
        tables = self.disk.tables
        ended = {r.no for r in self._runs() if r.status >= 5}
        for table, over in (
            ("memo", lambda row: row[2] <= now),
            ("ended_session", lambda row: row[1] <= now),
            ("inbox", lambda row: row[4] is not None and row[3] < now - INBOX_KEPT_MS),
            ("intent", lambda row: row[1] in ended),
        ):  # fmt: skip
            for key in [k for k, row in tables[table].items() if over(row)]:
                del tables[table][key]

    def items(self, *, open_only: bool = True, run: int | None = None) -> list[Row]:
        rows = [r for r in self.disk.tables["item"].values() if run is None or r[0] == run]
        return sorted((r for r in rows if not open_only or r[3] in _OPEN_ITEMS), key=lambda r: (r[7], r[:2]))

    # -- projections --------------------------------------------------------------------------------------------------

    def rebuild(self, project: Callable[[RunRow, Iterator[JournalRow], Batch], None]) -> int:
        runs = sorted(self._runs(), key=lambda r: r.no)
        folded = []
        for row in runs:
            batch = Batch()
            project(row, self.journal(row.no), batch)
            shown = Batch()
            for kind in _REBUILT:
                setattr(shown, kind, getattr(batch, kind))
            folded.append(shown)
        for table in TABLES:
            if table.projection:
                self.disk.tables[table.name].clear()
        for shown in folded:
            self._apply(shown)
            self.disk.undo.clear()
        return len(runs)

    def close(self) -> None:
        pass


_PLACES = {t.name: {name: i for i, name in enumerate(t.names)} for t in TABLES}


def _refuse(table: str, row: Row) -> NoReturn:
    raise StoreError(why=f"a row of {table} is not one: {row!r:.80}")
