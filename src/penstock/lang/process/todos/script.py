"""Script tasks without a script, or with one in a language that is not run (P-X.17, P-X.25)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.lang.process.drawing import Drawing
from penstock.lang.process.nodes.script_task import script_format
from penstock.lang.process.schema import Element
from penstock.lang.process.todos.checked import CheckedDrawing, CheckedProcess
from penstock.lang.process.todos.contract import Todo, TodoPlace, TodoType, element_todo
from penstock.lang.process.todos.edit import entry_of, known_members, refusal, text_at, with_fields
from penstock.lang.process.todos.person import fields_for_person, form_of, person_proposal

KIND = "script"
_RULES = ("missing_field", "bpmn_not_supported")
_HINT = "Let a person do it, or write it in Python: variables by their names, and what is new in the dict `result`."
_FORM = form_of(code={"type": "string", "minLength": 1, "contentMediaType": "text/x-python"})


def find(drawing: CheckedDrawing) -> Iterator[Todo]:
    for process, element in drawing.each():
        f = element.activity
        if f is None or f.type != "scriptTask" or f.tool or f.job or f.computes is not None:
            continue
        if not (f.python_code or "").strip():
            yield _todo(process, element)


def _todo(process: CheckedProcess, element: Element) -> Todo:
    format = script_format(element.id, process.definition.top)
    kept = process.definition.top.extensions["script"][element.id] if format else {}
    what = f"has a script in {format}, which is not run here" if format else "has no script"
    facts = {"format": format, "code": str(kept.get("text") or "")[:10_000]}
    proposals = [person_proposal(process, element)]
    message = f"{process.drawn(element)} {what}."
    return element_todo(KIND, process, element, message, _HINT, facts=facts, proposals=proposals, form=_FORM)


def answer(drawing: Drawing, at: TodoPlace, given: dict[str, Any]) -> Drawing:
    known_members(given, "code", "by")
    _, entry = entry_of(drawing, at)
    if "by" in given:
        return with_fields(drawing, at, fields_for_person(entry, given))
    code = text_at(given, "code", _HINT)
    try:
        compile(code, "script", "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        message = f"The script cannot be read: {getattr(error, 'msg', error)}."
        raise refusal("expression_syntax", message, "/code", "Correct the Python.") from None
    return with_fields(drawing, at, {"python_code": given["code"]})


TODO = TodoType(KIND, find, answer, "What does the script do?", _RULES)
