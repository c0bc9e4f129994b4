"""File assets: every upload that was announced, once, by a number that executions and events name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec
from msgspec.structs import astuple

from penstock.store.sql import Sql, marks

#: rows of one statement: PostgreSQL's driver remembers how it has read a short one
_AT_ONCE = 64


class FileAssetRow(msgspec.Struct, frozen=True):
    """`version` tells this upload from others of the same key. `id` is given by the store."""

    tenant: str
    bucket: str
    object_key: str
    version: str
    size: int
    mime: str
    etag: str = ""
    version_id: str = ""
    organization_id: int | None = None
    uploader: int | None = None
    trace: str = ""
    created_at: int = 0
    id: int = 0

    @property
    def object(self) -> tuple[str, str, str, str]:
        return self.tenant, self.bucket, self.object_key, self.version


class FileAssetStore(Protocol):
    def put_files(self, rows: Sequence[FileAssetRow]) -> list[FileAssetRow]:
        """Each as it is in the store, in their order, found or made, in one transaction. What is known stays."""
        ...

    def file_asset(self, tenant: str, id: int) -> FileAssetRow | None: ...

    def file_assets(
        self, tenant: str, *, since: int = 0, after: tuple[int, int] = (-1, 0), limit: int = 100
    ) -> list[FileAssetRow]:  # fmt: skip
        """The oldest first, behind a time and a number."""
        ...


_COLUMNS = "tenant,bucket,object_key,version,size,mime,etag,version_id,organization_id,uploader,trace,created_at"
_FILE = f"{_COLUMNS},id"
_ROW = f"({marks(_COLUMNS.split(','))})"


class SqlFileAssets(Sql):
    def put_files(self, rows: Sequence[FileAssetRow]) -> list[FileAssetRow]:
        first_of: dict[tuple[str, str, str, str], FileAssetRow] = {}
        for row in rows:
            first_of.setdefault(row.object, row)
        distinct = list(first_of.values())
        known: dict[tuple[str, str, str, str], FileAssetRow] = {}
        with self.transaction():
            for first in range(0, len(distinct), _AT_ONCE):
                some = distinct[first : first + _AT_ONCE]
                sql = (
                    f"INSERT INTO file_asset({_COLUMNS}) VALUES {','.join([_ROW] * len(some))}"
                    " ON CONFLICT (tenant,bucket,object_key,version) DO UPDATE SET tenant=excluded.tenant"
                    f" RETURNING {_FILE}"
                )
                values = tuple(value for row in some for value in astuple(row)[:-1])
                for kept in (FileAssetRow(*columns) for columns in self._execute(sql, values).fetchall()):
                    known[kept.object] = kept
        return [known[row.object] for row in rows]

    def file_asset(self, tenant: str, id: int) -> FileAssetRow | None:
        return self._row(FileAssetRow, f"SELECT {_FILE} FROM file_asset WHERE tenant=? AND id=?", (tenant, id))

    def file_assets(
        self, tenant: str, *, since: int = 0, after: tuple[int, int] = (-1, 0), limit: int = 100
    ) -> list[FileAssetRow]:  # fmt: skip
        sql = (
            f"SELECT {_FILE} FROM file_asset WHERE tenant=? AND created_at>=? AND (created_at,id)>(?,?)"
            " ORDER BY created_at,id LIMIT ?"
        )
        return [FileAssetRow(*row) for row in self._read(sql, (tenant, since, *after, limit))]
