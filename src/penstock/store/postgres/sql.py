"""PostgreSQL's half of the repositories: how a statement is asked, on a connection that may be lost meanwhile."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator
from typing import Any

import psycopg

from penstock.errors import StoreError
from penstock.store.postgres.connection import Numbers, Patient, ServerAddress, lost, raise_for
from penstock.store.run_store import RUN, JournalRow, RunRow
from penstock.store.sql import Sql

#: run rows, and beside each the turns after its checkpoint as arrays: one statement, so one moment
LOAD = (
    f"SELECT {RUN}, tail.* FROM run r LEFT JOIN LATERAL (SELECT array_agg(j.seq_from), array_agg(j.seq_to),"
    " array_agg(j.at), array_agg(j.body) FROM (SELECT seq_from, seq_to, at, body FROM journal WHERE run=r.no"
    " AND seq_from>r.checkpoint_seq ORDER BY seq_from) j) tail ON true WHERE r.no = ANY(%s) ORDER BY r.no"
)

#: the arguments of an advisory lock: what for, and in which schema
HERE = "%s::int4, current_schema()::regnamespace::oid::int4"
#: the lock of whoever gives an event its number: "PNSE"
EVENTS = 0x504E5345

Connection = psycopg.Connection[tuple[Any, ...]]
Cursor = psycopg.Cursor[tuple[Any, ...]]


class PostgresSql(Sql):
    c: Patient
    path: ServerAddress
    mutex: threading.RLock  # a connection has one conversation at a time
    _inside = False  # a transaction of several statements, which no other connection can go on with

    SAME, LARGER, FOR_UPDATE, PLAIN = "IS NOT DISTINCT FROM", "greatest", " FOR UPDATE", ""
    SKIP_LOCKED = " FOR UPDATE SKIP LOCKED"
    HOLDS = "position(?::bytea in i.candidates)>0"
    ITS_RUN = "CROSS JOIN LATERAL (SELECT id, net, tenant FROM run WHERE no=i.run OFFSET 0) r"
    RUN_OF_ITEM = "split_part(item,'/',1)"

    def _by(self, index: str) -> str:
        return ""

    def _ms_between(self, earlier: str, later: str) -> str:
        return f"extract(epoch FROM {later}::timestamptz-{earlier}::timestamptz)::float8*1000"

    def _lock_events(self) -> None:
        self._execute(f"SELECT pg_advisory_xact_lock({HERE})", (EVENTS,))

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
            return self.c.cursor(binary=True).execute(sql.replace("?", "%s"), values)
        except (psycopg.DataError, ValueError, OverflowError) as error:
            if isinstance(error, psycopg.DataError) and error.sqlstate:
                raise
            raise StoreError(why=f"a value cannot be stored: {error}") from error

    def _many(self, sql: str, rows: Iterable[tuple[Any, ...]]) -> None:
        try:
            self.c.cursor().executemany(sql.replace("?", "%s"), rows)
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

    @contextlib.contextmanager
    def _unhurried(self) -> Iterator[None]:
        """A statement may take as long as it likes."""
        patience, self.c.patience_s = self.c.patience_s, None
        try:
            yield
        finally:
            self.c.patience_s = patience

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
        runs = []
        for *row, first, last, at, body in self._read(LOAD, (Numbers(numbers),)):
            tail = [] if first is None else list(map(JournalRow, first, last, at, body))
            runs.append((RunRow(*row), tail))
        return runs
