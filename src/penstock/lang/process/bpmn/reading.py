"""BPMN 2.0 XML becomes a ProcessDefinition (P-X.25): every element a node with its place, what cannot be run by name.

What says nothing about how a process runs (drawings, annotations, a modeler's own extensions) is kept as it was, so
that the file goes out as it came in.
"""

from __future__ import annotations

from typing import Any

from penstock.errors import DocumentUnreadable, Place
from penstock.lang.document import Mark
from penstock.lang.process.bpmn import drawing, vendors
from penstock.lang.process.bpmn.names import (
    BPMN,
    GATEWAYS,
    KEPT,
    NEWS,
    OURS,
    POSITIONS,
    REFERS,
    REFUSED,
    STANDARD,
    TASKS,
    TRIGGERS,
)  # fmt: skip
from penstock.lang.process.bpmn.tree import Node, Tree, parse, written
from penstock.lang.read_json import parse_json

_FLOW_NODES = (*TASKS, *GATEWAYS, *POSITIONS)
_LANES = ("lane", "flowNodeRef", "childLaneSet", "partitionElement")


def recognise(text: str) -> bool:
    return text.lstrip("\ufeff \t\r\n")[:1] == "<"


def read_bpmn(text: str) -> tuple[dict[str, Any], Mark]:
    """The ProcessDefinition and its places. Raises DocumentUnreadable for what is no BPMN file."""
    tree = parse(text.removeprefix("\ufeff"))
    root = tree.root
    if root.space != BPMN or root.name != "definitions":
        why = f"it is XML, but its root is <{root.name}> and not <definitions> of BPMN 2.0"
        raise DocumentUnreadable(why=why, where=Place("", root.line, root.column))
    return _Reading(tree).whole()


