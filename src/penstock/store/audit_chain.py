"""The chain of the audit: what the seal of a row is made of, and what stays of old ones. All use the same."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

#: what the first row of a chain has before it
FIRST = "0" * 64
#: so many rows at most are forgotten in one go
PRUNED_AT_ONCE = 10_000
#: who takes the beginning of a chain away when it is old enough, and what that is called; no request has this name
KEEPER, PRUNED = "retention", "audit.prune"


#: how the hash begins of a row that was sealed with a key; older ones have a hash that anybody could make
SEALED = "k1:"


class SealingKey(NamedTuple):
    """`id` says which key it is, and nothing about it."""

    id: str
    secret: bytes


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


def hash_of(prev: str, row: AuditRow, key: SealingKey | None = None) -> str:
    """Everything of the row, and through `prev` everything before it; with a key, so that nobody else can make it. The
    first line break ends the head, for JSON has none of its own, so no other row can be read into the same bytes."""
    head = msgspec.json.encode([row.tenant, row.no, row.at, row.actor, row.action, row.target])
    text = b"\n".join((prev.encode(), head, row.body))
    if key is None:
        return hashlib.sha256(text).hexdigest()
    return f"{SEALED}{key.id}:{hmac.new(key.secret, text, hashlib.sha256).hexdigest()}"


def key_id_of(hash: str) -> str | None:
    """The id of the key that a row was sealed with; None where it was not."""
    return hash[len(SEALED) :].partition(":")[0] if hash.startswith(SEALED) else None


def linked(rows: Iterable[AuditRow], last: int, prev: str, key: SealingKey) -> list[AuditRow]:
    """Rows of one tenant with their numbers and seals, after the row with this number and this hash."""
    chained: list[AuditRow] = []
    for row in rows:
        row, last = replace(row, no=last + 1, prev=prev), last + 1
        prev = hash_of(prev, row, key)
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
