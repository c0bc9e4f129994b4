"""Call activities that call nothing, or a process that is not there, and sub-processes that hold nothing (P-X.4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.lang.process.drawing import Drawing
from penstock.lang.process.schema import Element
from penstock.lang.process.todos.checked import CheckedDrawing, CheckedProcess
from penstock.lang.process.todos.contract import Todo, TodoPlace, TodoType, element_todo
from penstock.lang.process.todos.edit import entries, entry_of, known_members, refusal, text_at, with_fields
from penstock.lang.process.todos.person import fields_for_person, form_of, person_proposal

KIND = "called_process"
_RULES = ("sub_process_missing", "sub_process_unknown")
_HINT = "Let a person do it, or name the process: by its id, or by its name."
_FORM = form_of(process={"type": "string", "minLength": 1})


def find(drawing: CheckedDrawing) -> Iterator[Todo]:
    for process, element in drawing.each():
        f = element.activity
        if f is None or f.type != "subProcess" or process.graph.is_embedded(element):
            continue
        if not element.orchestration.sub_process or process.errors(element.id, *_RULES):
            yield _todo(drawing, process, element)


def _todo(drawing: CheckedDrawing, process: CheckedProcess, element: Element) -> Todo:
    called, drawn = element.orchestration.sub_process or "", process.drawn(element)
    message = f"{drawn} calls the process «{called}», which is not there."
    if not called:
        empty = element.activity is not None and element.activity.bpmn != "callActivity"
        message = f"{drawn} holds nothing." if empty else f"{drawn} does not say which process it calls."
    others = [{"id": other.id, "name": other.definition.top.process_definition_name} for other in drawing.processes
              if other is not process]  # fmt: skip
    facts = {"called": called, "processes": others}
    proposals = [person_proposal(process, element)]
    return element_todo(KIND, process, element, message, _HINT, facts=facts, proposals=proposals, form=_FORM)


def answer(drawing: Drawing, at: TodoPlace, given: dict[str, Any]) -> Drawing:
    known_members(given, "process", "by")
    _, entry = entry_of(drawing, at)
    if "by" in given:
        return with_fields(drawing, at, fields_for_person(entry, given))
    name, how = text_at(given, "process", _HINT), entry.get("orchestration")
    if any(inner.get("parent") == at.element for inner in entries(drawing.definition(at.process), "activities")):
        message = "It holds elements of its own, and cannot call a process, too."
        raise refusal("sub_process_missing", message, "/process", "Draw a call activity.")
    return with_fields(drawing, at, {"orchestration": {**(how if isinstance(how, dict) else {}), "sub_process": name}})


TODO = TodoType(KIND, find, answer, "Which process is called?", _RULES)
