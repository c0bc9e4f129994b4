"""Runs, journals, nets and what waits beside them, as they are read. Every read sees whole commits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from penstock.errors import RunAmbiguous, RunNotFound, StoreError
from penstock.store.contract import JournalRow, NetRow, RunRow
from penstock.store.sql import Sql, marks

RUN = "no,id,tenant,net,key,status,priority,created_at,updated_at,wake_at,parent,checkpoint_seq,checkpoint"
UNFINISHED = "SELECT no FROM run WHERE status IN (0,2,4) AND status < 5"  # «< 5» is what the partial index asks for


class Reads(Sql):
    # -- runs ----------------------------------------------------------------------------------------------------------

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
            where.append(f"status IN ({marks(values)})" if values else "1=0")
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
        found: int | None = self._one("SELECT min(wake_at) FROM run WHERE wake_at IS NOT NULL")
        return found

    def last_run(self) -> int:
        found: int = self._one("SELECT coalesce(max(no),0) FROM run")
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
        sql = "SELECT no,run,command FROM inbox WHERE answer IS NULL ORDER BY no LIMIT ?"
        return self._read(sql, (limit,)).fetchall()

    def inbox_answer(self, no: int) -> bytes | None:
        found: bytes | None = self._one("SELECT answer FROM inbox WHERE no=?", (no,))
        return found

    def blob(self, hash: str) -> bytes | None:
        found: bytes | None = self._one("SELECT body FROM blob WHERE hash=?", (hash,))
        return found

    def memo(self, key: str, now: int) -> tuple[bytes | None] | None:
        sql = "SELECT body FROM memo WHERE key=? AND until>?"
        row: tuple[bytes | None] | None = self._read(sql, (key, now)).fetchone()
        return row

    def gates(self) -> list[tuple[str, bytes]]:
        return self._read("SELECT name,body FROM gate").fetchall()

    def intents(self) -> list[tuple[str, int, int, int, str]]:
        return self._read("SELECT key,run,firing,attempt,state FROM intent").fetchall()

    def outbox(self, now: int, limit: int) -> list[tuple[int, int, int, str, bytes, int]]:
        sql = (
            "SELECT no,run,seq,topic,body,tries FROM outbox WHERE due_at<=? AND topic<>'notice' AND run NOT IN"
            " (SELECT run FROM outbox WHERE due_at>? AND tries>0 AND topic<>'notice') ORDER BY no LIMIT ?"
        )
        return self._read(sql, (now, now, limit)).fetchall()

    def outbox_left(self) -> bool:
        return self._one("SELECT 1 FROM outbox WHERE topic<>'notice' LIMIT 1") is not None

    def items(self, *, open_only: bool = True, run: int | None = None) -> list[tuple[Any, ...]]:
        where = ["status IN ('TODO','IN_PROGRESS','SUBMITTED','REWORK')"] if open_only else []
        values: list[Any] = []
        if run is not None:
            where.append("run=?")
            values.append(run)
        sql = 'SELECT run,firing,node,status,prompt,candidates,"by",opened_at,moved_at FROM item'
        return self._read(
            f"{sql}{' WHERE ' + ' AND '.join(where) if where else ''} ORDER BY opened_at", values
        ).fetchall()
