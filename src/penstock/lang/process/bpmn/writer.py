"""Writes a ProcessDefinition as BPMN 2.0 XML with its drawing; what BPMN has no element for becomes an extension."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any
from xml.sax.saxutils import escape

from penstock.lang.process.bpmn.diagram_interchange import write_planes
from penstock.lang.process.bpmn.layout import auto_layout
from penstock.lang.process.bpmn.vocabulary import (
    DEFINITIONS,
    EVENT_DECLARATIONS,
    EVENTS,
    REFERENCES,
    STANDARD,
    SUB_PROCESSES,
    TAGS,
)
from penstock.lang.process.bpmn.xml_tree import open_tag, xml_text

_NCNAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\Z")
_TIMES = {"date": "timeDate", "duration": "timeDuration", "cycle": "timeCycle"}
#: The fields of an element that BPMN itself has a place for; all others go into our own extension element.
_IN_XML = {
    "activities": {
        "id", "name", "type", "bpmn", "parent", "documentation", "default", "is_for_compensation", "triggered_by_event",
        "method", "ad_hoc", "python_code", "message", "multi", "instantiate",
    },
    "gateways": {"id", "name", "type", "default", "all_events", "instantiate", "activation", "parent", "documentation"},
    "events": {
        "id", "name", "position", "trigger", "attached_to", "interrupting", "timer", "message", "signal", "code",
        "name_ref", "activity", "condition", "link", "triggers", "wait_for_completion", "parent", "documentation",
    },
    "transitions": {"id", "source", "target", "name", "condition", "documentation"},
    "lanes": {"id", "name", "elements", "parent"},
}  # fmt: skip
_TOP_IN_XML = {
    "process_definition_id", "process_definition_name", "description", "activities", "gateways", "events",
    "transitions", "lanes", "pools", "messages", "signals", "errors", "escalations", "diagram", "extensions",
    "unsupported", "$schema", "schema",
}  # fmt: skip


def write_bpmn(definition: Mapping[str, Any]) -> str:
    """The XML of a definition without errors. Ids that XML cannot hold are replaced, and kept in our extension."""
    return _Writer(definition).text()


class Fragments:
    """Parts of a file for a definition that is already in it: elements that it has besides, each as its lines."""

    def __init__(self, definition: Mapping[str, Any], xml_ids: Mapping[str, str]) -> None:
        """`xml_ids`: the ids in the file of those that XML could not hold."""
        without_file = {name: value for name, value in definition.items() if name != "extensions"}
        self.writer = _Writer(without_file)
        self.writer.ids |= xml_ids

    def element(self, collection: str, entry: Mapping[str, Any]) -> list[str]:
        writer = self.writer
        by_collection = {"activities": writer._activity, "gateways": writer._gateway, "events": writer._event}
        return by_collection.get(collection, writer._flow)(entry, 0)

    def process(self) -> list[str]:
        return self.writer._process()

    def declaration(self, collection: str, entry: Mapping[str, Any]) -> list[str]:
        return self.writer._declaration(collection, entry)

    def xml_id(self, id: str) -> str:
        return self.writer._id(id)

    def declarations(self) -> list[str]:
        """What the elements so far refer to, and the definition does not declare."""
        return self.writer.added_declarations


class _Writer:
    def __init__(self, definition: Mapping[str, Any]) -> None:
        self.definition = definition
        extensions = definition.get("extensions")
        self.extensions: Mapping[str, Any] = extensions if isinstance(extensions, Mapping) else {}
        self.file: Mapping[str, Any] = self.extensions.get("file") or {}
        self.foreign: Mapping[str, Any] = self.extensions.get("elements") or {}
        self.scripts: Mapping[str, Any] = self.extensions.get("script") or {}
        self.ids: dict[str, str] = {}
        self.refs: dict[tuple[str, str], str] = {}  # (collection, name or code) → id of its declaration
        self.added_declarations: list[str] = []  # declarations that events need and the definition does not have
        self.added_ids: set[str] = set()

        for collection in EVENT_DECLARATIONS:
            for entry in self._all(collection):
                self.refs[collection, entry.get("code") or entry.get("name") or ""] = entry["id"]
                self.refs.setdefault((collection, entry.get("name") or ""), entry["id"])

    def text(self) -> str:
        body = self._process()
        spaces = {prefix: space for space, prefix in STANDARD.items()}
        spaces |= {str(prefix): str(space) for prefix, space in (self.file.get("namespaces") or {}).items()}
        head = {f"xmlns:{prefix}": space for prefix, space in spaces.items()}
        if not self.file or self.file.get("id"):
            head["id"] = str(self.file.get("id") or "definitions")
        head |= {"targetNamespace": str(self.file.get("targetNamespace") or "http://bpmn.io/schema/bpmn")}  # fmt: skip
        head |= {name: str(self.file[name]) for name in ("name", "exporter", "exporterVersion") if self.file.get(name)}
        parts = ['<?xml version="1.0" encoding="UTF-8"?>', open_tag("bpmn:definitions", head)]
        others = [f"  {text}" for text in self.file.get("others") or []]
        parts += [*self._pools(), *self._declarations(), *body, *others, *self._drawing(), "</bpmn:definitions>"]
        return "\n".join(parts) + "\n"

    # -- parts of the file ---------------------------------------------------------------------------------------------

    def _declarations(self) -> list[str]:
        entries = [(collection, entry) for collection in EVENT_DECLARATIONS for entry in self._all(collection)]
        return [*self.added_declarations, *(line for each in entries for line in self._declaration(*each))]

    def _declaration(self, collection: str, entry: Mapping[str, Any]) -> list[str]:
        tag, _ = EVENT_DECLARATIONS[collection]
        attributes = {"id": self._id(entry["id"]), "name": entry.get("name", "")} | self._vendor_attributes(entry["id"])
        if entry.get("code"):
            attributes[f"{tag}Code"] = entry["code"]
        return self._element(tag, attributes, self._extension({}, entry["id"]), 1)

    def _pools(self) -> list[str]:
        pools, other_elements = self._all("pools"), self.file.get("beside") or []
        if not pools and not other_elements:
            return []
        inner = []
        for pool in pools:
            attributes = {"id": pool["id"], "name": pool.get("name", "")} | self._vendor_attributes(pool["id"])
            if pool.get("process"):
                attributes["processRef"] = pool["process"]
            inner += self._element("participant", attributes, self._extension({}, pool["id"]), 2)
        inner += [f"    {text}" for text in other_elements]
        return self._element("collaboration", {"id": str(self.file.get("collaboration") or "pools")}, inner, 1)

    def _process(self) -> list[str]:
        id = str(self.definition["process_definition_id"])
        xml_id = str(self.file.get("process") or self._id(id))
        settings = {name: value for name, value in self.definition.items() if name not in _TOP_IN_XML}
        if xml_id != id:
            settings = {"id": id, **settings}
        name = str(self.definition.get("process_definition_name") or "")
        attributes = {"id": xml_id, "name": name}
        if not self.file or "executable" in self.file:
            attributes["isExecutable"] = "true" if self.file.get("executable", True) else "false"
        inner = self._documentation(self.definition.get("description"), 2)
        inner += self._extension(settings, "process", 2)
        inner += self._lanes("", 2)
        inner += self._level("", 2)
        return self._element("process", attributes | self._vendor_attributes("process"), inner, 1)

    def _lanes(self, parent: str, depth: int, tag: str = "laneSet") -> list[str]:
        lanes = [lane for lane in self._all("lanes") if (lane.get("parent") or "") == parent]
        if not lanes:
            return []
        inner = []
        for lane in lanes:
            settings = self._settings("lanes", lane)
            inner_lines = self._extension(settings, lane["id"], depth + 2)
            pad = "  " * (depth + 2)
            inner_lines += [f"{pad}<bpmn:flowNodeRef>{escape(self._id(element))}</bpmn:flowNodeRef>"
                     for element in lane.get("elements", [])]  # fmt: skip
            inner_lines += self._lanes(lane["id"], depth + 2, "childLaneSet")
            attributes = {"id": self._id(lane["id"]), "name": lane.get("name", "")}
            inner += self._element("lane", attributes, inner_lines, depth + 1)
        return self._element(tag, {"id": f"lanes_{self._id(parent) or 'top'}"}, inner, depth)

    def _level(self, parent: str, depth: int) -> list[str]:
        lines: list[str] = []
        ids = self._ids_in(parent)
        for collection, write in (
            ("events", self._event), ("activities", self._activity), ("gateways", self._gateway),
        ):  # fmt: skip
            for entry in self._all(collection):
                if (entry.get("parent") or "") == parent:
                    lines += write(entry, depth)
        for flow in self._all("transitions"):
            if flow["source"] in ids:
                lines += self._flow(flow, depth)
        pad = "  " * depth
        other_elements = self.extensions.get("beside")
        kept_lines = other_elements.get(parent or "process", []) if isinstance(other_elements, Mapping) else []
        lines += [f"{pad}{text}" for text in kept_lines]
        drawn = {re.sub(r'.*sourceRef="([^"]*)".*', r"\1", text) for text in kept_lines if "association" in text[:20]}
        lines += [line for event in self._all("events") if (event.get("parent") or "") == parent
                  for line in self._handler_association(event, drawn, depth)]  # fmt: skip
        return lines

    def _handler_association(self, event: Mapping[str, Any], drawn: set[str], depth: int) -> list[str]:
        """The association that joins a compensation boundary event and its handler; BPMN has no flow for it."""
        id = self._id(event["id"])
        if event.get("position") != "boundary" or event.get("trigger") != "compensation" or id in drawn:
            return []
        if not event.get("activity"):
            return []
        attributes = {"id": f"undo_{id}", "associationDirection": "One", "sourceRef": id,
                      "targetRef": self._id(event["activity"])}  # fmt: skip
        return self._element("association", attributes, [], depth)

    # -- elements ------------------------------------------------------------------------------------------------------

    def _activity(self, activity: Mapping[str, Any], depth: int) -> list[str]:
        tag = _tag(activity)
        attributes = self._id_and_name(activity)
        if activity.get("default"):
            attributes["default"] = self._id(activity["default"])
        if activity.get("is_for_compensation"):
            attributes["isForCompensation"] = "true"
        if activity.get("triggered_by_event"):
            attributes["triggeredByEvent"] = "true"
        ad_hoc = activity.get("ad_hoc") or {}
        if tag == "adHocSubProcess":
            attributes |= {"ordering": "Sequential"} if ad_hoc.get("ordering") == "sequential" else {}
            attributes |= {"cancelRemainingInstances": "false"} if ad_hoc.get("cancel_remaining") is False else {}
        if activity.get("method"):
            attributes["method"] = str(activity["method"])
        script = self.scripts.get(activity["id"]) or {}
        if tag == "scriptTask":
            attributes["scriptFormat"] = str(script.get("format") or "python")
        if tag == "callActivity":
            attributes["calledElement"] = str((activity.get("orchestration") or {}).get("sub_process") or "")
        if tag in ("sendTask", "receiveTask") and activity.get("message"):
            attributes["messageRef"] = self._reference("messages", activity["message"])
        if tag == "receiveTask" and activity.get("instantiate"):
            attributes["instantiate"] = "true"
        settings = self._settings("activities", activity)
        if tag not in ("sendTask", "receiveTask") and activity.get("message"):
            settings["message"] = activity["message"]
        if TAGS.get(str(activity.get("type"))) != tag and tag in ("task", "manualTask") and "type" in activity:
            settings.pop("type", None)
        inner = self._documentation_and_extension(activity, settings, depth)
        inner += self._multi_instance(activity.get("multi"), depth + 1)
        if tag == "scriptTask" and (text := activity.get("python_code") or script.get("text")):
            inner.append(f"{'  ' * (depth + 1)}<bpmn:script>{xml_text(text)}</bpmn:script>")
        if tag in SUB_PROCESSES:
            inner += self._level(activity["id"], depth + 1)
        if ad_hoc.get("until"):
            inner.append(_formal_expression("completionCondition", ad_hoc["until"], depth + 1))
        return self._element(tag, attributes, inner, depth)

    def _gateway(self, gateway: Mapping[str, Any], depth: int) -> list[str]:
        attributes = self._id_and_name(gateway)
        if gateway.get("default"):
            attributes["default"] = self._id(gateway["default"])
        if gateway.get("instantiate"):
            attributes["instantiate"] = "true"
        if gateway.get("all_events"):
            attributes["eventGatewayType"] = "Parallel"
        inner = self._documentation_and_extension(gateway, self._settings("gateways", gateway), depth)
        if gateway.get("activation"):
            inner.append(_formal_expression("activationCondition", gateway["activation"], depth + 1))
        return self._element(str(gateway["type"]), attributes, inner, depth)

    def _event(self, event: Mapping[str, Any], depth: int) -> list[str]:
        attributes = self._id_and_name(event)
        if event.get("attached_to"):
            attributes["attachedToRef"] = self._id(event["attached_to"])
        if event.get("interrupting") is False:
            attributes["cancelActivity" if event["position"] == "boundary" else "isInterrupting"] = "false"
        settings = self._settings("events", event)
        if any(word not in _TIMES or not isinstance(value, str) for word, value in (event.get("timer") or {}).items()):
            settings["timer"] = event["timer"]  # BPMN has no place for some of its fields
        definitions = [event]
        if event.get("trigger") in ("multiple", "parallelMultiple"):
            definitions = [{**event, **one} for one in event.get("triggers") or ()]
            if any(not self._says_all(one) for one in event.get("triggers") or ()):
                settings["triggers"] = event["triggers"]
            if event["trigger"] == "parallelMultiple":
                attributes["parallelMultiple"] = "true"
        inner = self._documentation_and_extension(event, settings, depth)
        for n, one in enumerate(definitions):
            inner += self._definition(one, depth + 1, f"_{n}" if n else "")
        return self._element(EVENTS[event["position"]], attributes, inner, depth)

    def _says_all(self, one: Mapping[str, Any]) -> bool:
        """Does an event definition have a place for everything that one of several triggers says?"""
        timer = one.get("timer") or {}
        return set(one) <= _IN_XML["events"] and all(name in _TIMES for name in timer)

    def _definition(self, event: Mapping[str, Any], depth: int, number: str = "") -> list[str]:
        trigger = event.get("trigger") or "none"
        if trigger == "none":
            return []
        attributes = {"id": f"{self._id(event['id'])}_def{number}"}
        inner: list[str] = []
        if trigger == "timer":
            inner = [
                _formal_expression(_TIMES[name], value, depth + 1)
                for name, value in (event.get("timer") or {}).items() if name in _TIMES and value
            ]  # fmt: skip
        elif trigger in REFERENCES:
            name = event.get("code") if trigger in ("error", "escalation") else event.get(trigger)
            if event.get("name_ref"):
                attributes[REFERENCES[trigger]] = self._id(
                    self._declared(f"{trigger}s", event["name_ref"], str(name or ""))
                )
            elif name:
                attributes[REFERENCES[trigger]] = self._reference(f"{trigger}s", str(name))
        elif trigger == "conditional":
            inner = [_formal_expression("condition", event.get("condition") or "", depth + 1)]
        elif trigger == "link":
            attributes["name"] = str(event.get("link") or event.get("name") or event["id"])
        elif trigger == "compensation" and event["position"] != "boundary":
            if event.get("activity"):
                attributes["activityRef"] = self._id(event["activity"])
            if event.get("wait_for_completion") is False:
                attributes["waitForCompletion"] = "false"
        return self._element(DEFINITIONS[trigger], attributes, inner, depth)

    def _flow(self, flow: Mapping[str, Any], depth: int) -> list[str]:
        attributes = {"id": self._id(flow["id"])}
        if flow.get("name"):
            attributes["name"] = flow["name"]
        attributes |= {"sourceRef": self._id(flow["source"]), "targetRef": self._id(flow["target"])}
        inner = self._documentation_and_extension(flow, self._settings("transitions", flow), depth)
        if flow.get("condition"):
            inner.append(_formal_expression("conditionExpression", flow["condition"], depth + 1))
        return self._element("sequenceFlow", attributes | self._vendor_attributes(flow["id"]), inner, depth)

    def _multi_instance(self, multi: Any, depth: int) -> list[str]:
        if not isinstance(multi, Mapping):
            return []
        inner = []
        if multi.get("mode") == "loop":
            if multi.get("again"):
                inner.append(_formal_expression("loopCondition", multi["again"], depth + 1))
            attributes = {"testBefore": "true"} if multi.get("test_before") is True else {}
            attributes |= {"loopMaximum": str(multi["most"])} if multi.get("most") else {}
            return self._element("standardLoopCharacteristics", attributes, inner, depth)
        if multi.get("count") is not None:
            inner.append(_formal_expression("loopCardinality", multi["count"], depth + 1))
        if multi.get("until"):
            inner.append(_formal_expression("completionCondition", multi["until"], depth + 1))
        order = {"isSequential": "true"} if multi.get("mode") == "sequential" else {}
        return self._element("multiInstanceLoopCharacteristics", order, inner, depth)

    # -- the drawing ---------------------------------------------------------------------------------------------------

    def _drawing(self) -> list[str]:
        drawing = self.definition.get("diagram")
        usable = isinstance(drawing, Mapping) and isinstance(drawing.get("shapes"), Mapping) and drawing["shapes"]
        planes = (
            [drawing, *(drawing.get("more") or [])]
            if usable and isinstance(drawing, Mapping)
            else [auto_layout(self.definition)]
        )
        process = str(self.file.get("process") or self._id(str(self.definition["process_definition_id"])))
        root = str(self.file.get("collaboration") or "pools") if self._all("pools") else process
        return write_planes(planes, root, self._id)

    # -- ids, attributes, extensions -----------------------------------------------------------------------------------

    def _all(self, collection: str) -> list[Mapping[str, Any]]:
        entries = self.definition.get(collection)
        return [entry for entry in entries if isinstance(entry, Mapping)] if isinstance(entries, list) else []

    def _ids_in(self, parent: str) -> set[str]:
        return {entry["id"] for name in ("activities", "gateways", "events") for entry in self._all(name)
                if (entry.get("parent") or "") == parent}  # fmt: skip

    def _id(self, id: str) -> str:
        """The id in the file: an id that XML cannot hold is replaced by a hash of it."""
        if id and id not in self.ids:
            digest = hashlib.sha256(id.encode(errors="surrogatepass")).hexdigest()[:10]
            self.ids[id] = id if _NCNAME.match(id) else f"id_{digest}"
        return self.ids.get(id, "")

    def _reference(self, collection: str, name: str) -> str:
        known = self.refs.get((collection, name))
        if known is None:
            digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:10]
            known = self._declared(collection, f"{EVENT_DECLARATIONS[collection][0]}_{digest}", name)
            self.refs[collection, name] = known
        return self._id(known)

    def _declared(self, collection: str, id: str, name: str) -> str:
        """The id of a declaration (message, signal …); one that the definition does not have is added to the file."""
        if id not in {entry["id"] for entry in self._all(collection)} | self.added_ids:
            self.added_ids.add(id)
            tag, _ = EVENT_DECLARATIONS[collection]
            attributes = {"id": self._id(id), "name": name or id}
            if collection in ("errors", "escalations"):
                attributes[f"{tag}Code"] = name or id
            self.added_declarations += self._element(tag, attributes, [], 1)
        return id

    def _id_and_name(self, entry: Mapping[str, Any]) -> dict[str, str]:
        attributes = {"id": self._id(entry["id"])}
        name = str(entry.get("name") or "")
        if name and name != entry["id"]:
            attributes["name"] = name
        return attributes | self._vendor_attributes(entry["id"])

    def _vendor_attributes(self, id: str) -> dict[str, str]:
        extension = self.foreign.get(id)
        attributes = extension.get("attributes") if isinstance(extension, Mapping) else None
        return {str(name): str(value) for name, value in (attributes or {}).items()}

    def _settings(self, collection: str, entry: Mapping[str, Any]) -> dict[str, Any]:
        settings = {name: value for name, value in entry.items() if name not in _IN_XML[collection]}
        if self._id(entry["id"]) != entry["id"]:
            settings = {"id": entry["id"], **settings}
        if collection == "events" and entry.get("name_ref") is None and entry.get("code"):
            settings["code"] = entry["code"]
        multi = entry.get("multi")
        if collection == "activities" and isinstance(multi, Mapping):
            if set(multi) - {"mode", "again", "most", "count", "until"} or not isinstance(multi.get("count", ""), str):
                settings["multi"] = dict(multi)
        ad_hoc = entry.get("ad_hoc")
        if collection == "activities" and isinstance(ad_hoc, Mapping) and ad_hoc.get("steps"):
            settings["ad_hoc"] = dict(ad_hoc)
        return settings

    def _documentation_and_extension(
        self, entry: Mapping[str, Any], settings: Mapping[str, Any], depth: int
    ) -> list[str]:
        return [
            *self._documentation(entry.get("documentation"), depth + 1),
            *self._extension(settings, entry["id"], depth + 1),
        ]

    def _documentation(self, text: Any, depth: int) -> list[str]:
        return [f"{'  ' * depth}<bpmn:documentation>{xml_text(str(text))}</bpmn:documentation>"] if text else []

    def _extension(self, settings: Mapping[str, Any], id: str, depth: int = 2) -> list[str]:
        extension = self.foreign.get(id)
        foreign = str(extension.get("elements") or "") if isinstance(extension, Mapping) else ""
        if not settings and not foreign:
            return []
        pad = "  " * (depth + 1)
        inner = [f"{pad}{foreign}"] if foreign else []
        if settings:
            text = json.dumps(settings, ensure_ascii=False, sort_keys=True)
            inner.append(f"{pad}<penstock:settings>{xml_text(text)}</penstock:settings>")
        return self._element("extensionElements", {}, inner, depth)

    def _element(self, tag: str, attributes: Mapping[str, str], inner: Iterable[str], depth: int) -> list[str]:
        pad, lines = "  " * depth, list(inner)
        start_tag = open_tag(f"bpmn:{tag}", attributes)
        if not lines:
            return [f"{pad}{start_tag[:-1]} />"]
        return [f"{pad}{start_tag}", *lines, f"{pad}</bpmn:{tag}>"]


def _formal_expression(tag: str, value: Any, depth: int) -> str:
    return f'{"  " * depth}<bpmn:{tag} xsi:type="bpmn:tFormalExpression">{xml_text(str(value))}</bpmn:{tag}>'


def _tag(activity: Mapping[str, Any]) -> str:
    if activity.get("bpmn"):
        return str(activity["bpmn"])
    if activity.get("ad_hoc"):
        return "adHocSubProcess"
    called = isinstance(activity.get("orchestration"), Mapping) and activity["orchestration"].get("sub_process")
    return (
        "callActivity"
        if activity.get("type") == "subProcess" and called
        else TAGS.get(str(activity.get("type")), "task")
    )
