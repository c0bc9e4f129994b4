"""What a process calls: other definitions of its tenant, by id or by name (P-X.4)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.store.releases import ReleaseRow

if TYPE_CHECKING:
    from penstock.app.runs.queries import Queries

#: how many definitions one may call, and those that these call
_MOST = 500
_VERSIONED = re.compile(r".*@[0-9]{1,9}\Z", re.DOTALL)
#: P-X.4, P-X.23: what may be begun
_RUNS = ("active", "approved", "deprecated")


class Called:
    """Gives the document of a called process by ID, NAME, or either with @VERSION."""

    def __init__(self, known: Mapping[str, bytes]) -> None:
        self.known = known

    def __call__(self, name: str) -> bytes:
        if name not in self.known:
            raise FileNotFoundError(name)
        return self.known[name]


def called_by(door: Queries, data: Mapping[str, Any]) -> dict[str, bytes]:
    """The documents of everything that a definition calls, however deep; what is not there is left out."""
    documents: dict[str, bytes] = {}
    wanted = list(called_names(data))
    while wanted and len(documents) < _MOST:
        name = wanted.pop()
        row = _find(door, name) if name not in documents else None
        if row is not None:
            documents[name] = row.document
            wanted += called_names(msgspec.json.decode(row.document))
    return documents


def called_names(data: Mapping[str, Any]) -> Iterator[str]:
    listed = data.get("activities")
    for activity in listed if isinstance(listed, list) else ():
        how = activity.get("orchestration") if isinstance(activity, Mapping) else None
        if isinstance(how, Mapping) and isinstance(how.get("sub_process"), str):
            version = how.get("version")
            yield how["sub_process"] if version is None else f"{how['sub_process']}@{version}"


def _find(door: Queries, wanted: str) -> ReleaseRow | None:
    name, _, version = wanted.rpartition("@") if _VERSIONED.match(wanted) else (wanted, "", "")
    rows = door.store.releases(door.tenant, name, kind="*") or _by_name(door, name)
    usable = [row for row in rows if row.status in _RUNS and row.kind not in ("mega", "major")]
    if version:
        return next((row for row in usable if row.version == int(version)), None)
    return next((row for row in reversed(usable) if row.status == "active"), usable[-1] if usable else None)


def _by_name(door: Queries, name: str) -> list[ReleaseRow]:
    rows = door.store.releases(door.tenant, kind="*")
    named = [row for row in rows if msgspec.json.decode(row.document).get("process_definition_name") == name]
    return [row for row in rows if named and row.name == named[-1].name]
