"""What is read from a PostgreSQL store: one statement each, so that it sees whole commits. Errors are the house's."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator
from typing import Any

import psycopg

from penstock.errors import RunAmbiguous, RunNotFound, StoreError
from penstock.store.contract import JournalRow, NetRow, RunRow
from penstock.store.place import Server
from penstock.store.postgres_link import Numbers, Patient, lost, raise_for

RUN = "no,id,tenant,net,key,status,priority,created_at,updated_at,wake_at,parent,checkpoint_seq,checkpoint"
UNFINISHED = "SELECT no FROM run WHERE status IN (0,2,4) AND status < 5"  # «< 5» is what the partial index asks for
#: run rows, and beside each the turns after its checkpoint as arrays: one statement, so one moment
LOAD = (
    f"SELECT {RUN}, tail.* FROM run r LEFT JOIN LATERAL (SELECT array_agg(j.seq_from), array_agg(j.seq_to),"
    " array_agg(j.at), array_agg(j.body) FROM (SELECT seq_from, seq_to, at, body FROM journal WHERE run=r.no"
    " AND seq_from>r.checkpoint_seq ORDER BY seq_from) j) tail ON true WHERE r.no = ANY(%s) ORDER BY r.no"
)

#: the arguments of an advisory lock: what for, and in which schema
HERE = "%s::int4, current_schema()::regnamespace::oid::int4"

Connection = psycopg.Connection[tuple[Any, ...]]
Cursor = psycopg.Cursor[tuple[Any, ...]]


class Reads:
    c: Patient
    path: Server
    mutex: threading.RLock  # a connection has one conversation at a time
    _inside = False  # a transaction of several statements, which no other connection can go on with

    def _reopen(self) -> None:
        raise NotImplementedError

    def _read(self, sql: str, values: Iterable[Any] = ()) -> Cursor:
        given = tuple(values)
        with self.mutex:
            try:
                try:
                    return self._execute(sql, given)
                except psycopg.Error as error:
                    if self._inside or not lost(error, self.c):
                        raise
                self._reopen()
                return self._execute(sql, given)
            except psycopg.Error as error:
                raise_for(error, self.path)

    def _execute(self, sql: str, values: tuple[Any, ...] = ()) -> Cursor:
        try:
            return self.c.cursor(binary=True).execute(sql, values)
        except (psycopg.DataError, ValueError, OverflowError) as error:
            if isinstance(error, psycopg.DataError) and error.sqlstate:
                raise
            raise StoreError(why=f"a value cannot be stored: {error}") from error

    def _many(self, sql: str, rows: Iterable[tuple[Any, ...]]) -> None:
        try:
            self.c.cursor().executemany(sql, rows)
        except (ValueError, OverflowError) as error:
            raise StoreError(why=f"a value cannot be stored: {error}") from error

    @contextlib.contextmanager
    def transaction(self, begin: str = "BEGIN") -> Iterator[None]:
        with self.mutex:
            try:
                self._begin(begin)
                self._inside = True
                yield
                self._execute("COMMIT")
            except psycopg.Error as error:
                self._rollback()
                raise_for(error, self.path)
            except BaseException:
                self._rollback()
                raise
            finally:
                self._inside = False

    def _begin(self, begin: str) -> None:
        """A connection that was lost meanwhile is noticed here, where nothing has been asked yet."""
        try:
            self._execute(begin)
        except psycopg.Error as error:
            if not lost(error, self.c):
                raise
            self._reopen()
            self._execute(begin)

    def _rollback(self) -> None:
        with contextlib.suppress(psycopg.Error):
            if self.c is not None and not self.c.closed:
                self.c.rollback()

    # -- runs ----------------------------------------------------------------------------------------------------------

    def load(self, numbers: Iterable[int]) -> list[tuple[RunRow, list[JournalRow]]]:
        found = []
        for *row, first, last, at, body in self._read(LOAD, (Numbers(numbers),)):
            tail = [] if first is None else list(map(JournalRow, first, last, at, body))
            found.append((RunRow(*row), tail))
        return found

    def run_by_id(self, prefix: str, *, tenant: str | None = None) -> RunRow:
        if not prefix.isalnum():
            raise RunNotFound(run=prefix)
        low = prefix.lower()
        mine, values = ("", ()) if tenant is None else (" AND tenant=%s", (tenant,))
        sql = f"SELECT {RUN} FROM run WHERE id >= %s AND id < %s{mine} ORDER BY id LIMIT 3"
        rows = self._read(sql, (low, low + "\x7f", *values)).fetchall()
        exact = [r for r in rows if r[1] == low]
        if exact:
            return RunRow(*exact[0])
        if not rows:
            raise RunNotFound(run=prefix)
        if len(rows) > 1:
            raise RunAmbiguous(run=prefix, count="several")
        return RunRow(*rows[0])

    def run_by_key(self, tenant: str, key: str) -> RunRow | None:
        row = self._read(f"SELECT {RUN} FROM run WHERE tenant=%s AND key=%s", (tenant, key)).fetchone()
        return None if row is None else RunRow(*row)

    def runs(self, *, status: Iterable[int] | None = None, limit: int = 50, tenant: str | None = None) -> list[RunRow]:
        where, values = list[str](), list[Any]()
        if status is not None:
            where.append("status = ANY(%s)")
            values.append(Numbers(status))
        if tenant is not None:
            where.append("tenant=%s")
            values.append(tenant)
        those = f" WHERE {' AND '.join(where)}" if where else ""
        rows = self._read(f"SELECT {RUN} FROM run{those} ORDER BY no DESC LIMIT %s", (*values, limit))
        return [RunRow(*r) for r in rows]

    def unfinished(self) -> list[int]:
        return [r[0] for r in self._read(f"{UNFINISHED} ORDER BY no")]

    def open_below(self, prefix: str) -> list[tuple[int, str]]:
        sql = "SELECT no,id FROM run WHERE id >= %s AND id < %s AND status < 5"
        return self._read(sql, (prefix, prefix + "\x7f")).fetchall()

    def due(self, before: int, limit: int) -> list[tuple[int, int]]:
        sql = "SELECT no, wake_at FROM run WHERE wake_at IS NOT NULL AND wake_at<=%s ORDER BY wake_at LIMIT %s"
        return self._read(sql, (before, limit)).fetchall()

    def next_wake(self) -> int | None:
        found: int | None = self._one("SELECT min(wake_at) FROM run WHERE wake_at IS NOT NULL")
        return found

    def last_run(self) -> int:
        found: int = self._one("SELECT coalesce(max(no),0) FROM run")
        return found

    def _one(self, sql: str, values: Iterable[Any] = ()) -> Any:
        """The only column of the first row; None when there is no row."""
        row = self._read(sql, values).fetchone()
        return None if row is None else row[0]

    def journal(self, run: int, after: int = 0) -> Iterator[JournalRow]:
        sql = "SELECT seq_from,seq_to,at,body FROM journal WHERE run=%s AND seq_from>%s ORDER BY seq_from"
        for row in self._read(sql, (run, after)):
            yield JournalRow(*row)

    # -- nets ----------------------------------------------------------------------------------------------------------

    def net(self, no: int) -> NetRow:
        sql = "SELECT no,hash,name,language,body,source,released_at FROM net WHERE no=%s"
        row = self._read(sql, (no,)).fetchone()
        if row is None:
            raise StoreError(why=f"net {no} is missing")
        return NetRow(*row)

    def net_by_hash(self, hash: str) -> NetRow | None:
        sql = "SELECT no,hash,name,language,body,source,released_at FROM net WHERE hash=%s"
        row = self._read(sql, (hash,)).fetchone()
        return None if row is None else NetRow(*row)

    # -- what waits beside the runs ------------------------------------------------------------------------------------

    def inbox(self, limit: int = 512) -> list[tuple[int, int, bytes]]:
        sql = "SELECT no,run,command FROM inbox WHERE answer IS NULL ORDER BY no LIMIT %s"
        return self._read(sql, (limit,)).fetchall()

    def inbox_answer(self, no: int) -> bytes | None:
        found: bytes | None = self._one("SELECT answer FROM inbox WHERE no=%s", (no,))
        return found

    def blob(self, hash: str) -> bytes | None:
        found: bytes | None = self._one("SELECT body FROM blob WHERE hash=%s", (hash,))
        return found

    def memo(self, key: str, now: int) -> tuple[bytes | None] | None:
        sql = "SELECT body FROM memo WHERE key=%s AND until>%s"
        return self._read(sql, (key, now)).fetchone()

    def gates(self) -> list[tuple[str, bytes]]:
        return self._read("SELECT name,body FROM gate").fetchall()

    def intents(self) -> list[tuple[str, int, int, int, str]]:
        return self._read("SELECT key,run,firing,attempt,state FROM intent").fetchall()

    def outbox(self, now: int, limit: int) -> list[tuple[int, int, int, str, bytes, int]]:
        sql = (
            "SELECT no,run,seq,topic,body,tries FROM outbox WHERE due_at<=%s AND topic<>'notice' AND run NOT IN"
            " (SELECT run FROM outbox WHERE due_at>%s AND tries>0 AND topic<>'notice') ORDER BY no LIMIT %s"
        )
        return self._read(sql, (now, now, limit)).fetchall()

    def outbox_left(self) -> bool:
        return self._one("SELECT 1 FROM outbox WHERE topic<>'notice' LIMIT 1") is not None

    def items(self, *, open_only: bool = True, run: int | None = None) -> list[tuple[Any, ...]]:
        where = ["status IN ('TODO','IN_PROGRESS','SUBMITTED','REWORK')"] if open_only else []
        values: list[Any] = []
        if run is not None:
            where.append("run=%s")
            values.append(run)
        sql = 'SELECT run,firing,node,status,prompt,candidates,"by",opened_at,moved_at FROM item'
        return self._read(
            f"{sql}{' WHERE ' + ' AND '.join(where) if where else ''} ORDER BY opened_at", values
        ).fetchall()
