"""Drawings of which not every run can end, and ways that cannot be gone as they are drawn (KERNEL 8, P-X.31)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.errors import Finding
from penstock.lang.process.drawing import Drawing
from penstock.lang.process.todos.checked import CheckedDrawing, CheckedProcess, drawn_name, type_of_element
from penstock.lang.process.todos.contract import Proposal, Todo, TodoPlace, TodoType
from penstock.lang.process.todos.edit import entries, known_members, refusal
from penstock.lang.process.todos.gateway_conditions import checked_ask
from penstock.lang.process.todos.repairs import repairs, with_changes

KIND = "soundness"
#: what a small change of the drawing could put right
_RULES = (
    "unsound", "start_with_incoming", "end_with_outgoing", "event_sub_process_start", "event_gateway_target",
    "bpmn_not_supported", "UNBOUNDED_LOOP", "cycle_without_choice", "cancel_outside_transaction", "ad_hoc_element",
)  # fmt: skip
_TYPES = ["exclusiveGateway", "parallelGateway", "inclusiveGateway"]
_POSITIONS = ("throw", "catch")
_FORM = {
    "type": "object",
    "properties": {
        "changes": {
            "type": "object",
            "additionalProperties": {"type": "object", "properties": {"type": {"type": "string", "enum": _TYPES}}},
        }
    },
    "required": ["changes"], "additionalProperties": False,
}  # fmt: skip
_HINT = "Take the proposal, or say which gateway waits in another manner."


def find(drawing: CheckedDrawing) -> Iterator[Todo]:
    for process in drawing.processes:
        at_node: dict[str, list[Finding]] = {}
        for finding in process.findings:
            if finding.severity == "error" and finding.rule in _RULES:
                at_node.setdefault(finding.node, []).append(finding)
        for node, findings in at_node.items():
            todo = _todo(drawing, process, node, findings)
            if todo.proposals or any(finding.rule == "unsound" for finding in findings):
                yield todo


def _todo(drawing: CheckedDrawing, process: CheckedProcess, node: str, findings: list[Finding]) -> Todo:
    element = process.elements.get(node)
    rules = {finding.rule for finding in findings}
    proposals = [
        Proposal(repair.kind, repair.message, {"changes": repair.changes}, {"changes": repair.changes})
        for repair in repairs(drawing, process, node, rules)
    ]
    messages = dict.fromkeys(" ".join(finding.message.split()) for finding in findings)
    return Todo(
        key=f"{KIND}:{process.id}:{node}", kind=KIND, process=process.id, element=node,
        element_type=type_of_element(element) if element is not None else "process",
        name=drawn_name(element) if element is not None else "", message=" ".join(messages),
        hint=_HINT if proposals else findings[0].hint, facts={"rules": sorted(rules)}, proposals=proposals,
        form=_FORM if "unsound" in rules else {},
    )  # fmt: skip


# ---- answers ---------------------------------------------------------------------------------------------------------


def answer(drawing: Drawing, at: TodoPlace, given: dict[str, Any]) -> Drawing:
    known_members(given, "changes")
    changes, data = given.get("changes"), drawing.definition(at.process)
    if not isinstance(changes, dict) or not changes:
        raise refusal("missing_field", "Nothing is changed.", "/changes", _HINT)
    for id, fields in changes.items():
        _check(data, id, fields)
    return drawing.changed(at.process, with_changes(data, changes))


def _check(data: dict[str, Any], id: str, fields: Any) -> None:
    """Only what a proposal may change, too."""
    at = f"/changes/{id}"
    collections = ("activities", "gateways", "events", "transitions")
    held = {str(entry.get("id")): (collection, entry) for collection in collections
            for entry in entries(data, collection)
            if collection != "activities" or entry.get("type") == "subProcess"}  # fmt: skip
    collection, _ = held.get(id, ("", {}))
    if not collection or not isinstance(fields, dict) or not fields:
        message = f"«{id}» is nothing that can be changed here."
        raise refusal("todo_unknown", message, at, "Name an element or a flow, and its new fields.")
    for name, value in fields.items():
        if collection == "gateways" and name == "ask":
            flows = [str(flow.get("id")) for flow in entries(data, "transitions") if flow.get("source") == id]
            checked_ask(value, flows)
        elif not _may_be(data, collection, name, value):
            raise refusal("wrong_type", f"«{name}» of «{id}» cannot be {value!r}.", f"{at}/{name}", _HINT)


def _may_be(data: dict[str, Any], collection: str, name: str, value: Any) -> bool:
    if collection == "activities":
        return name == "bpmn" and value == "transaction"
    if collection == "gateways":
        return name == "type" and value in _TYPES
    if collection == "events":
        return name == "position" and value in _POSITIONS or name == "trigger" and value in ("none", "error")
    elements = (entry for of in ("activities", "gateways", "events") for entry in entries(data, of))
    return name == "target" and any(entry.get("id") == value for entry in elements)


TODO = TodoType(KIND, find, answer, "Let every run end.", _RULES)
