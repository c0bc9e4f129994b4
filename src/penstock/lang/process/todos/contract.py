"""What a to-do of a drawing is: something that is missing, in the words of the drawing, and proposals how to add it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from penstock.lang.process.drawing import Drawing
from penstock.lang.process.schema import Element
from penstock.lang.process.todos.checked import CheckedDrawing, CheckedProcess, drawn_name, type_of_element


class Proposal(msgspec.Struct, frozen=True):
    """An answer that somebody may take as it stands. `kind` and `facts` are for those who word it themselves."""

    kind: str
    message: str
    answer: dict[str, Any]
    facts: dict[str, Any] = {}


class Todo(msgspec.Struct, frozen=True):
    """`key` is the same as long as the drawing is; the first of `proposals` is the one that «accept» takes. One that
    is not `required` may stay open: the process runs without it."""

    key: str
    kind: str
    process: str  # id of the definition that it belongs to
    element: str  # id on the drawing: an element, a flow, a pool; "" is the process itself
    element_type: str  # as drawn: exclusiveGateway, timer event, participant …
    name: str  # as drawn
    message: str
    hint: str
    required: bool = True
    facts: dict[str, Any] = {}
    proposals: list[Proposal] = []
    covers: list[str] = []  # other elements that its answer completes
    form: dict[str, Any] = {}  # JSON Schema of an answer that somebody writes himself; empty: only a change of the file


def element_todo(
    kind: str, process: CheckedProcess, element: Element, message: str, hint: str, *, required: bool = True,
    facts: dict[str, Any] | None = None, proposals: Iterable[Proposal] = (), form: dict[str, Any] | None = None,
) -> Todo:  # fmt: skip
    """The to-do of one element."""
    return Todo(
        key=f"{kind}:{process.id}:{element.id}", kind=kind, process=process.id, element=element.id,
        element_type=type_of_element(element), name=drawn_name(element), message=message, hint=hint,
        required=required, facts=facts or {}, proposals=list(proposals), form=form or {},
    )  # fmt: skip


class TodoPlace(msgspec.Struct, frozen=True):
    """Where an answer belongs: the parts of a to-do's key."""

    kind: str
    process: str
    element: str


@dataclass(frozen=True)
class TodoType:
    """One kind of to-do. `find` looks for it in a drawing; `answer` gives the drawing with the answer in it, checks
    nothing but that answer, and raises ProcessInvalid for one that does not fit the to-do's form. An error finding of
    one of `rules` at the element of a to-do of this kind is what the to-do is about."""

    kind: str
    find: Callable[[CheckedDrawing], Iterator[Todo]]
    answer: Callable[[Drawing, TodoPlace, dict[str, Any]], Drawing]
    doc: str
    rules: tuple[str, ...] = ()
