"""New versions of processes: made, compared with what is there, and written, several of one drawing in one commit."""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from penstock.app.access.candidates import Who, id_of
from penstock.app.access.missing_candidates import held_by_users, unheld
from penstock.app.access.roles import config_of
from penstock.app.process.called_definitions import Called, called_by, called_names
from penstock.app.releases.diff import summary
from penstock.app.releases.documents import node_types
from penstock.app.releases.releases import STATUS, ReleaseChanges, Releases, canonical
from penstock.app.releases.triggers import listens_by, refuse_message
from penstock.errors import (
    DocumentInvalid,
    DocumentUnreadable,
    Finding,
    Place,
    ProcessInvalid,
    ProcessScope,
    VersionConflict,
)
from penstock.lang.compile import compile_document
from penstock.lang.contract import Compiled
from penstock.lang.fields import TENANT
from penstock.lang.process.bpmn.patch import patch
from penstock.lang.process.bpmn.writer import write_bpmn
from penstock.lang.process.diff import difference
from penstock.store.releases import ReleaseRow

if TYPE_CHECKING:
    from penstock.app.runs.runs import Runs

TYPES = ("mega", "major", "base", "sub", "discovered")
DISCOVERED = "discovered"
PENDING, DRAFT = "pending_approval", "draft"
#: what a definition of this type may belong to
_ABOVE = {"major": ("mega",), "base": ("major", "mega"), "sub": ("major", "mega", "base"), DISCOVERED: TYPES}
_TRIES = 5

#: what else is written with the versions, of which it is told the numbers
Also = Callable[[ReleaseChanges, dict[str, int]], Any]


class Defined(msgspec.Struct, frozen=True):
    """A version that was saved; `new` is false when the newest one is the same. `diff` is against the one before."""

    release: ReleaseRow
    new: bool
    diff: dict[str, Any] = {}
    findings: list[Finding] = []


class AskedVersion(msgspec.Struct, frozen=True):
    """What somebody wants saved. It `waits` for who approves it; `announced`: its import is an event. `second` has
    approved what `by` wrote."""

    data: dict[str, Any]
    source: bytes | None
    by: str | None
    unsound: bool
    origin: Mapping[str, Any] | None
    waits: bool
    announced: bool = False
    second: Who | None = None
    dmn: bytes | None = None
    beside: bool = False  # its source holds other definitions, too, or another form of this one

    @property
    def id(self) -> str:
        return str(self.data["process_definition_id"])


class MadeVersion(msgspec.Struct, frozen=True):
    """`body` is the canonical form, `document` has the author's order."""

    compiled: Compiled
    body: bytes
    document: bytes
    bpmn: bytes


class _Plan(msgspec.Struct, frozen=True):
    """What becomes of one that was asked for. `number` is None where its newest version is the same."""

    asked: AskedVersion
    known: list[ReleaseRow]
    number: int | None
    findings: list[Finding]
    made: MadeVersion | None = None

    @property
    def id(self) -> str:
        return self.asked.id

    @property
    def last(self) -> ReleaseRow | None:
        return self.known[-1] if self.known else None

    @property
    def version(self) -> int:
        return self.number or (self.last.version if self.last is not None else 1)

    @property
    def document(self) -> bytes:
        """As the others of the drawing call it."""
        if self.number is None and self.last is not None:
            return self.last.document
        return canonical({**self.asked.data, "version": self.number}, ordered=True)


