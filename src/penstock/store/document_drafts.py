"""Drafts of documents: a file as it was brought and what was answered about it since, until it is released."""

from __future__ import annotations

from typing import Protocol

import msgspec
from msgspec.structs import astuple

from penstock.errors import Fenced
from penstock.store.sql import Sql, insert_new

#: a draft that takes the place of the one with this number; None: it is new
DocumentDraftChange = tuple["DocumentDraftRow", int | None]
RELEASED = "released"


class DocumentDraftRow(msgspec.Struct, frozen=True):
    """`summary` is what lists show of it; `body` its answers; both msgpack. `source` is the file's own text."""

    tenant: str
    id: str
    language: str
    subject: str
    name: str
    file: str
    status: str
    number: int
    digest: str
    summary: bytes
    created_by: str | None
    created_at: int
    updated_by: str | None
    updated_at: int
    body: bytes
    source: bytes


class DocumentDraftStore(Protocol):
    def put_document_draft(self, row: DocumentDraftRow, was: int | None) -> bool:
        """In the place of the one with number `was`, None for one that is new. False, and nothing changes, when it is
        another by now, or when there is another draft of the same subject that is not released."""
        ...

    def document_draft(self, tenant: str, id: str) -> DocumentDraftRow | None: ...

    def document_draft_of(self, tenant: str, language: str, subject: str) -> DocumentDraftRow | None:
        """The one that is not released; else the one that was released last."""
        ...

    def document_drafts(self, tenant: str, language: str) -> list[DocumentDraftRow]:
        """Those touched last come first, without their bodies and sources."""
        ...

    def drop_document_draft(self, tenant: str, id: str, was: int | None = None) -> bool:
        """`was`: only the one with this number."""
        ...

    def forget_document_drafts(self, before: int) -> int:
        """Of everybody: those that were not touched since."""
        ...


_COLUMNS = ",".join(DocumentDraftRow.__struct_fields__)
_LISTED = _COLUMNS.replace(",body,source", "")
#: who has made it does not change with it
_CHANGED = [name for name in DocumentDraftRow.__struct_fields__[2:] if not name.startswith("created")]
_CHANGE = f"UPDATE document_draft SET {','.join(f'{name}=?' for name in _CHANGED)} WHERE tenant=? AND id=? AND number=?"


class DocumentDraftChanges(Sql):
    def _change_document_draft(self, row: DocumentDraftRow, was: int | None) -> bool:
        """Within a transaction, which may be that of what becomes of it."""
        if was is None:
            return self._execute(insert_new("document_draft", _COLUMNS), astuple(row)).rowcount > 0
        values = tuple(getattr(row, name) for name in _CHANGED)
        return self._execute(_CHANGE, (*values, row.tenant, row.id, was)).rowcount > 0


class SqlDocumentDrafts(DocumentDraftChanges):
    def put_document_draft(self, row: DocumentDraftRow, was: int | None) -> bool:
        try:
            with self.transaction():
                return self._change_document_draft(row, was)
        except Fenced:  # another draft of this subject is not released
            return False

    def document_draft(self, tenant: str, id: str) -> DocumentDraftRow | None:
        sql = f"SELECT {_COLUMNS} FROM document_draft WHERE tenant=? AND id=?"
        return self._row(DocumentDraftRow, sql, (tenant, id))

    def document_draft_of(self, tenant: str, language: str, subject: str) -> DocumentDraftRow | None:
        sql = (
            f"SELECT {_COLUMNS} FROM document_draft WHERE tenant=? AND language=? AND subject=?"
            f" ORDER BY CASE status WHEN '{RELEASED}' THEN 1 ELSE 0 END,updated_at DESC,id LIMIT 1"
        )
        return self._row(DocumentDraftRow, sql, (tenant, language, subject))

    def document_drafts(self, tenant: str, language: str) -> list[DocumentDraftRow]:
        sql = f"SELECT {_LISTED} FROM document_draft WHERE tenant=? AND language=? ORDER BY updated_at DESC,id"
        return [DocumentDraftRow(*(*row, b"", b"")) for row in self._read(sql, (tenant, language))]

    def drop_document_draft(self, tenant: str, id: str, was: int | None = None) -> bool:
        sql, values = "DELETE FROM document_draft WHERE tenant=? AND id=?", (tenant, id)
        return self._put(sql, values) if was is None else self._put(f"{sql} AND number=?", (*values, was))

    def forget_document_drafts(self, before: int) -> int:
        return self._change("DELETE FROM document_draft WHERE updated_at<?", (before,))


__all__ = ["RELEASED", "DocumentDraftChange", "DocumentDraftRow", "DocumentDraftStore", "SqlDocumentDrafts"]
