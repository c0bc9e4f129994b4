"""Drafts of drawings: any readable file becomes one, answers complete it, and a finished one is released."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from penstock.app.access import four_eyes
from penstock.app.access.candidates import Who, id_of
from penstock.app.process.called_definitions import Called, called_by
from penstock.app.process.definitions import Processes
from penstock.app.process.drafts.answers import Answering, AnswerLog, DraftReply, packed, refolded, unpacked
from penstock.app.process.drafts.present import PresentDraft, drawing_of, keep, present_of
from penstock.app.process.drafts.views import (
    Draft,
    DraftLine,
    ReleasedVersion,
    draft_view,
    line_of,
    missing,
    new_summary,
    open_findings,
    status_of,
    summary_of,
)
from penstock.app.process.version_writer import DISCOVERED, AskedVersion, Defined, VersionWriter
from penstock.app.releases.releases import ReleaseChanges
from penstock.errors import (
    DraftChanged,
    DraftUnfinished,
    ProcessInvalid,
    ProcessNotFound,
    ProcessState,
    ProcessUnreadable,
    VersionConflict,
)
from penstock.lang.contract import Setting
from penstock.lang.process.drawing import Drawing, read_drawing
from penstock.lang.process.schema import read as read_definition
from penstock.lang.process.todos import todos_of
from penstock.lang.read import read_document
from penstock.lang.report import Report
from penstock.store.document_drafts import RELEASED, DocumentDraftRow

if TYPE_CHECKING:
    from penstock.app.runs.runs import Runs

LANGUAGE = "process"
#: so many characters of an id name a draft, where no other begins with them
_SHORTEST = 4
#: so long is what a process is called by
LONGEST_ID = 200
_TRIES = 5
_MALFORMED = ("wrong_type", "bad_id")


class BroughtDraft(msgspec.Struct, frozen=True):
    """`new` is false where the draft was there already, with this text or an older one."""

    draft: Draft
    new: bool


class ReleasedDraft(msgspec.Struct, frozen=True):
    draft: Draft
    definitions: list[Defined]


class _Form(msgspec.Struct, frozen=True):
    """A draft with everything that is known of it."""

    row: DocumentDraftRow
    log: AnswerLog
    present: PresentDraft


class _Source(msgspec.Struct, frozen=True):
    """A file that was read."""

    drawing: Drawing
    text: bytes
    digest: str
    subject: str
    file: str


class Drafts:
    """Those of one door's tenant. A draft is known by its id, a beginning of it, or the id of its first definition."""

    def __init__(self, door: Runs) -> None:
        self.door = door
        self.processes = Processes(door)

    # -- looking -------------------------------------------------------------------------------------------------------

    def each(self) -> list[DraftLine]:
        """Those touched last come first."""
        return [line_of(row) for row in self.door.store.document_drafts(self.door.tenant, LANGUAGE)]

    def size(self, id: str) -> int:
        """Bytes of its file."""
        return len(self._row(id).source)

    async def get(self, id: str) -> Draft:
        return self._view(await self._form(self._row(id)))

    async def text(self, id: str, *, accepted: bool = False) -> str:
        """The file as it is now; `accepted`: with all proposals taken."""
        present = (await self._form(self._row(id))).present
        return present.text if not accepted else await asyncio.to_thread(lambda: present.with_proposals[0].text)

    async def definitions(self, id: str, *, accepted: bool = False) -> list[dict[str, Any]]:
        """What it becomes, as it is now; `accepted`: with all proposals taken."""
        present = (await self._form(self._row(id))).present
        if accepted:
            present, _ = await asyncio.to_thread(lambda: present.with_proposals)
        return [dict(data) for data in present.drawing.definitions]

    def _row(self, id: str, number: int | None = None) -> DocumentDraftRow:
        """Raises DraftChanged where it is not the one with this number."""
        store, tenant = self.door.store, self.door.tenant
        row = store.document_draft(tenant, id) or store.document_draft_of(tenant, LANGUAGE, id)
        if row is None and len(id) >= _SHORTEST:
            begun = [line.id for line in store.document_drafts(tenant, LANGUAGE) if line.id.startswith(id)]
            row = store.document_draft(tenant, begun[0]) if len(begun) == 1 else None
        if row is None:
            raise ProcessNotFound(what="draft", name=id)
        if number is not None and number != row.number:
            raise DraftChanged(draft=row.name, number=row.number, given=number)
        return row

    async def _form(self, row: DocumentDraftRow) -> _Form:
        """Folded beside the loop: a thousand activities take their time."""
        log = unpacked(row.body)
        drawing = await asyncio.to_thread(drawing_of, row, log)
        present = present_of(row, drawing, self._called(drawing))
        return _Form(row, log, await asyncio.to_thread(present.computed))

    def _called(self, drawing: Drawing) -> dict[str, bytes]:
        """What its definitions call of those that the tenant has."""
        each = (called_by(self.door, data) for data in drawing.definitions)
        return {name: document for called in each for name, document in called.items()}

    def _view(self, form: _Form) -> Draft:
        released = summary_of(form.row).released
        known = self.processes.named(_subject(form.present.drawing))
        version = released[0].version if released else known[-1].version + 1 if known else 1
        return draft_view(form.row, form.log, form.present, version)

    # -- bringing ------------------------------------------------------------------------------------------------------

    async def bring(
        self, text: str | bytes, *, file: str = "", by: Who | None = None, accept: bool = False
    ) -> BroughtDraft:  # fmt: skip
        """A file becomes a draft; `accept`: with all proposals taken. The same text again is the same draft. Another
        text with the same first definition takes its place, and keeps the answers whose to-dos are still there; where
        that draft was released, it begins the next one with them. Raises DocumentUnreadable and its like for what
        cannot be read, ProcessInvalid for JSON that is no definition; then nothing is kept."""
        source = await asyncio.to_thread(_read, text, file)
        for _ in range(_TRIES):
            there = self.door.store.document_draft_of(self.door.tenant, LANGUAGE, source.subject)
            new = there is None or there.status == RELEASED
            _refuse_another(there, source)
            if there is None or there.status == RELEASED or there.digest != source.digest:
                answers = AnswerLog() if there is None else unpacked(there.body)
                form = await self._with_source(self._begun(source, by) if new or there is None else there, source,
                                               answers, by)  # fmt: skip
            else:
                form = await self._form(there)
            form = await self._with_proposals(form, by, form.row.number + (form.row is there)) if accept else form
            if form.row is there:
                return BroughtDraft(self._view(form), False)
            if self.door.store.put_document_draft(form.row, None if new or there is None else there.number):
                return BroughtDraft(self._view(form), new)
        raise VersionConflict(name=source.subject, version=1, why="others bring it all the time")

    async def replace(
        self, id: str, text: str | bytes, *, number: int | None = None, file: str = "", by: Who | None = None
    ) -> Draft:  # fmt: skip
        """Another text in the place of a draft's; the answers whose to-dos are still there stay."""
        row = self._editable(id, number)
        source = await asyncio.to_thread(_read, text, file or row.file)
        other = self.door.store.document_draft_of(self.door.tenant, LANGUAGE, source.subject)
        if other is not None and other.id != row.id and other.status != RELEASED:
            raise ProcessState(why=f"«{source.subject}» is in another draft: {other.id}")
        return self._kept(await self._with_source(row, source, unpacked(row.body), by), row)

    def _begun(self, source: _Source, by: Who | None) -> DocumentDraftRow:
        tenant, now, who = self.door.tenant, self.door.now(), None if by is None else id_of(by)
        id = hashlib.sha256(f"{tenant}\0{source.subject}\0{now}".encode()).hexdigest()[:12]
        return DocumentDraftRow(
            tenant, id, LANGUAGE, source.subject, "", source.file, "open", 0, source.digest, b"", who, now, who, now,
            b"", source.text,
        )  # fmt: skip

    async def _with_source(
        self, row: DocumentDraftRow, source: _Source, log: AnswerLog, by: Who | None
    ) -> _Form:  # fmt: skip
        resolve = Called(self._called(source.drawing))
        if not row.number:  # the next draft counts anew, along the flow
            todos = await asyncio.to_thread(todos_of, source.drawing, resolve) if log.answers else []
            log = AnswerLog(log.answers).numbered(todos)
        drawing, kept = await asyncio.to_thread(refolded, source.drawing, log.answers, resolve)
        brought = replace(
            row, source=source.text, digest=source.digest, subject=source.subject, file=source.file or row.file
        )
        return await self._changed(brought, drawing, replace(log, answers=kept), by)

    async def _changed(
        self, row: DocumentDraftRow, drawing: Drawing, log: AnswerLog, by: Who | None, number: int | None = None,
        known: PresentDraft | None = None,
    ) -> _Form:  # fmt: skip
        """The draft in another form, which is not written yet. `number`: else the next one; `known`: what was found out
        about this drawing already."""
        called = self._called(drawing)
        present = known if known is not None and known.called.known == called else PresentDraft(drawing, Called(called))
        await asyncio.to_thread(present.computed)
        log = log.numbered([*(answer.todo for answer in log.answers), *present.todos])
        summary = msgspec.msgpack.encode(new_summary(log, present, []))
        row = replace(
            row, name=_title(drawing), status=status_of(present.todos), number=number or row.number + 1,
            summary=summary, body=packed(log), updated_by=None if by is None else id_of(by), updated_at=self.door.now(),
        )  # fmt: skip
        keep(row, present)
        return _Form(row, log, present)

    def _kept(self, form: _Form, was: DocumentDraftRow) -> Draft:
        """Written. Raises DraftChanged where somebody was faster."""
        if not self.door.store.put_document_draft(form.row, was.number):
            raise DraftChanged(draft=was.name, number=self._row(was.id).number, given=was.number)
        return self._view(form)

    # -- answering -----------------------------------------------------------------------------------------------------

    async def answer(
        self, id: str, replies: Sequence[DraftReply], *, number: int | None = None, by: Who | None = None
    ) -> Draft:
        """All of them, or none. What was answered before is answered anew. Raises ProcessNotFound for what is no to-do
        of it, ProcessInvalid for an answer that does not fit, DraftChanged where it is not the one with this number."""
        form = await self._form(self._editable(id, number))
        return await self._answered(form, lambda answering: answering.reply(replies), by)

    async def accept(
        self, id: str, *, number: int | None = None, by: Who | None = None, dry_run: bool = False
    ) -> Draft:  # fmt: skip
        """All proposals, also of the to-dos that come to light by them. `dry_run` only shows what would come of it."""
        form = await self._form(self._editable(id, number))
        done = await self._with_proposals(form, by, form.row.number + (not dry_run))
        return self._view(done) if dry_run or done is form else self._kept(done, form.row)

    async def undo(
        self, id: str, key: str | None = None, *, number: int | None = None, by: Who | None = None
    ) -> Draft:  # fmt: skip
        """The last answer, or those to one to-do, and with them the answers to what only they have brought to light."""
        form = await self._form(self._editable(id, number))
        return await self._answered(form, lambda answering: answering.undo(key), by)

    async def _answered(self, form: _Form, act: Callable[[Answering], Answering], by: Who | None) -> Draft:
        answering = await asyncio.to_thread(act, self._answering(form, by))
        return self._kept(await self._changed(form.row, answering.drawing, answering.log, by), form.row)

    async def _with_proposals(self, form: _Form, by: Who | None, number: int) -> _Form:
        present, taken = await asyncio.to_thread(lambda: form.present.with_proposals)
        if not taken:
            return form
        answering = self._answering(form, by).take(present.drawing, taken)
        return await self._changed(form.row, present.drawing, answering.log, by, number, known=present)

    def _answering(self, form: _Form, by: Who | None) -> Answering:
        row, present = form.row, form.present
        return Answering(
            present.drawing, present.todos, form.log, lambda: read_drawing(row.source.decode(), row.file),
            present.called, None if by is None else id_of(by), self.door.now(),
        )  # fmt: skip

    def _editable(self, id: str, number: int | None) -> DocumentDraftRow:
        row = self._row(id, number)
        if row.status == RELEASED:
            why = f"The draft «{row.name}» is released; bring its file again to begin the next one"
            raise ProcessState(why=why, status=RELEASED)
        return row

    # -- the end of a draft --------------------------------------------------------------------------------------------

    async def release(
        self, id: str, *, number: int | None = None, by: Who | None = None, pending: bool = False,
        unsound: bool = False,
    ) -> ReleasedDraft:  # fmt: skip
        """All its definitions in one transaction, and the draft with them: those that others call come first, and where
        one has to wait for an approval all do. Raises DraftUnfinished with what is still missing."""
        form = await self._form(self._editable(id, number))
        left = missing(form.present.todos, unsound=unsound)
        if left:
            raise DraftUnfinished(
                open_findings(form.present, left), draft=form.row.name, file=form.row.file or form.row.name
            )
        self.door.load_sample()  # agents, tools and people that it may name
        drawing, held = form.present.drawing, self.processes
        waits = pending or any(
            str(data.get("type") or "base") == DISCOVERED or held.by_two(data) for data in drawing.definitions
        )
        author = four_eyes.author_of(self.door, by, *drawing.definitions)
        origin = {"source": "drawing", "draft": form.row.id, "file": form.row.file}
        text = form.present.text.encode() if drawing.source else None
        wanted = [
            AskedVersion(dict(data), text, author, unsound, origin, waits, beside=True) for data in drawing.definitions
        ]
        done: list[DocumentDraftRow] = []

        def also(writing: ReleaseChanges, versions: dict[str, int]) -> None:
            done[:] = [self._released(form, [asked.id for asked in wanted], versions, by)]
            writing.drafts.append((done[0], form.row.number))

        definitions = await VersionWriter(self.door, held.named).saved(wanted, also)
        return ReleasedDraft(self._view(replace(form, row=done[0])), definitions)

    def _released(
        self, form: _Form, ids: list[str], versions: dict[str, int], by: Who | None
    ) -> DocumentDraftRow:  # fmt: skip
        self._row(form.row.id, form.row.number)
        released = [ReleasedVersion(id, versions[id]) for id in ids]
        return replace(
            form.row, status=RELEASED, number=form.row.number + 1,
            summary=msgspec.msgpack.encode(new_summary(form.log, form.present, released)),
            updated_by=None if by is None else id_of(by), updated_at=self.door.now(),
        )  # fmt: skip

    def discard(self, id: str, *, number: int | None = None) -> None:
        """It is gone; versions that were released stay."""
        row = self._row(id, number)
        if not self.door.store.drop_document_draft(row.tenant, row.id, row.number):
            raise DraftChanged(draft=row.name, number=self._row(row.id).number, given=row.number)


