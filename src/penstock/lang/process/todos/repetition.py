"""Activities that are done several times, of which nobody has said how often: several instances, and loops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.lang.process.drawing import Drawing
from penstock.lang.process.fields import Multi
from penstock.lang.process.nodes.candidates import is_target
from penstock.lang.process.schema import Element
from penstock.lang.process.todos.asked import WHO, asked_words, who_is_asked
from penstock.lang.process.todos.checked import CheckedDrawing, CheckedProcess, drawn_name
from penstock.lang.process.todos.contract import Proposal, Todo, TodoPlace, TodoType, element_todo
from penstock.lang.process.todos.edit import entry_of, known_members, refusal, text_at, with_fields
from penstock.lang.process.todos.expressions import checked_expression

_RULES = ("missing_field",)
_AGAIN = {"type": "boolean", "title": "again"}
_HOW_MANY = "Write how many, a list with an entry for each, or who says it."
_HOW_LONG = "Write a condition that holds as long as there is another round, or how often at most."
_COUNT_FORM = {
    "type": "object",
    "properties": {
        "count": {"type": ["integer", "string"], "minimum": 0}, "items": {"type": "string", "minLength": 1},
        "ask": {"type": "string", "minLength": 1},
    },
    "oneOf": [{"required": ["count"]}, {"required": ["items"]}, {"required": ["ask"]}],
    "additionalProperties": False,
}  # fmt: skip
_LOOP_FORM = {
    "type": "object",
    "properties": {"again": {"type": "string", "minLength": 1}, "most": {"type": "integer", "minimum": 1},
                   "ask": {"type": "boolean", "enum": [True]}},
    "oneOf": [{"required": ["again"]}, {"required": ["most"]}, {"required": ["ask"]}],
    "additionalProperties": False,
}  # fmt: skip


# ---- several instances -----------------------------------------------------------------------------------------------


def find_instances(drawing: CheckedDrawing) -> Iterator[Todo]:
    for process, element in drawing.each():
        multi = element.activity.multi if element.activity is not None else None
        if multi is None or multi.mode == "loop" or (multi.items is None) is not (multi.count is None):
            continue
        if multi.ask and multi.items is None:
            continue
        message = f"{process.drawn(element)} is done several times, and nothing says how often."
        who = who_is_asked(process, element)
        words = f"{asked_words(who, process, element)} says how often it is done."
        facts = {"who": who, "steps": [drawn_name(step) or step.id for step in process.steps_before(element.id)]}
        proposals = [Proposal("ask_count", words, {"ask": who}, facts)]
        yield element_todo("instances", process, element, message, _HOW_MANY, proposals=proposals, form=_COUNT_FORM)


def answer_instances(drawing: Drawing, at: TodoPlace, given: dict[str, Any]) -> Drawing:
    known_members(given, "count", "items", "ask")
    if len(given) != 1:
        raise refusal("missing_field", "An answer says one of count, items and ask.", "", _HOW_MANY)
    (name,) = given
    value: Any = given[name]
    if name == "ask":
        value = text_at(given, "ask", _HOW_MANY)
        if value not in WHO and not is_target(value):
            hint = "Write previous, initiator, anyone, user:ID, role:NAME or group:NAME."
            raise refusal("bad_target", f"«{value}» names nobody.", "/ask", hint)
    elif name == "items" or isinstance(value, str):
        value = checked_expression(value, f"/{name}")
    elif isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 1000:
        raise refusal("wrong_type", "So many instances are not run.", "/count", "Write a number from 0 to 1000.")
    return _with_multi(drawing, at, {"items": None, "count": None, "ask": None, name: value})


# ---- loops -----------------------------------------------------------------------------------------------------------


def find_loops(drawing: CheckedDrawing) -> Iterator[Todo]:
    for process, element in drawing.each():
        multi = element.activity.multi if element.activity is not None else None
        if multi is None or multi.mode != "loop" or multi.again is not None:
            continue
        if multi.most is None or multi.test_before:
            yield _loop_todo(process, element, multi)


def _loop_todo(process: CheckedProcess, element: Element, multi: Multi) -> Todo:
    message = f"{process.drawn(element)} is done again and again, and nothing says when that ends."
    proposals = []
    if element.activity is not None and element.activity.type == "humanTask":
        words = f"Whoever does {process.drawn(element)} says whether it is done again."
        proposals.append(Proposal("ask_again", words, {"ask": True}))
    return element_todo("loop", process, element, message, _HOW_LONG, proposals=proposals, form=_LOOP_FORM)


def answer_loop(drawing: Drawing, at: TodoPlace, given: dict[str, Any]) -> Drawing:
    known_members(given, "again", "most", "ask")
    if len(given) != 1:
        raise refusal("missing_field", "An answer says one of again, most and ask.", "", _HOW_LONG)
    if "again" in given:
        text = checked_expression(given["again"], "/again", condition=True)
        return _with_multi(drawing, at, {"again": text})
    if "most" in given:
        most = given["most"]
        if isinstance(most, bool) or not isinstance(most, int) or most < 1:
            raise refusal("wrong_type", "«most» is a number of rounds.", "/most", "Write 1 or more.")
        return _with_multi(drawing, at, {"most": most, "test_before": None})
    _, entry = entry_of(drawing, at)
    if given["ask"] is not True or entry.get("type") != "humanTask":
        message = "Only a person who does it can be asked."
        raise refusal("wrong_type", message, "/ask", _HOW_LONG)
    asked = with_fields(drawing, at, {"form": _with_again(entry.get("form"))})
    first = "loopResult == null || " if (entry.get("multi") or {}).get("test_before") else ""
    return _with_multi(asked, at, {"again": f"{first}loopResult.again == true"})


def _with_again(form: Any) -> dict[str, Any]:
    """The form of the task, which asks besides whether there is another round."""
    held: dict[str, Any] = form if isinstance(form, dict) else {"type": "object"}
    properties = {**(held.get("properties") or {}), "again": _AGAIN}
    return {**held, "properties": properties, "required": [*dict.fromkeys([*(held.get("required") or ()), "again"])]}


def _with_multi(drawing: Drawing, at: TodoPlace, fields: dict[str, Any]) -> Drawing:
    _, entry = entry_of(drawing, at)
    held = entry.get("multi")
    if not isinstance(held, dict):
        raise refusal("todo_unknown", f"«{at.element}» is done once.", "", "Look at its to-dos again.")
    new = {name: value for name, value in {**held, **fields}.items() if value is not None}
    return with_fields(drawing, at, {"multi": new})


INSTANCES = TodoType("instances", find_instances, answer_instances, "How many instances are there?", _RULES)
LOOP = TodoType("loop", find_loops, answer_loop, "When does the loop end?", _RULES)
