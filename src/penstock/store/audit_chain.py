"""The chain of the audit: what the hash of a row is made of, and what stays of old ones. All use the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

#: what the first row of a chain has before it
FIRST = "0" * 64
#: so many rows at most are forgotten in one go
PRUNED_AT_ONCE = 10_000
#: who takes the beginning of a chain away when it is old enough, and what that is called; no request has this name
KEEPER, PRUNED = "retention", "audit.prune"


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


def hash_of(prev: str, row: AuditRow) -> str:
    """Everything of the row, and through `prev` everything before it. The first line break ends the head, for JSON has
    none of its own, so no other row can be read into the same bytes."""
    head = msgspec.json.encode([row.tenant, row.no, row.at, row.actor, row.action, row.target])
    return hashlib.sha256(b"\n".join((prev.encode(), head, row.body))).hexdigest()


def linked(rows: Iterable[AuditRow], last: int, prev: str) -> list[AuditRow]:
    """Rows of one tenant with their numbers and hashes, after the row with this number and this hash."""
    chained: list[AuditRow] = []
    for row in rows:
        row, last = replace(row, no=last + 1, prev=prev), last + 1
        prev = hash_of(prev, row)
        chained.append(replace(row, hash=prev))
    return chained


def old_of(rows: Iterable[tuple[int, int, str]], before: int) -> tuple[int, int, str] | None:
    """Of number, time and hash of rows, oldest first: the number of the first, and number and hash of the last before
    one that is not older. The chain keeps its end in one piece, whatever clocks have said."""
    first, last = 0, None
    for no, at, hash in rows:
        if at >= before:
            break
        first, last = first or no, (no, hash)
    return None if last is None else (first, *last)


def pruned(tenant: str, at: int, old: tuple[int, int, str]) -> AuditRow:
    """The row that stands for those that were taken."""
    first, last, hash = old
    body = msgspec.json.encode({"first": first, "last": last, "hash": hash}, order="deterministic")
    return AuditRow(tenant, 0, at, KEEPER, PRUNED, "audit", body)


def anchor_of(row: AuditRow) -> tuple[int, str] | None:
    """Number and hash of the last row that was taken when this one was written."""
    if (row.actor, row.action) != (KEEPER, PRUNED):
        return None
    try:
        body = msgspec.json.decode(row.body, type=dict[str, int | str])
    except msgspec.MsgspecError:
        return None
    last, hash = body.get("last"), body.get("hash")
    return (last, hash) if isinstance(last, int) and isinstance(hash, str) else None


def by_tenant(rows: Iterable[AuditRow]) -> list[tuple[str, list[AuditRow]]]:
    """In the order of their names, so that two who write for several tenants never wait for each other."""
    by_tenant_name: dict[str, list[AuditRow]] = {}
    for row in rows:
        by_tenant_name.setdefault(row.tenant, []).append(row)
    return sorted(by_tenant_name.items())


def mark(tenant: str) -> str:
    """The name under which the store counts the rows of a tenant's chain."""
    return f"audit:{tenant}"