def _read(text: str | bytes, file: str) -> _Source:
    drawing = read_drawing(text, file)
    source = drawing.source.encode() if drawing.source else text.encode() if isinstance(text, str) else text
    ids = [data.get("process_definition_id") for data in drawing.definitions]
    if not all(isinstance(id, str) and 0 < len(id) <= LONGEST_ID for id in ids):
        raise ProcessUnreadable(why=f"The id of a process is a text of 1 to {LONGEST_ID} characters.")
    if not drawing.source:
        _refuse_malformed(drawing)
    twice = next((id for id in ids if ids.count(id) > 1), None)
    if twice is not None:
        raise ProcessUnreadable(why=f"Two of its processes have the id «{twice}», or none.")
    return _Source(drawing, source, hashlib.sha256(source).hexdigest(), _subject(drawing), file)


def _refuse_another(there: DocumentDraftRow | None, source: _Source) -> None:
    """Modelers give many drawings the same id: another file with another title is not taken for the next text."""
    if there is None or there.status == RELEASED or not there.file or not source.file:
        return
    if there.file != source.file and there.name != _title(source.drawing):
        why = f"The draft «{there.name}» of {there.file} has a process with the id «{source.subject}», too"
        raise ProcessState(why=why, hint="Give this one an id of its own in your modeler; or release or discard that.")


def _refuse_malformed(drawing: Drawing) -> None:
    """What somebody has written as JSON may have anything in its fields; only what can be read can be completed."""
    for data in drawing.definitions:
        report = Report(read_document(msgspec.json.encode(data), name="process.json"))
        definition = read_definition(report.document, report, Setting())
        rules = _MALFORMED if definition.complete else (*_MALFORMED, "missing_field")
        wrong = [found for found in report.findings if found.severity == "error" and found.rule in rules]
        if wrong:
            raise ProcessInvalid(wrong)


def _subject(drawing: Drawing) -> str:
    return str(drawing.definitions[0]["process_definition_id"])


def _title(drawing: Drawing) -> str:
    first = drawing.definitions[0]
    return str(first.get("process_definition_name") or first["process_definition_id"])
