"""Releases: versions of documents on their way from submission to force (W-9.3). Runs stay on the one they began."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from penstock.app.access import four_eyes
from penstock.app.access.candidates import Who, id_of
from penstock.app.access.missing_candidates import held_by_users, unheld
from penstock.app.language import app_language
from penstock.app.releases.diff import Change, changes, summary
from penstock.app.releases.documents import compile_source, read_source
from penstock.app.releases.rolled_out import layer_over
from penstock.app.releases.triggers import (
    active_release,
    listens_to,
    refuse_message,
    schedule_of,
    trigger_findings,
    webhook_of,
    webhooks,
)
from penstock.app.runs.runs import Runs
from penstock.dialects import dialect_of
from penstock.errors import (
    BadInput,
    DocumentInvalid,
    Finding,
    PathTaken,
    Place,
    ReleaseNotFound,
    VersionConflict,
)
from penstock.host.clock import Clock
from penstock.lang.compile import language_of
from penstock.lang.read import read_document
from penstock.lifecycle import MACHINES
from penstock.net.model import Net
from penstock.store.document_drafts import DocumentDraftChange
from penstock.store.releases import NewDeployment, ReleaseRow
from penstock.store.schedules import ScheduleRow

STATUS = MACHINES["release"]
#: C-17: how the status of a version is written in its document's metadata.
APPROVAL_STATUS = {
    "draft": "draft", "pending_approval": "pending", "approved": "approved", "active": "approved",
    "deprecated": "deprecated",
}  # fmt: skip
_TRIES = 5  # a move that somebody else's came before is looked at again


class Submission(msgspec.Struct, frozen=True):
    """A version in the store. `new` is false when the same document was there already."""

    release: ReleaseRow
    new: bool
    findings: list[Finding] = []


class ReleaseChanges(msgspec.Struct):
    """What one transaction does to versions: see `Store.move_releases`."""

    moves: list[tuple[ReleaseRow, str]] = []
    new: list[ReleaseRow] = []
    schedules: list[ScheduleRow] = []
    unscheduled: list[tuple[str, str]] = []
    told: list[tuple[Any, ...]] = []
    layers: list[NewDeployment] = []
    drafts: list[DocumentDraftChange] = []


class ActiveRelease(ReleaseRow, frozen=True):
    """A version that was put in force, and the runs that replay dead letters with it (W-7.5.4)."""

    replayed: list[str] = []


def canonical(document: Any, *, ordered: bool = False) -> bytes:
    """The canonical JSON of a document (W-9.3.2): sorted keys, compact, UTF-8. `ordered`: the keys stay in the order
    in which the author has written them, which is how a document is kept and shown."""
    try:
        return json.dumps(
            document, sort_keys=not ordered, separators=(",", ":"), ensure_ascii=False, allow_nan=False
        ).encode()  # fmt: skip
    except (TypeError, ValueError, UnicodeEncodeError) as error:
        raise BadInput(what="the document", why=str(error)) from error


def dsl_hash(document: Any) -> str:
    return hashlib.sha256(canonical(document)).hexdigest()


def document_of(row: ReleaseRow) -> dict[str, Any]:
    """The document as people read it, with its current approval status (C-17)."""
    document: dict[str, Any] = msgspec.json.decode(row.document)
    held = document.get("metadata")
    if isinstance(held, dict):
        document["metadata"] = {**held, "approval_status": APPROVAL_STATUS[row.status]}
    return document


def _compared(row: ReleaseRow) -> dict[str, Any]:
    """The document without what its version's status says: that moves while nobody changes a word."""
    document: dict[str, Any] = msgspec.json.decode(row.document)
    held = document.get("metadata")
    if isinstance(held, dict):
        document["metadata"] = {name: value for name, value in held.items() if name != "approval_status"}
    return document


