"""A ProcessDefinition becomes BPMN 2.0 XML with its drawing; what BPMN has no element for goes along as extension."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from penstock.lang.process.bpmn.drawing import FLAGS
from penstock.lang.process.bpmn.layout import laid_out
from penstock.lang.process.bpmn.names import DEFINITIONS, EVENTS, NEWS, REFERS, STANDARD, TAGS

_NCNAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\Z")
_BAD = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TIMES = {"date": "timeDate", "duration": "timeDuration", "cycle": "timeCycle"}
#: of an element, what stands in the file itself; everything else goes along in our own extension element
_IN_XML = {
    "activities": {
        "id", "name", "type", "bpmn", "parent", "documentation", "default", "is_for_compensation", "triggered_by_event",
        "python_code", "message", "multi",
    },
    "gateways": {"id", "name", "type", "default", "parent", "documentation"},
    "events": {
        "id", "name", "position", "trigger", "attached_to", "interrupting", "timer", "message", "signal", "code",
        "name_ref", "activity", "parent", "documentation",
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
    """Of a definition that has been read without errors; ids that XML cannot hold are replaced, and kept beside."""
    return _Writing(definition).whole()


class _Writing:
    def __init__(self, definition: Mapping[str, Any]) -> None:
        self.d = definition
        kept = definition.get("extensions")
        self.kept: Mapping[str, Any] = kept if isinstance(kept, Mapping) else {}
        self.file: Mapping[str, Any] = self.kept.get("file") or {}
        self.foreign: Mapping[str, Any] = self.kept.get("elements") or {}
        self.scripts: Mapping[str, Any] = self.kept.get("script") or {}
        self.ids: dict[str, str] = {}
        self.refs: dict[tuple[str, str], str] = {}  # (collection, name or code) → id of a message, signal …
        self.made: list[str] = []  # messages, signals … that events name and the definition does not list
        self.added: set[str] = set()

    def whole(self) -> str:
        for collection in NEWS:
            for one in self._all(collection):
                self.refs[collection, one.get("code") or one.get("name") or ""] = one["id"]
                self.refs.setdefault((collection, one.get("name") or ""), one["id"])
        body = self._process()
        spaces = {prefix: space for space, prefix in STANDARD.items()}
        spaces |= {str(prefix): str(space) for prefix, space in (self.file.get("namespaces") or {}).items()}
        head = {f"xmlns:{prefix}": space for prefix, space in spaces.items()}
        if not self.file or self.file.get("id"):
            head["id"] = str(self.file.get("id") or "definitions")
        head |= {"targetNamespace": str(self.file.get("targetNamespace") or "http://bpmn.io/schema/bpmn")}  # fmt: skip
        head |= {name: str(self.file[name]) for name in ("name", "exporter", "exporterVersion") if self.file.get(name)}
        parts = ['<?xml version="1.0" encoding="UTF-8"?>', _open("bpmn:definitions", head)]
        parts += [*self._pools(), *self._news(), *body, *self._drawing(), "</bpmn:definitions>"]
        return "\n".join(parts) + "\n"

    # -- parts of the file ---------------------------------------------------------------------------------------------

    def _news(self) -> list[str]:
        found = list(self.made)
        for collection, (tag, _) in NEWS.items():
            for one in self._all(collection):
                attributes = {"id": one["id"], "name": one.get("name", "")} | self._vendor(one["id"])
                if one.get("code"):
                    attributes[f"{tag}Code"] = one["code"]
                found += self._element(tag, attributes, self._extension({}, one["id"]), 1)
        return found

    def _pools(self) -> list[str]:
        pools, beside = self._all("pools"), self.file.get("beside") or []
        if not pools and not beside:
            return []
        inner = []
        for pool in pools:
            attributes = {"id": pool["id"], "name": pool.get("name", "")} | self._vendor(pool["id"])
            if pool.get("process"):
                attributes["processRef"] = pool["process"]
            inner += self._element("participant", attributes, self._extension({}, pool["id"]), 2)
        inner += [f"    {text}" for text in beside]
        return self._element("collaboration", {"id": str(self.file.get("collaboration") or "pools")}, inner, 1)

    def _process(self) -> list[str]:
        id = str(self.d["process_definition_id"])
        own = str(self.file.get("process") or self._id(id))
        settings = {name: value for name, value in self.d.items() if name not in _TOP_IN_XML}
        if own != id:
            settings = {"id": id, **settings}
        name = str(self.d.get("process_definition_name") or "")
        attributes = {"id": own, "name": name}
        if not self.file or "executable" in self.file:
            attributes["isExecutable"] = "true" if self.file.get("executable", True) else "false"
        inner = self._said(self.d.get("description"), 2)
        inner += self._extension(settings, "process", 2)
        inner += self._lanes("", 2)
        inner += self._level("", 2)
        return self._element("process", attributes | self._vendor("process"), inner, 1)

    def _lanes(self, parent: str, deep: int, tag: str = "laneSet") -> list[str]:
        lanes = [lane for lane in self._all("lanes") if (lane.get("parent") or "") == parent]
        if not lanes:
            return []
        inner = []
        for lane in lanes:
            settings = self._settings("lanes", lane)
            held = self._extension(settings, lane["id"], deep + 2)
            pad = "  " * (deep + 2)
            held += [f"{pad}<bpmn:flowNodeRef>{escape(self._id(one))}</bpmn:flowNodeRef>"
                     for one in lane.get("elements", [])]  # fmt: skip
            held += self._lanes(lane["id"], deep + 2, "childLaneSet")
            attributes = {"id": self._id(lane["id"]), "name": lane.get("name", "")}
            inner += self._element("lane", attributes, held, deep + 1)
        return self._element(tag, {"id": f"lanes_{self._id(parent) or 'top'}"}, inner, deep)

    def _level(self, parent: str, deep: int) -> list[str]:
        found: list[str] = []
        inside = self._inside(parent)
        for collection, write in (
            ("events", self._event), ("activities", self._activity), ("gateways", self._gateway),
        ):  # fmt: skip
            for one in self._all(collection):
                if (one.get("parent") or "") == parent:
                    found += write(one, deep)
        for flow in self._all("transitions"):
            if flow["source"] in inside:
                found += self._flow(flow, deep)
        pad = "  " * deep
        beside = self.kept.get("beside")
        kept = beside.get(parent or "process", []) if isinstance(beside, Mapping) else []
        found += [f"{pad}{text}" for text in kept]
        drawn = {re.sub(r'.*sourceRef="([^"]*)".*', r"\1", text) for text in kept if "association" in text[:20]}
        found += [line for event in self._all("events") if (event.get("parent") or "") == parent
                  for line in self._handler(event, drawn, deep)]  # fmt: skip
        return found

    def _handler(self, event: Mapping[str, Any], drawn: set[str], deep: int) -> list[str]:
        """A compensation boundary event and its handler are joined by an association, not by a flow."""
        id = self._id(event["id"])
        if event.get("position") != "boundary" or event.get("trigger") != "compensation" or id in drawn:
            return []
        if not event.get("activity"):
            return []
        attributes = {"id": f"undo_{id}", "associationDirection": "One", "sourceRef": id,
                      "targetRef": self._id(event["activity"])}  # fmt: skip
        return self._element("association", attributes, [], deep)

    # -- elements ------------------------------------------------------------------------------------------------------

    def _activity(self, one: Mapping[str, Any], deep: int) -> list[str]:
        tag = _tag(one)
        attributes = self._named(one)
        if one.get("default"):
            attributes["default"] = self._id(one["default"])
        if one.get("is_for_compensation"):
            attributes["isForCompensation"] = "true"
        if one.get("triggered_by_event"):
            attributes["triggeredByEvent"] = "true"
        script = self.scripts.get(one["id"]) or {}
        if tag == "scriptTask":
            attributes["scriptFormat"] = str(script.get("format") or "python")
        if tag == "callActivity":
            attributes["calledElement"] = str((one.get("orchestration") or {}).get("sub_process") or "")
        if tag in ("sendTask", "receiveTask") and one.get("message"):
            attributes["messageRef"] = self._ref("messages", one["message"])
        settings = self._settings("activities", one)
        if tag not in ("sendTask", "receiveTask") and one.get("message"):
            settings["message"] = one["message"]
        if TAGS.get(str(one.get("type"))) != tag and tag in ("task", "manualTask") and "type" in one:
            settings.pop("type", None)
        inner = self._opening(one, settings, deep)
        inner += self._many(one.get("multi"), deep + 1)
        if tag == "scriptTask" and (text := one.get("python_code") or script.get("text")):
            inner.append(f"{'  ' * (deep + 1)}<bpmn:script>{_text(text)}</bpmn:script>")
        if tag == "subProcess":
            inner += self._level(one["id"], deep + 1)
        return self._element(tag, attributes, inner, deep)

    def _gateway(self, one: Mapping[str, Any], deep: int) -> list[str]:
        attributes = self._named(one)
        if one.get("default"):
            attributes["default"] = self._id(one["default"])
        inner = self._opening(one, self._settings("gateways", one), deep)
        return self._element(str(one["type"]), attributes, inner, deep)

    def _event(self, one: Mapping[str, Any], deep: int) -> list[str]:
        attributes = self._named(one)
        if one.get("attached_to"):
            attributes["attachedToRef"] = self._id(one["attached_to"])
        if one.get("interrupting") is False:
            attributes["cancelActivity" if one["position"] == "boundary" else "isInterrupting"] = "false"
        settings = self._settings("events", one)
        if any(word not in _TIMES or not isinstance(value, str) for word, value in (one.get("timer") or {}).items()):
            settings["timer"] = one["timer"]  # what the file's own element has no words for
        inner = self._opening(one, settings, deep)
        inner += self._definition(one, deep + 1)
        return self._element(EVENTS[one["position"]], attributes, inner, deep)

    def _definition(self, one: Mapping[str, Any], deep: int) -> list[str]:
        trigger = one.get("trigger") or "none"
        if trigger == "none":
            return []
        attributes = {"id": f"{self._id(one['id'])}_def"}
        inner: list[str] = []
        if trigger == "timer":
            pad = "  " * (deep + 1)
            kind = 'xsi:type="bpmn:tFormalExpression"'
            inner = [f"{pad}<bpmn:{_TIMES[word]} {kind}>{_text(str(value))}</bpmn:{_TIMES[word]}>"
                     for word, value in (one.get("timer") or {}).items() if word in _TIMES and value]  # fmt: skip
        elif trigger in REFERS:
            said = one.get("code") if trigger in ("error", "escalation") else one.get(trigger)
            if one.get("name_ref"):
                attributes[REFERS[trigger]] = self._id(self._known(f"{trigger}s", one["name_ref"], str(said or "")))
            elif said:
                attributes[REFERS[trigger]] = self._ref(f"{trigger}s", str(said))
        elif trigger == "compensation" and one.get("activity") and one["position"] != "boundary":
            attributes["activityRef"] = self._id(one["activity"])
        return self._element(DEFINITIONS[trigger], attributes, inner, deep)

    def _flow(self, one: Mapping[str, Any], deep: int) -> list[str]:
        attributes = {"id": self._id(one["id"])}
        if one.get("name"):
            attributes["name"] = one["name"]
        attributes |= {"sourceRef": self._id(one["source"]), "targetRef": self._id(one["target"])}
        inner = self._opening(one, self._settings("transitions", one), deep)
        if one.get("condition"):
            pad = "  " * (deep + 1)
            inner.append(f'{pad}<bpmn:conditionExpression xsi:type="bpmn:tFormalExpression">{_text(one["condition"])}'
                         "</bpmn:conditionExpression>")  # fmt: skip
        return self._element("sequenceFlow", attributes | self._vendor(one["id"]), inner, deep)

    def _many(self, multi: Any, deep: int) -> list[str]:
        if not isinstance(multi, Mapping):
            return []
        pad = "  " * (deep + 1)
        inner = []

        def said(tag: str, value: Any) -> None:
            text = _text(str(value))
            inner.append(f'{pad}<bpmn:{tag} xsi:type="bpmn:tFormalExpression">{text}</bpmn:{tag}>')

        if multi.get("mode") == "loop":
            if multi.get("again"):
                said("loopCondition", multi["again"])
            most = {"loopMaximum": str(multi["most"])} if multi.get("most") else {}
            return self._element("standardLoopCharacteristics", most, inner, deep)
        if multi.get("count") is not None:
            said("loopCardinality", multi["count"])
        if multi.get("until"):
            said("completionCondition", multi["until"])
        order = {"isSequential": "true"} if multi.get("mode") == "sequential" else {}
        return self._element("multiInstanceLoopCharacteristics", order, inner, deep)

    # -- the drawing ---------------------------------------------------------------------------------------------------

    def _drawing(self) -> list[str]:
        drawn = self.d.get("diagram")
        usable = isinstance(drawn, Mapping) and isinstance(drawn.get("shapes"), Mapping) and drawn["shapes"]
        planes = [drawn, *(drawn.get("more") or [])] if usable and isinstance(drawn, Mapping) else [laid_out(self.d)]
        process = str(self.file.get("process") or self._id(str(self.d["process_definition_id"])))
        about = str(self.file.get("collaboration") or "pools") if self._all("pools") else process
        found = []
        for n, plane in enumerate(planes):
            element = self._id(str(plane.get("element") or about))
            inner = [line for id, shape in plane.get("shapes", {}).items() for line in self._shape(id, shape, n)]
            inner += [line for id, edge in plane.get("edges", {}).items() for line in self._edge(id, edge, n)]
            attributes = {"id": f"plane_{n}", "bpmnElement": element}
            held = ["    " + _open("bpmndi:BPMNPlane", attributes), *inner, "    </bpmndi:BPMNPlane>"]
            found += [f'  <bpmndi:BPMNDiagram id="diagram_{n}">', *held, "  </bpmndi:BPMNDiagram>"]
        return found

    def _shape(self, id: str, shape: Any, n: int) -> list[str]:
        bounds = shape.get("bounds") if isinstance(shape, Mapping) else shape
        own = self._id(id)
        attributes = {"id": f"{own}_di{n or ''}", "bpmnElement": own}
        if isinstance(shape, Mapping):
            attributes |= {flag: "true" if shape[word] else "false" for flag, word in FLAGS.items() if word in shape}
        inner = [_bounds(bounds, 4), *_label(shape)]
        return ["      " + _open("bpmndi:BPMNShape", attributes), *inner, "      </bpmndi:BPMNShape>"]

    def _edge(self, id: str, edge: Any, n: int) -> list[str]:
        points = edge.get("points", []) if isinstance(edge, Mapping) else edge
        own = self._id(id)
        attributes = {"id": f"{own}_di{n or ''}", "bpmnElement": own}
        inner = [f'        <di:waypoint x="{_n(x)}" y="{_n(y)}" />' for x, y in points]
        return ["      " + _open("bpmndi:BPMNEdge", attributes), *inner, *_label(edge), "      </bpmndi:BPMNEdge>"]

    # -- small things --------------------------------------------------------------------------------------------------

    def _all(self, collection: str) -> list[Mapping[str, Any]]:
        found = self.d.get(collection)
        return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []

    def _inside(self, parent: str) -> set[str]:
        return {one["id"] for name in ("activities", "gateways", "events") for one in self._all(name)
                if (one.get("parent") or "") == parent}  # fmt: skip

    def _id(self, id: str) -> str:
        """XML has fewer ids than people: another one gets a hash, and its own goes along."""
        if id and id not in self.ids:
            digest = hashlib.sha256(id.encode(errors="surrogatepass")).hexdigest()[:10]
            self.ids[id] = id if _NCNAME.match(id) else f"id_{digest}"
        return self.ids.get(id, "")

    def _ref(self, collection: str, name: str) -> str:
        known = self.refs.get((collection, name))
        if known is None:
            digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:10]
            known = self._known(collection, f"{NEWS[collection][0]}_{digest}", name)
            self.refs[collection, name] = known
        return self._id(known)

    def _known(self, collection: str, id: str, name: str) -> str:
        """The id of a message, signal …, which is in the file: what an event names and nobody lists is added."""
        if id not in {one["id"] for one in self._all(collection)} | self.added:
            self.added.add(id)
            tag, _ = NEWS[collection]
            attributes = {"id": self._id(id), "name": name or id}
            if collection in ("errors", "escalations"):
                attributes[f"{tag}Code"] = name or id
            self.made += self._element(tag, attributes, [], 1)
        return id

    def _named(self, one: Mapping[str, Any]) -> dict[str, str]:
        found = {"id": self._id(one["id"])}
        name = str(one.get("name") or "")
        if name and name != one["id"]:
            found["name"] = name
        return found | self._vendor(one["id"])

    def _vendor(self, id: str) -> dict[str, str]:
        held = self.foreign.get(id)
        attributes = held.get("attributes") if isinstance(held, Mapping) else None
        return {str(name): str(value) for name, value in (attributes or {}).items()}

    def _settings(self, collection: str, one: Mapping[str, Any]) -> dict[str, Any]:
        found = {name: value for name, value in one.items() if name not in _IN_XML[collection]}
        if self._id(one["id"]) != one["id"]:
            found = {"id": one["id"], **found}
        if collection == "events" and one.get("name_ref") is None and one.get("code"):
            found["code"] = one["code"]
        multi = one.get("multi")
        if collection == "activities" and isinstance(multi, Mapping):
            if set(multi) - {"mode", "again", "most", "count", "until"} or not isinstance(multi.get("count", ""), str):
                found["multi"] = dict(multi)
        return found

    def _opening(self, one: Mapping[str, Any], settings: Mapping[str, Any], deep: int) -> list[str]:
        return [*self._said(one.get("documentation"), deep + 1), *self._extension(settings, one["id"], deep + 1)]

    def _said(self, text: Any, deep: int) -> list[str]:
        return [f"{'  ' * deep}<bpmn:documentation>{_text(str(text))}</bpmn:documentation>"] if text else []

    def _extension(self, settings: Mapping[str, Any], id: str, deep: int = 2) -> list[str]:
        held = self.foreign.get(id)
        theirs = str(held.get("elements") or "") if isinstance(held, Mapping) else ""
        if not settings and not theirs:
            return []
        pad = "  " * (deep + 1)
        inner = [f"{pad}{theirs}"] if theirs else []
        if settings:
            text = json.dumps(settings, ensure_ascii=False, sort_keys=True)
            inner.append(f"{pad}<penstock:settings>{_text(text)}</penstock:settings>")
        return self._element("extensionElements", {}, inner, deep)

    def _element(self, tag: str, attributes: Mapping[str, str], inner: Iterable[str], deep: int) -> list[str]:
        pad, held = "  " * deep, list(inner)
        opened = _open(f"bpmn:{tag}", attributes)
        if not held:
            return [f"{pad}{opened[:-1]} />"]
        return [f"{pad}{opened}", *held, f"{pad}</bpmn:{tag}>"]


def _tag(one: Mapping[str, Any]) -> str:
    if one.get("bpmn"):
        return str(one["bpmn"])
    called = isinstance(one.get("orchestration"), Mapping) and one["orchestration"].get("sub_process")
    return "callActivity" if one.get("type") == "subProcess" and called else TAGS.get(str(one.get("type")), "task")


def _open(tag: str, attributes: Mapping[str, str]) -> str:
    said = [f" {name}={quoteattr(_BAD.sub('', str(value)))}" for name, value in attributes.items()]
    return f"<{tag}{''.join(said)}>"


def _text(text: str) -> str:
    return escape(_BAD.sub("", text))


def _label(shape: Any) -> list[str]:
    if not isinstance(shape, Mapping) or not shape.get("label"):
        return []
    return ["        <bpmndi:BPMNLabel>", _bounds(shape["label"], 5), "        </bpmndi:BPMNLabel>"]


def _bounds(bounds: Any, deep: int) -> str:
    x, y, width, height = [*(bounds or []), 0, 0, 0, 0][:4]
    return f'{"  " * deep}<dc:Bounds x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}" />'


def _n(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(int(value)) if isinstance(value, int) else "0"
