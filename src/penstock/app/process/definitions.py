"""Definitions of processes: saved, versioned, approved, imported and extracted (P-2.3, P-7.4, P-X.8, P-X.23)."""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from penstock.app.access import four_eyes
from penstock.app.access.candidates import Who, id_of
from penstock.app.access.missing_candidates import held_by_users, unheld
from penstock.app.access.roles import config_of
from penstock.app.process.called_definitions import Called, called_by
from penstock.app.releases.diff import summary
from penstock.app.releases.documents import node_types
from penstock.app.releases.releases import STATUS, ReleaseChanges, Releases, Submission, canonical
from penstock.app.releases.triggers import listens_by, refuse_message
from penstock.errors import (
    DocumentInvalid,
    Finding,
    Place,
    ProcessChanged,
    ProcessInvalid,
    ProcessNotFound,
    ProcessScope,
    ProcessState,
    ProcessUnreadable,
    VersionConflict,
)
from penstock.lang.compile import compile_document, language_of
from penstock.lang.contract import Compiled
from penstock.lang.fields import TENANT
from penstock.lang.process.bpmn.writer import write_bpmn
from penstock.lang.process.diff import difference
from penstock.lang.read import read_document
from penstock.store.releases import ReleaseRow

if TYPE_CHECKING:
    from penstock.app.runs.runs import Runs

Given = Mapping[str, Any] | str | bytes
TYPES = ("mega", "major", "base", "sub", "discovered")
#: P-X.4: what has no run of its own
CONTAINERS = ("mega", "major")
DISCOVERED = "discovered"
#: what a definition of this type may belong to
_ABOVE = {"major": ("mega",), "base": ("major", "mega"), "sub": ("major", "mega", "base"), DISCOVERED: TYPES}
_PENDING, _DRAFT = "pending_approval", "draft"
_TRIES = 5


class Defined(msgspec.Struct, frozen=True):
    """A version that was saved; `new` is false when the newest one is the same. `diff` is against the one before."""

    release: ReleaseRow
    new: bool
    diff: dict[str, Any] = {}
    findings: list[Finding] = []


class _Asked(msgspec.Struct, frozen=True):
    """What somebody wants saved. It `waits` for who approves it; `told`: its import is an event. `second` has approved
    what `by` wrote."""

    data: dict[str, Any]
    source: bytes | None
    by: str | None
    unsound: bool
    origin: Mapping[str, Any] | None
    waits: bool
    told: bool = False
    second: Who | None = None


class _Made(msgspec.Struct, frozen=True):
    """`body` is the canonical form, `document` has the author's order."""

    compiled: Compiled
    body: bytes
    document: bytes
    bpmn: bytes


