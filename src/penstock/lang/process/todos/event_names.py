"""Messages and signals that nobody has named: events, and tasks that send or receive (P-X.25)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal

from penstock.lang.process.drawing import Drawing
from penstock.lang.process.fields import EventFields
from penstock.lang.process.schema import Element
from penstock.lang.process.todos.checked import CheckedDrawing, CheckedProcess, drawn_name, type_of_element
from penstock.lang.process.todos.contract import Proposal, Todo, TodoPlace, TodoType, element_todo
from penstock.lang.process.todos.edit import entry_of, known_members, text_at, with_fields
from penstock.lang.process.todos.person import by_machine

Trigger = Literal["message", "signal"]
_HINT = "Take the proposal, or write the name under which it is sent and waited for."
_FORM = {
    "type": "object", "properties": {"name": {"type": "string", "minLength": 1, "maxLength": 255}},
    "required": ["name"], "additionalProperties": False,
}  # fmt: skip

_WHOSE = {
    "own_name": "the name of the element",
    "own_id": "the element's id",
    "flow_name": "the name of its message flow",
    "partner_name": "the name of the pool it talks with",
}


def _finder(trigger: Trigger) -> Callable[[CheckedDrawing], Iterator[Todo]]:
    def find(drawing: CheckedDrawing) -> Iterator[Todo]:
        proposed: dict[str, Proposal] = {}  # several elements of one message: one name
        for process, element in drawing.each():
            ref = _reference(element, trigger)
            if ref is None or _name(process, element, ref, trigger):
                continue
            proposal = _proposal(drawing, element, trigger)
            if ref:
                proposal = proposed.setdefault(ref, proposal)
            yield _todo(process, element, trigger, proposal)

    return find


def _reference(element: Element, trigger: Trigger) -> str | None:
    """What the element says about its message: a name or an id, "" for nothing. None: it has none."""
    event, activity = element.event, element.activity
    if event is not None and event.trigger == trigger:
        return event.name_ref or _written(event, trigger)
    if activity is not None and activity.bpmn in ("sendTask", "receiveTask") and not by_machine(activity):
        is_signal = bool(activity.signal)
        return (activity.message or activity.signal) if is_signal is (trigger == "signal") else None
    return None


def _written(event: EventFields, trigger: Trigger) -> str:
    return (event.signal or event.message) if trigger == "signal" else (event.message or event.signal)


def _name(process: CheckedProcess, element: Element, ref: str, trigger: Trigger) -> str:
    declared = process.definition.declared_events.get(f"{trigger}s", {})
    if element.event is not None and element.event.name_ref and ref not in declared:
        return _written(element.event, trigger)
    return declared.get(ref, ref)


def _proposal(drawing: CheckedDrawing, element: Element, trigger: Trigger) -> Proposal:
    name, kind = drawn_name(element), "own_name"
    if not name and trigger == "message":
        name, kind = _of_message_flow(drawing.drawing, element.id)
    if not name:
        name, kind = element.id, "own_id"
    message = f"The {trigger} is called «{name}», {_WHOSE[kind]}."
    return Proposal(kind, message, {"name": name}, {"name": name})


def _of_message_flow(drawing: Drawing, id: str) -> tuple[str, str]:
    """The name of the message flow that ends here, else of the pool at its other end."""
    flows = [flow for flow in drawing.message_flows if id in (flow.get("source"), flow.get("target"))]
    for flow in flows:
        if name := " ".join(flow.get("name", "").split()):
            return name, "flow_name"
    others = [flow.get("target") if flow.get("source") == id else flow.get("source") for flow in flows]
    for pool in drawing.pools:
        if pool.get("id") in others and pool.get("name"):
            return pool["name"], "partner_name"
    return "", ""


def _todo(process: CheckedProcess, element: Element, trigger: Trigger, proposal: Proposal) -> Todo:
    event = element.event
    starts = event is not None and event.position == "start" and not event.parent
    sends = event is not None and event.position in ("throw", "end") or type_of_element(element) == "sendTask"
    what = "starts with" if starts else "sends" if sends else "waits for"
    facts = {"position": event.position if event is not None else "sendTask" if sends else "receiveTask"}
    message = f"{process.drawn(element)} {what} a {trigger} without a name."
    return element_todo(
        f"{trigger}_name", process, element, message, _HINT, required=not starts, facts=facts, proposals=[proposal],
        form=_FORM,
    )  # fmt: skip


def _answerer(trigger: Trigger) -> Callable[[Drawing, TodoPlace, dict[str, Any]], Drawing]:
    def answer(drawing: Drawing, at: TodoPlace, given: dict[str, Any]) -> Drawing:
        known_members(given, "name")
        name = text_at(given, "name", f"Write the name of the {trigger}.")
        collection, entry = entry_of(drawing, at)
        unlinked = {"name_ref": ""} if collection == "events" and entry.get("name_ref") else {}
        return with_fields(drawing, at, {trigger: name, **unlinked})

    return answer


MESSAGE_NAME = TodoType(
    "message_name", _finder("message"), _answerer("message"), "What is the message called?", ("missing_field",)
)
SIGNAL_NAME = TodoType(
    "signal_name", _finder("signal"), _answerer("signal"), "What is the signal called?", ("missing_field",)
)
