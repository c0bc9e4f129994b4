"""Reads a ProcessDefinition: its elements, flows, roles and data, each with its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from penstock.lang.contract import Setting
from penstock.lang.document import Document, child_pointer
from penstock.lang.fields import TENANT, Fields, read_fields, read_top, unknown_fields
from penstock.lang.process import limits, process_gpt
from penstock.lang.process.draw_instead import draw_instead
from penstock.lang.process.drawn_parts import check_drawn_parts
from penstock.lang.process.fields import (
    COLLECTIONS,
    ActivityFields,
    Compensation,
    EventFields,
    GatewayFields,
    LaneFields,
    LeftOutFields,
    Orchestration,
    ProcessData,
    ProcessRole,
    TopFields,
    TransitionFields,
)
from penstock.lang.report import Report, did_you_mean

ID = re.compile(r"[^\s\x00-\x1f]+\Z")
_ELEMENTS = ("activities", "gateways", "events")
_RECOGNISED_BY = ("process_definition_id", "process_definition_name")


@dataclass(frozen=True)
class Element:
    """An activity, gateway or event, with its place in the document."""

    id: str
    fields: Any
    pointer: str
    raw: dict[str, Any]
    orchestration: Orchestration = field(default_factory=Orchestration)
    settings: dict[str, Any] = field(default_factory=dict)  # members of its orchestration that only the agent reads
    undo: Compensation | str | None = None

    @property
    def name(self) -> str:
        return self.fields.name or self.id

    @property
    def activity(self) -> ActivityFields | None:
        return self.fields if isinstance(self.fields, ActivityFields) else None

    @property
    def gateway(self) -> GatewayFields | None:
        return self.fields if isinstance(self.fields, GatewayFields) else None

    @property
    def event(self) -> EventFields | None:
        return self.fields if isinstance(self.fields, EventFields) else None


@dataclass(frozen=True)
class Flow:
    """A transition, with its place in the document."""

    id: str
    fields: TransitionFields
    pointer: str


@dataclass
class Definition:
    """`complete` is false when parts could not be read: checks would only report the consequences."""

    top: TopFields
    elements: dict[str, Element] = field(default_factory=dict)
    flows: list[Flow] = field(default_factory=list)
    data: dict[str, ProcessData] = field(default_factory=dict)  # by name
    roles: dict[str, ProcessRole] = field(default_factory=dict)
    lanes: list[LaneFields] = field(default_factory=list)
    declared_events: dict[str, dict[str, str]] = field(
        default_factory=dict
    )  # messages, signals, errors, escalations: id → name or code
    unread: set[str] = field(default_factory=set)  # ids of elements that could not be read
    flow_ids: set[str] = field(default_factory=set)
    complete: bool = True

    @cached_property
    def lane_roles(self) -> dict[str, str]:
        """The role of each element that lies in a lane."""
        return {id: lane.role or lane.id for lane in self.lanes for id in lane.elements}

    @property
    def container(self) -> bool:
        return self.top.type in ("mega", "major")


def recognise(data: Any) -> bool:
    return isinstance(data, dict) and any(name in data for name in _RECOGNISED_BY) or process_gpt.recognise(data)


def read(document: Document, report: Report, setting: Setting) -> Definition:
    """The definition of a document. What cannot be read is reported and left out; nothing is raised for it."""
    if process_gpt.recognise(document.data):
        document = report.document = process_gpt.rewritten(document)
    data = document.data
    if not isinstance(data, dict):
        hint = "Begin with `process_definition_id` and `process_definition_name`."
        report.error("wrong_type", "A process definition is a map.", hint=hint)
        return Definition(TopFields(), complete=False)
    top = read_top(TopFields, data, tuple(COLLECTIONS), report)
    definition = Definition(top)
    _check_top(top, report)
    check_drawn_parts(data, report)
    _check_size(data, definition, report)
    if not definition.complete:
        return definition
    for at, raw in _entries(data, "unsupported", definition, report):
        _report_unsupported(str(raw.get("element") or "element"), raw, at, definition, report)
    for at, raw in _entries(data, "left_out", definition, report):
        _report_left_out(at, raw, report)
    for name in _ELEMENTS:
        for at, raw in _entries(data, name, definition, report):
            _read_element(name, raw, at, definition, report)
    for at, raw in _entries(data, "transitions", definition, report):
        _read_flow(raw, at, definition, report)
    _read_rest(data, definition, report)
    return definition


def _check_top(top: TopFields, report: Report) -> None:
    id = top.process_definition_id
    if id and (not ID.match(id) or id in (".", "..") or "/" in id or "\\" in id):  # it is part of addresses
        hint = "Write an id without blanks and without / or \\."
        report.error("bad_id", f"«{id}» cannot be the id of a process.", "/process_definition_id", hint=hint)
    if top.tenant_id and not TENANT.match(top.tenant_id):
        hint = "Use letters, digits, _ and -, at most 50, or leave it out."
        report.error("wrong_type", f"«{top.tenant_id}» cannot be a tenant.", "/tenant_id", hint=hint)


def _check_size(data: dict[str, Any], definition: Definition, report: Report) -> None:
    """Refuses a huge document before anything else is checked."""
    count = sum(len(data[name]) for name in COLLECTIONS if isinstance(data.get(name), list))
    if count > limits.ELEMENTS:
        definition.complete = False
        message = f"The process has {count} elements; at most {limits.ELEMENTS} are read."
        report.error("too_many_elements", message, hint="Divide it into sub-processes that are called.")


def _entries(
    data: dict[str, Any], name: str, definition: Definition, report: Report
) -> Iterator[tuple[str, dict[str, Any]]]:
    entries = data.get(name)
    if entries is None:
        return
    if not isinstance(entries, list):
        definition.complete = False
        report.error("wrong_type", f"«{name}» must be a list.", f"/{name}", hint=f"Write `{name}: [ … ]`.")
        return
    for i, raw in enumerate(entries):
        if isinstance(raw, dict):
            yield child_pointer(f"/{name}", i), raw
        else:
            definition.complete = False
            report.error(
                "wrong_type", f"An entry of «{name}» is a map.", child_pointer(f"/{name}", i), hint="Write `{ … }`."
            )


def _read_element(name: str, raw: dict[str, Any], at: str, definition: Definition, report: Report) -> None:
    id = raw.get("id")
    if not _check_id(id, at, definition, report):
        definition.complete = False
        return
    assert isinstance(id, str)
    kind = COLLECTIONS[name]
    fields, rest = read_fields(kind, raw, at, report, node=id)
    unknown_fields(rest, kind, at, report, node=id)
    if getattr(fields, "position" if name == "events" else "type") is None:
        definition.complete = False
        definition.unread.add(id)
        return
    definition.elements[id] = _with_settings(id, fields, at, raw, report)


def _with_settings(id: str, fields: Fields, at: str, raw: dict[str, Any], report: Report) -> Element:
    if not isinstance(fields, ActivityFields):
        return Element(id, fields, at, raw)
    orchestration, settings = read_fields(
        Orchestration, fields.orchestration or {}, child_pointer(at, "orchestration"), report, node=id
    )
    undo: Compensation | str | None = None
    if isinstance(fields.compensation, dict):
        undo, rest = read_fields(Compensation, fields.compensation, child_pointer(at, "compensation"), report, node=id)
        unknown_fields(rest, Compensation, child_pointer(at, "compensation"), report, node=id)
    elif fields.compensation:
        undo = fields.compensation
    return Element(id, fields, at, raw, orchestration, settings, undo)


def _report_unsupported(what: str, raw: dict[str, Any], at: str, definition: Definition, report: Report) -> None:
    definition.complete = False
    id, name = str(raw.get("id") or ""), str(raw.get("name") or raw.get("id") or "")
    if id:
        definition.unread.add(id)
    message = f"«{name}» is a {what}, which is not run here." if name else f"A {what} is not run here."
    report.error("bpmn_not_supported", message, at, hint=draw_instead(what), node=id)


def _report_left_out(at: str, raw: dict[str, Any], report: Report) -> None:
    fields, rest = read_fields(LeftOutFields, raw, at, report)
    unknown_fields(rest, LeftOutFields, at, report)
    of = f" «{fields.name or fields.id}»" if fields.name or fields.id else ""
    message = f"Not imported: {fields.what or 'something'}{of}: {fields.why or 'it is not read here'}."
    hint = "Import it from a file of its own, or draw it here; then remove this entry."
    report.warning("left_out", message, at, hint=hint, node=fields.id)


def _check_id(id: Any, at: str, definition: Definition, report: Report) -> bool:
    if id is None or id == "":
        report.error("missing_field", "«id» is missing.", at, hint="Give every element an id of its own.")
    elif not isinstance(id, str) or not ID.match(id) or len(id) > limits.ID:
        hint = f"Write a text without blanks, at most {limits.ID} characters."
        report.error("bad_id", f"«{id}» cannot be an id.", child_pointer(at, "id"), hint=hint)
    elif id in definition.elements or id in definition.unread:
        message = f"The id «{id}» is used more than once."
        report.error(
            "duplicate_id", message, child_pointer(at, "id"), node=id, hint="Every element has an id of its own."
        )
    else:
        return True
    return False


def _read_flow(raw: dict[str, Any], at: str, definition: Definition, report: Report) -> None:
    fields, rest = read_fields(TransitionFields, raw, at, report)
    unknown_fields(rest, TransitionFields, at, report)
    if not fields.id or not fields.source or not fields.target:
        definition.complete = False
        return
    if fields.id in definition.elements or fields.id in definition.unread or fields.id in definition.flow_ids:
        message = f"The id «{fields.id}» is used more than once."
        report.error("duplicate_id", message, child_pointer(at, "id"), hint="Every transition has an id of its own.")
        definition.complete = False
        return
    definition.flow_ids.add(fields.id)
    elements, unread = definition.elements, definition.unread
    ends = (("source", fields.source, "comes from"), ("target", fields.target, "leads to"))
    missing = [end for end in ends if end[1] not in elements and end[1] not in unread]
    for name, id, word in missing:
        hint = did_you_mean(id, [*elements, *unread], "Write the id of an activity, a gateway or an event.")
        message = f"The transition «{fields.id}» {word} «{id}», which does not exist."
        report.error("flow_to_nowhere", message, child_pointer(at, name), hint=hint)
    if missing or fields.source in unread or fields.target in unread:
        definition.complete = False
        return
    definition.flows.append(Flow(fields.id, fields, at))


def _read_rest(data: dict[str, Any], definition: Definition, report: Report) -> None:
    for at, raw in _entries(data, "data", definition, report):
        source = _read_entry(raw, "data", at, report)
        assert isinstance(source, ProcessData)
        if source.name in definition.data:
            message = f"Two sources of data have the name «{source.name}»."
            report.error("duplicate_id", message, child_pointer(at, "name"), hint="Keep one of them.")
        elif source.name:
            definition.data[source.name] = source
    for at, raw in _entries(data, "pools", definition, report):
        _read_entry(raw, "pools", at, report)
    for at, raw in _entries(data, "roles", definition, report):
        role = _read_entry(raw, "roles", at, report)
        assert isinstance(role, ProcessRole)
        if role.id in definition.roles:
            report.error(
                "duplicate_id", f"Two roles have the id «{role.id}».", child_pointer(at, "id"), hint="Keep one of them."
            )
        elif role.id:
            definition.roles[role.id] = role
    for at, raw in _entries(data, "lanes", definition, report):
        lane = _read_entry(raw, "lanes", at, report)
        assert isinstance(lane, LaneFields)
        definition.lanes.append(lane)
    for name in ("messages", "signals", "errors", "escalations"):
        for at, raw in _entries(data, name, definition, report):
            declaration = _read_entry(raw, name, at, report)
            definition.declared_events.setdefault(name, {})[getattr(declaration, "id", "")] = (
                getattr(declaration, "code", "") if name in ("errors", "escalations") else ""
            ) or getattr(declaration, "name", "")


def _read_entry(raw: dict[str, Any], name: str, at: str, report: Report) -> Fields:
    fields, rest = read_fields(COLLECTIONS[name], raw, at, report)
    unknown_fields(rest, COLLECTIONS[name], at, report)
    return fields