class Processes:
    """The processes of one door's tenant. A definition is known by its `process_definition_id`, or by the UUID of its
    first version."""

    def __init__(self, door: Runs) -> None:
        self.door = door

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
    ) -> Defined:  # fmt: skip
        """A new definition, or the next version of one that is there; the same again changes nothing. Raises
        ProcessInvalid with every finding. `pending`: somebody has to approve it first, as always where four eyes are
        asked for; `into`: under this id; `told`: its import is an event; `source`: the text that the data were read
        from."""
        data, text = await self.read(document)
        source = source or text
        self.door.load_sample()  # agents, tools and people that it may name
        if into is not None:
            data = {**data, "process_definition_id": into}
        waits = pending or str(data.get("type") or "base") == DISCOVERED or self.by_two(data)
        author = four_eyes.author_of(self.door, by, data)
        return await self._saved(_Asked(data, source, author, unsound, origin, waits, told))

    def by_two(self, data: Mapping[str, Any]) -> bool:
        """Whether four eyes are asked for: by the tenant, by the document, or by the one in force."""
        rows = self.named(str(data.get("process_definition_id") or ""))
        former = Releases(self.door).was_in_force(rows[-1].name) if rows else ()
        return four_eyes.asked(self.door, data, *former)

    async def _saved(self, asked: _Asked, also: Callable[[ReleaseChanges], Any] = lambda writing: None) -> Defined:
        """In one transaction: the version, what it takes the place of, its trigger, its event, and what `also` has to
        be written with it; once more where somebody else was faster."""
        data, releases = asked.data, Releases(self.door)
        id = self._id(data)
        self._of_tenant(data)
        number = 1
        for _ in range(_TRIES):
            known, told_of = self.named(id), self._parented(data)
            last, writing = known[-1] if known else None, ReleaseChanges()
            if last is not None and _same(last, data) and (last.status not in (_PENDING, _DRAFT) or asked.waits):
                also(writing)
                comes = last.status == "approved" and not asked.waits  # handed in, and approved by somebody
                row = releases.enforce(writing, last, last.status, asked.second) if comes else last
                if releases.written(writing):
                    return Defined(_plain(releases.replaying(row)) if comes else row, False)
                continue
            number = last.version + 1 if last is not None else 1
            made = await self._made({**data, "version": number}, asked.source, asked.unsound)
            if not asked.waits:
                refuse_message(self.door.store, self.door.tenant, id, made.compiled.net, releases.net)
            row, diff = self._row(made, known, asked), _difference(last, made.document)
            also(writing)
            row = self._next(writing, replace(row, diff=canonical(diff) if last is not None else None), known, asked)
            if releases.written(writing):
                row = row if asked.waits else _plain(releases.replaying(row))
                return Defined(row, True, diff, [*told_of, *self._findings(made)])
            self._raced(id, number)
        raise VersionConflict(name=id, version=number, why="others save it all the time")

    def _next(self, writing: ReleaseChanges, row: ReleaseRow, known: list[ReleaseRow], asked: _Asked) -> ReleaseRow:
        """A new version, and what becomes of those that nobody has approved yet."""
        superseded = f"superseded by version {row.version}"
        for old in known:
            if old.status == _PENDING:
                over = replace(old, status=STATUS.next(_PENDING, "reject"), feedback=superseded)
                writing.moves.append((over, _PENDING))
        writing.told += self._told(row) if asked.told else []
        if not asked.waits:
            return Releases(self.door).enforce(writing, row, None, asked.second)
        writing.new.append(row)
        return row

    def hand_in(self, data: dict[str, Any], source: bytes, *, by: str | None, about: str | None) -> Submission:
        """The next version, on the way of every other document: somebody approves it, somebody puts it in force."""
        id = self._id(data)
        self._of_tenant(data)
        known, told_of = self.named(id), self._parented(data)
        if known and _same(known[-1], data):
            last = known[-1]
            return Submission(Releases(self.door).submitted(last) if last.status == _DRAFT else last, False)
        data["version"] = known[-1].version + 1 if known else 1
        xml = source if source.lstrip()[:1] == b"<" else None
        called = Called(called_by(self.door, data))
        try:
            made = _compile(data, called, False, xml)
        except DocumentInvalid as wrong:
            raise DocumentInvalid(_placed(source, called, False) or wrong.findings) from None
        asked = _Asked(data, source, by, False, origin_of(known[-1]) if known else None, waits=True)
        row = self._row(made, known, asked)
        diff = _difference(known[-1] if known else None, made.body)
        row = replace(row, diff=canonical(diff) if known else None, change_summary=about or row.change_summary)
        if not self.door.store.put_release(row):
            self._raced(id, row.version)
            raise VersionConflict(name=id, version=row.version, why="somebody else was faster")
        return Submission(row, True, [*told_of, *self._findings(made)])

    def _findings(self, made: _Made) -> list[Finding]:
        return [*made.compiled.findings, *unheld(made.compiled.net, held_by_users(self.door))]

    def _raced(self, id: str, version: int) -> None:
        if not self.named(id):
            raise VersionConflict(name=id, version=version, why="a document of another language has this name")

    def _id(self, data: Mapping[str, Any]) -> str:
        id = data.get("process_definition_id")
        if not isinstance(id, str) or not id:
            raise _wrong("process_missing_id", "The process has no «process_definition_id».", "/process_definition_id")
        return id

    async def update(
        self, id: str, document: Given, *, by: Who | None = None, unsound: bool = False, pending: bool = False
    ) -> Defined:  # fmt: skip
        """The next version of a definition that is there. What nobody has approved yet is marked as edited."""
        last = self.versions(id)[-1]
        was = origin_of(last)
        unseen = last.status in (_PENDING, _DRAFT)
        origin = {**was, "edited": True, "edited_by": None if by is None else id_of(by)} if was and unseen else was
        waits = pending or unseen
        return await self.define(document, by=by, unsound=unsound, origin=origin, pending=waits, into=last.name)

    async def read(self, document: Given) -> tuple[dict[str, Any], bytes | None]:
        """The document's data, and its own text where it was given as one."""
        if isinstance(document, Mapping):
            data, source = dict(document), None
        else:
            source = document.encode() if isinstance(document, str) else document
            parsed = await asyncio.to_thread(read_document, source, name="process")
            data = parsed.data if isinstance(parsed.data, dict) else {}
            if language_of(parsed).name != "process":
                data = {}
        if not any(name in data for name in ("process_definition_id", "process_definition_name", "activities")):
            raise ProcessUnreadable(why="It is no process: it has no «process_definition_id» and no activities.")
        return data, source

    def _of_tenant(self, data: dict[str, Any]) -> None:
        """P-X.7, P-X.35: it names this tenant, by slug or by id, or none, which means this one."""
        named, tenant = data.get("tenant_id"), self.door.tenant
        if not named:
            data.pop("tenant_id", None)
            if TENANT.match(tenant):
                data["tenant_id"] = tenant
        elif named not in (tenant, config_of(self.door).get("id")):
            raise ProcessScope(why="The process names another tenant than yours")

    def _parented(self, data: Mapping[str, Any]) -> list[Finding]:
        """P-X.4: what it belongs to is above it; it may come later."""
        parent, type = data.get("parent_id"), str(data.get("type") or "base")
        above = self.named(str(parent)) if parent else []
        if above and above[-1].kind not in _ABOVE.get(type, ()):
            message = f"A {type} process cannot belong to «{parent}», which is a {above[-1].kind} process."
            raise _wrong("parent_level", message, "/parent_id")
        if not parent or above:
            return []
        message = f"There is no process «{parent}» that it could belong to."
        return [Finding("parent_unknown", "warning", message, Place("/parent_id"), "Save that one, too.")]

    async def _made(self, data: dict[str, Any], source: bytes | None, unsound: bool) -> _Made:
        """Compiled beside the loop: a thousand activities take their time, and others go on meanwhile."""
        called = Called(called_by(self.door, data))
        xml = source if source is not None and source.lstrip()[:1] == b"<" else None
        try:
            made = await asyncio.to_thread(_compile, data, called, unsound, xml)
            await asyncio.to_thread(self.door.nets.made, made.compiled.net)  # it is kept next
            return made
        except DocumentInvalid as wrong:
            findings = wrong.findings
            if source is not None:  # where they are in the author's own text
                findings = await asyncio.to_thread(_placed, source, called, unsound) or findings
            raise ProcessInvalid(findings) from None

    def _row(self, made: _Made, known: list[ReleaseRow], asked: _Asked) -> ReleaseRow:
        door, data, by, waits = self.door, msgspec.json.decode(made.document), asked.by, asked.waits
        net = door.keep_net(made.compiled, made.body)
        name, version, now = str(data["process_definition_id"]), int(data["version"]), door.now()
        before = msgspec.json.decode(known[-1].document) if known else None
        approver = by if asked.second is None else id_of(asked.second)
        return ReleaseRow(
            door.tenant, name, version, str(uuid.uuid5(uuid.NAMESPACE_URL, f"penstock:{door.tenant}/{name}/{version}")),
            _PENDING if waits else "approved", hashlib.sha256(made.body).hexdigest(), net, made.document,
            listens_by(made.compiled.net), by, now,
            approved_by=None if waits else approver, approved_at=None if waits else now,
            change_summary=summary(before, data), kind=str(data.get("type") or "base"), bpmn=made.bpmn,
            origin=canonical(asked.origin) if asked.origin else None,
        )  # fmt: skip

    def _told(self, row: ReleaseRow) -> list[tuple[Any, ...]]:
        """P-E.3: the row of the outbox that is committed with the model, where somebody listens."""
        host = self.door.host if self.door.drives else None
        if host is None or not (host.outbox.sinks or host.outbox.publish):
            return []
        topic, payload = imported(row)
        about = {"run": f"proc_def:{row.name}", "tenant": row.tenant, "seq": row.version, "at": row.created_at}
        return [(0, row.version, topic, msgspec.msgpack.encode({**about, **payload}), 0, 0)]

    # -- approving -----------------------------------------------------------------------------------------------------

    async def approve(self, id: str, *, by: Who, into: str | None = None, version: int | None = None) -> Defined:
        """P-X.23: it may be begun from now on. `into`: it becomes the next version of that definition besides, and
        where it cannot nothing is approved. `version`: the one that was looked at; raises ProcessChanged where another
        waits by now. Raises FourEyes where a person other than its author must approve it."""
        row = self._waiting(id, "approve", version)
        target = self.get(into) if into is not None else row
        if target.name == row.name:
            return Defined(self._approved(row, by), True)
        drop = ("version", "source_event_log_id", "parent_id")
        data = {name: value for name, value in msgspec.json.decode(row.document).items() if name not in drop}
        data |= {"process_definition_id": target.name, "type": target.kind}
        origin = {"source": "approved", "from": row.name}
        author = id_of(by) if row.created_by is None else row.created_by
        asked = _Asked(data, None, author, False, origin, target.kind == DISCOVERED, second=by)
        done = await self._saved(asked, lambda writing: self._approving(writing, row, by))
        Releases(self.door).replaying(self.get(row.name, row.version))
        return done

    def _approved(self, row: ReleaseRow, by: Who) -> ReleaseRow:
        for _ in range(_TRIES):
            new = self._approving(writing := ReleaseChanges(), row, by)
            if Releases(self.door).written(writing):
                return _plain(Releases(self.door).replaying(new))
        raise VersionConflict(name=row.name, version=row.version, why="others move it all the time")

    def _approving(self, writing: ReleaseChanges, row: ReleaseRow, by: Who) -> ReleaseRow:
        """Approved and in force at once: the version that was looked at, and no later one."""
        row, releases = self._waiting(row.name, "approve", row.version), Releases(self.door)
        four_eyes.admit(self.door, releases.change(row), by)
        status, now = STATUS.next(_PENDING, "approve"), self.door.now()
        approved = replace(row, status=status, approved_by=id_of(by), approved_at=now, feedback=None)
        return releases.enforce(writing, approved, _PENDING, by)

    def reject(self, id: str, *, by: Who, comment: str) -> ReleaseRow:
        """P-X.43: kept, and not to be begun."""
        row = self._waiting(id, "reject")
        return Releases(self.door).reject(row.name, row.version, by=by, feedback=comment)

    def _waiting(self, id: str, verb: str, version: int | None = None) -> ReleaseRow:
        row = self.versions(id)[-1]
        if version is not None and version != row.version:
            raise ProcessChanged(what=f"Process {row.name}", version=row.version, given=version)
        if row.status != _PENDING:
            raise ProcessState(why=f"Cannot {verb} process in {approval_of(row)} status", status=approval_of(row))
        return row


