"""Lanes that are nobody's role yet, although people work in them (P-X.13)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.lang.process.drawing import Drawing
from penstock.lang.process.fields import LaneFields
from penstock.lang.process.nodes.candidates import is_target
from penstock.lang.process.schema import Element
from penstock.lang.process.todos.asked import role_target
from penstock.lang.process.todos.checked import CheckedDrawing, CheckedProcess, drawn_name
from penstock.lang.process.todos.contract import Proposal, Todo, TodoPlace, TodoType
from penstock.lang.process.todos.edit import entries, entry_of, known_members, refusal, text_at, with_fields
from penstock.lang.process.todos.person import by_machine

KIND = "lane_role"
_HINT = "Take the proposal, or write who works in it: user:ID, role:NAME, group:NAME, initiator or anyone."
FORM = {
    "type": "object", "properties": {"who": {"type": "string", "minLength": 1}}, "required": ["who"],
    "additionalProperties": False,
}  # fmt: skip


def find(drawing: CheckedDrawing) -> Iterator[Todo]:
    for process in drawing.processes:
        for lane in process.definition.lanes:
            steps = [] if _is_role(lane, process) else _open_steps(lane, process)
            if steps:
                yield _todo(process, lane, steps)


def _is_role(lane: LaneFields, process: CheckedProcess) -> bool:
    known = {name for role in process.definition.roles.values() for name in (role.id, role.name)}
    return bool({lane.id, lane.role, lane.name} & known)


def _open_steps(lane: LaneFields, process: CheckedProcess) -> list[Element]:
    """The tasks of people in the lane, and in no lane inside it, for which nobody is named."""
    of_lane = process.definition.lane_roles
    steps = (process.elements[id] for id in lane.elements if id in process.elements)
    return [step for step in steps if of_lane.get(step.id) == (lane.role or lane.id) and for_anybody(step)]


def for_anybody(step: Element) -> bool:
    """Does a person do it, and nobody is named?"""
    f = step.activity
    if f is None or f.candidates is not None or f.role or by_machine(f):
        return False
    return f.type == "humanTask" or f.type == "serviceTask" and f.agent_mode != "AUTONOMOUS" and f.bpmn in (
        "serviceTask", None,
    )  # fmt: skip


def _todo(process: CheckedProcess, lane: LaneFields, steps: list[Element]) -> Todo:
    name = " ".join(lane.name.split())
    names = [drawn_name(step) or step.id for step in steps]
    listed = ", ".join(f"«{step}»" for step in names[:5]) + (" …" if len(names) > 5 else "")
    message = f"Anybody may do what lies in the lane «{name or lane.id}»: {listed}."
    proposals = []
    if name:
        words = f"Only people with the role «{name}» do what lies in this lane."
        proposals.append(Proposal("role_of_lane", words, {"who": role_target(name, lane.id)}, {"role": name}))
    return Todo(
        key=f"{KIND}:{process.id}:{lane.id}", kind=KIND, process=process.id, element=lane.id, element_type="lane",
        name=name, message=message, hint=_HINT, facts={"steps": names}, proposals=proposals, form=FORM,
    )  # fmt: skip


def answer(drawing: Drawing, at: TodoPlace, given: dict[str, Any]) -> Drawing:
    known_members(given, "who")
    who = checked_who(given)
    collection, lane = entry_of(drawing, at)
    if collection != "lanes":
        raise refusal("todo_unknown", f"«{at.element}» is no lane.", "", "Look at its to-dos again.")
    name = " ".join(str(lane.get("name") or at.element).split())
    role = {"id": at.element, "name": name}
    if who != "anyone":
        role["assignment_rule"] = who
    data = drawing.definition(at.process)
    others = [known for known in entries(data, "roles") if known.get("id") != at.element]
    changed = drawing.changed(at.process, {**data, "roles": [*others, role]})
    return with_fields(changed, at, {"role": at.element})


def checked_who(given: dict[str, Any]) -> str:
    who = text_at(given, "who", _HINT)
    if who not in ("initiator", "anyone") and not is_target(who):
        raise refusal("bad_target", f"«{who}» names nobody.", "/who", _HINT)
    return who


TODO = TodoType(KIND, find, answer, "Who works in the lane?")
