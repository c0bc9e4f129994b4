"""Tasks without a form whose answers decide which way is taken: its fields, as the conditions after it read them."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import Any

from penstock.errors import PenstockError
from penstock.expr import compile_expression
from penstock.lang.process.drawing import Drawing
from penstock.lang.process.expression_names import instance_variables
from penstock.lang.process.schema import Element
from penstock.lang.process.todos.checked import CheckedDrawing, CheckedProcess
from penstock.lang.process.todos.contract import Proposal, Todo, TodoPlace, TodoType, element_todo
from penstock.lang.process.todos.edit import known_members, refusal, with_fields
from penstock.lang.python_scripts import result_names
from penstock.lang.schemas import schema_problem

KIND = "form"
_HINT = "Take the proposal, or write the form as a JSON Schema; without one, any values may be given."
_FORM = {
    "type": "object", "properties": {"form": {"type": "object"}}, "required": ["form"], "additionalProperties": False,
}  # fmt: skip
_COMPARED = r"\b{name}\s*(?:==|!=|<=|>=|<|>)\s*(?P<value>true\b|false\b|-?\d+(?:\.\d+)?|'[^']*'|\"[^\"]*\")"


def find(drawing: CheckedDrawing) -> Iterator[Todo]:
    for process in drawing.processes:
        written = _written(process)
        for id in sorted(process.elements, key=process.order.__getitem__):
            element = process.elements[id]
            f = element.activity
            if f is None or f.type != "humanTask" or f.form is not None or f.tool or f.job or f.message or f.signal:
                continue
            if not f.form_key and written is None:
                continue
            fields = _fields(process, element, written or set())
            if f.form_key or fields:
                yield _todo(process, element, fields)


def _todo(process: CheckedProcess, element: Element, fields: dict[str, Any]) -> Todo:
    key = element.activity.form_key if element.activity is not None else ""
    named, drawn = ", ".join(f"«{name}»" for name in fields), process.drawn(element)
    message = f"The form «{key}» of {drawn} lies elsewhere."
    if not key:
        message = f"The conditions after {drawn} read {named}, which nothing before them says."
    schema = {"type": "object", "properties": fields}
    proposals = [Proposal("form", f"{drawn} asks for {named}.", {"form": schema}, {"fields": fields})] if fields else []
    facts = {"form_key": key, "fields": fields}
    return element_todo(
        KIND, process, element, message, _HINT, required=False, facts=facts, proposals=proposals, form=_FORM
    )


def _written(process: CheckedProcess) -> set[str] | None:
    """The variables that something in the process says. None: somebody may say any, so that none is missing."""
    names: set[str] = set(process.definition.data)
    for element in process.elements.values():
        f, event = element.activity, element.event
        if event is not None and event.position in ("start", "catch", "boundary") and event.trigger != "timer":
            if event.trigger != "none":
                return None
        if f is None or f.type == "humanTask" and not (f.form_key or f.tool or f.job or f.message):
            names |= set((f.form or {}).get("properties") or ()) if f is not None else set()
        elif f.type == "scriptTask":
            names |= result_names(f.python_code or "")
        elif f.type != "subProcess" or not process.graph.is_embedded(element):
            return None
        names |= {f.multi.collect, f.multi.item} if f is not None and f.multi is not None else set()
    return names


def _fields(process: CheckedProcess, element: Element, written: set[str]) -> dict[str, Any]:
    """What the conditions between this task and the next ones read, and nobody says: field → its schema."""
    texts = list(_conditions_after(process, element))
    names: dict[str, None] = {}
    for text in texts:
        try:
            roots = instance_variables(compile_expression(text, words=True).roots)
        except PenstockError:
            continue
        names |= dict.fromkeys(sorted(roots - written - process.elements.keys()))
    return {name: _schema(name, texts) for name in names}


def _conditions_after(process: CheckedProcess, element: Element) -> Iterator[str]:
    pending, reached = deque([element.id]), {element.id}
    while pending:
        at = process.elements[pending.popleft()]
        if at.gateway is None or at.gateway.ask is None:
            yield from (text for text, _ in process.conditions(at).conditions.values())
        for flow in process.graph.outgoing[at.id]:
            target = process.elements[flow.fields.target]
            if target.activity is None and target.id not in reached:
                reached.add(target.id)
                pending.append(target.id)


def _schema(name: str, texts: list[str]) -> dict[str, Any]:
    """By what it is compared with."""
    pattern = re.compile(_COMPARED.format(name=re.escape(name)))
    values = list(dict.fromkeys(match["value"] for text in texts for match in pattern.finditer(text)))
    if values and all(value in ("true", "false") for value in values):
        return {"type": "boolean"}
    if values and all(value[0] in "-0123456789" for value in values):
        return {"type": "number"}
    if values and all(value[0] in "'\"" for value in values):
        return {"type": "string"}
    return {}


def answer(drawing: Drawing, at: TodoPlace, given: dict[str, Any]) -> Drawing:
    known_members(given, "form")
    form = given.get("form")
    if not isinstance(form, dict):
        raise refusal("missing_field", "«form» is missing.", "/form", _HINT)
    if (problem := schema_problem(form)) is not None:
        pointer, why = problem
        raise refusal("json_schema", f"The form is no JSON Schema: {why}.", f"/form{pointer}", "Correct the schema.")
    return with_fields(drawing, at, {"form": form})


TODO = TodoType(KIND, find, answer, "What is asked of whoever does it?")
