"""Diagrams as releases: they have no id and no approval, so what is kept is numbered, and in force at once."""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.app.access import four_eyes
from penstock.app.access.candidates import Who
from penstock.app.releases.documents import compile_source
from penstock.app.releases.releases import STATUS, Releases, Submission, canonical
from penstock.errors import BadInput, ReleaseNotFound, VersionConflict
from penstock.lang.contract import Compiled as Document
from penstock.lang.read import read_document
from penstock.store.releases import ReleaseRow

if TYPE_CHECKING:
    from penstock.app.runs.runs import Runs

_NOT_IN_IDS = re.compile(r"[^\w.-]+")
_LONGEST = 100
#: how a version comes in force
_WAY = {"draft": "submit", "pending_approval": "approve", "approved": "activate", "deprecated": "activate"}


def submit(door: Runs, document: str | Path | bytes | Mapping[str, Any], *, by: Who | None = None) -> Submission:
    """Check and keep a diagram (D-X.29). The same again changes nothing; another one of its name is its next version.
    Where the tenant wants two persons for a release, it waits for the second. Raises DocumentInvalid."""
    source = canonical(document) if isinstance(document, Mapping) else document
    compiled, text = compile_source(source)
    if compiled.language != "diagram":
        raise BadInput(what="the document", why="it is not a diagram", hint="Workflows go to /api/v1/workflows.")
    row = _row(door, compiled, read_document(text, name=compiled.net.name).data, by, text)
    known = door.store.releases(door.tenant, row.name)
    if any(door.store.net(former.net).language != "diagram" for former in known[:1]):
        raise VersionConflict(name=row.name, version=1, why="a workflow has this name")
    same = next((former for former in reversed(known) if former.hash == row.hash), None)
    if same is None:
        row = msgspec.structs.replace(row, version=max((former.version for former in known), default=0) + 1)
        row = msgspec.structs.replace(row, id=_id(row))
        if not door.store.put_release(row):
            raise VersionConflict(name=row.name, version=row.version, why="somebody else has just kept one")
    return Submission(_in_force(door, same or row, by), same is None, list(compiled.findings))


def _row(door: Runs, compiled: Document, data: Any, by: Who | None, source: bytes) -> ReleaseRow:
    body = canonical(data)
    digest = hashlib.sha256(body).hexdigest()
    named = data.get("name") if isinstance(data, Mapping) else None
    name = id_of(str(named)) if named else f"diagram-{digest[:8]}"
    net, written = door.keep_net(compiled, source), canonical(data, ordered=True)
    author = four_eyes.author_of(door, by, data)
    return ReleaseRow(door.tenant, name, 0, "", STATUS.initial, digest, net, written, None, author, door.now())


def id_of(name: str) -> str:
    """The id of a diagram by its name: what a URL takes as it is."""
    return _NOT_IN_IDS.sub("-", name.strip())[:_LONGEST].strip("-.").lower() or "diagram"


def _id(row: ReleaseRow) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"penstock:{row.tenant}/{row.name}/{row.version}"))


def _in_force(door: Runs, row: ReleaseRow, by: Who | None) -> ReleaseRow:
    """On its way as far as it goes by itself; what waits for a second person is left to that one, and so is a version
    that is out of force."""
    waits = four_eyes.asked(door, *Releases(door).change(row).documents)
    while row.status != "active" and not (waits and row.status != "draft"):
        verb = _WAY[row.status]
        if verb == "submit":
            row = Releases(door).submitted(row)
        elif verb == "approve":
            row = Releases(door).approve(row.name, row.version, by=by)
        else:
            row = Releases(door).activate(row.name, row.version, by=by)
    return row


def find(door: Runs, id: str) -> ReleaseRow:
    """The version of a diagram that is in force, else its newest. Raises ReleaseNotFound, for a workflow too."""
    row = Releases(door).get(id)
    if door.store.net(row.net).language != "diagram":
        raise ReleaseNotFound(name=id)
    return row


async def start(
    door: Runs, id: str, inputs: Any, *, max_concurrent: int | None, key: str | None, trigger: Mapping[str, Any]
) -> str:  # fmt: skip
    """A run of the version in force; one that waits for its second person cannot be run."""
    row = find(door, id)
    if row.status != "active":
        raise ReleaseNotFound(name=id)
    hash = door.store.net(row.net).hash
    return await door.start(hash, inputs, key=key, max_concurrent=max_concurrent, trigger=trigger)
