"""What a store keeps of people and programs that call: keys, audit, answered requests, drafts and remarks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import msgspec

#: how long the answer to a request is kept for those who send it again
REQUESTS_KEPT_MS = 86_400_000
#: rows of an audit
PRUNED_AT_ONCE = 10_000


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


class AuditRow(msgspec.Struct, frozen=True):
    """`no`, `prev` and `hash` are given by the store."""

    tenant: str
    no: int
    at: int
    actor: str
    action: str
    target: str
    body: bytes
    prev: str = ""
    hash: str = ""


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


class AdminStore(Protocol):
    """Every write is a commit of its own, and needs no engine."""

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

    def append_audit(self, rows: Iterable[AuditRow]) -> list[AuditRow]:
        """Add them to the ends of their tenants' chains, all in one commit; with their numbers and their hashes, by
        tenant."""
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

    def prune_audit(self, tenant: str, before: int, at: int) -> AuditRow | None:
        """Take the beginning of a chain away, row by row up to the first that is not older than `before`, and say so in
        a row at its end that has the number and the hash of the last one taken; all in one commit. That row, or None
        where nothing is so old. At most PRUNED_AT_ONCE are taken."""
        ...

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
