"""Conditional events that do not say for which condition they wait, or not so that it can be read (P-X.25)."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import ProcessInvalid
from penstock.lang.process.drawing import Drawing
from penstock.lang.process.schema import Element
from penstock.lang.process.todos.checked import CheckedDrawing, drawn_name
from penstock.lang.process.todos.contract import Proposal, Todo, TodoPlace, TodoType, element_todo
from penstock.lang.process.todos.edit import known_members, with_fields
from penstock.lang.process.todos.expressions import checked_expression

KIND = "event_condition"
_RULES = ("missing_field", "expression_syntax", "expression_language")
_HINT = "Write the condition over the process's variables: amount > 1000."
_FORM = {
    "type": "object", "properties": {"condition": {"type": "string", "minLength": 1}}, "required": ["condition"],
    "additionalProperties": False,
}  # fmt: skip
#: without one of these a name is words, and no condition
_OPERATORS = ("=", "<", ">")


def find(drawing: CheckedDrawing) -> Iterator[Todo]:
    for process, element in drawing.each():
        event = element.event
        if event is None or event.trigger != "conditional" or event.position == "start" and not event.parent:
            continue  # nobody watches the condition of a process's start, and that is told
        wrong = process.errors(element.id, *_RULES)
        if event.condition.strip() and not wrong:
            continue
        message = f"{process.drawn(element)} waits for a condition, and nothing says for which."
        if event.condition.strip():
            message = f"{process.drawn(element)} waits for a condition that cannot be read: {wrong[0].message}"
        facts = {"written": event.condition}
        yield element_todo(
            KIND, process, element, message, _HINT, facts=facts, proposals=_proposals(element), form=_FORM
        )


def _proposals(element: Element) -> Iterator[Proposal]:
    """A name that is an expression by itself."""
    name = drawn_name(element)
    if not any(operator in name for operator in _OPERATORS):
        return
    try:
        condition = checked_expression(name, "/condition", condition=True)
    except ProcessInvalid:
        return
    yield Proposal("spoken_condition", f"It comes as soon as {condition}, as its name says.", {"condition": condition},
                   {"condition": condition})  # fmt: skip


def answer(drawing: Drawing, at: TodoPlace, given: dict[str, object]) -> Drawing:
    known_members(given, "condition")
    return with_fields(drawing, at, {"condition": checked_expression(given.get("condition"), "/condition")})


TODO = TodoType(KIND, find, answer, "For which condition does the event wait?", _RULES)
