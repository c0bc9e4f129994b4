"""Service tasks of which nobody has said what does them: a person does, until somebody says otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.errors import ProcessInvalid
from penstock.lang.process.drawing import Drawing
from penstock.lang.process.todos.checked import CheckedDrawing
from penstock.lang.process.todos.contract import Todo, TodoPlace, TodoType, element_todo
from penstock.lang.process.todos.edit import entry_of, known_members, refusal, text_at, with_fields
from penstock.lang.process.todos.expressions import checked_expression
from penstock.lang.process.todos.person import PERSON, by_machine, fields_for_person, form_of, person_proposal

KIND = "service"
_RULES = ("expression_syntax", "secret_in_expression", "reserved_key")
_HINT = "Let a person do it, or name a tool, an agent, or the type of a job that an outside worker does."
_TEXT = {"type": "string", "minLength": 1}
_FORM = form_of(tool=_TEXT, agent=_TEXT, job=_TEXT)


def find(drawing: CheckedDrawing) -> Iterator[Todo]:
    for process, element in drawing.each():
        f = element.activity
        if f is None or f.type != "serviceTask" or f.multi is not None and process.errors(element.id, "missing_field"):
            continue
        proposals = [person_proposal(process, element)]
        if (f.tool or f.job) and (wrong := process.errors(element.id, *_RULES)):
            message = f"What {process.drawn(element)} is given cannot be read: {wrong[0].message}"
            yield element_todo(KIND, process, element, message, _HINT, proposals=proposals, form=_FORM)
        elif not by_machine(f) and not f.agent and f.bpmn == "serviceTask" and "agent_mode" not in element.raw:
            message = f"Nothing says what does {process.drawn(element)}, so a person has to."
            yield element_todo(KIND, process, element, message, _HINT, required=False, proposals=proposals, form=_FORM)


def answer(drawing: Drawing, at: TodoPlace, given: dict[str, Any]) -> Drawing:
    known_members(given, "tool", "agent", "job", "by")
    if given == PERSON:
        _, entry = entry_of(drawing, at)
        if not entry.get("tool") and not entry.get("job"):
            return with_fields(drawing, at, {"agent_mode": "MANUAL"})
        shown = {"params": _read(entry["params"])} if isinstance(entry.get("params"), dict) else {}
        return with_fields(drawing, at, {**fields_for_person(entry, given), **shown})
    (name, *more) = given or [""]
    if more or name not in ("tool", "agent", "job"):
        raise refusal("missing_field", "An answer says one of tool, agent, job and by.", "", _HINT)
    mode = {"agent_mode": "AUTONOMOUS"} if name == "agent" else {}
    return with_fields(drawing, at, {name: text_at(given, name, _HINT), **mode})


def _read(params: dict[str, Any]) -> dict[str, Any]:
    """What it was to be given, for the person to see, without what nobody can read."""
    return {name: value for name, value in params.items() if all(map(_reads, _texts(value)))}


def _texts(value: Any) -> Iterator[str]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in inner:
        yield from _texts(part)
    if isinstance(value, str) and value.startswith(("${", "#{", "=")):
        yield value


def _reads(text: str) -> bool:
    try:
        checked_expression(text, "")
    except ProcessInvalid:
        return False
    return True


TODO = TodoType(KIND, find, answer, "What does the service task?", _RULES)
