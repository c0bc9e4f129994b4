"""The embedded store: one SQLite file, WAL, synchronous=FULL, one commit per batch of turns.

One writer connection on one thread. The fence is read inside the write lock and dirties no page. Blobs go to sqlite3 as
bytearray: `bytes` would take the slow way through its adapter look-up.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from penstock.errors import (
    Fenced,
    StoreAway,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreNewer,
    StoreNotOurs,
)
from penstock.store.audit_key import AuditKeys
from penstock.store.deployments import PUT_USE
from penstock.store.document_checkpoints import CHECKPOINT
from penstock.store.executions import ADD_USAGE, INSERT_EXECUTION, INSERT_STAGE_LOG, MOVE_EXECUTION
from penstock.store.jobs import INSERT_JOB, PAUSE, WITHDRAW
from penstock.store.projects import BEGIN_PROJECT, MOVE_PROJECT
from penstock.store.run_store import RUN, Batch, JournalRow, NetRow, RunRow, with_checksums
from penstock.store.schema import APPLICATION_ID, MIGRATIONS, VERSION, create_all
from penstock.store.sql_store import SqlStore
from penstock.store.sqlite_checks import SqliteChecks
from penstock.store.sqlite_file import StoreFile
from penstock.store.sqlite_sql import raise_for
from penstock.store.tables import PROJECTIONS
from penstock.store.tasks import PUT_AGENT, PUT_EXECUTION, PUT_TASK
from penstock.store.work_items import AGENT

FENCE = "SELECT value FROM mark WHERE name='fence'"
INSERT_RUN = "INSERT INTO run VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)"
INSERT_JOURNAL = "INSERT INTO journal(run,seq_from,seq_to,at,body,checksum) VALUES(?,?,?,?,?,?)"
MOVE_RUN = "UPDATE run SET status=?,updated_at=?,wake_at=?,checkpoint_seq=?,checkpoint=?,net=? WHERE no=?"
END_RUN = "UPDATE run SET status=?,updated_at=?,wake_at=NULL,net=? WHERE no=?"
INSERT_FIRING = "INSERT OR REPLACE INTO firing VALUES(?,?,?,?,?,?,?,?,?)"
INSERT_WAIT = "INSERT OR REPLACE INTO waiting VALUES(?,?,?,?)"
DELETE_WAIT = "DELETE FROM waiting WHERE tenant=? AND name=? AND run=? AND wait=?"
INSERT_ITEM = "INSERT OR REPLACE INTO item VALUES(?,?,?,?,?,?,?,?,?)"
RENUMBER_ITEM = "UPDATE item SET node=? WHERE run=? AND firing=?"
MOVE_ITEM = "UPDATE item SET status=?,by=coalesce(?,by),moved_at=? WHERE run=? AND firing=?"
INSERT_WORK = "INSERT OR REPLACE INTO work VALUES(?,?,?,?,?,?,?,?)"
MOVE_WORK = f"""UPDATE work SET status=?1,mode=coalesce(?3,mode),version=?4,assignee=CASE ?2
 WHEN '{AGENT}' THEN coalesce(agent,'agent') ELSE nullif(coalesce(?2,assignee),'') END WHERE run=?5 AND firing=?6"""
INSERT_INCIDENT = "INSERT OR REPLACE INTO incident VALUES(?,?,?,?,?)"
INSERT_CAUSE = "INSERT OR REPLACE INTO cause VALUES(?,?,?,?,?,?,?,?)"
DELETE_CAUSE = "DELETE FROM cause WHERE run=?"
INSERT_OUTBOX = "INSERT INTO outbox(run,seq,topic,body,tries,due_at) VALUES(?,?,?,?,?,?)"
INSERT_INTENT = "INSERT OR REPLACE INTO intent VALUES(?,?,?,?,?,?)"
MOVE_INTENT = "UPDATE intent SET state=? WHERE key=?"
DELETE_INTENT = "DELETE FROM intent WHERE key=?"
ANSWER_INBOX = "UPDATE inbox SET answer=? WHERE no=?"
ANSWER_EVENT = "UPDATE event SET answer=? WHERE no=?"
INSERT_GATE = "INSERT OR REPLACE INTO gate VALUES(?,?,?)"
INSERT_MEMO = "INSERT OR REPLACE INTO memo VALUES(?,?,?)"
INSERT_BLOB = "INSERT OR IGNORE INTO blob VALUES(?,?,?)"
INSERT_JUDGMENT = "INSERT OR REPLACE INTO judgment VALUES(?,?,?,?,?,?,?,?,?)"
#: a run that was revived and has failed again is still one letter
INSERT_LETTER = (
    "INSERT INTO letter(tenant,run,name,version,queue,status,code,category,body,replays,at,until)"
    " VALUES(?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT(run) DO UPDATE SET version=excluded.version,queue=excluded.queue,"
    "status=excluded.status,code=excluded.code,category=excluded.category,body=excluded.body,at=excluded.at,"
    "until=excluded.until"
)
DELETE_LETTER = "DELETE FROM letter WHERE run=?"
INSERT_CHECKPOINT = f"INSERT INTO checkpoint({CHECKPOINT}) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)"
KEEP_CHECKPOINTS = "UPDATE checkpoint SET until=? WHERE run=?"
#: what a batch does to the projections: statement, and the rows of it
PROJECTED = (
    (INSERT_FIRING, "firing"), (INSERT_WAIT, "wait"), (DELETE_WAIT, "unwait"), (INSERT_ITEM, "item_new"),
    (MOVE_ITEM, "item_moved"), (RENUMBER_ITEM, "item_renumbered"), (INSERT_INCIDENT, "incident"),
    (INSERT_WORK, "work_new"), (MOVE_WORK, "work_moved"),
    (INSERT_JUDGMENT, "judgment"), (INSERT_CAUSE, "cause"), (INSERT_EXECUTION, "execution_new"),
    (MOVE_EXECUTION, "execution_moved"), (INSERT_STAGE_LOG, "stage_log"), (ADD_USAGE, "usage"), (PUT_TASK, "task"),
    (PUT_AGENT, "task_agent"), (PUT_EXECUTION, "task_execution"), (PUT_USE, "artifact_use"),
)  # fmt: skip
LOOKS = 5


class Sqlite(SqliteChecks, SqlStore):
    """`engine=True` takes the store for driving: one process at a time, held by a lock file and a fence. Readers need
    neither."""

    def __init__(self, path: str | Path, *, engine: bool = True, grow_mb: int = 0, create: bool = True) -> None:
        self.path = Path(path)
        self.audit_keys = AuditKeys(self.path.with_name(f"{self.path.name}.audit-key"))
        self.commits = 0
        self.fence = -1
        self._lock: int | None = None
        self._sick = False
        self._file: StoreFile | None = None
        self.c: sqlite3.Connection = None  # type: ignore[assignment]  # until it is open
        if not create and not self.path.exists():
            raise StoreError(why=f"there is no store at {self.path}")
        with contextlib.ExitStack() as on_failure:
            on_failure.callback(self.close)
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                if self.path.exists():
                    self._refuse_foreign()
                if engine:
                    self._take_lock()
                self._open()
                self._prepare()
                self._file = StoreFile(self.path)
                if engine:
                    self._take_fence()
                    if grow_mb:
                        self._grow_wal(grow_mb)
            except OSError as error:
                if error.errno in (errno.ENOSPC, errno.EDQUOT):
                    raise StoreFull from error
                raise StoreAway(why=f"{self.path}: {error.strerror or error}") from error
            except sqlite3.Error as error:
                raise_for(error, self.path)
            except (TypeError, ValueError) as error:  # what it says of itself is no number, or not there
                raise StoreDamaged(why=f"{self.path}: {error}") from error
            on_failure.pop_all()

    # -- opening -------------------------------------------------------------------------------------------------------

    def _refuse_foreign(self) -> None:
        """Somebody else's file, or one of a newer Penstock, is left exactly as it was found."""
        with contextlib.closing(sqlite3.connect(self.path, isolation_level=None)) as c:
            (ours,) = c.execute("PRAGMA application_id").fetchone()
            (tables,) = c.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if tables and ours != APPLICATION_ID:
                raise StoreNotOurs(path=self.path)
            if tables:
                _refuse_newer(c)

    def _open(self, mode: str = "rwc") -> None:
        fresh = mode == "rwc" and not self.path.exists()
        where = f"{self.path.absolute().as_uri()}?mode={mode}"
        self.c = c = sqlite3.connect(
            where, uri=True, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        if fresh:
            self.path.chmod(0o600)
        for pragma in (
            "page_size=4096", "journal_mode=WAL", "synchronous=FULL", "fullfsync=ON", "busy_timeout=5000",
            "foreign_keys=ON", "trusted_schema=OFF", "wal_autocheckpoint=4000", "journal_size_limit=67108864",
            "cache_size=-8000",
        ):  # fmt: skip
            c.execute(f"PRAGMA {pragma}")

    def _prepare(self) -> None:
        """Create the tables of a new file; bring an older one up to date."""
        (ours,) = self.c.execute("PRAGMA application_id").fetchone()
        if ours != APPLICATION_ID:
            self._create()
            return
        if _refuse_newer(self.c) < VERSION:
            self._migrate()

    def _create(self) -> None:
        c = self.c
        c.execute("BEGIN IMMEDIATE")
        (ours,) = c.execute("PRAGMA application_id").fetchone()
        if ours != APPLICATION_ID:
            for statement in create_all():
                c.execute(statement)
            c.execute("INSERT INTO mark VALUES('schema_version', ?), ('fence', 0)", (VERSION,))
            c.execute(f"PRAGMA application_id={APPLICATION_ID}")
        c.execute("COMMIT")

    def _migrate(self) -> None:
        c = self.c
        c.execute("BEGIN IMMEDIATE")
        version_there = _refuse_newer(c)  # asked again: another process may have been first
        for version in range(version_there + 1, VERSION + 1):
            for statement in MIGRATIONS[version]:
                c.execute(statement)
        c.execute("UPDATE mark SET value=? WHERE name='schema_version'", (VERSION,))
        c.execute("COMMIT")

    def _take_lock(self) -> None:
        self._lock = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            for _ in range(LOOKS):  # somebody may just be looking whether it is taken
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                time.sleep(0.01)
            else:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreBusy(pid=os.pread(self._lock, 20, 0).decode("ascii", "replace").strip()) from None
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, b"%d" % os.getpid(), 0)

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _take_fence(self) -> None:
        c = self.c
        c.execute("BEGIN IMMEDIATE")
        c.execute("UPDATE mark SET value=value+1 WHERE name='fence'")
        (self.fence,) = c.execute(FENCE).fetchone()
        c.execute("COMMIT")

    def _grow_wal(self, megabytes: int) -> None:
        """Write the WAL out once and start it again: later commits overwrite blocks the file already has, so a sync has
        no new file size to journal."""
        c = self.c
        c.execute("PRAGMA wal_autocheckpoint=0")
        c.execute("CREATE TABLE IF NOT EXISTS scratch(x BLOB)")
        c.execute("BEGIN IMMEDIATE")
        c.executemany("INSERT INTO scratch VALUES(zeroblob(1000000))", [()] * megabytes)
        c.execute("COMMIT")
        c.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()
        c.execute("DROP TABLE scratch")
        c.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()
        c.execute("PRAGMA wal_autocheckpoint=4000")

    # -- writing -------------------------------------------------------------------------------------------------------

    def commit(self, batch: Batch) -> None:
        if self._sick:
            self._reopen()
        self._before_writing()
        x, many = self.c.execute, self.c.executemany
        try:
            x("BEGIN IMMEDIATE")
            if x(FENCE).fetchone()[0] != self.fence:
                raise Fenced
            if batch.new:
                many(INSERT_RUN, batch.new)
            many(INSERT_JOURNAL, with_checksums(batch.journal))
            if batch.moved:
                many(MOVE_RUN, batch.moved)
            if batch.ended:
                many(END_RUN, batch.ended)
            if batch.firing:
                many(INSERT_FIRING, batch.firing)
            for statement, rows in (
                (INSERT_WAIT, batch.wait), (DELETE_WAIT, batch.unwait), (INSERT_ITEM, batch.item_new),
                (MOVE_ITEM, batch.item_moved), (RENUMBER_ITEM, batch.item_renumbered),
                (INSERT_WORK, batch.work_new), (MOVE_WORK, batch.work_moved),
                (INSERT_INCIDENT, batch.incident), (DELETE_CAUSE, batch.cause_gone), (INSERT_CAUSE, batch.cause),
                (INSERT_OUTBOX, batch.outbox),
                (INSERT_INTENT, batch.intent), (MOVE_INTENT, batch.intent_moved), (DELETE_INTENT, batch.intent_gone),
                (ANSWER_INBOX, batch.inbox_answered), (ANSWER_EVENT, batch.event_taken), (INSERT_GATE, batch.gate),
                (INSERT_MEMO, batch.memo), (INSERT_BLOB, batch.blobs), (INSERT_JUDGMENT, batch.judgment),
                (INSERT_LETTER, batch.letter),
                (DELETE_LETTER, batch.letter_gone), (INSERT_CHECKPOINT, batch.checkpoint),
                (KEEP_CHECKPOINTS, batch.checkpoint_until), (INSERT_EXECUTION, batch.execution_new),
                (MOVE_EXECUTION, batch.execution_moved), (INSERT_STAGE_LOG, batch.stage_log), (ADD_USAGE, batch.usage),
                (PUT_TASK, batch.task), (PUT_AGENT, batch.task_agent), (PUT_EXECUTION, batch.task_execution),
                (WITHDRAW, batch.job_gone), (INSERT_JOB, batch.job_new), (PAUSE, batch.job_paused),
                (BEGIN_PROJECT, batch.project_began), (MOVE_PROJECT, batch.project_moved),
                (PUT_USE, batch.artifact_use),
            ):  # fmt: skip
                if rows:
                    many(statement, rows)
            x("COMMIT")
        except sqlite3.Error as error:
            self._rollback()
            self._sick = getattr(error, "sqlite_errorname", "").startswith("SQLITE_IOERR")
            raise_for(error, self.path)
        except BaseException:
            self._rollback()
            raise
        self._written()
        self.commits += 1

    def still_there(self) -> None:
        if self._file is not None:
            self._file.check()

    def _before_writing(self) -> None:
        if self._file is not None:
            self._file.check_file()
            self._file.check_header()

    def _written(self) -> None:
        """What was written into a file that nobody finds again is not acknowledged."""
        if self._file is not None:
            self._file.check_file()
            self._file.check_log()

    def _reopen(self) -> None:
        """After an I/O error nobody knows what the handle still holds: a new one reads what is on disk. It makes no
        file where there is none any more."""
        self.still_there()  # a new handle must lead to the file that the runs in memory are from
        try:
            self.c.close()
            self._open("rw")
        except sqlite3.Error as error:
            raise_for(error, self.path)
        if self._file is not None:
            self._file.reopened()
        self._sick = False

    def _write(self, statement: str, values: tuple[Any, ...]) -> sqlite3.Cursor:
        self._before_writing()
        try:
            done = self.c.execute(statement, values)
        except sqlite3.Error as error:
            raise_for(error, self.path)
        self._written()
        return done

    def add_net(self, row: NetRow) -> int:
        known = self._read("SELECT no FROM net WHERE hash=?", (row.hash,)).fetchone()
        if known is not None:
            return int(known[0])
        self._write(
            "INSERT OR IGNORE INTO net(hash,name,language,body,source,released_at) VALUES(?,?,?,?,?,?)",
            (row.hash, row.name, row.language, row.body, row.source, row.released_at),
        )
        return int(self._read("SELECT no FROM net WHERE hash=?", (row.hash,)).fetchone()[0])

    def put_inbox(self, run: int, command: bytes, at: int) -> int:
        cursor = self._write("INSERT INTO inbox(run,command,at) VALUES(?,?,?)", (run, command, at))
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    # -- projections ---------------------------------------------------------------------------------------------------

    def rebuild(self, project: Callable[[RunRow, Iterator[JournalRow], Batch], None]) -> int:
        c = self.c
        count = 0
        with self.transaction():
            for table in PROJECTIONS:
                c.execute(f'DELETE FROM "{table.name}"')
            for row in c.execute(f"SELECT {RUN} FROM run ORDER BY no").fetchall():
                batch = Batch()
                project(RunRow(*row), self.journal(row[0]), batch)
                for statement, field in PROJECTED:
                    c.executemany(statement, getattr(batch, field))
                count += 1
        return count

    def size(self) -> int:
        ((pages,), (free,)) = (
            self.c.execute(f"PRAGMA {asked}").fetchone() for asked in ("page_count", "freelist_count")
        )
        return int(pages - free) * 4096

    def close(self) -> None:
        if self.c is not None:
            self.c.close()
        self._unlock()


def _refuse_newer(c: sqlite3.Connection) -> int:
    version: int
    (version,) = c.execute("SELECT value FROM mark WHERE name='schema_version'").fetchone()
    if version > VERSION:
        raise StoreNewer(found=version, known=VERSION)
    return version
