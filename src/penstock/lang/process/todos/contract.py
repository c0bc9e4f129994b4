"""What a to-do of a drawing is: something that is missing, in the words of the drawing, and proposals how to add it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from penstock.errors import Finding
from penstock.lang.process.drawing import Drawing


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
    form: dict[str, Any] = {}  # JSON Schema of an answer that somebody writes himself; empty: only a change of the file


#: The findings of a drawing's definitions: id of the definition → what its check has to say.
Findings = dict[str, list[Finding]]


@dataclass(frozen=True)
class TodoType:
    """One kind of to-do. `find` looks for it in a drawing; `answer` gives the drawing with the answer in it, and raises
    ProcessInvalid for an answer that does not fit the to-do's form."""

    kind: str
    find: Callable[[Drawing, Findings], Iterator[Todo]]
    answer: Callable[[Drawing, Todo, dict[str, Any]], Drawing]
    doc: str
