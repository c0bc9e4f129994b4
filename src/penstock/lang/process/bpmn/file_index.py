"""What every process of a BPMN file needs to know of the whole file; looked up once, however many processes it has."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from penstock.errors import DocumentUnreadable, Place
from penstock.lang.process.bpmn import diagram_interchange
from penstock.lang.process.bpmn.instances import DATA
from penstock.lang.process.bpmn.vocabulary import (
    BPMN,
    DI,
    EVENT_DECLARATIONS,
    GATEWAYS,
    GLOBAL_TASKS,
    PENSTOCK,
    POSITIONS,
    STANDARD,
    TASKS,
    TRIGGERS,
    UNSUPPORTED,
)  # fmt: skip
from penstock.lang.process.bpmn.xml_tree import XmlElement, XmlTree, parse
from penstock.lang.read_json import parse_json

FLOW_NODES = (*TASKS, *GATEWAYS, *POSITIONS, *UNSUPPORTED)
#: attributes by which modelers name the item of an instance
_ITEMS = ("elementVariable", "inputElement")
_WITH_IDS = frozenset((*FLOW_NODES, "sequenceFlow", "lane"))


class FileIndex:
    """`author_ids`: id in the file → the author's id, which XML could not hold. `prefixes`: of each namespace."""

    def __init__(self, tree: XmlTree) -> None:
        self.tree, self.root = tree, tree.root
        prefixes = {space: prefix or f"ns{n}" for n, (space, prefix) in enumerate(tree.prefixes.items())}
        reserved = set(STANDARD.values())
        self.prefixes = {space: f"{p}_" if p in reserved else p for space, p in prefixes.items()} | STANDARD
        self.declarations: dict[str, dict[str, XmlElement]] = {}
        declared = {tag for tag, _ in EVENT_DECLARATIONS.values()}
        for child in self.root.children:
            if child.space == BPMN and child.name in declared:
                self.declarations.setdefault(child.name, {})[child.get("id")] = child
        self.definitions = {child.get("id"): child for child in self.root.children
                            if child.space == BPMN and child.name in TRIGGERS}  # fmt: skip
        self.resources = {
            node.get("id"): node.get("name") or node.get("id") for node in self.root.all("resource", BPMN)
        }
        self._settings: dict[XmlElement, dict[str, Any]] = {}
        self.author_ids: dict[str, str] = {}
        for node in elements_of(self.root):
            id, author_id = node.get("id"), self.settings(node).get("id")
            if node.space == BPMN and id and isinstance(author_id, str):
                self.author_ids[id] = author_id

    def author_id(self, ref: str) -> str:
        return self.author_ids.get(ref, ref)

    @cached_property
    def processes(self) -> list[XmlElement]:
        """Those in which something is drawn."""
        return [process for process in self.root.all("process", BPMN) if is_filled(process)]

    @cached_property
    def collaborations(self) -> list[XmlElement]:
        return self.root.all("collaboration", BPMN)

    @cached_property
    def owners(self) -> dict[str, XmlElement]:
        """The process of each element that has an id, by that id and its author's; a process is its own."""
        return {
            id: process for process in self.processes for node in elements_of(process)
            if node.space == BPMN and node.get("id") for id in (node.get("id"), self.author_id(node.get("id")))
        }  # fmt: skip

    @cached_property
    def drawn_with(self) -> dict[str, XmlElement]:
        """The process with which something is drawn: its own elements, its pool, what leaves it. Nothing is drawn with
        two; what is in here with none is drawn with the first."""
        owners = dict(self.owners)
        for child in [child for diagram in self.collaborations for child in diagram.children]:
            ends = (child.get(name) for name in ("processRef", "sourceRef", "targetRef"))
            if (owner := next((owners[end] for end in ends if end in owners), None)) is not None:
                owners[child.get("id")] = owner
        return owners

    @cached_property
    def drawn(self) -> dict[XmlElement, list[tuple[int, dict[str, Any]]]]:
        """What is drawn of each process, by the number of the plane."""
        first, drawn = self.processes[0], dict[XmlElement, list[tuple[int, dict[str, Any]]]]()
        for number, plane in enumerate(self.planes):
            parts: dict[XmlElement, dict[str, Any]] = {}
            for part in ("shapes", "edges"):
                for id, shape in plane[part].items():
                    empty = {"element": plane["element"], "shapes": {}, "edges": {}}
                    parts.setdefault(self.drawn_with.get(id, first), empty)[part][id] = shape
            for process, shown in parts.items():
                drawn.setdefault(process, []).append((number, shown))
        return drawn

    def planes_of(self, process: XmlElement) -> list[tuple[int, dict[str, Any]]]:
        """The planes on which a process is drawn, with their numbers; all of them where it is the only one."""
        if len(self.processes) > 1 and process in self.processes:
            return self.drawn.get(process, [])
        return list(enumerate(self.planes))

    @cached_property
    def referred(self) -> dict[XmlElement, set[str]]:
        """What the elements of each process refer to."""
        return {
            process: {
                value for node in elements_of(process) for (_, name), value in node.attributes.items()
                if name.endswith("Ref")
            } for process in self.processes
        }  # fmt: skip

    @cached_property
    def data(self) -> dict[str, XmlElement]:
        """What of the file is data that activities use, by its id."""
        return {node.get("id"): node for node in elements_of(self.root)
                if node.space == BPMN and node.name in DATA and node.get("id")}  # fmt: skip

    @cached_property
    def taken_names(self) -> frozenset[str]:
        """What the elements are called, but for names that an expression means otherwise: one of several items, and
        whoever has begun the process."""
        nodes = list(elements_of(self.root))
        ids = {self.author_id(node.get("id")) for node in nodes if node.space == BPMN and node.name in FLOW_NODES}
        items = {value for node in nodes for (_, name), value in node.attributes.items() if name in _ITEMS}
        items |= {node.get("name") for node in nodes if node.name == "inputDataItem"}
        return frozenset(ids - items - {"initiator"})

    @cached_property
    def global_tasks(self) -> dict[str, XmlElement]:
        """The tasks beside the processes that processes call, by their ids."""
        return {node.get("id"): node for node in self.root.children
                if node.space == BPMN and node.name in GLOBAL_TASKS and node.get("id")}  # fmt: skip

    @cached_property
    def planes(self) -> list[dict[str, Any]]:
        return diagram_interchange.read(self.root, self.author_id)

    def of_others(self, process: XmlElement, id: str) -> bool:
        """Whether what has this id lies in another process of the file."""
        return self.owners.get(id, process) is not process

    def settings(self, node: XmlElement) -> dict[str, Any]:
        """The fields that BPMN has no element for: JSON in our extension element."""
        extension = node.first("extensionElements", BPMN)
        settings = extension.first("settings", PENSTOCK) if extension is not None else None
        if settings is None:
            return {}
        if node not in self._settings:
            self._settings[node] = _parsed(settings)
        return dict(self._settings[node])


