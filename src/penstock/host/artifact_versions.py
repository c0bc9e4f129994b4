"""Versions of what a tenant has registered: which of them may be used, and which is the newest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from penstock.store.artifacts import ArtifactRow, ArtifactStore

#: C-53, C-82: what somebody has approved is used; «active» is approved and deployed.
IN_FORCE = ("approved", "active")
STATUSES = ("draft", "pending", "pending_approval", *IN_FORCE, "deprecated")
#: types that go through approval; a «status» of anything else is data, such as that of a machine
APPROVED_TYPES = ("rule_pack", "prompt", "model", "template")
_LONGEST = 18  # digits of a number
Key = tuple[tuple[int, int | str], ...]


def status_of(type: str, body: Any) -> str:
    """The status with which a thing is kept."""
    status = str(body.get("status") or "approved")
    return status if type in APPROVED_TYPES or status in STATUSES else "approved"


def usable(type: str, status: str, *, asked_for: bool = False) -> bool:
    """`asked_for`: its version is named; one that was in force before may then be used still."""
    if status in IN_FORCE or asked_for and status == "deprecated":
        return True
    return type not in APPROVED_TYPES and status not in STATUSES


def version_key(version: str) -> tuple[Key, bool, Key]:
    """C-53: as a semantic version: numbers before words, a candidate before what it is a candidate for."""
    core, dash, candidate = version.partition("+")[0].removeprefix("v").partition("-")
    return _parts(core), not dash, _parts(candidate)


def _parts(text: str) -> Key:
    """Of a thing that had only one version, nothing: any other is newer."""
    if not text:
        return ()
    return tuple((0, int(part)) if _is_number(part) else (1, part) for part in text.split("."))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _LONGEST


def newest(rows: Iterable[ArtifactRow]) -> ArtifactRow | None:
    """The newest of the versions of one thing that may be used."""
    known = [row for row in rows if usable(row.type, row.status)]
    return max(known, key=lambda row: version_key(row.version), default=None)


def registered(store: ArtifactStore, tenant: str, type: str, id: str) -> Any:
    """The body of a thing as it is used now; None where there is none."""
    row = newest(row for row in store.artifacts(tenant, type) if row.id == id)
    return None if row is None else msgspec.msgpack.decode(row.body)
