"""What BPMN itself has a place for, written there: elements that are new or gone, names, conditions, times."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from penstock.lang.process.bpmn.file_index import FileIndex, elements_of
from penstock.lang.process.bpmn.patch_interchange import edit_diagram
from penstock.lang.process.bpmn.patch_words import in_words_of
from penstock.lang.process.bpmn.reader import ReadProcess
from penstock.lang.process.bpmn.text_edits import TextEdits
from penstock.lang.process.bpmn.vocabulary import BPMN, DI, EVENT_DECLARATIONS, SUB_PROCESSES
from penstock.lang.process.bpmn.writer import Fragments
from penstock.lang.process.bpmn.xml_tree import XmlElement, xml_text

ENTRIES = ("activities", "gateways", "events", "transitions")
_TIMES = {"date": "timeDate", "duration": "timeDuration", "cycle": "timeCycle"}
#: what stands behind the elements of a process
_BEHIND = ("textAnnotation", "association", "group", "artifact", "resourceRole", "performer", "humanPerformer",
           "potentialOwner", "correlationSubscription", "supports", "ioSpecification")  # fmt: skip
#: elements that only join others
_JOINING = ("association", "messageFlow", "dataInputAssociation", "dataOutputAssociation")
_PLAIN_GATEWAYS = ("exclusiveGateway", "inclusiveGateway", "parallelGateway")
_PLAIN_TASKS = ("task", "userTask", "manualTask", "serviceTask", "businessRuleTask", "sendTask", "receiveTask")
_OF_ONE_TASK = ("implementation", "messageRef", "operationRef", "instantiate", "scriptFormat")
_CHOOSING = ("exclusiveGateway", "inclusiveGateway", "complexGateway")
_ID = re.compile(r"""\bid=["']([^"']*)""")
_Key = tuple[str, str]  # collection and id


def entries_of(definition: Mapping[str, Any], collection: str) -> dict[str, Mapping[str, Any]]:
    entries = definition.get(collection)
    return {
        entry["id"]: entry for entry in (entries if isinstance(entries, list | tuple) else ())
        if isinstance(entry, Mapping) and isinstance(entry.get("id"), str)
    }  # fmt: skip


class ElementEdits:
    """The edits of one definition: `read` is what stands in the file, `new` what should."""

    def __init__(self, edits: TextEdits, index: FileIndex, read: ReadProcess, new: Mapping[str, Any]) -> None:
        self.edits, self.index, self.read, self.new = edits, index, read, new
        self.known: dict[_Key, tuple[dict[str, Any], XmlElement]] = {
            (name, str(entry.get("id"))): (entry, node)
            for name in (*ENTRIES, "lanes") for entry, node in read.entries.get(name) or ()
        }  # fmt: skip
        self.wanted: dict[_Key, Mapping[str, Any]] = {
            (name, id): entry for name in (*ENTRIES, "lanes") for id, entry in entries_of(new, name).items()
        }
        self.gone = {key for key in self.known if key not in self.wanted}
        self.added = {key for key in self.wanted if key not in self.known and key[0] != "lanes"}
        self.waiting: set[_Key] = set()  # what is gone, and still holds others
        self.around = {child: node for node in elements_of(read.process) for child in node.children}
        only_added = {name: [self.wanted[key] for key in self.wanted if key in self.added and key[0] == name]
                      for name in ENTRIES}  # fmt: skip
        self.edits.declared |= {id for tag in index.declarations.values() for id in tag}
        self.fragments = Fragments({**new, **only_added}, {author: id for id, author in index.author_ids.items()})

    def make(self) -> None:
        moving = self._move()
        for node in elements_of(self.read.process):
            if node in self.index.tree.without_id:  # what is written may refer to it
                self.edits.attribute(node, "id", node.get("id"))
        for key in self.known:
            if key not in self.gone and key not in moving:
                self._change(key, *self.known[key], self.wanted[key])
        dead = self._cut_gone()
        self._insert_added()
        self._change_process()
        first = next(iter(self.index.processes), self.read.process)
        there = {self.index.author_id(node.get("id")) for node in elements_of(self.index.root) if node.space == BPMN}
        there = {id for id in there - dead if self.index.drawn_with.get(id, first) is self.read.process}
        there |= {id for _, id in self.wanted}
        edit_diagram(self.edits, self.index, self.read, self.new, there, self._xml_id)

    # -- elements that are new, gone, or elsewhere ---------------------------------------------------------------------

    def _move(self) -> set[_Key]:
        """Elements go into another sub-process as they stand in the file. One that goes into a new sub-process waits
        for the next round, and what it lies in with it."""
        gone = {self.known[key][1] for key in self.gone}
        staying = {key: node for key, (_, node) in self.known.items() if key not in self.gone and key[0] in ENTRIES}
        moving = {
            key for key, node in staying.items() if key[0] != "transitions"
            and (str(self.known[key][0].get("parent") or "") != self._parent(key) or self._lies_in(node, gone))
        }  # fmt: skip
        moving |= {
            key for key, node in staying.items()
            if key[0] == "transitions" and (self._source(key) in moving or self._lies_in(node, gone))
        }  # fmt: skip
        moved = {self.known[key][1] for key in moving}
        for key in moving:
            node, target = self.known[key][1], self._container(key)
            if target is None:
                self.waiting |= {key for key in self.gone if self.known[key][1] in self._holders(node)}
            elif node not in (target, *self._holders(target)) and not self._lies_in(node, moved):
                self.edits.cut(node)
                self._insert_into(target, [self.edits.source_of(node)])
        return moving

    def _holders(self, node: XmlElement) -> list[XmlElement]:
        """The elements around one, from the inside."""
        holders = []
        while node in self.around:
            node = self.around[node]
            holders.append(node)
        return holders

    def _lies_in(self, node: XmlElement, others: set[XmlElement]) -> bool:
        return any(holder in others for holder in self._holders(node))

    def _container(self, key: _Key) -> XmlElement | None:
        """Where an entry belongs; None where that is not in the file yet."""
        parent = ("activities", self._parent(key))
        if not parent[1]:
            return self.read.process
        node = self.known[parent][1] if parent in self.known and parent not in self.gone else None
        return node if node is not None and node.name in SUB_PROCESSES else None

    def _source(self, key: _Key) -> _Key | None:
        keys = ((name, str(self.wanted[key].get("source"))) for name in ENTRIES[:3])
        return next((end for end in keys if end in self.wanted), None)

    def _parent(self, key: _Key) -> str:
        """The sub-process that an entry should lie in."""
        entry = self.wanted[key]
        if key[0] != "transitions":
            return str(entry.get("parent") or "")
        source = self._source(key)
        return self._parent(source) if source is not None else ""

    def _cut_gone(self) -> set[str]:
        for key in self.gone - self.waiting:
            self.edits.cut(self.known[key][1])
        ids = {id for _, id in self.known}
        kept = {entry.get("id") for entry in self.new.get("unsupported") or () if isinstance(entry, Mapping)}
        refused = [
            (entry["id"], node) for entry, node in self.read.entries.get("unsupported") or ()
            if entry.get("id") and entry["id"] not in ids and entry["id"] not in kept
        ]  # fmt: skip
        for _, node in refused:
            self.edits.cut(node)
        dead = {id for _, id in self.gone - self.waiting} | {id for id, _ in refused}
        dead -= {id for _, id in self.wanted}
        if dead:
            self._cut_references({self._xml_id(id) for id in dead})
        return dead

    def _cut_references(self, dead: set[str]) -> None:
        """What would refer to nothing: joins, the ends of flows, members of lanes, shapes."""
        for node in elements_of(self.index.root):
            if node.space == BPMN and node.name in ("incoming", "outgoing", "flowNodeRef"):
                if node.text.strip() in dead:
                    self.edits.cut(node)
            elif node.space == BPMN and node.name in _JOINING:
                if {node.get("sourceRef"), node.get("targetRef")} & dead:
                    self.edits.cut(node)
            elif node.space == DI and node.name in ("BPMNShape", "BPMNEdge") and node.get("bpmnElement") in dead:
                self.edits.cut(node)
            elif node.space == DI and node.name == "BPMNDiagram":
                if any(plane.get("bpmnElement") in dead for plane in node.all("BPMNPlane", DI)):
                    self.edits.cut(node)

    def _insert_added(self) -> None:
        added = [key for key in self.wanted if key in self.added]
        for key in sorted(added, key=lambda key: key[0] == "transitions"):
            container = self._container(key)
            if container is not None:  # else it is written with the new sub-process that it lies in
                self._insert_into(container, self._words(container, self.fragments.element(key[0], self.wanted[key])))
        self._declare()

    def _declare(self) -> None:
        """What is new among the messages, signals, errors and escalations; several definitions may name the same."""
        lines = list(self.fragments.declarations())
        for collection in EVENT_DECLARATIONS:
            for entry in entries_of(self.new, collection).values():
                lines += self.fragments.declaration(collection, entry)
        for line in lines:
            id = _ID.search(line)
            if id is not None and id[1] not in self.edits.declared:
                self.edits.declared.add(id[1])
                self._insert_into(self.index.root, self._words(self.index.root, [line]))

    def _insert_into(self, container: XmlElement, lines: list[str]) -> None:
        inside = [child for child in container.children if child.space == BPMN and child.name not in _BEHIND]
        self.edits.insert(container, lines, inside[-1] if inside else None)

    # -- elements that are there ---------------------------------------------------------------------------------------

    def _change(self, key: _Key, old: Mapping[str, Any], node: XmlElement, new: Mapping[str, Any]) -> None:
        changed = {name for name in {*old, *new} if old.get(name) != new.get(name)}
        for name, attribute, value in _attributes(key[0], node.name, new, self._xml_id):
            if name in changed:
                self.edits.attribute(node, attribute, value)
        if key[0] == "gateways" and "type" in changed:
            self._change_gateway(node, new.get("type"))
        elif key[0] == "activities" and "bpmn" in changed:
            self._change_task(node, new.get("bpmn"))
        if "documentation" in changed:
            self._describe(node, new.get("documentation"))
        if key[0] == "transitions":
            if "condition" in changed:
                self._text(node, "conditionExpression", new.get("condition"))
            self._cut_ends(changed, old)
        elif key[0] == "events":
            self._change_timer(node, new.get("timer") if "timer" in changed else None)
            awaited = node.first("conditionalEventDefinition", BPMN)
            if awaited is not None and "condition" in changed:
                self._text(awaited, "condition", new.get("condition"))
        elif node.name == "complexGateway" and "activation" in changed:
            self._text(node, "activationCondition", new.get("activation"))
        elif key[0] == "activities" and "python_code" in changed and node.name == "scriptTask":
            self.edits.attribute(node, "scriptFormat", "python")
            self._text(node, "script", new.get("python_code"), formal=False)
        elif key[0] == "lanes" and "elements" in changed:
            self._change_members(node, new.get("elements"))

    def _change_gateway(self, node: XmlElement, type: Any) -> None:
        """Gateways that differ in nothing but their name become each other; only one that chooses has a default."""
        if node.name in _PLAIN_GATEWAYS and type in _PLAIN_GATEWAYS:
            self.edits.rename(node, type)
            if type not in _CHOOSING and node.get("default"):
                self.edits.attribute(node, "default", None)

    def _change_task(self, node: XmlElement, tag: Any) -> None:
        """The same of tasks, where nothing in them is for one kind alone."""
        bound = any(node.get(name) for name in _OF_ONE_TASK) or node.first("script", BPMN) is not None
        if node.name in _PLAIN_TASKS and tag in _PLAIN_TASKS and not bound:
            self.edits.rename(node, tag)

    def _cut_ends(self, changed: set[str], old: Mapping[str, Any]) -> None:
        """The elements that a flow has joined do not name it any more."""
        for name, word in (("source", "outgoing"), ("target", "incoming")):
            ends = [self.known.get((collection, str(old.get(name)))) for collection in ENTRIES[:3]]
            for end in ends if name in changed else ():
                for ref in end[1].all(word, BPMN) if end is not None else ():
                    if self.index.author_id(ref.text.strip()) == old["id"]:
                        self.edits.cut(ref)

    def _change_timer(self, node: XmlElement, timer: Any) -> None:
        definition = node.first("timerEventDefinition", BPMN)
        if definition is not None and isinstance(timer, Mapping):
            for word, tag in _TIMES.items():
                self._text(definition, tag, timer.get(word))

    def _change_members(self, lane: XmlElement, members: Any) -> None:
        refs = {self.index.author_id(ref.text.strip()): ref for ref in lane.all("flowNodeRef", BPMN)}
        wanted = [id for id in members if isinstance(id, str)] if isinstance(members, list) else []
        for id, ref in refs.items():
            if id not in wanted:
                self.edits.cut(ref)
        new = [xml_text(self._xml_id(id)) for id in wanted if id not in refs]
        lines = [f"<bpmn:flowNodeRef>{id}</bpmn:flowNodeRef>" for id in new]
        if lines:
            before = [child for child in lane.children if child.name != "childLaneSet"]
            self.edits.insert(lane, self._words(lane, lines), before[-1] if before else None)

    def _change_process(self) -> None:
        old, new = self.read.data, self.new
        name = new.get("process_definition_name")
        if isinstance(name, str) and name and name != old.get("process_definition_name"):
            self.edits.attribute(self.read.process, "name", name)
        if new.get("description") != old.get("description"):
            self._describe(self.read.process, new.get("description"))

    # -- parts of elements ---------------------------------------------------------------------------------------------

    def _describe(self, node: XmlElement, text: Any) -> None:
        known = node.first("documentation", BPMN)
        if known is not None or not isinstance(text, str) or not text:
            self._text(node, "documentation", text, formal=False)
        else:
            lines = [f"<bpmn:documentation>{xml_text(text)}</bpmn:documentation>"]
            self.edits.insert(node, self._words(node, lines))

    def _text(self, node: XmlElement, tag: str, text: Any, *, formal: bool = True) -> None:
        """The text of a child: changed, added at the end, or taken away."""
        known = node.first(tag, BPMN)
        if isinstance(text, str) and text:
            if known is None:
                type = ' xsi:type="bpmn:tFormalExpression"' if formal else ""
                lines = [f"<bpmn:{tag}{type}>{xml_text(text)}</bpmn:{tag}>"]
                self.edits.append(node, self._words(node, lines))
            elif known.text.strip() != text:
                self.edits.content(known, text)
        elif known is not None and text is None:
            self.edits.cut(known)

    def _words(self, parent: XmlElement, lines: list[str]) -> list[str]:
        return in_words_of(self.index, parent, lines)

    def _xml_id(self, id: str) -> str:
        return self.fragments.xml_id(id)


def _attributes(
    collection: str, tag: str, new: Mapping[str, Any], xml_id: Callable[[str], str]
) -> Iterator[tuple[str, str, str | None]]:
    """Fields that are attributes of an element with this tag: field, attribute, value."""

    def reference(name: str) -> str | None:
        return xml_id(new[name]) if isinstance(new.get(name), str) and new[name] else None

    if isinstance(new.get("name"), str):
        yield "name", "name", new["name"] or None
    if collection == "activities" or tag in _CHOOSING and new.get("type") in (*_CHOOSING, tag):
        yield "default", "default", reference("default")
    if tag in ("eventBasedGateway", "receiveTask"):
        yield "instantiate", "instantiate", "true" if new.get("instantiate") is True else None
    if tag == "eventBasedGateway":
        yield "all_events", "eventGatewayType", "Parallel" if new.get("all_events") is True else None
    elif collection == "transitions":
        yield "source", "sourceRef", reference("source")
        yield "target", "targetRef", reference("target")
    elif collection == "events" and new.get("position") == "boundary":
        yield "attached_to", "attachedToRef", reference("attached_to")
        yield "interrupting", "cancelActivity", "false" if new.get("interrupting") is False else None
    elif collection == "events" and new.get("position") == "start":
        yield "interrupting", "isInterrupting", "false" if new.get("interrupting") is False else None
