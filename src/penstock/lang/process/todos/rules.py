"""Business rule tasks of which nobody has said which rules decide."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.lang.process.drawing import Drawing
from penstock.lang.process.todos.checked import CheckedDrawing
from penstock.lang.process.todos.contract import Todo, TodoPlace, TodoType, element_todo
from penstock.lang.process.todos.edit import entry_of, known_members, text_at, with_fields
from penstock.lang.process.todos.person import fields_for_person, form_of, person_proposal

KIND = "rules"
_HINT = "Let a person decide, or name a rule pack of the registry."
_FORM = form_of(rule_pack={"type": "string", "minLength": 1})


def find(drawing: CheckedDrawing) -> Iterator[Todo]:
    for process, element in drawing.each():
        f = element.activity
        if f is None or f.bpmn != "businessRuleTask" or f.rule_pack or f.decision or f.tool or f.job:
            continue
        if process.errors(element.id, "missing_field") or not process.definition.complete:
            message = f"{process.drawn(element)} does not say which rules decide."
            proposals = [person_proposal(process, element)]
            yield element_todo(KIND, process, element, message, _HINT, proposals=proposals, form=_FORM)


def answer(drawing: Drawing, at: TodoPlace, given: dict[str, Any]) -> Drawing:
    known_members(given, "rule_pack", "by")
    if "by" in given:
        return with_fields(drawing, at, fields_for_person(entry_of(drawing, at)[1], given))
    return with_fields(drawing, at, {"rule_pack": text_at(given, "rule_pack", _HINT)})


TODO = TodoType(KIND, find, answer, "Which rules decide?", ("missing_field",))