class _Reading:
    def __init__(self, tree: Tree) -> None:
        self.tree, self.root = tree, tree.root
        own = {space: prefix or f"ns{n}" for n, (space, prefix) in enumerate(tree.prefixes.items())}
        taken = set(STANDARD.values())
        self.prefixes = {space: f"{p}_" if p in taken else p for space, p in own.items()} | STANDARD
        self.news: dict[str, dict[str, Node]] = {}
        self.found: dict[str, list[tuple[dict[str, Any], Node]]] = {}
        self.extensions: dict[str, Any] = {}
        self.roles: dict[str, dict[str, Any]] = {}
        self.handlers: dict[str, str] = {}  # boundary event of compensation → its handler
        self.real: dict[str, str] = {}  # id in the file → the author's, where XML could not hold that

    def whole(self) -> tuple[dict[str, Any], Mark]:
        for child in self.root.children:
            if child.space == BPMN and child.name in {tag for tag, _ in NEWS.values()}:
                self.news.setdefault(child.name, {})[child.get("id")] = child
        self._learn(self.root)
        process = self._process()
        top = self._top(process)
        self._news()
        self._pools(process)
        self._level(process, "")
        for event, _ in self.found.get("events", []):
            if event["position"] == "boundary" and event.get("trigger") == "compensation":
                event.setdefault("activity", self.handlers.get(event["id"], ""))
        return self._finished(top, process)

    def _finished(self, top: dict[str, Any], process: Node) -> tuple[dict[str, Any], Mark]:
        data, marks = dict(top), _marks(top, process)
        given = data.get("roles", [])
        if self.roles and isinstance(given, list):
            known = {str(one.get("id")) for one in given if isinstance(one, dict)}
            data["roles"] = [*given, *(role for role in self.roles.values() if role["id"] not in known)]
        if "roles" in data:
            marks["roles"] = _marked(data["roles"], process)
        for name, entries in self.found.items():
            data[name] = [entry for entry, _ in entries]
            lines = [_mark(entry, node) for entry, node in entries]
            marks[name] = Mark(process.line, process.column, lines)
        drawn = drawing.read(self.root, self._own)
        if drawn:
            data["diagram"] = drawn
            marks["diagram"] = _marked(drawn, process)
        if self.extensions:
            data["extensions"] = self.extensions
            marks["extensions"] = _marked(self.extensions, process)
        items = {name: (mark.line, mark.column, mark) for name, mark in marks.items()}
        return data, Mark(process.line, process.column, items)

    def _learn(self, node: Node) -> None:
        pending = [node]
        while pending:
            one = pending.pop()
            pending += one.children
            if one.space == BPMN and one.get("id") and isinstance(own := self._ours(one).get("id"), str):
                self.real[one.get("id")] = own

    # -- the top -------------------------------------------------------------------------------------------------------

    def _process(self) -> Node:
        """The one process of the file that is meant to be run: others are told, or are empty pools."""
        every = self.root.all("process", BPMN)
        if not every:
            raise DocumentUnreadable(why="it has no <process>", where=Place("", self.root.line, self.root.column))
        filled = [one for one in every if any(child.name in _FLOW_NODES for child in one.children)]
        meant = [one for one in filled if one.get("isExecutable") == "true"] or filled or every
        for other in filled:
            if other is not meant[0]:
                self._refused("second process of the file", other)
        return meant[0]

    def _top(self, process: Node) -> dict[str, Any]:
        id = process.get("id") or "process"
        ours = self._ours(process)
        top: dict[str, Any] = {
            "process_definition_id": str(ours.pop("id", id)),
            "process_definition_name": process.get("name") or self._pool_name(process) or str(id),
        }
        if text := process.said("documentation", BPMN):
            top["description"] = text
        top |= {name: value for name, value in ours.items() if name not in ("activities", "transitions", "events")}
        about: dict[str, Any] = {
            name: self.root.get(name) for name in ("id", "name", "targetNamespace", "exporter", "exporterVersion")
            if self.root.get(name)
        }  # fmt: skip
        about["process"] = id
        foreign = {prefix: space for space, prefix in self.prefixes.items() if space not in STANDARD}
        if foreign:
            about["namespaces"] = foreign
        if process.get("isExecutable"):
            about["executable"] = process.get("isExecutable") == "true"
        self.extensions["file"] = about
        self._kept_extensions(process, "process")
        return top

    def _pool_name(self, process: Node) -> str:
        for pools in self.root.all("collaboration", BPMN):
            for pool in pools.all("participant", BPMN):
                if pool.get("processRef") == process.get("id") and pool.get("name"):
                    return pool.get("name")
        return ""

    def _news(self) -> None:
        for collection, (tag, _) in NEWS.items():
            for node in self.news.get(tag, {}).values():
                entry = {"id": node.get("id"), "name": node.get("name")}
                code = node.get("errorCode") or node.get("escalationCode")
                self._add(collection, {**entry, "code": code} if code else entry, node)
                self._kept_extensions(node, node.get("id"))

    def _pools(self, process: Node) -> None:
        for pools in self.root.all("collaboration", BPMN):
            about = self.extensions["file"]
            about["collaboration"] = pools.get("id")
            for child in pools.children:
                if child.name == "participant" and child.space == BPMN:
                    pool = {"id": child.get("id"), "name": child.get("name"), "process": child.get("processRef")}
                    self._add("pools", pool, child)
                    self._kept_extensions(child, child.get("id"))
                elif child.name not in ("documentation", "extensionElements"):
                    about.setdefault("beside", []).append(written(child, self.prefixes))

    # -- elements ------------------------------------------------------------------------------------------------------

    def _level(self, around: Node, parent: str) -> None:
        for node in around.children:
            if node.space != BPMN:
                continue
            name, id = node.name, self._id(node)
            if name in TASKS:
                self._activity(node, parent)
                if name == "subProcess":
                    self._level(node, id)
            elif name in GATEWAYS:
                self._gateway(node, parent)
            elif name in POSITIONS:
                self._event(node, parent)
            elif name == "sequenceFlow":
                self._flow(node)
            elif name == "laneSet":
                self._lanes(node, "")
            elif name in REFUSED:
                self._refused(REFUSED[name], node)
            elif name in KEPT:
                if name == "association":
                    self.handlers.setdefault(self._own(node.get("sourceRef")), self._own(node.get("targetRef")))
                self.extensions.setdefault("beside", {}).setdefault(parent or "process", []).append(
                    written(node, self.prefixes)
                )

    def _activity(self, node: Node, parent: str) -> None:
        id, tag = self._id(node), node.name
        entry: dict[str, Any] = {"id": id, "name": node.get("name") or id, "type": TASKS[tag], "bpmn": tag}
        if parent:
            entry["parent"] = parent
        if text := node.said("documentation", BPMN):
            entry["documentation"] = text
        if node.get("default"):
            entry["default"] = self._own(node.get("default"))
        if node.get("isForCompensation") == "true":
            entry["is_for_compensation"] = True
        if node.get("triggeredByEvent") == "true":
            entry["triggered_by_event"] = True
        if tag == "scriptTask":
            self._script(node, entry)
        if tag == "callActivity" and node.get("calledElement"):
            entry["orchestration"] = {"sub_process": node.get("calledElement")}
        if tag in ("sendTask", "receiveTask"):  # one that says nothing is about the message of its own name
            ref = node.get("messageRef")
            entry["message"] = self._named("message", ref) if ref else entry["name"]
        if multi := _multi(node):
            entry["multi"] = multi
        vendors.read(node, entry, self.roles)
        entry |= self._ours(node)
        self._kept_extensions(node, id)
        self._add("activities", entry, node)

    def _script(self, node: Node, entry: dict[str, Any]) -> None:
        """P-X.25: a script in another language is nobody's to run, and stays in the file."""
        said = node.get("scriptFormat")
        if said.lower() in ("python", "python3", "text/x-python", "application/x-python"):
            entry["python_code"] = node.said("script", BPMN)
            if said != "python":
                self.extensions.setdefault("script", {})[entry["id"]] = {"format": said}
        else:
            self.extensions.setdefault("script", {})[entry["id"]] = {"format": said, "text": node.said("script", BPMN)}
            if said:
                self._refused(f"script in {said[:40]}", node)

    def _gateway(self, node: Node, parent: str) -> None:
        entry: dict[str, Any] = {"id": self._id(node), "name": node.get("name"), "type": node.name}
        if node.get("default"):
            entry["default"] = self._own(node.get("default"))
        if parent:
            entry["parent"] = parent
        if text := node.said("documentation", BPMN):
            entry["documentation"] = text
        entry |= self._ours(node)
        self._kept_extensions(node, entry["id"])
        self._add("gateways", entry, node)

    def _event(self, node: Node, parent: str) -> None:
        entry: dict[str, Any] = {"id": self._id(node), "name": node.get("name"), "position": POSITIONS[node.name]}
        definitions = [one for one in node.children if one.space == BPMN and one.name in TRIGGERS]
        if len(definitions) > 1:
            return self._refused("multiple event", node)
        if definitions:
            entry |= self._definition(definitions[0])
        if node.get("attachedToRef"):
            entry["attached_to"] = self._own(node.get("attachedToRef"))
        if node.get("cancelActivity") == "false" or node.get("isInterrupting") == "false":
            entry["interrupting"] = False
        if parent:
            entry["parent"] = parent
        if text := node.said("documentation", BPMN):
            entry["documentation"] = text
        entry |= self._ours(node)
        self._kept_extensions(node, entry["id"])
        self._add("events", entry, node)
        return None

    def _definition(self, node: Node) -> dict[str, Any]:
        trigger = TRIGGERS[node.name]
        found: dict[str, Any] = {"trigger": trigger}
        if trigger == "timer":
            words = {"timeDate": "date", "timeDuration": "duration", "timeCycle": "cycle"}
            found["timer"] = {word: vendors.moment(node.said(tag, BPMN)) for tag, word in words.items()
                              if node.said(tag, BPMN)}  # fmt: skip
        elif trigger in REFERS and (ref := node.get(REFERS[trigger])):
            found["name_ref"] = ref
            found["code" if trigger in ("error", "escalation") else trigger] = self._named(trigger, ref)
        elif trigger == "compensation" and node.get("activityRef"):
            found["activity"] = self._own(node.get("activityRef"))
        return found

    def _flow(self, node: Node) -> None:
        id = self._id(node)
        source, target = self._own(node.get("sourceRef")), self._own(node.get("targetRef"))
        entry: dict[str, Any] = {"id": id, "source": source, "target": target}
        if node.get("name"):
            entry["name"] = node.get("name")
        if condition := node.said("conditionExpression", BPMN):
            entry["condition"] = vendors.expression(condition)
        if text := node.said("documentation", BPMN):
            entry["documentation"] = text
        entry |= self._ours(node)
        self._kept_extensions(node, id)
        self._add("transitions", entry, node)

    def _lanes(self, around: Node, parent: str) -> None:
        for lane in around.all("lane", BPMN):
            members = [self._own(one.text.strip()) for one in lane.all("flowNodeRef", BPMN)]
            entry: dict[str, Any] = {"id": self._id(lane), "name": lane.get("name"), "elements": members}
            if parent:
                entry["parent"] = parent
            entry |= self._ours(lane)
            self._add("lanes", entry, lane)
            for inner in lane.all("childLaneSet", BPMN):
                self._lanes(inner, self._id(lane))

    # -- small things --------------------------------------------------------------------------------------------------

    def _id(self, node: Node) -> str:
        return self._own(node.get("id"))

    def _own(self, ref: str) -> str:
        return self.real.get(ref, ref)

    def _named(self, kind: str, ref: str) -> str:
        """The name, or the code, of a message, signal, error or escalation of the file."""
        node = self.news.get(kind, {}).get(ref)
        if node is None:
            return ref
        return node.get("errorCode") or node.get("escalationCode") or node.get("name") or ref

    def _add(self, collection: str, entry: dict[str, Any], node: Node) -> None:
        self.found.setdefault(collection, []).append((entry, node))

    def _refused(self, what: str, node: Node) -> None:
        self._add("unsupported", {"element": what, "id": node.get("id"), "name": node.get("name")}, node)

    def _ours(self, node: Node) -> dict[str, Any]:
        """What of a ProcessDefinition BPMN has no element for: JSON in an extension element of ours."""
        held = node.first("extensionElements", BPMN)
        found = held.first("settings", OURS) if held is not None else None
        if found is None:
            return {}
        try:
            value, _ = parse_json(found.text or "{}")  # as strict as a document: no NUL, no depth, no 65th bit
        except DocumentUnreadable:
            raise DocumentUnreadable(
                why="<penstock:settings> holds no JSON that can be read", where=Place("", found.line, found.column)
            ) from None
        return value if isinstance(value, dict) else {}

    def _kept_extensions(self, node: Node, id: str) -> None:
        """A modeler's own attributes and extension elements, as they were."""
        attributes = {
            f"{self.prefixes[space]}:{name}": value for (space, name), value in node.attributes.items()
            if space and space not in STANDARD and space in self.prefixes
        }  # fmt: skip
        held = node.first("extensionElements", BPMN)
        inner = [written(one, self.prefixes) for one in held.children if one.space != OURS] if held is not None else []
        if attributes or inner:
            kept: dict[str, Any] = {"attributes": attributes} if attributes else {}
            if inner:
                kept["elements"] = "".join(inner)
            self.extensions.setdefault("elements", {})[id] = kept