class VersionWriter:
    """`named` gives the versions of a process, none where there is no such process."""

    def __init__(self, door: Runs, named: Callable[[str], list[ReleaseRow]]) -> None:
        self.door, self.named, self.releases = door, named, Releases(door)

    async def saved(self, wanted: Sequence[AskedVersion], also: Also = lambda writing, versions: None) -> list[Defined]:
        """In one transaction: the versions, what they take the place of, their triggers and events, and what `also`
        has to be written with them; once more where somebody else was faster. Those that others of them call come
        first, and whoever calls a new version is a new version, too."""
        for asked in wanted:
            self.belongs_here(asked.data)
        for _ in range(_TRIES):
            plans = await self._compiled(self._planned(wanted))
            also(writing := ReleaseChanges(), {plan.id: plan.version for plan in plans})
            rows = [self._write(writing, plan) for plan in plans]
            if self.releases.written(writing):
                done = {plan.id: self._done(plan, row) for plan, row in zip(plans, rows, strict=True)}
                return [done[asked.id] for asked in wanted]
            for plan in plans:
                self.refuse_other_language(plan.id, plan.version)
        raise VersionConflict(name=wanted[0].id, version=plans[0].version, why="others save it all the time")

    # -- what has to be saved, and in which order ----------------------------------------------------------------------

    def _planned(self, wanted: Sequence[AskedVersion]) -> list[_Plan]:
        ids = _ids(wanted)
        ordered = _called_first(wanted, ids)
        plans: list[_Plan] = []
        fresh = {asked.id for asked in ordered if self._differs(asked)}
        while more := {a.id for a in ordered if a.id not in fresh and fresh & set(_called(a, ids))}:
            fresh |= more
        for asked in ordered:
            known = self.named(asked.id)
            next_number = known[-1].version + 1 if known else 1
            number = next_number if asked.id in fresh else None
            plans.append(_Plan(asked, known, number, self.parent_findings(asked.data, wanted)))
        return plans

    def _differs(self, asked: AskedVersion) -> bool:
        known = self.named(asked.id)
        last = known[-1] if known else None
        return last is None or not same(last, asked.data) or last.status in (PENDING, DRAFT) and not asked.waits

    async def _compiled(self, plans: list[_Plan]) -> list[_Plan]:
        """Each with what it calls: another of them or itself, or what there is already. By its title, which others may
        have as their id, one of them is called only where nobody else is."""
        ids = _ids([plan.asked for plan in plans])
        documents = {plan.id: plan.document for plan in plans}
        known = {name: document for plan in plans for name, document in called_by(self.door, plan.asked.data).items()}
        called = Called({
            **{name: documents[id] for name, id in ids.items()},
            **{name: document if "@" in name else documents.get(_id_of(document), document)
               for name, document in known.items()},
            **documents,
        })  # fmt: skip
        return [
            plan if plan.number is None else replace(plan, made=await self._made(plan, plan.number, called))
            for plan in plans
        ]

    async def _made(self, plan: _Plan, number: int, called: Called) -> MadeVersion:
        """Compiled beside the loop: a thousand activities take their time, and others go on meanwhile."""
        asked = plan.asked
        data, source = {**asked.data, "version": number}, asked.source
        try:
            made = await asyncio.to_thread(compiled_version, data, called, asked.unsound, xml_of(source), plan.last)
            await asyncio.to_thread(self.door.nets.made, made.compiled.net)  # it is kept next
        except DocumentInvalid as wrong:
            findings = wrong.findings
            if source is not None and not asked.beside:  # where they are in the author's own text
                findings = await asyncio.to_thread(placed, source, called, asked.unsound) or findings
            raise ProcessInvalid(findings) from None
        if not asked.waits:
            refuse_message(self.door.store, self.door.tenant, asked.id, made.compiled.net, self.releases.net)
        return made

    # -- writing -------------------------------------------------------------------------------------------------------

    def _write(self, writing: ReleaseChanges, plan: _Plan) -> ReleaseRow:
        """The version with what becomes of those that nobody has approved yet; or the one that is there."""
        asked, last = plan.asked, plan.last
        if plan.made is None:
            assert last is not None, "it is the same as one that is there"
            comes = last.status == "approved" and not asked.waits  # handed in, and approved by somebody
            return self.releases.enforce(writing, last, last.status, asked.second) if comes else last
        row, diff = self.row(plan.made, plan.known, asked), changes_since(last, plan.made.document)
        row = replace(row, diff=canonical(diff) if last is not None else None)
        for old in plan.known:
            if old.status == PENDING:
                superseded = f"superseded by version {row.version}"
                over = replace(old, status=STATUS.next(PENDING, "reject"), feedback=superseded)
                writing.moves.append((over, PENDING))
        writing.told += self._event_rows(row) if asked.announced else []
        if not asked.waits:
            return self.releases.enforce(writing, row, None, asked.second)
        writing.new.append(row)
        return row

    def _done(self, plan: _Plan, row: ReleaseRow) -> Defined:
        last, comes = plan.last, not plan.asked.waits
        if plan.made is None:
            comes = comes and last is not None and last.status == "approved"
        row = plain(self.releases.replaying(row)) if comes else row
        if plan.made is None:
            return Defined(row, False)
        diff = changes_since(last, plan.made.document)
        return Defined(row, True, diff, [*plan.findings, *self.findings(plan.made)])

    def row(self, made: MadeVersion, known: list[ReleaseRow], asked: AskedVersion) -> ReleaseRow:
        door, data, by, waits = self.door, msgspec.json.decode(made.document), asked.by, asked.waits
        net = door.keep_net(made.compiled, made.body)
        name, version, now = str(data["process_definition_id"]), int(data["version"]), door.now()
        before = msgspec.json.decode(known[-1].document) if known else None
        approver = by if asked.second is None else id_of(asked.second)
        return ReleaseRow(
            door.tenant, name, version, str(uuid.uuid5(uuid.NAMESPACE_URL, f"penstock:{door.tenant}/{name}/{version}")),
            PENDING if waits else "approved", hashlib.sha256(made.body).hexdigest(), net, made.document,
            listens_by(made.compiled.net), by, now,
            approved_by=None if waits else approver, approved_at=None if waits else now,
            change_summary=summary(before, data), kind=str(data.get("type") or "base"), bpmn=made.bpmn,
            dmn=asked.dmn,
            origin=canonical(asked.origin) if asked.origin else None,
        )  # fmt: skip

    def _event_rows(self, row: ReleaseRow) -> list[tuple[Any, ...]]:
        """P-E.3: the row of the outbox that is committed with the model, where somebody listens."""
        host = self.door.host if self.door.drives else None
        if host is None or not (host.outbox.sinks or host.outbox.publish):
            return []
        topic, payload = imported(row)
        about = {"run": f"proc_def:{row.name}", "tenant": row.tenant, "seq": row.version, "at": row.created_at}
        return [(0, row.version, topic, msgspec.msgpack.encode({**about, **payload}), 0, 0)]

    # -- what every version has to meet --------------------------------------------------------------------------------

    def findings(self, made: MadeVersion) -> list[Finding]:
        return [*made.compiled.findings, *unheld(made.compiled.net, held_by_users(self.door))]

    def refuse_other_language(self, id: str, version: int) -> None:
        if not self.named(id):
            raise VersionConflict(name=id, version=version, why="a document of another language has this name")

    def belongs_here(self, data: dict[str, Any]) -> str:
        """P-X.7, P-X.35: it has an id, and it names this tenant, by slug or by id, or none, which means this one."""
        id = data.get("process_definition_id")
        if not isinstance(id, str) or not id:
            message = "The process has no «process_definition_id»."
            raise _refused("process_missing_id", message, "/process_definition_id")
        named, tenant = data.get("tenant_id"), self.door.tenant
        if not named:
            data.pop("tenant_id", None)
            if TENANT.match(tenant):
                data["tenant_id"] = tenant
        elif named not in (tenant, config_of(self.door).get("id")):
            raise ProcessScope(why="The process names another tenant than yours")
        return id

    def parent_findings(self, data: Mapping[str, Any], beside: Iterable[AskedVersion] = ()) -> list[Finding]:
        """P-X.4: what it belongs to is above it; it may come later, or with it."""
        parent, type = data.get("parent_id"), str(data.get("type") or "base")
        above = [row.kind for row in self.named(str(parent))[-1:]] if parent else []
        above += [str(asked.data.get("type") or "base") for asked in beside if asked.id == parent]
        if above and above[-1] not in _ABOVE.get(type, ()):
            message = f"A {type} process cannot belong to «{parent}», which is a {above[-1]} process."
            raise _refused("parent_level", message, "/parent_id")
        if not parent or above:
            return []
        message = f"There is no process «{parent}» that it could belong to."
        return [Finding("parent_unknown", "warning", message, Place("/parent_id"), "Save that one, too.")]


