"""Who calls, and what became of it: keys, the audit, and answered requests. Every write is a commit of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import msgspec
from msgspec.structs import astuple

from penstock.store.audit_chain import (
    FIRST,
    PRUNED_AT_ONCE,
    SEALED,
    AuditRow,
    by_tenant,
    linked,
    mark,
    old_of,
    pruned,
)
from penstock.store.audit_key import AuditKeys
from penstock.store.sql import Sql, insert_new, marks

#: how long the answer to a request is kept for those who send it again
REQUESTS_KEPT_MS = 86_400_000


class KeyRow(msgspec.Struct, frozen=True):
    id: str
    tenant: str
    name: str
    user: str
    hash: str
    roles: bytes
    scopes: bytes | None
    rate: int | None
    created_at: int
    created_by: str
    expires_at: int | None = None
    revoked_at: int | None = None
    last_used_at: int | None = None
    approves: int | None = None


class RequestRow(msgspec.Struct, frozen=True):
    """`status` is None while the one who holds it is still at work."""

    tenant: str
    key: str
    fingerprint: str
    holder: str
    at: int
    status: int | None = None
    headers: bytes | None = None
    body: bytes | None = None


class AccessStore(Protocol):
    audit_keys: AuditKeys
    """With what the rows of the audit are sealed."""

    def add_key(self, row: KeyRow) -> bool:
        """False, and nothing changes, when there is one with this id already."""
        ...

    def key(self, id: str) -> KeyRow | None:
        """Of any tenant: whose it is, is what the key says."""
        ...

    def keys(self, tenant: str) -> list[KeyRow]:
        """Oldest first."""
        ...

    def has_keys(self) -> bool:
        """Is there any, of anybody?"""
        ...

    def revoke_key(self, tenant: str, id: str, at: int) -> bool:
        """False when there is none, or it was revoked before."""
        ...

    def key_used(self, id: str, at: int, before: int) -> None:
        """Note it, unless it was noted at or after `before`."""
        ...

    def end_session(self, id: str, until: int) -> None:
        """Its cookie opens nothing any more; remembered until it would have ended by itself."""
        ...

    def ended_sessions(self, now: int) -> dict[str, int]:
        """Those that would not have ended by themselves yet: id, until when."""
        ...

    def append_audit(self, rows: Iterable[AuditRow]) -> list[AuditRow]:
        """Add them to the ends of their tenants' chains, all in one commit; with their numbers and their hashes, by
        tenant."""
        ...

    def prune_audit(self, tenant: str, before: int, at: int) -> AuditRow | None:
        """Take the beginning of a chain away, row by row up to the first that is not older than `before`, and say so in
        a row at its end that has the number and the hash of the last one taken; all in one commit. That row, or None
        where nothing is so old. At most PRUNED_AT_ONCE are taken."""
        ...

    def audit(
        self, tenant: str, *, before: int | None = None, limit: int = 100, actor: str | None = None,
        action: str | None = None, target: str | None = None,
    ) -> list[AuditRow]:  # fmt: skip
        """Newest first, those before a number."""
        ...

    def audit_chain(self, tenant: str, after: int = 0, limit: int = 1000) -> list[AuditRow]:
        """Oldest first, those after a number."""
        ...

    def audit_last(self, tenant: str) -> int:
        """The last number that was given, whether its row is still there or not."""
        ...

    def audit_tenants(self) -> list[str]: ...

    def put_request(self, row: RequestRow) -> RequestRow | None:
        """None when it was put; else the one that is there, and nothing changes."""
        ...

    def take_request(self, row: RequestRow, seen: RequestRow) -> bool:
        """In the place of one that is still as it was seen."""
        ...

    def answer_request(self, row: RequestRow) -> bool:
        """What came of it. False, and nothing changes, when another holds it now."""
        ...

    def drop_request(self, tenant: str, key: str, holder: str) -> bool:
        """One that came to nothing: it may be sent again."""
        ...


_KEY = 'id,tenant,name,"user",hash,roles,scopes,rate,created_at,created_by,expires_at,revoked_at,last_used_at,approves'
_AUDIT = "tenant,no,at,actor,action,target,body,prev,hash"
_REQUEST = "tenant,key,fingerprint,holder,at,status,headers,body"
#: the number of the last row, when so many are added; the mark is locked until the commit, so appends come one after
#: the other
_COUNT = "INSERT INTO mark VALUES(?,?) ON CONFLICT(name) DO UPDATE SET value=mark.value+excluded.value RETURNING value"
_SEEN = "tenant=? AND key=? AND fingerprint=? AND holder=? AND at=? AND status"

#: forgotten by `tidy` at a time
FORGET_SESSIONS = "DELETE FROM ended_session WHERE until<=?"
FORGET_REQUESTS = f"DELETE FROM request WHERE at<=?-{REQUESTS_KEPT_MS}"


#: the last row of each chain that was written before there was a key
_UNSEALED = (
    "SELECT a.tenant, a.no, a.hash FROM audit a JOIN (SELECT tenant, max(no) AS no FROM audit"
    f" WHERE substr(hash,1,{len(SEALED)})<>'{SEALED}' GROUP BY tenant) l ON l.tenant=a.tenant AND l.no=a.no"
)


class SqlAccess(Sql):
    audit_keys: AuditKeys

    def add_key(self, row: KeyRow) -> bool:
        return self._put(insert_new("api_key", _KEY), astuple(row))

    def key(self, id: str) -> KeyRow | None:
        return self._row(KeyRow, f"SELECT {_KEY} FROM api_key WHERE id=?", (id,))

    def keys(self, tenant: str) -> list[KeyRow]:
        sql = f"SELECT {_KEY} FROM api_key WHERE tenant=? ORDER BY created_at,id"
        return [KeyRow(*row) for row in self._read(sql, (tenant,))]

    def has_keys(self) -> bool:
        return self._read("SELECT 1 FROM api_key LIMIT 1").fetchone() is not None

    def revoke_key(self, tenant: str, id: str, at: int) -> bool:
        sql = "UPDATE api_key SET revoked_at=? WHERE tenant=? AND id=? AND revoked_at IS NULL"
        return self._put(sql, (at, tenant, id))

    def key_used(self, id: str, at: int, before: int) -> None:
        sql = "UPDATE api_key SET last_used_at=? WHERE id=? AND coalesce(last_used_at,0)<?"
        self._put(sql, (at, id, before))

    def end_session(self, id: str, until: int) -> None:
        self._put(insert_new("ended_session", "id,until"), (id, until))

    def ended_sessions(self, now: int) -> dict[str, int]:
        return dict(self._read("SELECT id,until FROM ended_session WHERE until>?", (now,)).fetchall())

    def append_audit(self, rows: Iterable[AuditRow]) -> list[AuditRow]:
        with self.transaction():
            return self._append(rows)

    def prune_audit(self, tenant: str, before: int, at: int) -> AuditRow | None:
        with self.transaction():
            # the mark first, as whoever appends does: two who prune come one after the other
            self._execute(f"SELECT value FROM mark WHERE name=?{self.FOR_UPDATE}", (mark(tenant),))
            sql = "SELECT no, at, hash FROM audit WHERE tenant=? ORDER BY no LIMIT ?"
            old = old_of(self._execute(sql, (tenant, PRUNED_AT_ONCE)), before)
            if old is None:
                return None
            (row,) = self._append([pruned(tenant, at, old)])
            self._execute("DELETE FROM audit WHERE tenant=? AND no<=?", (tenant, old[1]))
            return row

    def audit(
        self, tenant: str, *, before: int | None = None, limit: int = 100, actor: str | None = None,
        action: str | None = None, target: str | None = None,
    ) -> list[AuditRow]:  # fmt: skip
        # without being told, SQLite would look through everything of the tenant
        by = self._by("audit_target") if target is not None else ""
        sql, values = f"SELECT {_AUDIT} FROM audit{by} WHERE tenant=?", list[Any]([tenant])
        for where, value in (("no<?", before), ("actor=?", actor), ("action=?", action), ("target=?", target)):
            if value is not None:
                sql, values = f"{sql} AND {where}", [*values, value]
        return [AuditRow(*row) for row in self._read(f"{sql} ORDER BY no DESC LIMIT ?", (*values, limit))]

    def audit_chain(self, tenant: str, after: int = 0, limit: int = 1000) -> list[AuditRow]:
        sql = f"SELECT {_AUDIT} FROM audit WHERE tenant=? AND no>? ORDER BY no LIMIT ?"
        return [AuditRow(*row) for row in self._read(sql, (tenant, after, limit)).fetchall()]

    def audit_last(self, tenant: str) -> int:
        return int(self._one("SELECT value FROM mark WHERE name=?", (mark(tenant),)) or 0)

    def audit_tenants(self) -> list[str]:
        begin = mark("")
        sql = (
            f"SELECT substr(name,{len(begin) + 1}) FROM mark WHERE name>=? AND name<?"
            " UNION SELECT DISTINCT tenant FROM audit ORDER BY 1"
        )
        return [row[0] for row in self._read(sql, (begin, begin[:-1] + ";"))]

    def put_request(self, row: RequestRow) -> RequestRow | None:
        with self.transaction():
            sql = insert_new("request", _REQUEST)
            while not self._execute(sql, astuple(row)).rowcount:  # again where it is gone in between
                sought = f"SELECT {_REQUEST} FROM request WHERE tenant=? AND key=?"
                held = self._execute(sought, (row.tenant, row.key)).fetchone()
                if held is not None:
                    return RequestRow(*held)
        return None

    def take_request(self, row: RequestRow, seen: RequestRow) -> bool:
        to = "fingerprint=?,holder=?,at=?,status=NULL,headers=NULL,body=NULL"
        sql = f"UPDATE request SET {to} WHERE {_SEEN} {self.SAME} ?"
        was = (seen.tenant, seen.key, seen.fingerprint, seen.holder, seen.at, seen.status)
        return self._put(sql, (row.fingerprint, row.holder, row.at, *was))

    def answer_request(self, row: RequestRow) -> bool:
        sql = (
            "UPDATE request SET status=?,headers=?,body=?"
            " WHERE tenant=? AND key=? AND fingerprint=? AND holder=? AND status IS NULL"
        )
        whose = (row.tenant, row.key, row.fingerprint, row.holder)
        return self._put(sql, (row.status, row.headers, row.body, *whose))

    def drop_request(self, tenant: str, key: str, holder: str) -> bool:
        sql = "DELETE FROM request WHERE tenant=? AND key=? AND holder=? AND status IS NULL"
        return self._put(sql, (tenant, key, holder))

    def _append(self, rows: Iterable[AuditRow]) -> list[AuditRow]:
        chained: list[AuditRow] = []
        key = self.audit_keys.current(self._unsealed)
        for tenant, those in by_tenant(rows):
            (last,) = self._execute(_COUNT, (mark(tenant), len(those))).fetchone()
            sql = "SELECT hash FROM audit WHERE tenant=? AND no=?"
            before = self._execute(sql, (tenant, last - len(those))).fetchone()
            chained += linked(those, last - len(those), FIRST if before is None else before[0], key)
        insert = f"INSERT INTO audit({_AUDIT}) VALUES({marks(AuditRow.__struct_fields__)})"
        self._many(insert, [astuple(row) for row in chained])
        return chained

    def _unsealed(self) -> dict[str, tuple[int, str]]:
        return {tenant: (no, hash) for tenant, no, hash in self._execute(_UNSEALED).fetchall()}
