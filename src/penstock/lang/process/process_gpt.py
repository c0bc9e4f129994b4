"""Reads the ProcessDefinition of Process-GPT (camelCase, `sequences`, events without a position) as one of ours.

Nothing is dropped: fields that change nothing here go along under `extensions.process_gpt`, and one that nobody knows
is told. Who does it is never widened: a rule for a role that is not understood is for nobody.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from penstock.lang.document import Document, Mark
from penstock.lang.process.process_gpt_parts import (
    condition_of,
    event_fields,
    form_of,
    instruction_of,
    read_condition,
    rule_of,
)

#: What is written only there.
_MARKS = ("processDefinitionId", "processDefinitionName", "sequences", "elements", "subProcesses")
_TOP = {
    "processDefinitionId": "process_definition_id", "processDefinitionName": "process_definition_name",
    "description": "description", "shortDescription": "documentation", "tenantId": "tenant_id", "type": "type",
}  # fmt: skip
#: Fields of Process-GPT that change nothing here: kept, and nobody is told.
_KEPT = {
    "top": {"isHorizontal", "version_tag", "versionTag", "owner", "uuid", "prompt", "instanceNamePattern",
            "participants", "processDefinitionCategory", "megaProcessId", "majorProcessId",
            "isDeleted", "prod_version"},
    "activities": {"srcTrg", "properties", "skills", "elementType", "source", "process", "description", "checkpoints",
                   "outputData", "inputData", "attachedEvents", "requiredFields", "agentModeOld", "uuid"},
    "gateways": {"srcTrg", "properties", "conditionData", "elementType", "source", "process", "role", "duration",
                 "agentMode", "orchestration"},
    "events": {"srcTrg", "properties", "elementType", "source", "process", "role", "conditionData", "condition"},
    "transitions": {"properties", "elementType"}, "roles": {"endpoint", "resolutionRule", "default", "origin"},
    "data": {"description", "table", "dataSource", "type", "defaultValue"},
}  # fmt: skip
_COLLECTIONS = {"activities": "activities", "gateways": "gateways", "events": "events", "sequences": "transitions",
                "transitions": "transitions"}  # fmt: skip
_ELEMENTS = {"activity": "activities", "gateway": "gateways", "event": "events", "sequence": "transitions"}
_ACTIVITIES = {
    "human": ("humanTask", "userTask"), "user": ("humanTask", "userTask"), "manual": ("humanTask", "manualTask"),
    "": ("humanTask", "task"), "service": ("serviceTask", "serviceTask"), "email": ("serviceTask", "serviceTask"),
    "api": ("serviceTask", "serviceTask"), "script": ("scriptTask", "scriptTask"), "send": ("serviceTask", "sendTask"),
    "receive": ("serviceTask", "receiveTask"), "businessrule": ("serviceTask", "businessRuleTask"),
    "sub": ("subProcess", "subProcess"), "subprocess": ("subProcess", "subProcess"),
    "call": ("subProcess", "callActivity"),
}  # fmt: skip
_MODES = {"none": "MANUAL", "manual": "MANUAL", "draft": "SUPERVISED", "supervised": "SUPERVISED",
          "complete": "AUTONOMOUS", "autonomous": "AUTONOMOUS"}  # fmt: skip
_SECONDS_OF_DAY = 86_400
_DIGITS = re.compile(r"\d{1,6}")


def recognise(data: Any) -> bool:
    return isinstance(data, dict) and "process_definition_id" not in data and any(name in data for name in _MARKS[:2])


def rewritten(document: Document) -> Document:
    """The same document as a definition of ours; every part has the place of what it was made of."""
    data, mark = _Rewriter(document).definition()
    return msgspec.structs.replace(document, data=data, mark=mark)


class _Rewriter:
    def __init__(self, document: Document) -> None:
        self.source, self.mark = document.data, document.mark
        self.collections: dict[str, list[tuple[dict[str, Any], Mark]]] = {}
        self.kept: dict[str, dict[str, Any]] = {}
        self.ids: set[str] = set()
        self.candidates: dict[str, list[str]] = {}  # role → whom its rule names, where that is not one target
        self.attached: dict[str, str] = {}  # event → the activity at whose border it is

    def definition(self) -> tuple[dict[str, Any], Mark]:
        source = self.source
        top = {_TOP[name]: value for name, value in source.items() if name in _TOP and value not in (None, "")}
        if top.get("type") not in ("mega", "major", "base", "sub", "discovered", None):
            self._keep("", "type", top.pop("type"))
        if digits := _DIGITS.search(str(source.get("version") or "")):
            top["version"] = max(1, int(digits[0]))
        self._roles()
        self._data()
        self._level(source, self.mark, "")
        self._borders()
        read = {*_TOP, "version", "roles", "data", "elements", "subProcesses", *_COLLECTIONS}
        for name in [name for name in source if name not in read]:
            self._keep("", name, source[name], known=name in _KEPT["top"])
        return self._result(top)

    def _result(self, top: dict[str, Any]) -> tuple[dict[str, Any], Mark]:
        items = dict(self.mark.items) if isinstance(self.mark.items, dict) else {}
        named = {_TOP[name]: items[name] for name in _TOP if name in items}
        for name, entries in self.collections.items():
            top[name] = [entry for entry, _ in entries]
            at = next((items[old] for old, new in _COLLECTIONS.items() if new == name and old in items), None)
            line, column = (at[0], at[1]) if at else (self.mark.line, self.mark.column)
            named[name] = (line, column, Mark(line, column, [mark for _, mark in entries]))
        if self.kept:
            top["extensions"] = {"process_gpt": self.kept}
        return top, Mark(self.mark.line, self.mark.column, named)

    # -- the parts -----------------------------------------------------------------------------------------------------

    def _level(self, source: dict[str, Any], mark: Mark, parent: str) -> None:
        """The elements of a definition, or of a sub-process of it, whose ids may be used again inside."""
        entries = list(_entries(source, mark))
        renamed: dict[str, str] = {}
        for collection, raw, _ in entries:
            id = raw.get("id")
            if isinstance(id, str) and collection != "transitions" and parent and id in self.ids:
                renamed[id] = f"{parent}.{id}"
        self.ids |= {raw["id"] for _, raw, _ in entries if isinstance(raw.get("id"), str)}
        flows = [raw for collection, raw, _ in entries if collection == "transitions"]
        for collection, raw, at in entries:
            entry = dict(raw)
            for name in ("id", "source", "target"):
                if isinstance(entry.get(name), str):
                    entry[name] = renamed.get(entry[name], entry[name])
            getattr(self, f"_{collection}")(entry, at, parent, flows)
        for raw, at in _listed(source, mark, "subProcesses"):
            self._sub_process(raw, at, parent)

    def _sub_process(self, raw: dict[str, Any], at: Mark, parent: str) -> None:
        entry = {"type": "subProcess", **{name: raw[name] for name in raw if name not in ("children", "type")}}
        children = raw.get("children")
        self._activities(entry, at, parent, [])
        if isinstance(children, dict):
            inner = at.items["children"][2] if isinstance(at.items, dict) and "children" in at.items else at
            self._level(children, inner, str(raw.get("id") or ""))
        elif called := raw.get("processDefinitionId"):
            self.collections["activities"][-1][0]["orchestration"] = {"sub_process": str(called)}

    def _activities(self, raw: dict[str, Any], at: Mark, parent: str, flows: list[dict[str, Any]]) -> None:
        word = re.sub(r"(?i)(activity|task)\Z", "", str(raw.get("type") or ""))
        type, tag = _ACTIVITIES.get(word.lower(), ("humanTask", "task"))
        id = raw.get("id")
        entry: dict[str, Any] = {"id": id, "name": raw.get("name") or id, "type": type, "bpmn": tag}
        if word.lower() not in _ACTIVITIES:
            self._keep(str(raw.get("id")), "type", raw.get("type"), known=False)
        if text := instruction_of(raw):
            entry["instruction"] = text
        if raw.get("pythonCode") and type == "scriptTask":
            entry["python_code"] = raw["pythonCode"]
        if mode := _MODES.get(str(raw.get("agentMode") or "").lower()):
            entry["agent_mode"] = mode
        elif raw.get("agentMode"):
            self._keep(str(raw.get("id")), "agentMode", raw["agentMode"], known=False)
        if isinstance(raw.get("agent"), str) and raw["agent"]:
            entry["agent"] = raw["agent"]
        if engine := raw.get("orchestration"):
            entry["orchestration"] = engine if isinstance(engine, dict) else {"engine": str(engine)}
        if form := form_of(raw.get("outputData")):
            entry["form"] = form
        if str(raw.get("tool") or "").startswith("formHandler:"):
            entry["form_key"] = str(raw["tool"]).partition(":")[2]
        elif raw.get("tool") and tag == "serviceTask":
            entry["tool"] = str(raw["tool"])
        elif raw.get("tool"):
            self._keep(str(raw.get("id")), "tool", raw["tool"], known=False)
        if _is_number(raw.get("duration")):
            entry["due"] = float(raw["duration"]) * _SECONDS_OF_DAY
        self._who(raw, entry)
        for event in raw.get("attachedEvents") or ():
            self.attached[str(event)] = str(raw.get("id"))
        used = {"id", "name", "type", "instruction", "pythonCode", "agentMode", "agent", "orchestration", "tool",
                "duration", "role", "compensation", "documentation"}  # fmt: skip
        entry |= {name: raw[name] for name in ("compensation", "documentation") if raw.get(name)}
        self._add("activities", entry, raw, at, parent, used)

    def _who(self, raw: dict[str, Any], entry: dict[str, Any]) -> None:
        role = raw.get("role")
        if not isinstance(role, str) or not role:
            return
        if role in self.candidates:
            entry["candidates"] = self.candidates[role]
        else:
            entry["role"] = role
            known = [other for other, _ in self.collections.get("roles", ())]
            if not any(role in (other["id"], other["name"]) for other in known):
                self.collections.setdefault("roles", []).append(({"id": role, "name": role}, self.mark))

    def _gateways(self, raw: dict[str, Any], at: Mark, parent: str, flows: list[dict[str, Any]]) -> None:
        if "event" in str(raw.get("type") or "").lower() and "gateway" not in str(raw.get("type")).lower():
            return self._events(raw, at, parent, flows)  # both stand in one list where it was stored
        word = str(raw.get("type") or "exclusiveGateway")
        entry: dict[str, Any] = {"id": raw.get("id"), "type": word[:1].lower() + word[1:]}
        if raw.get("name"):
            entry["name"] = raw["name"]
        given = raw.get("conditions") or raw.get("condition")
        out = [flow for flow in flows if flow.get("source") == raw.get("id")]
        conditions, rest = read_condition(given, out)
        if conditions:
            entry["conditions"] = conditions
        if rest:
            self._keep(str(raw.get("id")), "condition", rest, known=False)
        self._default(raw, entry)
        self._add("gateways", entry, raw, at, parent, {"id", "name", "type", "condition", "conditions", "default",
                                                       "documentation", "description"})  # fmt: skip
        return None

    def _default(self, raw: dict[str, Any], entry: dict[str, Any]) -> None:
        if isinstance(raw.get("default"), str) and raw["default"]:
            entry["default"] = raw["default"]
        if raw.get("description") or raw.get("documentation"):
            entry["documentation"] = raw.get("documentation") or raw["description"]

    def _events(self, raw: dict[str, Any], at: Mark, parent: str, flows: list[dict[str, Any]]) -> None:
        entry, used = event_fields(raw, flows)
        self._default(raw, entry)
        self._add("events", entry, raw, at, parent, used | {"id", "name", "type", "description", "documentation"})

    def _transitions(self, raw: dict[str, Any], at: Mark, parent: str, flows: list[dict[str, Any]]) -> None:
        source, target = raw.get("source"), raw.get("target")
        id = raw.get("id") or f"{source}>{target}"
        while any(id == entry["id"] for entry, _ in self.collections.get("transitions", ())) and not raw.get("id"):
            id += "+"
        entry = {"id": id, "source": source, "target": target}
        if raw.get("name"):
            entry["name"] = raw["name"]
        if condition := condition_of(raw):
            entry["condition"] = condition
        if raw.get("description") or raw.get("documentation"):
            entry["documentation"] = raw.get("documentation") or raw["description"]
        self._add("transitions", entry, raw, at, "", {"id", "name", "source", "target", "condition", "description",
                                                      "documentation"})  # fmt: skip

    def _roles(self) -> None:
        for raw, at in _listed(self.source, self.mark, "roles"):
            name = str(raw.get("name") or raw.get("id") or "")
            entry = {"id": str(raw.get("id") or name), "name": name}
            rule, others = rule_of(raw)
            if rule:
                entry["assignment_rule"] = rule
            if others:
                self.candidates[name] = self.candidates[entry["id"]] = others
            self._add("roles", entry, raw, at, "", {"id", "name", "assignment_rule", "assignmentRule"})

    def _data(self) -> None:
        """Variables, of which ours have no declaration; one with SQL is a source of data."""
        for raw, at in _listed(self.source, self.mark, "data"):
            source = raw.get("dataSource")
            if isinstance(source, dict) and source.get("type") in ("sql", "database") and source.get("sql"):
                connection = source.get("connection") or "default"
                entry = {"name": raw.get("name"), "type": "sql", "source": f"{connection}#{source['sql']}"}
                self._add("data", entry, raw, at, "", {"name"})
            else:
                self._keep("data", str(raw.get("name")), raw)

    def _borders(self) -> None:
        for entry, _ in self.collections.get("events", []):
            if host := self.attached.get(entry["id"], ""):
                entry |= {"position": "boundary", "attached_to": host}

    # -- what is put aside ---------------------------------------------------------------------------------------------

    def _add(
        self, collection: str, entry: dict[str, Any], raw: dict[str, Any], at: Mark, parent: str, used: set[str]
    ) -> None:  # fmt: skip
        if parent:
            entry["parent"] = parent
        items = at.items if isinstance(at.items, dict) else {}
        mark = Mark(at.line, at.column, {_snake(name): place for name, place in items.items()})
        self.collections.setdefault(collection, []).append((entry, mark))
        for name, value in raw.items():
            if name not in used and value not in (None, "", [], {}, "{}"):
                self._keep(str(entry.get("id") or entry.get("name")), name, value, known=name in _KEPT[collection])

    def _keep(self, id: str, name: str, value: Any, *, known: bool = True) -> None:
        self.kept.setdefault(id, {})[name] = value
        if not known:
            left = {"what": f"«{name}» of Process-GPT", "id": id, "why": "nobody reads it here; it is kept"}
            entry = {field: text for field, text in left.items() if text}
            self.collections.setdefault("left_out", []).append((entry, self.mark))


def _entries(source: dict[str, Any], mark: Mark) -> Iterator[tuple[str, dict[str, Any], Mark]]:
    for name, collection in _COLLECTIONS.items():
        for raw, at in _listed(source, mark, name):
            yield collection, raw, at
    for raw, at in _listed(source, mark, "elements"):
        yield _ELEMENTS.get(str(raw.get("elementType") or "").lower(), "activities"), raw, at


def _listed(source: dict[str, Any], mark: Mark, name: str) -> Iterator[tuple[dict[str, Any], Mark]]:
    entries = source.get(name)
    if not isinstance(entries, list):
        return
    at = mark.items[name][2] if isinstance(mark.items, dict) and name in mark.items else mark
    for n, raw in enumerate(entries):
        if isinstance(raw, dict):
            yield raw, at.items[n] if isinstance(at.items, list) and n < len(at.items) else at


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", lambda match: f"_{match[1].lower()}", name)


def _is_number(value: Any) -> bool:
    try:
        return not isinstance(value, bool) and 0 < float(value) < 36_500
    except (TypeError, ValueError, OverflowError):
        return False