# ---- versions --------------------------------------------------------------------------------------------------------


def compiled_version(
    data: dict[str, Any], called: Called, unsound: bool, xml: bytes | None, former: ReleaseRow | None = None
) -> MadeVersion:
    """`former`: the version before this one, whose file is brought to what this one says where it has none itself."""
    body = canonical(data)
    compiled = compile_document(
        body, name="process.json", language="process", resolve=called, extra=node_types(), unsound=unsound
    )
    written = canonical(data, ordered=True)
    return MadeVersion(compiled, body, written, xml if xml is not None else _bpmn(data, former).encode())


def _bpmn(data: dict[str, Any], former: ReleaseRow | None) -> str:
    """P-2.3.1: of a process that was brought as a file, that file with what has changed since."""
    before = msgspec.json.decode(former.document) if former is not None and former.bpmn else {}
    if former is None or not former.bpmn or "file" not in (before.get("extensions") or {}):
        return write_bpmn(data)
    try:
        return patch(former.bpmn.decode("utf-8"), [data])
    except (DocumentUnreadable, UnicodeDecodeError):  # kept before files were read as strictly as now
        return write_bpmn(data)


def placed(source: bytes, called: Called, unsound: bool) -> list[Finding]:
    """The findings where they stand in the author's own text."""
    try:
        compile_document(source, name="process", language="process", resolve=called, unsound=unsound)
    except DocumentInvalid as wrong:
        return wrong.findings
    return []


