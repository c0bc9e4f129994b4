"""The chain of the audit: what the hash of a row is made of. Whoever writes and whoever verifies use the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from penstock.store.contract_admin import AuditRow

#: what the first row of a chain has before it
FIRST = "0" * 64


def hash_of(prev: str, row: AuditRow) -> str:
    """Everything of the row, and through `prev` everything before it. The first line break ends the head, for JSON has
    none of its own, so no other row can be read into the same bytes."""
    head = msgspec.json.encode([row.tenant, row.no, row.at, row.actor, row.action, row.target])
    return hashlib.sha256(b"\n".join((prev.encode(), head, row.body))).hexdigest()


def linked(rows: Iterable[AuditRow], last: int, prev: str) -> list[AuditRow]:
    """Rows of one tenant with their numbers and hashes, after the row with this number and this hash."""
    found: list[AuditRow] = []
    for row in rows:
        row, last = replace(row, no=last + 1, prev=prev), last + 1
        prev = hash_of(prev, row)
        found.append(replace(row, hash=prev))
    return found


def by_tenant(rows: Iterable[AuditRow]) -> list[tuple[str, list[AuditRow]]]:
    """In the order of their names, so that two who write for several tenants never wait for each other."""
    found: dict[str, list[AuditRow]] = {}
    for row in rows:
        found.setdefault(row.tenant, []).append(row)
    return sorted(found.items())


def mark(tenant: str) -> str:
    """The name under which the store counts the rows of a tenant's chain."""
    return f"audit:{tenant}"
