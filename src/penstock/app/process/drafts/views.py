"""A draft as it is shown: its definitions, its to-dos with their numbers, and what can be done with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.app.process.drafts.answers import AnswerLog, DraftAnswer
from penstock.app.process.drafts.present import DraftCounts, DraftSoundness, PresentDraft
from penstock.errors import Finding, Place
from penstock.lang.process.todos import Proposal, Todo
from penstock.store.document_drafts import RELEASED, DocumentDraftRow

OPEN, FINISHED = "open", "finished"
_OF_TODO = (
    "key", "kind", "process", "element", "element_type", "name", "message", "hint", "required", "facts", "proposals",
    "form",
)  # fmt: skip
_POINTED = ("activities", "gateways", "events", "transitions", "lanes")


class DraftTodo(msgspec.Struct, frozen=True):
    """`form` is the JSON Schema of an answer that somebody writes himself; empty: only a change of the file helps."""

    no: int
    key: str
    kind: str
    process: str
    element: str
    element_type: str
    name: str
    message: str
    hint: str
    required: bool
    facts: dict[str, Any]
    proposals: list[Proposal]
    form: dict[str, Any]
    state: str
    answer: dict[str, Any] | None = None
    by_proposal: bool = False
    answered_by: str | None = None
    answered_at: int | None = None


class DraftDefinition(msgspec.Struct, frozen=True):
    id: str
    name: str
    steps: int
    flows: int
    events: int


class ReleasedVersion(msgspec.Struct, frozen=True):
    id: str
    version: int


class DraftLine(msgspec.Struct, frozen=True):
    """A draft in a list. `open` are the to-dos that keep it from running; `by_proposal` and `by_hand` say how the
    others were answered."""

    id: str
    number: int
    name: str
    file: str
    status: str
    definitions: list[DraftDefinition]
    open: int
    by_proposal: int
    by_hand: int
    released: list[ReleasedVersion]
    created_by: str | None
    created_at: int
    updated_by: str | None
    updated_at: int


class Draft(DraftLine, frozen=True, kw_only=True):
    """`version` is the one that its first definition becomes, or has become."""

    version: int
    counts: DraftCounts
    todos: list[DraftTodo]
    findings: list[Finding]
    soundness: DraftSoundness
    moves: list[str]


class DraftSummary(msgspec.Struct, frozen=True):
    """What lists show of a draft without reading its file."""

    definitions: list[DraftDefinition]
    open: int
    by_proposal: int
    by_hand: int
    released: list[ReleasedVersion] = []


def summary_of(row: DocumentDraftRow) -> DraftSummary:
    return msgspec.msgpack.decode(row.summary, type=DraftSummary)


def line_of(row: DocumentDraftRow) -> DraftLine:
    return DraftLine(**_line(row))


def _line(row: DocumentDraftRow) -> dict[str, Any]:
    summary = summary_of(row)
    own = ("id", "number", "name", "file", "status", "created_by", "created_at", "updated_by", "updated_at")
    return {**{name: getattr(row, name) for name in own}, **msgspec.structs.asdict(summary)}


def missing(todos: list[Todo], *, unsound: bool = False) -> list[Todo]:
    """What keeps the drawing from running; `unsound`: it may although not every instance can end."""
    return [todo for todo in todos if todo.required and not (unsound and todo.kind == "soundness")]


def status_of(todos: list[Todo]) -> str:
    return OPEN if missing(todos) else FINISHED


def draft_view(row: DocumentDraftRow, log: AnswerLog, present: PresentDraft, version: int) -> Draft:
    status = row.status if row.status == RELEASED else status_of(present.todos)
    line = {**_line(row), "status": status, "open": len(missing(present.todos))}
    return Draft(
        **line, version=version, counts=present.counts, todos=todo_views(log, present.todos),
        findings=present.findings, soundness=present.soundness, moves=_moves(status, log, present.todos),
    )  # fmt: skip


def new_summary(log: AnswerLog, present: PresentDraft, released: list[ReleasedVersion]) -> DraftSummary:
    done = [view for view in todo_views(log, present.todos) if view.state == "done"]
    by_proposal = sum(view.by_proposal for view in done)
    definitions = [_definition(data) for data in present.drawing.definitions]
    return DraftSummary(definitions, len(missing(present.todos)), by_proposal, len(done) - by_proposal, released)


def _definition(data: Mapping[str, Any]) -> DraftDefinition:
    id = str(data["process_definition_id"])
    counts = (_count(data, name) for name in ("activities", "transitions", "events"))
    return DraftDefinition(id, str(data.get("process_definition_name") or id), *counts)


def _count(data: Mapping[str, Any], name: str) -> int:
    listed = data.get(name)
    return len(listed) if isinstance(listed, list) else 0


def _moves(status: str, log: AnswerLog, todos: list[Todo]) -> list[str]:
    if status == RELEASED:
        return ["discard"]
    moves = ["answer"] if todos or log.answers else []
    moves += ["accept"] if any(todo.proposals for todo in todos) else []
    moves += ["undo"] if log.answers else []
    return [*moves, "replace", *(["release"] if status == FINISHED else []), "discard"]


def todo_views(log: AnswerLog, todos: list[Todo]) -> list[DraftTodo]:
    """By their numbers: those that are open, and those that were answered."""
    numbers = log.numbered(todos).numbers
    keys = {todo.key for todo in todos}
    done = {answer.key: answer for answer in log.answers if answer.key not in keys}
    views = [_view(numbers[todo.key], todo) for todo in todos]
    views += [_view(numbers[key], answer.todo, answer) for key, answer in done.items()]
    return sorted(views, key=lambda view: view.no)


def _view(no: int, todo: Todo, answer: DraftAnswer | None = None) -> DraftTodo:
    given = {name: getattr(todo, name) for name in _OF_TODO}
    if answer is None:
        return DraftTodo(no=no, **given, state="open")
    return DraftTodo(
        no=no, **given, state="done", answer=answer.answer, by_proposal=answer.by_proposal, answered_by=answer.by,
        answered_at=answer.at,
    )  # fmt: skip


def open_findings(present: PresentDraft, todos: list[Todo]) -> list[Finding]:
    """Open to-dos as findings: each with its place in its definition, and what to do."""
    return [
        Finding("todo_open", "error", todo.message, Place(_pointer(present, todo)), todo.hint, todo.element)
        for todo in todos
    ]


def _pointer(present: PresentDraft, todo: Todo) -> str:
    data = present.drawing.definition(todo.process)
    for name in _POINTED:
        listed = data.get(name)
        for place, entry in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(entry, dict) and entry.get("id") == todo.element:
                return f"/{name}/{place}"
    return ""