def xml_of(source: bytes | None) -> bytes | None:
    return source if source is not None and source.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"<" else None


def same(row: ReleaseRow, data: Mapping[str, Any]) -> bool:
    return hashlib.sha256(canonical({**data, "version": row.version})).hexdigest() == row.hash


def changes_since(last: ReleaseRow | None, body: bytes) -> dict[str, Any]:
    return difference(msgspec.json.decode(last.document), msgspec.json.decode(body)) if last is not None else {}


def plain(row: ReleaseRow) -> ReleaseRow:
    return ReleaseRow(**{name: getattr(row, name) for name in ReleaseRow.__struct_fields__})


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


def _refused(rule: str, message: str, pointer: str) -> ProcessInvalid:
    hint = "Correct it, or leave it out."
    return ProcessInvalid([Finding(rule, "error", message, Place(pointer), hint)])


def _id_of(document: bytes) -> str:
    return str(msgspec.json.decode(document).get("process_definition_id"))


def _ids(wanted: Sequence[AskedVersion]) -> dict[str, str]:
    """The ids of all, by what they are called by: their ids, else their names."""
    names = {str(asked.data.get("process_definition_name")): asked.id for asked in wanted}
    return {**names, **{asked.id: asked.id for asked in wanted}}


def _called(asked: AskedVersion, ids: Mapping[str, str]) -> Iterator[str]:
    return (ids[name] for name in called_names(asked.data) if name in ids)


def _called_first(wanted: Sequence[AskedVersion], ids: Mapping[str, str]) -> list[AskedVersion]:
    """In the order in which they were asked for, but whoever calls another of them after it; a circle as it comes."""
    by_id = {asked.id: asked for asked in wanted}
    ordered: dict[str, AskedVersion] = {}
    begun: set[str] = set()

    def add(asked: AskedVersion) -> None:
        begun.add(asked.id)
        for id in _called(asked, ids):
            if id not in begun:
                add(by_id[id])
        ordered[asked.id] = asked

    for asked in wanted:
        if asked.id not in begun:
            add(asked)
    return list(ordered.values())
