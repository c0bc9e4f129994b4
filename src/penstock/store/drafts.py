"""What people write beside runs: drafts of their own, and remarks on work items."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import msgspec
from msgspec.structs import astuple

from penstock.store.sql import Sql, insert_new, marks


class DraftRow(msgspec.Struct, frozen=True):
    tenant: str
    user: str
    key: str
    number: int
    body: bytes
    at: int


class RemarkRow(msgspec.Struct, frozen=True):
    tenant: str
    item: str
    no: int
    by: str
    at: int
    kind: str
    body: bytes


class DraftStore(Protocol):
    def put_draft(self, row: DraftRow, was: int | None) -> bool:
        """In the place of the one with number `was`, None for one that is new; False when it is another by now."""
        ...

    def draft(self, tenant: str, user: str, key: str) -> DraftRow | None: ...

    def drafts(self, tenant: str, user: str) -> list[DraftRow]:
        """By key."""
        ...

    def drop_draft(self, tenant: str, user: str, key: str) -> bool: ...

    def forget_drafts(self, before: int) -> int:
        """Of everybody: those that were not touched since."""
        ...

    def add_remark(self, row: RemarkRow) -> bool:
        """False, and nothing changes, when the item has a remark with this number already."""
        ...

    def remarks(self, tenant: str, items: Iterable[str]) -> list[RemarkRow]:
        """By item, then by number."""
        ...

    def forget_remarks(self, before: int) -> int:
        """Of all tenants: older ones, but for those about a run that has not ended."""
        ...


_DRAFT = 'tenant,"user",key,number,body,at'
_REMARK = 'tenant,item,no,"by",at,kind,body'
_MANY = 500


class SqlDrafts(Sql):
    def put_draft(self, row: DraftRow, was: int | None) -> bool:
        if was is None:
            return self._put(insert_new("draft", _DRAFT), astuple(row))
        sql = 'UPDATE draft SET number=?,body=?,at=? WHERE tenant=? AND "user"=? AND key=? AND number=?'
        return self._put(sql, (row.number, row.body, row.at, row.tenant, row.user, row.key, was))

    def draft(self, tenant: str, user: str, key: str) -> DraftRow | None:
        sql = f'SELECT {_DRAFT} FROM draft WHERE tenant=? AND "user"=? AND key=?'
        return self._row(DraftRow, sql, (tenant, user, key))

    def drafts(self, tenant: str, user: str) -> list[DraftRow]:
        sql = f'SELECT {_DRAFT} FROM draft WHERE tenant=? AND "user"=? ORDER BY key'
        return [DraftRow(*row) for row in self._read(sql, (tenant, user))]

    def drop_draft(self, tenant: str, user: str, key: str) -> bool:
        return self._put('DELETE FROM draft WHERE tenant=? AND "user"=? AND key=?', (tenant, user, key))

    def forget_drafts(self, before: int) -> int:
        return self._change("DELETE FROM draft WHERE at<?", (before,))

    def add_remark(self, row: RemarkRow) -> bool:
        return self._put(insert_new("remark", _REMARK), astuple(row))

    def remarks(self, tenant: str, items: Iterable[str]) -> list[RemarkRow]:
        asked, remarks = sorted(set(items)), list[RemarkRow]()
        for i in range(0, len(asked), _MANY):
            part = asked[i : i + _MANY]
            sql = f"SELECT {_REMARK} FROM remark WHERE tenant=? AND item IN ({marks(part)})"
            remarks += [RemarkRow(*row) for row in self._read(f"{sql} ORDER BY item,no", (tenant, *part))]
        return remarks

    def forget_remarks(self, before: int) -> int:
        run = f"SELECT 1 FROM run WHERE id={self.RUN_OF_ITEM} AND status<5"
        return self._change(f"DELETE FROM remark WHERE at<? AND NOT EXISTS ({run})", (before,))
