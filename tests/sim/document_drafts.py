"""Drafts of documents in the store of dicts: the same promises as a file's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import astuple, replace

from penstock.store.document_drafts import RELEASED, DocumentDraftRow

if TYPE_CHECKING:
    from tests.sim.store import Disk


class SimDocumentDrafts:
    disk: Disk

    def put_document_draft(self, row: DocumentDraftRow, was: int | None) -> bool:
        there = self.document_draft(row.tenant, row.id)
        same = self.document_draft_of(row.tenant, row.language, row.subject)
        taken = same is not None and same.id != row.id and RELEASED not in (same.status, row.status)
        if taken or (None if there is None else there.number) != was:
            return False
        self.disk.tables["document_draft"][row.tenant, row.id] = astuple(row)
        return True

    def _document_drafts(self) -> list[DocumentDraftRow]:
        rows = [DocumentDraftRow(*row) for row in self.disk.tables["document_draft"].values()]
        return sorted(rows, key=lambda row: (-row.updated_at, row.id))

    def document_draft(self, tenant: str, id: str) -> DocumentDraftRow | None:
        row = self.disk.tables["document_draft"].get((tenant, id))
        return None if row is None else DocumentDraftRow(*row)

    def document_draft_of(self, tenant: str, language: str, subject: str) -> DocumentDraftRow | None:
        wanted = (tenant, language, subject)
        rows = [row for row in self._document_drafts() if (row.tenant, row.language, row.subject) == wanted]
        return min(rows, key=lambda row: row.status == RELEASED, default=None)

    def document_drafts(self, tenant: str, language: str) -> list[DocumentDraftRow]:
        rows = [row for row in self._document_drafts() if (row.tenant, row.language) == (tenant, language)]
        return [replace(row, body=b"", source=b"") for row in rows]

    def drop_document_draft(self, tenant: str, id: str, was: int | None = None) -> bool:
        there = self.document_draft(tenant, id)
        if there is None or was not in (None, there.number):
            return False
        del self.disk.tables["document_draft"][tenant, id]
        return True

    def forget_document_drafts(self, before: int) -> int:
        old = [row for row in self._document_drafts() if row.updated_at < before]
        for row in old:
            del self.disk.tables["document_draft"][row.tenant, row.id]
        return len(old)