# ---- reading rows ----------------------------------------------------------------------------------------------------


def in_force(rows: list[ReleaseRow]) -> ReleaseRow:
    return next((row for row in reversed(rows) if row.status == "active"), rows[-1])


def startable(row: ReleaseRow) -> ReleaseRow:
    if row.kind in CONTAINERS:
        raise ProcessState(why=f"«{row.name}» is a {row.kind} process: it holds others and is not begun itself")
    if row.status in (_PENDING, _DRAFT):
        raise ProcessState(why=f"«{row.name}» cannot be begun: it is {approval_of(row)}", status=approval_of(row))
    return row


def approval_of(row: ReleaseRow) -> str:
    """P-X.43: pending, rejected (kept with what was said), or approved."""
    return {_PENDING: "pending", _DRAFT: "rejected"}.get(row.status, "approved")


def origin_of(row: ReleaseRow) -> dict[str, Any]:
    origin: dict[str, Any] = msgspec.json.decode(row.origin) if row.origin is not None else {}
    return origin


def imported(row: ReleaseRow) -> tuple[str, dict[str, Any]]:
    """P-7.4.6."""
    origin = origin_of(row)
    return "DISCOVERED_MODEL_IMPORTED", {
        "aggregate_type": "proc_def", "aggregate_id": row.name, "proc_def_id": row.name,
        "event_log_id": origin.get("event_log_id"), "source": "process_mining",
    }  # fmt: skip


