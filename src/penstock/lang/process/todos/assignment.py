"""Assignments of a file that are not understood: the work is for nobody until somebody says whose it is (P-X.13)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.lang.process.drawing import Drawing
from penstock.lang.process.schema import Element
from penstock.lang.process.todos.asked import role_target
from penstock.lang.process.todos.checked import CheckedDrawing, CheckedProcess
from penstock.lang.process.todos.contract import Proposal, Todo, TodoPlace, TodoType, element_todo
from penstock.lang.process.todos.edit import entries, entry_of, known_members, with_fields
from penstock.lang.process.todos.lane_role import FORM, checked_who

KIND = "assignment"
_HINT = "Write who may do it: user:ID, role:NAME, group:NAME, initiator or anyone."


def find(drawing: CheckedDrawing) -> Iterator[Todo]:
    for process, element in drawing.each():
        warned = process.warnings(element.id, "assignment_not_understood")
        if not warned or element.activity is None:
            continue
        written = list(element.activity.candidates or ())
        drawn = process.drawn(element)
        message = f"Who may do {drawn} is not understood, so it is for nobody: {', '.join(written)}."
        yield element_todo(
            KIND, process, element, message, _HINT, facts={"written": written},
            proposals=_proposals(process, element), form=FORM,
        )  # fmt: skip


def _proposals(process: CheckedProcess, element: Element) -> Iterator[Proposal]:
    lanes = [lane for lane in process.definition.lanes if element.id in lane.elements and lane.name]
    if lanes:
        name = " ".join(lanes[-1].name.split())
        words = f"People with the role «{name}» of its lane do it."
        yield Proposal("role_of_lane", words, {"who": role_target(name, lanes[-1].id)}, {"role": name})


def answer(drawing: Drawing, at: TodoPlace, given: dict[str, Any]) -> Drawing:
    known_members(given, "who")
    who, (_, entry) = checked_who(given), entry_of(drawing, at)
    if who != "anyone":
        return with_fields(drawing, at, {"candidates": [{"initiator": "user:${initiator}"}.get(who, who)]})
    data = drawing.definition(at.process)  # nothing is said any more, and that has to stand there
    listed = [{**old, "candidates": None} if old is entry else old for old in entries(data, "activities")]
    return drawing.changed(at.process, {**data, "activities": listed})


TODO = TodoType(KIND, find, answer, "Who may do it?")
