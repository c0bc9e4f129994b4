"""Who is asked at an element: whoever did the step before, else somebody who can know it (P-X.13)."""

from __future__ import annotations

from penstock.lang.process.fields import LaneFields
from penstock.lang.process.nodes.candidates import is_target
from penstock.lang.process.schema import Element
from penstock.lang.process.todos.checked import CheckedProcess, drawn_name
from penstock.lang.process.todos.person import by_machine

WHO = ("previous", "initiator", "anyone")
_MACHINES = ("sendTask", "receiveTask", "businessRuleTask")


def who_is_asked(process: CheckedProcess, element: Element) -> str:
    """A person who did the step before; after a machine those of the element's lane, else whoever has begun it, and
    where nobody begins it anybody."""
    steps = process.steps_before(element.id)
    if steps and all(_by_person(step) for step in steps) and not process.begins_by_itself_before(element.id):
        return "previous"
    lane = next((lane for lane in process.definition.lanes if element.id in lane.elements and lane.name), None)
    if lane is not None:
        return _who_works_in(lane, process)
    return "anyone" if process.begins_by_itself else "initiator"


def role_target(name: str, id: str) -> str:
    """Those with the role that something drawn is called by, else by its id: not every name can be that of a role."""
    named = f"role:{' '.join(name.split())}"
    return named if is_target(named) else f"role:{id}"


def _who_works_in(lane: LaneFields, process: CheckedProcess) -> str:
    """Whom the lane's role names; where nobody was named yet, those with the role of its name."""
    role = process.definition.roles.get(lane.role)
    if role is None:
        return role_target(lane.role or lane.name, lane.id)
    rule = role.assignment_rule or "anyone"
    return rule if rule in WHO or is_target(rule) else role_target(role.name, role.id)


def asked_words(who: str, process: CheckedProcess, element: Element) -> str:
    if who == "previous":
        steps = " or ".join(f"«{drawn_name(step) or step.id}»" for step in process.steps_before(element.id))
        return f"Whoever has done {steps}"
    words = {"initiator": "Whoever has begun the process", "anyone": "Somebody"}
    kind, _, name = who.partition(":")
    return words.get(who, f"Whoever has the role «{name}»" if kind == "role" else f"The {kind} «{name}»")


def _by_person(step: Element) -> bool:
    f = step.activity
    if f is None or f.multi is not None or f.type not in ("humanTask", "serviceTask") or by_machine(f):
        return False
    return f.agent_mode != "AUTONOMOUS" and f.bpmn not in _MACHINES
