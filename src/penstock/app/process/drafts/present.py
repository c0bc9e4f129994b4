"""The present form of a draft: its drawing with the answers in it, what is still missing, and whether it can end."""

from __future__ import annotations

import hashlib
from collections import Counter, OrderedDict
from collections.abc import Mapping
from functools import cached_property
from threading import Lock
from typing import Any

import msgspec
from msgspec.structs import replace

from penstock.app.process.called_definitions import Called
from penstock.app.process.drafts.answers import AnswerLog, folded
from penstock.app.releases.documents import node_types
from penstock.app.releases.releases import canonical
from penstock.errors import DocumentInvalid, Finding
from penstock.lang.compile import compile_document
from penstock.lang.process.bpmn.file_index import tree_of
from penstock.lang.process.bpmn.xml_tree import XmlElement
from penstock.lang.process.drawing import Drawing, read_drawing, write_drawing
from penstock.lang.process.todos import Taken, Todo, accepted, answered, todos_of_checked
from penstock.lang.process.todos.checked import CheckedDrawing, checked
from penstock.lang.soundness import ends_each, findings_of
from penstock.net.soundness import verdicts
from penstock.store.document_drafts import DocumentDraftRow

#: so many drafts are kept as they are, of files that have so many bytes together; a thousand activities are some 300
#: kB of text and fifty times as much in memory
_KEPT, _KEPT_BYTES = 64, 2_000_000
_WORSE = ("sound", "undecided", "unsound")


class DraftSoundness(msgspec.Struct, frozen=True):
    """Can every instance end? `states` are the markings that were looked at. `with_proposals`: of the drawing with all
    proposals taken, for without them it is not complete. Undecided of one that is not complete with them, either."""

    status: str
    states: int
    with_proposals: bool
    findings: list[Finding] = []


class DraftCounts(msgspec.Struct, frozen=True):
    """`lost` are elements of the file that would not be in the file that is written now."""

    pools: int
    steps: int
    flows: int
    messages: int
    lost: int


class PresentDraft:
    """Nothing of it changes. What is asked of it for the first time is computed: large ones are asked beside the
    loop."""

    def __init__(self, drawing: Drawing, called: Called) -> None:
        self.drawing, self.called = drawing, called

    def computed(self) -> PresentDraft:
        _ = self.todos, self.soundness, self.counts
        return self

    @cached_property
    def _checked(self) -> CheckedDrawing:
        return checked(self.drawing, self.called)

    @cached_property
    def todos(self) -> list[Todo]:
        return todos_of_checked(self._checked)

    @cached_property
    def findings(self) -> list[Finding]:
        """What is no error: errors are to-dos; nor what goes when the proposals are taken, which are to-dos, too."""
        present, _ = self.with_proposals
        found = self._warnings
        if present is self:
            return found
        left = {_key_of(finding) for finding in present._warnings}
        return [finding for finding in found if _key_of(finding) in left]

    @cached_property
    def _warnings(self) -> list[Finding]:
        found = [finding for process in self._checked.processes for finding in process.findings]
        return [finding for finding in found if finding.severity != "error"]

    @cached_property
    def text(self) -> str:
        return write_drawing(self.drawing)

    @cached_property
    def with_proposals(self) -> tuple[PresentDraft, list[Taken]]:
        """What comes of it when all proposals are taken, also those of the to-dos that come to light by them."""
        last = self

        def look(drawing: Drawing) -> list[Todo]:
            nonlocal last
            last = last if drawing is last.drawing else PresentDraft(drawing, self.called)
            return last.todos

        drawing, taken = accepted(self.drawing, self.called, look)
        return last if drawing is last.drawing else PresentDraft(drawing, self.called), taken

    @cached_property
    def soundness(self) -> DraftSoundness:
        present, taken = self.with_proposals
        if present is not self:
            return replace(present.soundness, with_proposals=bool(taken))
        status, states, findings, drawing = 0, 0, list[Finding](), _with_any_values(self.drawing, self.todos)
        called = Called({**documents_of(drawing), **self.called.known})
        for data in drawing.definitions:
            try:
                made = compile_document(
                    canonical(data), name="process.json", language="process", resolve=called, extra=node_types(),
                    judged=False,
                )  # fmt: skip
            except DocumentInvalid:
                status = max(status, _WORSE.index("undecided"))
                continue
            levels = verdicts(made.net, each=ends_each(made.net))
            status = max(status, *(_WORSE.index(verdict.status) for verdict in levels.values()))
            states += sum(verdict.states for verdict in levels.values())
            findings += findings_of(made.net, levels, "warning")
        return DraftSoundness(_WORSE[status], states, False, findings)

    @cached_property
    def counts(self) -> DraftCounts:
        drawing = self.drawing
        steps, flows = ([len(_listed(data, name)) for data in drawing.definitions] for name in _COUNTED)
        lost = _lost(drawing.source, self.text) if drawing.source else 0
        return DraftCounts(len(drawing.pools), sum(steps), sum(flows), len(drawing.message_flows), lost)


