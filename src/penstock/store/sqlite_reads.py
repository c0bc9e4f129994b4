"""What is read from a SQLite store. Every read sees whole commits, and its errors are the house's."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from penstock.errors import (
    Fenced,
    RunAmbiguous,
    RunNotFound,
    StoreAway,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreNotOurs,
)
from penstock.store.contract import JournalRow, NetRow, RunRow

RUN = "no,id,tenant,net,key,status,priority,created_at,updated_at,wake_at,parent,checkpoint_seq,checkpoint"
UNFINISHED = "SELECT no FROM run WHERE status IN (0,2,4) AND status < 5"  # «< 5» lets SQLite use the partial index


class Reads:
    c: sqlite3.Connection
    path: Path

    def _read(self, sql: str, values: Iterable[Any] = ()) -> sqlite3.Cursor:
        try:
            return self.c.execute(sql, tuple(values))
        except sqlite3.Error as error:
            raise_for(error, self.path)

    @contextlib.contextmanager
    def transaction(self, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
        try:
            self.c.execute(begin)
            yield
            self.c.execute("COMMIT")
        except sqlite3.Error as error:
            self._rollback()
            raise_for(error, self.path)
        except BaseException:
            self._rollback()
            raise

    def _rollback(self) -> None:
        # after SQLITE_FULL the transaction is gone already, and a blind ROLLBACK would raise; after an I/O error it may
        # fail as well, and the first error is the one that matters
        if self.c.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                self.c.execute("ROLLBACK")

    # -- runs ----------------------------------------------------------------------------------------------------------

    def load(self, numbers: Iterable[int]) -> list[tuple[RunRow, list[JournalRow]]]:
        found: dict[int, tuple[RunRow, list[JournalRow]]] = {}
        asked = list(numbers)
        for i in range(0, len(asked), 500):
            part = asked[i : i + 500]
            marks = ",".join("?" * len(part))
            tail = (
                "SELECT j.run,j.seq_from,j.seq_to,j.at,j.body FROM run r JOIN journal j ON j.run=r.no"
                f" AND j.seq_from>r.checkpoint_seq WHERE r.no IN ({marks}) ORDER BY j.run,j.seq_from"
            )
            with self.transaction("BEGIN"):  # rows and tail as of one moment, while another process commits
                for row in self.c.execute(f"SELECT {RUN} FROM run WHERE no IN ({marks})", part):
                    found[row[0]] = (RunRow(*row), [])
                for row in self.c.execute(tail, part):
                    found[row[0]][1].append(JournalRow(*row[1:]))
        return list(found.values())

    def run_by_id(self, prefix: str, *, tenant: str | None = None) -> RunRow:
        if not prefix.isalnum():
            raise RunNotFound(run=prefix)
        low = prefix.lower()
        mine, values = ("", ()) if tenant is None else (" AND tenant=?", (tenant,))
        sql = f"SELECT {RUN} FROM run WHERE id >= ? AND id < ?{mine} ORDER BY id LIMIT 3"
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
        row = self._read(f"SELECT {RUN} FROM run WHERE tenant=? AND key=?", (tenant, key)).fetchone()
        return None if row is None else RunRow(*row)

    def runs(self, *, status: Iterable[int] | None = None, limit: int = 50, tenant: str | None = None) -> list[RunRow]:
        where, values = list[str](), list[Any]()
        if status is not None:
            values += status
            where.append(f"status IN ({','.join('?' * len(values))})")
        if tenant is not None:
            where.append("tenant=?")
            values.append(tenant)
        those = f" WHERE {' AND '.join(where)}" if where else ""
        rows = self._read(f"SELECT {RUN} FROM run{those} ORDER BY no DESC LIMIT ?", (*values, limit))
        return [RunRow(*r) for r in rows]

    def unfinished(self) -> list[int]:
        return [r[0] for r in self._read(f"{UNFINISHED} ORDER BY no")]

    def open_below(self, prefix: str) -> list[tuple[int, str]]:
        sql = "SELECT no,id FROM run WHERE id >= ? AND id < ? AND status < 5"
        return self._read(sql, (prefix, prefix + "\x7f")).fetchall()

    def due(self, before: int, limit: int) -> list[tuple[int, int]]:
        sql = "SELECT no, wake_at FROM run WHERE wake_at IS NOT NULL AND wake_at<=? ORDER BY wake_at LIMIT ?"
        return self._read(sql, (before, limit)).fetchall()

    def next_wake(self) -> int | None:
        found: int | None = self._read("SELECT min(wake_at) FROM run WHERE wake_at IS NOT NULL").fetchone()[0]
        return found

    def last_run(self) -> int:
        found: int = self._read("SELECT coalesce(max(no),0) FROM run").fetchone()[0]
        return found

    def journal(self, run: int, after: int = 0) -> Iterator[JournalRow]:
        sql = "SELECT seq_from,seq_to,at,body FROM journal WHERE run=? AND seq_from>? ORDER BY seq_from"
        for row in self._read(sql, (run, after)):
            yield JournalRow(*row)

    # -- nets ----------------------------------------------------------------------------------------------------------

    def net(self, no: int) -> NetRow:
        sql = "SELECT no,hash,name,language,body,source,released_at FROM net WHERE no=?"
        row = self._read(sql, (no,)).fetchone()
        if row is None:
            raise StoreError(why=f"net {no} is missing")
        return NetRow(*row)

    def net_by_hash(self, hash: str) -> NetRow | None:
        sql = "SELECT no,hash,name,language,body,source,released_at FROM net WHERE hash=?"
        row = self._read(sql, (hash,)).fetchone()
        return None if row is None else NetRow(*row)

    # -- what waits beside the runs ------------------------------------------------------------------------------------

    def inbox(self, limit: int = 512) -> list[tuple[int, int, bytes]]:
        return self._read(
            "SELECT no,run,command FROM inbox WHERE answer IS NULL ORDER BY no LIMIT ?", (limit,)
        ).fetchall()

    def inbox_answer(self, no: int) -> bytes | None:
        row = self._read("SELECT answer FROM inbox WHERE no=?", (no,)).fetchone()
        return None if row is None else row[0]

    def blob(self, hash: str) -> bytes | None:
        row = self._read("SELECT body FROM blob WHERE hash=?", (hash,)).fetchone()
        return None if row is None else row[0]

    def memo(self, key: str, now: int) -> tuple[bytes | None] | None:
        row: tuple[bytes | None] | None = self._read(
            "SELECT body FROM memo WHERE key=? AND until>?", (key, now)
        ).fetchone()
        return row

    def gates(self) -> list[tuple[str, bytes]]:
        return self._read("SELECT name,body FROM gate").fetchall()

    def intents(self) -> list[tuple[str, int, int, int, str]]:
        return self._read("SELECT key,run,firing,attempt,state FROM intent").fetchall()

    def outbox(self, now: int, limit: int) -> list[tuple[int, int, int, str, bytes, int]]:
        sql = (
            "SELECT no,run,seq,topic,body,tries FROM outbox WHERE due_at<=?1 AND topic<>'notice' AND run NOT IN"
            " (SELECT run FROM outbox WHERE due_at>?1 AND tries>0 AND topic<>'notice') ORDER BY no LIMIT ?2"
        )
        return self._read(sql, (now, limit)).fetchall()

    def outbox_left(self) -> bool:
        return self._read("SELECT 1 FROM outbox WHERE topic<>'notice' LIMIT 1").fetchone() is not None

    def items(self, *, open_only: bool = True, run: int | None = None) -> list[tuple[Any, ...]]:
        where = ["status IN ('TODO','IN_PROGRESS','SUBMITTED','REWORK')"] if open_only else []
        values: list[Any] = []
        if run is not None:
            where.append("run=?")
            values.append(run)
        sql = "SELECT run,firing,node,status,prompt,candidates,by,opened_at,moved_at FROM item"
        return self._read(
            f"{sql}{' WHERE ' + ' AND '.join(where) if where else ''} ORDER BY opened_at", values
        ).fetchall()


def raise_for(error: sqlite3.Error, path: Path) -> NoReturn:
    """SQLite's many words, in ours."""
    code = getattr(error, "sqlite_errorname", "")
    if code.startswith("SQLITE_FULL"):
        raise StoreFull from error
    if code in ("SQLITE_NOTADB", "SQLITE_FORMAT"):
        raise StoreNotOurs(path=path) from error
    if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        raise StoreBusy from error
    if code.startswith(("SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PROTOCOL")):
        raise StoreAway(why=f"{path}: {error} ({code})") from error
    if code in ("SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY", "SQLITE_CONSTRAINT_ROWID"):
        raise Fenced from error  # somebody else has written this turn, or this run
    raise StoreError(why=f"{path}: {error} ({code or 'sqlite'})") from error