class Releases:
    """The versions of one tenant. It needs no engine: a door that only looks (`drive=False`) will do."""

    def __init__(self, door: Runs, clock: Clock | None = None) -> None:
        self.door, self.clock = door, clock or door

    # -- looking -------------------------------------------------------------------------------------------------------

    def each(self, name: str | None = None) -> list[ReleaseRow]:
        return self.door.store.releases(self.door.tenant, name)

    def by_name(self) -> dict[str, list[ReleaseRow]]:
        """The versions of every definition, the oldest first."""
        versions: dict[str, list[ReleaseRow]] = {}
        for row in self.each():
            versions.setdefault(row.name, []).append(row)
        return versions

    def get(self, name: str, version: int | None = None) -> ReleaseRow:
        """The version asked for; else the active one, else the newest."""
        if version is not None:
            row = self.door.store.release(self.door.tenant, name, version)
        else:
            row = active_release(self.door.store, self.door.tenant, name) or next(reversed(self.each(name)), None)
        if row is None:
            raise ReleaseNotFound(name=name, version=version)
        return row

    def diff(self, name: str, old: int, new: int) -> list[Change]:
        older, newer = self.get(name, old), self.get(name, new)
        return changes(_compared(older), _compared(newer))

    # -- submitting ----------------------------------------------------------------------------------------------------

    def submit(
        self, document: str | Path | bytes | Mapping[str, Any], *, by: Who | None = None,
        change_summary: str | None = None,
    ) -> Submission:  # fmt: skip
        """Check a document, give it its version, and ask for its approval. The same again changes nothing, but for a
        version that was rejected: it is asked for anew."""
        source, name = _source(document)
        read = read_document(source, name=name)
        data = read.data
        author = four_eyes.author_of(self.door, by, data)
        if isinstance(data, dict):
            own = app_language(language_of(read).name)
            own.admit_author(by)
            done: Submission | None = own.submit(self.door, dict(data), source, by=author, about=change_summary)
            if done is not None:
                return done
        id = data.get("id") if isinstance(data, dict) else None
        if not isinstance(id, str) or not id:
            language_of(read)  # says which documents there are, if it is none
            raise BadInput(what="the document", why="it has no «id», so it has no versions", hint="Give it an id.")
        data, given = dict(data), data.get("version") is not None
        known = self.each(id)
        if not given:
            data["version"] = max((row.version for row in known), default=0) + 1
        row, findings = self._compiled(data, source if given else None, name, author)
        same = next((release for release in known if release.version == row.version), None)
        if same is None and known and row.version < known[-1].version:
            why = f"version {known[-1].version} is newer"
            raise VersionConflict(name=id, version=row.version, why=why)
        if same is None:
            before = _compared(known[-1]) if known else None
            row = replace(row, change_summary=change_summary or summary(before, _compared(row)))
            row = replace(row, status=STATUS.next(row.status, "submit"))
            if self.door.store.put_release(row):
                return Submission(row, True, findings)
            same = self.get(id, row.version)
        if same.hash != row.hash:
            why = "another document has this version"
            raise VersionConflict(name=id, version=row.version, why=why)
        return Submission(self._move(same, "submit") if same.status == "draft" else same, False, findings)

    def _compiled(
        self, data: dict[str, Any], source: bytes | None, name: str, by: str | None
    ) -> tuple[ReleaseRow, list[Finding]]:
        """A draft and its findings. `source` is the author's own text, where it is the document."""
        body = canonical(data)
        try:
            compiled, _ = compile_source(
                body if source is None else source, name=name, settings=self.door.settings
            )  # fmt: skip
        except DocumentInvalid as wrong:
            raise DocumentInvalid(wrong.findings if source is not None else _unplaced(wrong.findings)) from None
        wrong_trigger = trigger_findings(compiled.language, data)
        if wrong_trigger:
            raise DocumentInvalid(wrong_trigger)
        if dialect_of(compiled.language).loads_sample:
            self.door.load_sample()
        net = self.door.keep_net(compiled, body if source is None else source)
        tenant, id, version = self.door.tenant, str(data["id"]), int(data["version"])
        row = ReleaseRow(
            tenant, id, version, str(uuid.uuid5(uuid.NAMESPACE_URL, f"penstock:{tenant}/{id}/{version}")),
            STATUS.initial, hashlib.sha256(body).hexdigest(), net, canonical(data, ordered=True), listens_to(data), by,
            self.clock.now(),
        )  # fmt: skip
        findings = [*compiled.findings, *unheld(compiled.net, held_by_users(self.door))]
        return row, findings if source is not None else _unplaced(findings)

    def submitted(self, row: ReleaseRow) -> ReleaseRow:
        """A draft that is kept already, on its way to approval."""
        return self._move(row, "submit")

    # -- moving --------------------------------------------------------------------------------------------------------

    def approve(self, name: str, version: int, *, by: Who | None = None) -> ReleaseRow:
        """Approve a version. Raises FourEyes where a person other than its author must approve it."""
        row = self.get(name, version)
        four_eyes.admit(self.door, self.change(row), by)
        approved_by = None if by is None else id_of(by)
        return self._move(row, "approve", approved_by=approved_by, approved_at=self.clock.now(), feedback=None)

    def change(self, row: ReleaseRow) -> four_eyes.Change:
        """A version as the gate sees it."""
        what = f"version {row.version} of «{row.name}»"
        documents = (document_of(row), *self.was_in_force(row.name))
        return four_eyes.Change(what, row.created_by, row.created_at, documents)

    def was_in_force(self, name: str) -> tuple[dict[str, Any], ...]:
        """The document that is in force, else the one that was last: an author cannot leave out of the next version
        that it asks for four eyes, nor take it out of force first."""
        rows = [row for row in self.each(name) if row.status in ("active", "deprecated")]
        last = max(rows, key=lambda row: (row.status == "active", row.deprecated_at or 0), default=None)
        return () if last is None else (document_of(last),)

    def refuse_unseen(self, row: ReleaseRow) -> ReleaseRow:
        """A version to be begun by its number. Raises FourEyes where a second person should have approved it."""
        if row.status != "active":
            four_eyes.admit(self.door, self.change(row), row.approved_by)
        return row

    def refuse_unready(self, row: ReleaseRow) -> None:
        """A version to be rolled out. Raises StatusConflict where it could not come in force, and FourEyes as above."""
        if row.status != "active":
            STATUS.next(row.status, "activate")
        self.refuse_unseen(row)

    def reject(self, name: str, version: int, *, by: Who | None = None, feedback: str) -> ReleaseRow:
        """Return a version to its author, with feedback."""
        signed = f"{id_of(by)}: {feedback}" if by else feedback
        return self._moved(name, version, "reject", feedback=signed)

    def deprecate(self, name: str, version: int) -> ReleaseRow:
        return self._moved(name, version, "deprecate", deprecated_at=self.clock.now())

    def activate(self, name: str, version: int, *, by: Who | None = None) -> ActiveRelease:
        """Put it in force: what was before is deprecated, and its trigger goes with it. An older version may come back
        (a rollback); runs that go on keep theirs, and dead letters that ask for it are replayed. Raises FourEyes where
        neither who approved it nor who does this is a second person."""
        return self.replaying(self._move(self.get(name, version), "activate", by=by))

    def replaying(self, row: ReleaseRow) -> ActiveRelease:
        """A version that has just come in force, with the runs that replay its dead letters."""
        replayed = app_language(self.net(row.net).language).activated(self.door, row)
        return ActiveRelease(**msgspec.structs.asdict(row), replayed=replayed)

    def _moved(self, name: str, version: int, event: str, **fields: Any) -> ReleaseRow:
        return self._move(self.get(name, version), event, **fields)

    def _move(self, row: ReleaseRow, event: str, *, by: Who | None = None, **fields: Any) -> ReleaseRow:
        """Move a version in its lifecycle. Raises StatusConflict where the lifecycle does not allow it."""
        for _ in range(_TRIES):
            writing = ReleaseChanges()
            if event == "activate":
                new = self.enforce(writing, row, row.status, by)
            else:
                new = replace(row, status=STATUS.next(row.status, event), **fields)
                writing.moves.append((new, row.status))
                if row.status == "active":
                    writing.unscheduled.append((row.tenant, row.name))
            if self.written(writing):
                return new
            row = self.get(row.name, row.version)
        raise VersionConflict(name=row.name, version=row.version, why="others move it all the time")

    def enforce(
        self, writing: ReleaseChanges, row: ReleaseRow, was: str | None, by: Who | None = None
    ) -> ReleaseRow:  # fmt: skip
        """Put a version in force with this writing: one that was in this status so far, or is new (None). What was
        before is deprecated, and its trigger goes with it. No version comes in force another way."""
        four_eyes.admit(self.door, self.change(row), row.approved_by, by)
        now, former = self.clock.now(), active_release(self.door.store, row.tenant, row.name)
        new = replace(row, status=STATUS.next(row.status, "activate"), deprecated_at=None)
        schedules = self._registered(new, now, [moved for moved, _ in writing.moves] + writing.new)
        if former is not None:
            over = replace(former, status=STATUS.next(former.status, "deprecate"), deprecated_at=now)
            writing.moves.append((over, former.status))
        if was is None:
            writing.new.append(new)
        else:
            writing.moves.append((new, was))
        writing.unscheduled.append((row.tenant, row.name))
        writing.schedules += schedules
        writing.layers += layer_over(self.door.stored_tenant, new, self.door.store_now())
        return new

    def written(self, writing: ReleaseChanges) -> bool:
        """Write all changes in one transaction; False, with nothing written, after a concurrent change."""
        if not (writing.moves or writing.new or writing.drafts):
            return True
        done = self.door.store.move_releases(
            writing.moves, writing.schedules, writing.unscheduled, writing.new, writing.told, writing.layers,
            writing.drafts,
        )  # fmt: skip
        for row in (*(moved for moved, _ in writing.moves), *writing.new) if done else ():
            app_language(self.door.store.net(row.net).language).moved(self.door, row)
        if done and writing.layers:
            self.door.stored_tenant.refresh()
        return done

    def _registered(self, row: ReleaseRow, now: int, others: list[ReleaseRow]) -> list[ScheduleRow]:
        """What its trigger registers. Raises PathTaken where another workflow has its webhook, ProcessState where
        another process begins by its message."""
        store, hook, net = self.door.store, webhook_of(row), self.net(row.net)
        refuse_message(
            store, row.tenant, row.name, net, self.net, [release for release in others if release.status == "active"]
        )
        for other in webhooks(store, row.tenant) if hook is not None else ():
            if hook is not None and other.name != row.name and (other.method, other.path) == (hook.method, hook.path):
                raise PathTaken(method=hook.method, path=hook.path, name=other.name)
        former = next((schedule for schedule in store.schedules(row.tenant) if schedule.name == row.name), None)
        schedule = schedule_of(store, row, net, now, former)
        return [] if schedule is None else [schedule]

    def net(self, number: int) -> Net:
        return self.door.net_of(self.door.hash_of(number)).net


def _source(document: str | Path | bytes | Mapping[str, Any]) -> tuple[bytes, str]:
    """The document's text, and the name that says how it is read."""
    if isinstance(document, Mapping):
        return canonical(document, ordered=True), "document.json"
    if isinstance(document, bytes):
        return document, "document"
    return read_source(Path(document)), Path(document).name


def _unplaced(findings: list[Finding]) -> list[Finding]:
    """The findings without lines: the version was filled in, so only the pointers are the author's."""
    return [replace(finding, where=Place(finding.where.pointer)) for finding in findings]