def is_filled(process: XmlElement) -> bool:
    return any(child.space == BPMN and child.name in FLOW_NODES for child in process.children)


def elements_of(node: XmlElement) -> Iterator[XmlElement]:
    """An element and all in it, in the order of the file."""
    pending = [node]
    while pending:
        node = pending.pop()
        yield node
        pending += reversed(node.children)


def tree_of(text: str) -> XmlTree:
    """The tree of a BPMN file. Raises DocumentUnreadable for other XML, and for what is none."""
    tree = parse(text.removeprefix("\ufeff"))
    root = tree.root
    if root.space != BPMN or root.name != "definitions":
        of = f" of «{root.space}»" if root.name == "definitions" else ""
        why = f"it is XML, but its root is <{root.name}>{of} and not <definitions> of BPMN 2.0"
        raise DocumentUnreadable(why=why, where=Place("", root.line, root.column))
    _shorten_references(root)
    _give_ids(tree)
    return tree


def _give_ids(tree: XmlTree) -> None:
    """BPMN lets elements be without ids, and people leave them out; what is answered about one needs its id. A flow is
    called by what it joins, so that it keeps its id when others come and go."""
    ids = {node.get("id") for node in elements_of(tree.root)}
    inside = (node for process in tree.root.all("process", BPMN) for node in elements_of(process))
    for node in inside:
        if node.space != BPMN or node.get("id") or node.name not in _WITH_IDS:
            continue
        ends = [node.get(name) for name in ("sourceRef", "targetRef") if node.name == "sequenceFlow"]
        id = first = "_".join([node.name, *ends])
        number = 1
        while id in ids:
            number += 1
            id = f"{first}_{number}"
        ids.add(id)
        node.attributes["", "id"] = id
        tree.without_id.add(node)


def _shorten_references(root: XmlElement) -> None:
    """BPMN refers by qualified names, and some modelers write their prefix; ids have none."""
    ids = {node.get("id") for node in elements_of(root) if node.space == BPMN}
    for node in elements_of(root):
        if node.space not in (BPMN, DI):
            continue
        for (space, name), value in node.attributes.items():
            if ":" in value and not space and (name.endswith("Ref") or name in ("bpmnElement", "default")):
                node.attributes[space, name] = _short(value, ids)
        if node.name.endswith("Ref") and ":" in node.text:
            node.text = _short(node.text.strip(), ids)


def _short(ref: str, ids: set[str]) -> str:
    local = ref.partition(":")[2]
    return local if ref not in ids and local in ids else ref


def _parsed(settings: XmlElement) -> dict[str, Any]:
    try:
        value, _ = parse_json(settings.text or "{}")  # as strict as a document: no NUL, no depth, no 65th bit
    except DocumentUnreadable:
        where = Place("", settings.line, settings.column)
        raise DocumentUnreadable(why="<penstock:settings> holds no JSON that can be read", where=where) from None
    return value if isinstance(value, dict) else {}
