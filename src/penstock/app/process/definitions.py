"""Definitions of processes: saved, versioned, approved, imported and extracted (P-2.3, P-7.4, P-X.8, P-X.23)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from penstock.app.access import four_eyes
from penstock.app.access.candidates import Who, id_of
from penstock.app.process.called_definitions import Called, called_by
from penstock.app.process.version_writer import (
    DISCOVERED,
    DRAFT,
    PENDING,
    AskedVersion,
    Defined,
    VersionWriter,
    changes_since,
    compiled_version,
    origin_of,
    placed,
    plain,
    same,
    xml_of,
)
from penstock.app.releases.releases import STATUS, ReleaseChanges, Releases, Submission, canonical
from penstock.errors import (
    DocumentInvalid,
    ModelOutdated,
    ProcessChanged,
    ProcessNotFound,
    ProcessState,
    ProcessUnreadable,
    VersionConflict,
)
from penstock.lang.compile import language_of
from penstock.lang.document import Document, Mark
from penstock.lang.process import process_gpt
from penstock.lang.read import read_document
from penstock.store.releases import ReleaseRow

if TYPE_CHECKING:
    from penstock.app.runs.runs import Runs

Given = Mapping[str, Any] | str | bytes
#: P-X.4: what has no run of its own
CONTAINERS = ("mega", "major")
_TRIES = 5


class Processes:
    """The processes of one door's tenant. A definition is known by its `process_definition_id`, or by the UUID of its
    first version."""

    def __init__(self, door: Runs) -> None:
        self.door = door
        self._writer = VersionWriter(door, self.named)

    # -- looking -------------------------------------------------------------------------------------------------------

    def each(self, type: str | None = None) -> list[ReleaseRow]:
        """One row per definition: what is in force, else the newest."""
        by_name: dict[str, list[ReleaseRow]] = {}
        for row in self.door.store.releases(self.door.tenant, kind=type or "*"):
            by_name.setdefault(row.name, []).append(row)
        return [in_force(rows) for rows in by_name.values()]

    def versions(self, id: str) -> list[ReleaseRow]:
        """The oldest first."""
        rows = self.named(id)
        if not rows:
            raise ProcessNotFound(what="process", name=id)
        return rows

    def get(self, id: str, version: int | None = None) -> ReleaseRow:
        rows = self.versions(id)
        if version is None:
            return in_force(rows)
        row = next((row for row in rows if row.version == version), None)
        if row is None:
            raise ProcessNotFound(what="version of the process", name=f"{id} {version}")
        return row

    def named(self, id: str) -> list[ReleaseRow]:
        """Its versions, none where there is no such process."""
        store, tenant = self.door.store, self.door.tenant
        rows = store.releases(tenant, id, kind="*")
        if rows or len(id) != 36:
            return rows
        named = next((row.name for row in store.releases(tenant, kind="*") if row.id == id), None)
        return store.releases(tenant, named, kind="*") if named is not None else []

    def startable(self, id: str, version: int | None = None) -> ReleaseRow:
        """P-X.4, P-X.23: what may be begun. Raises ProcessState for containers and for what is not approved."""
        return Releases(self.door).refuse_unseen(startable(self.get(id, version)))

    # -- saving --------------------------------------------------------------------------------------------------------

    async def define(
        self, document: Given, *, by: Who | None = None, unsound: bool = False, origin: Mapping[str, Any] | None = None,
        pending: bool = False, into: str | None = None, told: bool = False, source: bytes | None = None,
        dmn: str | None = None,
    ) -> Defined:  # fmt: skip
        """A new definition, or the next version of one that is there; the same again changes nothing. Raises
        ProcessInvalid with every finding. `pending`: somebody has to approve it first, as always where four eyes are
        asked for; `into`: under this id; `told`: its import is an event; `source`: the text that the data were read
        from; `dmn`: its decision tables."""
        data, text = await self.read(document)
        source = source or text
        self.door.load_sample()  # agents, tools and people that it may name
        if into is not None:
            data = {**data, "process_definition_id": into}
        waits = pending or str(data.get("type") or "base") == DISCOVERED or self.by_two(data)
        author = four_eyes.author_of(self.door, by, data)
        tables = dmn.encode() if dmn is not None else None
        asked = AskedVersion(data, source, author, unsound, origin, waits, told, dmn=tables)
        return (await self._writer.saved([asked]))[0]

    def by_two(self, data: Mapping[str, Any]) -> bool:
        """Whether four eyes are asked for: by the tenant, by the document, or by the one in force."""
        rows = self.named(str(data.get("process_definition_id") or ""))
        former = Releases(self.door).was_in_force(rows[-1].name) if rows else ()
        return four_eyes.asked(self.door, data, *former)

    def hand_in(self, data: dict[str, Any], source: bytes, *, by: str | None, about: str | None) -> Submission:
        """The next version, on the way of every other document: somebody approves it, somebody puts it in force."""
        writer = self._writer
        id = writer.belongs_here(data)
        known, above = self.named(id), writer.parent_findings(data)
        if known and same(known[-1], data):
            last = known[-1]
            return Submission(Releases(self.door).submitted(last) if last.status == DRAFT else last, False)
        data["version"] = known[-1].version + 1 if known else 1
        called = Called(called_by(self.door, data))
        try:
            made = compiled_version(data, called, False, xml_of(source), known[-1] if known else None)
        except DocumentInvalid as wrong:
            raise DocumentInvalid(placed(source, called, False) or wrong.findings) from None
        asked = AskedVersion(data, source, by, False, origin_of(known[-1]) if known else None, waits=True,
                             dmn=known[-1].dmn if known else None)  # fmt: skip
        row = writer.row(made, known, asked)
        diff = changes_since(known[-1] if known else None, made.body)
        row = replace(row, diff=canonical(diff) if known else None, change_summary=about or row.change_summary)
        if not self.door.store.put_release(row):
            writer.refuse_other_language(id, row.version)
            raise VersionConflict(name=id, version=row.version, why="somebody else was faster")
        return Submission(row, True, [*above, *writer.findings(made)])

    async def update(
        self, id: str, document: Given, *, by: Who | None = None, unsound: bool = False, pending: bool = False
    ) -> Defined:  # fmt: skip
        """The next version of a definition that is there. What nobody has approved yet is marked as edited."""
        last = self.versions(id)[-1]
        was = origin_of(last)
        unseen = last.status in (PENDING, DRAFT)
        origin = {**was, "edited": True, "edited_by": None if by is None else id_of(by)} if was and unseen else was
        waits = pending or unseen
        dmn = last.dmn.decode() if last.dmn is not None else None
        return await self.define(
            document, by=by, unsound=unsound, origin=origin, pending=waits, into=last.name, dmn=dmn
        )

    async def read(self, document: Given) -> tuple[dict[str, Any], bytes | None]:
        """The document's data, and its own text where it was given as one."""
        if isinstance(document, Mapping):
            data, source = dict(document), None
            if process_gpt.recognise(data):
                data = process_gpt.rewritten(Document("process", data, Mark(1, 1))).data
        else:
            source = document.encode() if isinstance(document, str) else document
            parsed = await asyncio.to_thread(read_document, source, name="process")
            if process_gpt.recognise(parsed.data):
                parsed = process_gpt.rewritten(parsed)
            data = parsed.data if isinstance(parsed.data, dict) else {}
            if language_of(parsed).name != "process":
                data = {}
        if not any(name in data for name in ("process_definition_id", "process_definition_name", "activities")):
            raise ProcessUnreadable(why="It is no process: it has no «process_definition_id» and no activities.")
        return data, source

    # -- approving -----------------------------------------------------------------------------------------------------

    async def approve(self, id: str, *, by: Who, into: str | None = None, version: int | None = None) -> Defined:
        """P-X.23: it may be begun from now on. `into`: it becomes the next version of that definition besides, and
        where it cannot nothing is approved. `version`: the one that was looked at; raises ProcessChanged where another
        waits by now, and ModelOutdated where it was mined of another version of that definition. Raises FourEyes where
        a person other than its author must approve it."""
        row = self._waiting(id, "approve", version)
        target = self.get(into) if into is not None else row
        if target.name == row.name:
            return Defined(self._approved(row, by), True)
        self._refuse_outdated(row, target)
        drop = ("version", "source_event_log_id", "parent_id")
        data = {name: value for name, value in msgspec.json.decode(row.document).items() if name not in drop}
        data |= {"process_definition_id": target.name, "type": target.kind, **_of_process(target)}
        origin = {"source": "approved", "from": row.name}
        author = id_of(by) if row.created_by is None else row.created_by
        asked = AskedVersion(data, None, author, False, origin, target.kind == DISCOVERED, second=by, dmn=row.dmn)

        def also(writing: ReleaseChanges, versions: Mapping[str, int]) -> None:
            self._refuse_outdated(row, self.get(target.name))
            self._approving(writing, row, by)

        (done,) = await self._writer.saved([asked], also)
        Releases(self.door).replaying(self.get(row.name, row.version))
        return done

    def _approved(self, row: ReleaseRow, by: Who) -> ReleaseRow:
        for _ in range(_TRIES):
            new = self._approving(writing := ReleaseChanges(), row, by)
            if Releases(self.door).written(writing):
                return plain(Releases(self.door).replaying(new))
        raise VersionConflict(name=row.name, version=row.version, why="others move it all the time")

    def _approving(self, writing: ReleaseChanges, row: ReleaseRow, by: Who) -> ReleaseRow:
        """Approved and in force at once: the version that was looked at, and no later one."""
        row, releases = self._waiting(row.name, "approve", row.version), Releases(self.door)
        four_eyes.admit(self.door, releases.change(row), by)
        status, now = STATUS.next(PENDING, "approve"), self.door.now()
        approved = replace(row, status=status, approved_by=id_of(by), approved_at=now, feedback=None)
        return releases.enforce(writing, approved, PENDING, by)

    def _refuse_outdated(self, model: ReleaseRow, target: ReleaseRow) -> None:
        """What somebody has changed in the process since a model was mined of it would be lost with that model."""
        base, of = origin_of(model).get("base_version"), origin_of(model).get("base_proc_def_id")
        if base is None or of != target.name or base == target.version:
            return
        if _taken_over(self.get(target.name, base)) != _taken_over(target):
            raise ModelOutdated(model=model.name, base=base, name=target.name, version=target.version)

    def reject(self, id: str, *, by: Who, comment: str) -> ReleaseRow:
        """P-X.43: kept, and not to be begun."""
        row = self._waiting(id, "reject")
        return Releases(self.door).reject(row.name, row.version, by=by, feedback=comment)

    def _waiting(self, id: str, verb: str, version: int | None = None) -> ReleaseRow:
        row = self.versions(id)[-1]
        if version is not None and version != row.version:
            raise ProcessChanged(what=f"Process {row.name}", version=row.version, given=version)
        if row.status != PENDING:
            raise ProcessState(why=f"Cannot {verb} process in {approval_of(row)} status", status=approval_of(row))
        return row