def _plain(row: ReleaseRow) -> ReleaseRow:
    return ReleaseRow(**{name: getattr(row, name) for name in ReleaseRow.__struct_fields__})


def _same(row: ReleaseRow, data: Mapping[str, Any]) -> bool:
    return hashlib.sha256(canonical({**data, "version": row.version})).hexdigest() == row.hash


def _difference(last: ReleaseRow | None, body: bytes) -> dict[str, Any]:
    return difference(msgspec.json.decode(last.document), msgspec.json.decode(body)) if last is not None else {}


def _compile(data: dict[str, Any], called: Called, unsound: bool, xml: bytes | None) -> _Made:
    body = canonical(data)
    compiled = compile_document(
        body, name="process.json", language="process", resolve=called, extra=node_types(), unsound=unsound
    )
    written = canonical(data, ordered=True)
    return _Made(compiled, body, written, xml if xml is not None else write_bpmn(data).encode())


def _placed(source: bytes, called: Called, unsound: bool) -> list[Finding]:
    try:
        compile_document(source, name="process", language="process", resolve=called, unsound=unsound)
    except DocumentInvalid as wrong:
        return wrong.findings
    return []


def _wrong(rule: str, message: str, pointer: str) -> ProcessInvalid:
    hint = "Correct it, or leave it out."
    return ProcessInvalid([Finding(rule, "error", message, Place(pointer), hint)])
