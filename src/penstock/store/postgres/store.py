"""The store on a server: PostgreSQL, one pipeline and one transaction per batch of turns.

The worker's own row is the fence: the first statement of a batch changes it, and without it nothing of the batch is
written. The key (run, seq_from) of the journal is each run's compare-and-set. A session lock keeps a second engine away
politely; what keeps it from doing harm is the fence.
"""

from __future__ import annotations

import os
import secrets
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator

import psycopg

from penstock.errors import Fenced, StoreAway, StoreBusy, StoreMissing, StoreNewer, StoreNotOurs
from penstock.store.audit_key import AuditKeys
from penstock.store.postgres.batch import Ready, again, packed
from penstock.store.postgres.checks import PostgresChecks
from penstock.store.postgres.connection import (
    BY_KEY,
    ENGINE_S,
    READER_S,
    Patient,
    ServerAddress,
    closed_on_failure,
    connect,
    lost,
    raise_for,
)
from penstock.store.postgres.pipeline import Pipe
from penstock.store.postgres.schema import FIRST, MIGRATIONS, create_all
from penstock.store.postgres.sql import HERE, Connection
from penstock.store.run_store import RUN, Batch, JournalRow, NetRow, RunRow
from penstock.store.schema import APPLICATION_ID, VERSION
from penstock.store.sql_store import SqlStore
from penstock.store.tables import PROJECTIONS, SERVER_TABLES, TABLES

WORKER = 1
#: how long the session of an engine that was killed may take to be noticed
PATIENCE_S = 1.0
#: the advisory locks: whoever drives the store, and whoever makes or changes its tables
DRIVER, MAKER = APPLICATION_ID, APPLICATION_ID + 1

_HELD = (
    "SELECT w.who FROM worker w WHERE w.id=1 AND EXISTS (SELECT 1 FROM pg_locks l JOIN pg_database d ON"
    " d.oid=l.database WHERE l.locktype='advisory' AND l.granted AND l.classid=%s AND l.objsubid=2"
    " AND l.objid=current_schema()::regnamespace::oid"
    " AND d.datname=current_database())"
)
_OPEN_WORKER = (
    "INSERT INTO worker VALUES(%s,1,%s,'',0) ON CONFLICT (id)"
    " DO UPDATE SET fence=worker.fence+1, who=excluded.who RETURNING fence"
)
#: takes the row away from whatever a connection that was lost may still be doing, after which it is known what it did
_KEEP_WORKER = "UPDATE worker SET fence=fence+1 WHERE id=%s AND fence=%s RETURNING fence, commit_id"
#: R5: the session of a connection that is half open would hold the worker's row and the driver's lock for ever. It is
#: known by its number and its beginning, so that nobody else's is ended
_MINE = "SELECT pid, backend_start::text FROM pg_stat_activity WHERE pid=pg_backend_pid()"
_END_MINE = "SELECT pg_terminate_backend(pid, 3000) FROM pg_stat_activity WHERE pid=%s AND backend_start::text=%s"
_REBUILT = frozenset({
    "firing", "wait", "unwait", "item_new", "item_moved", "item_renumbered", "work_new", "work_moved",
    "incident", "cause",
    "judgment", "execution_new", "execution_moved", "stage_log", "usage", "task", "task_agent", "task_execution",
    "artifact_use",
})  # fmt: skip


