"""The decision requirements graph over a file and those that it imports: who needs whom, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from penstock.errors import Finding, Place
from penstock.executors.parts.rules.dmn.model import (
    Decision,
    DecisionService,
    Definitions,
    DrgElement,
    InputData,
    KnowledgeModel,
    Requirement,
)
from penstock.lang.report import did_you_mean

Key = tuple[str, str]  # namespace and id
_MOST_RINGS = 20


class Need(NamedTuple):
    """What an element needs, and the name that it has there: with the import's before it, if it is another file's."""

    key: Key
    prefix: str
    name: str


@dataclass(slots=True)
class Graph:
    main: Definitions
    files: dict[str, Definitions]  # by namespace
    elements: dict[Key, DrgElement] = field(default_factory=dict)
    needs: dict[Key, list[Need]] = field(default_factory=dict)
    pointers: dict[Key, str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def find(self, name: str) -> Key | None:
        """The element of the main file with that name or id that can be asked: a decision, else a function."""
        for kind in (Decision, DecisionService, KnowledgeModel):
            for key, element in self.elements.items():
                if key[0] == self.main.namespace and isinstance(element, kind) and name in (element.name, element.id):
                    return key
        return None

    def results(self) -> list[Key]:
        """The main file's decisions that no other of its decisions needs."""
        needed = {need.key for key, needs in self.needs.items() for need in needs if key != need.key}
        own = [(self.main.namespace, decision.id) for decision in self.main.decisions]
        return [key for key in own if key not in needed]

    def order(self, key: Key, stop: frozenset[Key] = frozenset()) -> list[Key]:
        """What the element needs, each after what it needs itself, and the element last. The graph has no cycle,
        but that of a function which calls itself.
        `stop`: what is known already, and so needs nothing."""
        order: dict[Key, None] = {}
        stack: list[tuple[Key, Iterator[Need]]] = [(key, iter(() if key in stop else self.needs.get(key, ())))]
        entered = {key}
        while stack:
            top, rest = stack[-1]
            for need in rest:
                if need.key not in entered:
                    entered.add(need.key)
                    stack.append((need.key, iter(() if need.key in stop else self.needs.get(need.key, ()))))
                    break
            else:
                order[top] = None
                stack.pop()
        return list(order)


def link(main: Definitions, imported: Iterable[Definitions] = ()) -> Graph:
    """The graph of the file; what is wrong with it is in its findings."""
    graph = Graph(main, {main.namespace: main})
    for definitions in imported:
        graph.files.setdefault(definitions.namespace, definitions)
    for definitions in graph.files.values():
        _index(definitions, graph)
    for definitions in _reached(main, graph):
        _imports(definitions, graph)
        for element in definitions.elements:
            _link_element(definitions, element, graph)
    _cycles(graph)
    return graph


def _index(definitions: Definitions, graph: Graph) -> None:
    names: dict[str, DrgElement] = {}
    folders = (
        ("decisions", definitions.decisions),
        ("inputs", definitions.inputs),
        ("knowledge", definitions.knowledge),
        ("services", definitions.services),
    )
    for folder, elements in folders:
        for index, element in enumerate(elements):
            key, pointer = (definitions.namespace, element.id), f"/{folder}/{index}"
            if key in graph.elements:
                message = f"Two elements have the id «{element.id}»."
                _error(graph, "duplicate_id", message, pointer, element.line, "Give one of them another id.", element)
            elif element.name in names:
                other = names[element.name]
                message = f"The {element.label} has the name of the {other.noun} in line {other.line}."
                _error(graph, "duplicate_name", message, pointer, element.line, "Give one another name.", element)
            names.setdefault(element.name, element)
            graph.elements.setdefault(key, element)
            graph.pointers.setdefault(key, pointer)


def _reached(main: Definitions, graph: Graph) -> list[Definitions]:
    """The main file and those that it imports, directly or not."""
    reached, left = {main.namespace: main}, [main]
    while left:
        for entry in left.pop().imports:
            if entry.namespace in graph.files and entry.namespace not in reached:
                reached[entry.namespace] = graph.files[entry.namespace]
                left.append(graph.files[entry.namespace])
    return list(reached.values())