#: Whether a drawing is sound does not depend on these values.
_ANY_VALUE: dict[str, dict[str, Any]] = {
    "timer_value": {"kind": "duration", "value": "PT1H"}, "event_condition": {"condition": "true"},
}  # fmt: skip
_COUNTED = ("activities", "transitions")
_TIMES = ("timeDate", "timeDuration", "timeCycle")


def _with_any_values(drawing: Drawing, todos: list[Todo]) -> Drawing:
    """The drawing in which times and conditions that only its author knows have some value."""
    for todo in todos:
        if todo.kind in _ANY_VALUE:
            drawing = answered(drawing, todo.key, _ANY_VALUE[todo.kind])
    return drawing


def _key_of(finding: Finding) -> tuple[str, str]:
    """The same finding of another form of a drawing: an answer may have changed its place and its words."""
    return finding.rule, finding.node


def _listed(data: Mapping[str, Any], name: str) -> list[Any]:
    listed = data.get(name)
    return listed if isinstance(listed, list) else []


def _lost(source: str, text: str) -> int:
    """Elements of the file as it came that are not in the file as it would be written. One that an answer makes another
    of (a join of another kind, another kind of time) is still there."""
    if source == text:
        return 0
    return sum((_elements(source) - _elements(text)).values())


def _elements(text: str) -> Counter[tuple[str, str]]:
    """By their ids, else by their names."""
    elements: Counter[tuple[str, str]] = Counter()
    pending: list[XmlElement] = [tree_of(text).root]
    while pending:
        node = pending.pop()
        elements[node.space, node.get("id") or ("time" if node.name in _TIMES else node.name)] += 1
        pending += node.children
    return elements


def documents_of(drawing: Drawing) -> dict[str, bytes]:
    """Of a drawing's definitions, by their names and ids, as others of it call them."""
    named = {str(data.get("process_definition_name")): canonical(data) for data in drawing.definitions}
    return {**named, **{str(data.get("process_definition_id")): canonical(data) for data in drawing.definitions}}


# ---- kept ------------------------------------------------------------------------------------------------------------


class _Kept:
    """By what they are made of: the text, the answers and what is called. Who has the same has the same draft."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.held: OrderedDict[Any, tuple[Any, int]] = OrderedDict()

    def get(self, key: Any) -> Any:
        with self.lock:
            if key in self.held:
                self.held.move_to_end(key)
            value, _ = self.held.get(key, (None, 0))
            return value

    def put(self, key: Any, value: Any, size: int) -> None:
        with self.lock:
            self.held[key] = value, size
            self.held.move_to_end(key)
            total = sum(size for _, size in self.held.values())
            while len(self.held) > 1 and (total > _KEPT_BYTES or len(self.held) > _KEPT):
                total -= self.held.popitem(last=False)[1][1]


_DRAWINGS, _PRESENT = _Kept(), _Kept()


def drawing_of(row: DocumentDraftRow, log: AnswerLog) -> Drawing:
    """The drawing of a draft with its answers in it."""
    drawing: Drawing | None = _DRAWINGS.get(_form_of(row))
    if drawing is None:
        drawing = folded(read_drawing(row.source.decode(), row.file), log.answers)
        _DRAWINGS.put(_form_of(row), drawing, len(row.source))
    return drawing


def present_of(row: DocumentDraftRow, drawing: Drawing, called: Mapping[str, bytes]) -> PresentDraft:
    present: PresentDraft | None = _PRESENT.get((*_form_of(row), _digest(called)))
    if present is None:
        present = PresentDraft(drawing, Called(called))
        keep(row, present)
    return present


def keep(row: DocumentDraftRow, present: PresentDraft) -> None:
    _DRAWINGS.put(_form_of(row), present.drawing, len(row.source))
    _PRESENT.put((*_form_of(row), _digest(present.called.known)), present, len(row.source))


def _form_of(row: DocumentDraftRow) -> tuple[str, bytes]:
    return row.digest, hashlib.sha256(row.body).digest()


def _digest(called: Mapping[str, bytes]) -> bytes:
    return hashlib.sha256(b"".join(name.encode() + b"\0" + called[name] for name in sorted(called))).digest()