def _multi(node: Node) -> dict[str, Any]:
    many = node.first("multiInstanceLoopCharacteristics", BPMN)
    if many is not None:
        found: dict[str, Any] = {"mode": "sequential" if many.get("isSequential") == "true" else "parallel"}
        if count := many.said("loopCardinality", BPMN):
            found["count"] = vendors.expression(count)
        if until := many.said("completionCondition", BPMN):
            found["until"] = vendors.expression(until)
        return found | vendors.items(many)
    again = node.first("standardLoopCharacteristics", BPMN)
    if again is None:
        return {}
    found = {"mode": "loop"}
    if condition := again.said("loopCondition", BPMN):
        found["again"] = vendors.expression(condition)
    most = again.get("loopMaximum").strip()
    if most.isascii() and most.isdecimal():
        found["most"] = int(most[:18])  # a number that is longer is refused by its size, as one of 18 digits is
    return found


# ---- places ----------------------------------------------------------------------------------------------------------


def _mark(entry: dict[str, Any], node: Node) -> Mark:
    """Every member of an element stands where the element stands; a condition where it is written."""
    spots = {}
    for name, value in entry.items():
        at = node
        if name == "condition":
            at = node.first("conditionExpression", BPMN) or node
        spots[name] = (at.line, at.column, _marked(value, at))
    return Mark(node.line, node.column, spots)


def _marks(top: dict[str, Any], node: Node) -> dict[str, Mark]:
    return {name: _marked(value, node) for name, value in top.items()}


def _marked(value: Any, node: Node) -> Mark:
    if isinstance(value, dict):
        inner = {str(name): (node.line, node.column, _marked(one, node)) for name, one in value.items()}
        return Mark(node.line, node.column, inner)
    if isinstance(value, list):
        return Mark(node.line, node.column, [_marked(one, node) for one in value])
    return Mark(node.line, node.column)