def _imports(definitions: Definitions, graph: Graph) -> None:
    for index, entry in enumerate(definitions.imports):
        shown, pointer = entry.name or entry.namespace, f"/imports/{index}"
        if "DMN" not in entry.kind.upper():
            message = f"The import «{shown}» is no DMN model ({entry.kind or 'it names no type'}) and is not read."
            where = Place(pointer, entry.line)
            graph.findings.append(Finding("dmn_part", "warning", message, where, "Only DMN models are imported."))
        elif entry.namespace not in graph.files:
            message = f"«{shown}» is imported, and no file with the namespace «{entry.namespace}» is given."
            hint = "Put the imported .dmn file beside this one, or give it with the call."
            _error(graph, "dmn_part", message, pointer, entry.line, hint)


def _link_element(definitions: Definitions, element: DrgElement, graph: Graph) -> None:
    key = (definitions.namespace, element.id)
    if isinstance(element, DecisionService):
        for part in (element.outputs, element.encapsulated, element.input_data, element.input_decisions):
            for requirement in part:
                resolve(definitions, element, requirement, graph)
        if not element.outputs:
            message = f"The {element.label} has no output decision."
            _error(graph, "dmn_service", message, graph.pointers[key], element.line, "Name one at least.", element)
        return
    if isinstance(element, InputData):
        return
    requires = element.requires if isinstance(element, Decision | KnowledgeModel) else ()
    needs = [resolve(definitions, element, requirement, graph) for requirement in requires]
    graph.needs[key] = [need for need in needs if need is not None]


def resolve(definitions: Definitions, element: DrgElement, requirement: Requirement, graph: Graph) -> Need | None:
    """What a reference (`#id` or `namespace#id`) stands for; one that stands for nothing is a finding."""
    namespace, _, id = requirement.href.rpartition("#")
    namespace = namespace or definitions.namespace
    target = graph.elements.get((namespace, id))
    if target is not None:
        prefix = "" if namespace == definitions.namespace else _prefix(definitions, namespace)
        return Need((namespace, id), prefix, target.variable)
    if namespace != definitions.namespace and namespace not in graph.files:
        if any(entry.namespace == namespace for entry in definitions.imports):
            return None  # the missing import has its own finding
    known = [other for space, other in graph.elements if space == namespace]
    message = f"The {element.label} refers to «{requirement.href}», and there is no such element."
    hint = did_you_mean(id, known, "Correct the href, or remove the requirement.")
    pointer = graph.pointers.get((definitions.namespace, element.id), "")
    _error(graph, "dmn_reference", message, f"{pointer}/requires", requirement.line, hint, element)
    return None


def _prefix(definitions: Definitions, namespace: str) -> str:
    return next((entry.name for entry in definitions.imports if entry.namespace == namespace), "")


def _cycles(graph: Graph) -> None:
    """Every ring of requirements, once: depth first with a stack of its own, for a chain may be long."""
    done: set[Key] = set()
    rings = 0
    for start in graph.needs:
        if start in done:
            continue
        path: dict[Key, Iterator[Need]] = {start: iter(graph.needs[start])}
        while path:
            top, rest = next(reversed(path.items()))
            for need in rest:
                if need.key == top and isinstance(graph.elements[top], KnowledgeModel):
                    continue  # a function may call itself
                if need.key in path:
                    rings += 1
                    if rings > _MOST_RINGS:
                        return
                    _ring([*path][[*path].index(need.key) :], graph)
                elif need.key not in done:
                    path[need.key] = iter(graph.needs.get(need.key, ()))
                    break
            else:
                done.add(top)
                path.pop(top)


def _ring(ring: list[Key], graph: Graph) -> None:
    first = graph.elements[ring[0]]
    shown = " → ".join([graph.elements[key].name for key in ring] + [first.name])
    message = f"These decisions require each other: {shown}."
    hint = "A decision may not need its own result."
    _error(graph, "decision_cycle", message, graph.pointers[ring[0]], first.line, hint, first)
    for key, after in zip(ring, [*ring[1:], ring[0]], strict=True):
        graph.needs[key] = [need for need in graph.needs[key] if need.key != after]


def _error(
    graph: Graph, rule: str, message: str, pointer: str, line: int, hint: str, element: DrgElement | None = None
) -> None:
    node = element.id if element is not None else ""
    graph.findings.append(Finding(rule, "error", message, Place(pointer, line), hint, node))