class Postgres(PostgresChecks, SqlStore):
    """`engine=True` takes the store for driving: one process at a time. Readers need nothing."""

    def __init__(self, server: ServerAddress, *, engine: bool = True, create: bool = True) -> None:
        self.path = server
        self.audit_keys = AuditKeys(server.beside("audit-key"))
        self.commits = 0
        self.answers_lost = 0  # commits of which only the answer was lost
        self.fence = -1
        self.mutex = threading.RLock()
        self._engine = engine
        self._session: tuple[int, str] | None = None
        self._rest_until = 0.0
        self.c: Patient = self._connect()
        self._pipe = Pipe(self.c)
        with closed_on_failure(self, server):
            self._prepare(create)
            if engine:
                self._take()

    # -- opening -------------------------------------------------------------------------------------------------------

    @classmethod
    def there(cls, server: ServerAddress) -> bool:
        """Is there a store in this database?"""
        c = connect(server)
        try:
            return _version(c) is not None
        except psycopg.Error as error:
            raise_for(error, server)
        finally:
            c.close()

    @classmethod
    def driver(cls, server: ServerAddress) -> str | None:
        """Who drives the store; None when nobody does."""
        c = connect(server)
        try:
            row = c.execute(_HELD, (DRIVER,)).fetchone() if _version(c) is not None else None
            return None if row is None else _near(row[0])
        except psycopg.Error as error:
            raise_for(error, server)
        finally:
            c.close()

    def _connect(self) -> Patient:
        return connect(self.path, ENGINE_S if self._engine else READER_S)

    def _prepare(self, create: bool) -> None:
        """Create the tables of an empty schema; bring an older store up to date; leave what is not ours alone."""
        version = _version(self.c)
        if version is not None and version > VERSION:
            raise StoreNewer(found=version, known=VERSION)
        if version == VERSION:
            return
        if version is None and not create:
            raise StoreMissing(path=self.path)
        with self._unhurried(), self.transaction():
            self._execute("SET LOCAL statement_timeout=0")
            self._execute("SET LOCAL lock_timeout='30s'")
            self._execute(f"SELECT pg_advisory_xact_lock({HERE})", (MAKER,))
            version = _version(self.c)  # asked again: another process may have been first
            if version is None:
                self._create()
            else:
                self._migrate(version)

    def _create(self) -> None:
        if _others(self.c):
            hint = "Give Penstock a database, or a schema, of its own: CREATE DATABASE penstock ENCODING 'UTF8'."
            raise StoreNotOurs(path=self.path, hint=hint)
        for statement in create_all():
            self.c.execute(statement)
        self._execute("INSERT INTO mark VALUES('application', %s), ('schema_version', %s)", (APPLICATION_ID, VERSION))

    def _migrate(self, version: int) -> None:
        if version > VERSION:
            raise StoreNewer(found=version, known=VERSION)
        for later in range(max(version, FIRST) + 1, VERSION + 1):
            for statement in MIGRATIONS[later]:
                self.c.execute(statement)
        self._execute("UPDATE mark SET value=%s WHERE name='schema_version'", (VERSION,))

    def _take(self) -> None:
        self._lock()
        who = f"{os.getpid()}@{socket.gethostname()}"
        ((self.fence,),) = self._execute(_OPEN_WORKER, (WORKER, who)).fetchall()
        self._settle()

    def _settle(self) -> None:
        (self._session,) = self._execute(_MINE).fetchall()
        self.c.execute(BY_KEY)

    def _lock(self) -> None:
        until = time.monotonic() + PATIENCE_S
        while self._execute(f"SELECT pg_try_advisory_lock({HERE})", (DRIVER,)).fetchone() != (True,):
            if time.monotonic() > until:
                ((who,),) = self._execute("SELECT coalesce(max(who),'') FROM worker WHERE id=%s", (WORKER,)).fetchall()
                raise StoreBusy(pid=_near(who))
            time.sleep(0.02)

    def _reopen(self) -> None:
        """A new connection in the place of one that was lost. The engine takes its row anew: an old transaction of its
        own that still runs has ended before, or can never commit."""
        self._reconnect()

    def _reconnect(self) -> str:
        """The id of the last batch that was committed. After a server that took its time to say nothing, as long is
        left for other things: whoever asks meanwhile is told at once."""
        self.c.close()
        began = time.monotonic()
        if began < self._rest_until:
            raise StoreAway(why=f"{self.path}: it does not answer")
        try:
            self.c = self._connect()
            self._pipe = Pipe(self.c)
            return self._resume() if self._engine else ""
        except (StoreAway, StoreBusy):
            self._rest_until = 2 * time.monotonic() - began
            raise

    def _resume(self) -> str:
        try:
            if self._session is not None:
                self._execute(_END_MINE, self._session)
            row = self._execute(_KEEP_WORKER, (WORKER, self.fence)).fetchone()
            if row is None:
                raise Fenced
            self.fence = row[0]
            self._lock()
            self._settle()
        except psycopg.Error as error:
            self.c.close()
            raise_for(error, self.path)
        except BaseException:
            self.c.close()
            raise
        return str(row[1])

    # -- writing -------------------------------------------------------------------------------------------------------

    def commit(self, batch: Batch) -> None:
        ready = packed(batch)
        with self.mutex:
            try:
                self._commit(ready, secrets.token_hex(8))
            except psycopg.Error as error:
                raise_for(error, self.path)
        self.commits += 1

    def _commit(self, ready: list[Ready], commit_id: str) -> None:
        try:
            self._send(ready, commit_id)
        except psycopg.errors.UniqueViolation as error:
            other = again(ready, error.diag.constraint_name)
            if other is None:
                raise
            self._send(other, commit_id)
        except psycopg.Error as error:
            if not lost(error, self.c):
                raise
            if self._reconnect() == commit_id:  # H5: only the answer was lost
                self.answers_lost += 1
            else:
                self._send(ready, commit_id)

    def _send(self, ready: list[Ready], commit_id: str) -> None:
        held = [commit_id.encode(), struct.pack(">q", WORKER), struct.pack(">q", self.fence)]
        wrong = self._pipe.send(held, ready)
        if wrong is not None:
            at, error = wrong
            if at == 0 and error.sqlstate == "22012":  # the fence was not ours
                raise Fenced
            raise error

    def add_net(self, row: NetRow) -> int:
        by_hash = "SELECT no FROM net WHERE hash=%s"
        number: int | None = self._one(by_hash, (row.hash,))
        if number is not None:
            return number
        with self.transaction():
            self._execute(
                "INSERT INTO net(hash,name,language,body,source,released_at) VALUES(%s,%s,%s,%s,%s,%s)"
                " ON CONFLICT DO NOTHING",
                (row.hash, row.name, row.language, row.body, row.source, row.released_at),
            )
        return int(self._one(by_hash, (row.hash,)))

    def put_inbox(self, run: int, command: bytes, at: int) -> int:
        with self.transaction():
            sql = "INSERT INTO inbox(run,command,at) VALUES(%s,%s,%s) RETURNING no"
            ((no,),) = self._execute(sql, (run, command, at)).fetchall()
        return int(no)

    # -- projections ---------------------------------------------------------------------------------------------------

    def rebuild(self, project: Callable[[RunRow, Iterator[JournalRow], Batch], None]) -> int:
        count = 0
        with self._unhurried(), self.transaction():
            for table in PROJECTIONS:
                self._execute(f'DELETE FROM "{table.name}"')
            for row in self._execute(f"SELECT {RUN} FROM run ORDER BY no").fetchall():
                batch = Batch()
                project(RunRow(*row), self.journal(row[0]), batch)
                self._pipe.now(packed(batch, _REBUILT))
                count += 1
        return count

    def size(self) -> int:
        """Bytes of all tables with their indexes."""
        names = [table.name for table in (*TABLES, *SERVER_TABLES)]
        return int(self._one("SELECT sum(pg_total_relation_size(to_regclass(n))) FROM unnest(%s::text[]) n", (names,)))

    def still_there(self) -> None:
        """Which database it is, each commit knows by the fence."""

    def close(self) -> None:
        self.c.close()


