"""Keys, audit, answered requests, drafts and remarks. Each write is its own commit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import astuple

from penstock.store.chain import FIRST, by_tenant, linked, mark, old_of, pruned
from penstock.store.contract_admin import (
    PRUNED_AT_ONCE,
    REQUESTS_KEPT_MS,
    AuditRow,
    DraftRow,
    KeyRow,
    RemarkRow,
    RequestRow,
)
from penstock.store.sql import Sql, marks

_KEY = 'id,tenant,name,"user",hash,roles,scopes,rate,created_at,created_by,expires_at,revoked_at,last_used_at'
_AUDIT = "tenant,no,at,actor,action,target,body,prev,hash"
_REQUEST = "tenant,key,fingerprint,holder,at,status,headers,body"
_DRAFT = 'tenant,"user",key,number,body,at'
_REMARK = 'tenant,item,no,"by",at,kind,body'
#: the number of the last row, when so many are added; the mark is locked until the commit, so appends come one after
#: the other
_COUNT = "INSERT INTO mark VALUES(?,?) ON CONFLICT(name) DO UPDATE SET value=mark.value+excluded.value RETURNING value"
_SEEN = "tenant=? AND key=? AND fingerprint=? AND holder=? AND at=? AND status"
_MANY = 500

TIDY = (f"DELETE FROM request WHERE at<=?-{REQUESTS_KEPT_MS}",)


class Admin(Sql):
    # -- keys ----------------------------------------------------------------------------------------------------------

    def add_key(self, row: KeyRow) -> bool:
        return self._put(_new("api_key", _KEY), astuple(row))

    def key(self, id: str) -> KeyRow | None:
        row = self._read(f"SELECT {_KEY} FROM api_key WHERE id=?", (id,)).fetchone()
        return None if row is None else KeyRow(*row)

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

    # -- audit ---------------------------------------------------------------------------------------------------------

    def append_audit(self, rows: Iterable[AuditRow]) -> list[AuditRow]:
        with self.transaction():
            return self._append(rows)

    def _append(self, rows: Iterable[AuditRow]) -> list[AuditRow]:
        found: list[AuditRow] = []
        for tenant, those in by_tenant(rows):
            (last,) = self._execute(_COUNT, (mark(tenant), len(those))).fetchone()
            sql = "SELECT hash FROM audit WHERE tenant=? AND no=?"
            before = self._execute(sql, (tenant, last - len(those))).fetchone()
            found += linked(those, last - len(those), FIRST if before is None else before[0])
        insert = f"INSERT INTO audit({_AUDIT}) VALUES({marks(AuditRow.__struct_fields__)})"
        self._many(insert, [astuple(row) for row in found])
        return found

    def prune_audit(self, tenant: str, before: int, at: int) -> AuditRow | None:
        with self.transaction():
            # the mark first, as whoever appends does: two who prune come one after the other
            self._execute(f"SELECT value FROM mark WHERE name=?{self.FOR_UPDATE}", (mark(tenant),))
            sql = "SELECT no, at, hash FROM audit WHERE tenant=? ORDER BY no LIMIT ?"
            old = old_of(self._execute(sql, (tenant, PRUNED_AT_ONCE)), before)
            if old is None:
                return None
            (said,) = self._append([pruned(tenant, at, old)])
            self._execute("DELETE FROM audit WHERE tenant=? AND no<=?", (tenant, old[1]))
            return said

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

    # -- requests ------------------------------------------------------------------------------------------------------

    def put_request(self, row: RequestRow) -> RequestRow | None:
        with self.transaction():
            sql = _new("request", _REQUEST)
            while not self._execute(sql, astuple(row)).rowcount:  # again where it is gone in between
                sought = f"SELECT {_REQUEST} FROM request WHERE tenant=? AND key=?"
                found = self._execute(sought, (row.tenant, row.key)).fetchone()
                if found is not None:
                    return RequestRow(*found)
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

    # -- drafts --------------------------------------------------------------------------------------------------------

    def put_draft(self, row: DraftRow, was: int | None) -> bool:
        if was is None:
            return self._put(_new("draft", _DRAFT), astuple(row))
        sql = 'UPDATE draft SET number=?,body=?,at=? WHERE tenant=? AND "user"=? AND key=? AND number=?'
        return self._put(sql, (row.number, row.body, row.at, row.tenant, row.user, row.key, was))

    def draft(self, tenant: str, user: str, key: str) -> DraftRow | None:
        sql = f'SELECT {_DRAFT} FROM draft WHERE tenant=? AND "user"=? AND key=?'
        row = self._read(sql, (tenant, user, key)).fetchone()
        return None if row is None else DraftRow(*row)

    def drafts(self, tenant: str, user: str) -> list[DraftRow]:
        sql = f'SELECT {_DRAFT} FROM draft WHERE tenant=? AND "user"=? ORDER BY key'
        return [DraftRow(*row) for row in self._read(sql, (tenant, user))]

    def drop_draft(self, tenant: str, user: str, key: str) -> bool:
        return self._put('DELETE FROM draft WHERE tenant=? AND "user"=? AND key=?', (tenant, user, key))

    def forget_drafts(self, before: int) -> int:
        return self._change("DELETE FROM draft WHERE at<?", (before,))

    # -- remarks -------------------------------------------------------------------------------------------------------

    def add_remark(self, row: RemarkRow) -> bool:
        return self._put(_new("remark", _REMARK), astuple(row))

    def remarks(self, tenant: str, items: Iterable[str]) -> list[RemarkRow]:
        asked, found = sorted(set(items)), list[RemarkRow]()
        for i in range(0, len(asked), _MANY):
            part = asked[i : i + _MANY]
            sql = f"SELECT {_REMARK} FROM remark WHERE tenant=? AND item IN ({marks(part)})"
            found += [RemarkRow(*row) for row in self._read(f"{sql} ORDER BY item,no", (tenant, *part))]
        return found

    def forget_remarks(self, before: int) -> int:
        run = f"SELECT 1 FROM run WHERE id={self.RUN_OF_ITEM} AND status<5"
        return self._change(f"DELETE FROM remark WHERE at<? AND NOT EXISTS ({run})", (before,))

    def _put(self, sql: str, values: tuple[Any, ...]) -> bool:
        return self._change(sql, values) > 0


def _new(table: str, columns: str) -> str:
    return f"INSERT INTO {table}({columns}) VALUES({marks(columns.split(','))}) ON CONFLICT DO NOTHING"