def _taken_over(row: ReleaseRow) -> dict[str, Any]:
    """What a model that is mined of a process has of it."""
    document: dict[str, Any] = msgspec.json.decode(row.document)
    return {name: value for name, value in document.items() if name not in ("version", "description", "parent_id")}


def _of_process(target: ReleaseRow) -> dict[str, Any]:
    """What a process keeps when a model is taken over into it: what it is for, and what it belongs to."""
    was = msgspec.json.decode(target.document)
    return {name: was[name] for name in ("description", "parent_id") if target.kind != DISCOVERED and name in was}


# ---- reading rows ----------------------------------------------------------------------------------------------------


def in_force(rows: list[ReleaseRow]) -> ReleaseRow:
    return next((row for row in reversed(rows) if row.status == "active"), rows[-1])


def startable(row: ReleaseRow) -> ReleaseRow:
    if row.kind in CONTAINERS:
        raise ProcessState(why=f"«{row.name}» is a {row.kind} process: it holds others and is not begun itself")
    if row.status in (PENDING, DRAFT):
        raise ProcessState(why=f"«{row.name}» cannot be begun: it is {approval_of(row)}", status=approval_of(row))
    return row


def approval_of(row: ReleaseRow) -> str:
    """P-X.43: pending, rejected (kept with what was said), or approved."""
    return {PENDING: "pending", DRAFT: "rejected"}.get(row.status, "approved")