def _version(c: Connection) -> int | None:
    """The version of the store that is there; None when there is none."""
    with c.transaction():
        (there,) = c.execute(
            "SELECT to_regclass(format('%%I.mark', coalesce(current_schema(), 'public')))", ()
        ).fetchone() or (None,)
        if there is None:
            return None
        try:
            with c.transaction():
                marks: dict[str, int] = dict(c.execute("SELECT name, value FROM mark").fetchall())
        except psycopg.errors.UndefinedColumn:
            return None
    return int(marks["schema_version"]) if marks.get("application") == APPLICATION_ID else None


def _others(c: Connection) -> bool:
    """Does the schema hold anything that no extension has brought?"""
    sql = (
        "SELECT EXISTS (SELECT 1 FROM pg_class o WHERE o.relnamespace=current_schema()::regnamespace"
        " AND o.relkind IN ('r','p','v','m','f') AND NOT EXISTS (SELECT 1 FROM pg_depend d"
        " WHERE d.classid='pg_class'::regclass AND d.objid=o.oid AND d.deptype='e'))"
    )
    ((others,),) = c.execute(sql).fetchall()
    return bool(others)


def _near(who: str) -> str:
    """A process of this machine by its number, any other with its machine."""
    return who.removesuffix(f"@{socket.gethostname()}")
