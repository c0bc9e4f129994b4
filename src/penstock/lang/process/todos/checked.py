"""A drawing with what the check of its definitions has to say, and the words by which its elements are known."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from penstock.errors import Finding, Place
from penstock.lang.compile import check_document
from penstock.lang.contract import Resolve, Setting
from penstock.lang.document import Document
from penstock.lang.process.drawing import Drawing
from penstock.lang.process.flow_conditions import FlowConditions, read_flow_conditions
from penstock.lang.process.graph import ProcessGraph
from penstock.lang.process.schema import Definition, Element, read
from penstock.lang.read import read_document
from penstock.lang.report import Report

#: Whoever wants to know what comes before an element does not look through more gateways and events than these.
_FAR = 50
#: What is wrong with a call itself; all else that is found at it is found in what it calls.
_OF_CALLS = ("sub_process_unknown", "sub_process_missing", "recursive_process", "missing_field", "file_not_found")


class CheckedProcess:
    """One definition of a drawing. `definition` has the elements that can be read, whatever else is wrong."""

    def __init__(self, drawing: Drawing, data: dict[str, Any], document: Document, findings: list[Finding]) -> None:
        self.drawing, self.data, self.findings = drawing, data, findings
        self.id = str(data.get("process_definition_id") or "")
        self.report = Report(document)
        self.definition: Definition = read(document, self.report, Setting())
        self.graph = ProcessGraph(self.definition)
        self._looked_back: dict[str, list[Element]] = {}

    @property
    def elements(self) -> dict[str, Element]:
        return self.definition.elements

    def errors(self, element: str, *rules: str) -> list[Finding]:
        """The errors of these rules at an element."""
        return [finding for finding in self._at_element.get(("error", element), ()) if finding.rule in rules]

    def warnings(self, element: str, *rules: str) -> list[Finding]:
        return [finding for finding in self._at_element.get(("warning", element), ()) if finding.rule in rules]

    @cached_property
    def _at_element(self) -> dict[tuple[str, str], list[Finding]]:
        by_element: dict[tuple[str, str], list[Finding]] = {}
        for finding in self.findings:
            by_element.setdefault((finding.severity, finding.node), []).append(finding)
        return by_element

    def conditions(self, element: Element) -> FlowConditions:
        return read_flow_conditions(element, self.graph.outgoing[element.id], self.definition, self.report)

    # -- along the flow ------------------------------------------------------------------------------------------------

    @cached_property
    def order(self) -> dict[str, int]:
        """The place of each element on the way from the start, breadth first; a sub-process's elements after it."""
        order: dict[str, int] = {}
        self._walk("", order)
        for id in self.elements:  # what no way leads to
            order.setdefault(id, len(order))
        return order

    def _walk(self, level: str, order: dict[str, int]) -> None:
        pending = deque(element.id for element in self.graph.starts(level))
        while pending:
            id = pending.popleft()
            if id in order:
                continue
            order[id] = len(order)
            if id in self.graph.children:
                self._walk(id, order)
            pending += [boundary.id for boundary in self.graph.boundaries.get(id, ())]
            pending += [flow.fields.target for flow in self.graph.outgoing[id]]

    def steps_before(self, id: str) -> list[Element]:
        """The activities that come directly before an element, looking through gateways and events."""
        return [element for element in self._before(id) if element.activity is not None]

    def begins_by_itself_before(self, id: str) -> bool:
        """Does a way lead to the element from an event that begins the process, and past nobody?"""
        events = (element.event for element in self._before(id))
        return any(event is not None and event.position == "start" and event.trigger != "none" for event in events)

    @cached_property
    def begins_by_itself(self) -> bool:
        """Does the process begin at an event, so that nobody has begun it?"""
        starts = (start.event for start in self.graph.starts(""))
        return any(event is not None and event.trigger != "none" for event in starts)

    def _before(self, id: str) -> list[Element]:
        """Everything before an element, up to activities, and not too far away."""
        if id not in self._looked_back:
            self._looked_back[id] = self._look_back(id)
        return self._looked_back[id]

    def _look_back(self, id: str) -> list[Element]:
        pending, reached = deque(flow.fields.source for flow in self.graph.incoming[id]), dict[str, Element]()
        while pending and len(reached) < _FAR:
            element = self.elements.get(pending.popleft())
            if element is None or element.id in reached or element.id == id:
                continue
            reached[element.id] = element
            if element.event is not None and element.event.position == "boundary":
                pending.append(element.event.attached_to)
            elif element.activity is None:
                pending += [flow.fields.source for flow in self.graph.incoming[element.id]]
        return list(reached.values())

    # -- words ---------------------------------------------------------------------------------------------------------

    def drawn(self, element: Element) -> str:
        """What people call the element: its name, else where it is."""
        if name := drawn_name(element):
            return f"«{name}»"
        before = next((drawn_name(step) for step in self.steps_before(element.id) if drawn_name(step)), "")
        return f"The {words_of(element)} after «{before}»" if before else f"The {words_of(element)} «{element.id}»"


def drawn_name(element: Element) -> str:
    """The name on the drawing; a reader gives an activity without one its id."""
    name = " ".join(str(element.fields.name).split())
    return "" if name == element.id else name


def type_of_element(element: Element) -> str:
    """As it is drawn."""
    if element.gateway is not None:
        return str(element.gateway.type)
    if element.activity is not None:
        return str(element.activity.bpmn or element.activity.type)
    event = element.event
    assert event is not None
    return f"{event.trigger if event.trigger != 'none' else event.position} event"


def words_of(element: Element) -> str:
    """exclusiveGateway is an exclusive gateway."""
    type = type_of_element(element)
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in type)


@dataclass(frozen=True)
class CheckedDrawing:
    """`check` says what there is to say about a definition of the drawing in another form."""

    drawing: Drawing
    processes: tuple[CheckedProcess, ...]
    check: Callable[[dict[str, Any]], list[Finding]]

    def process(self, id: str) -> CheckedProcess:
        return next(process for process in self.processes if process.id == id)

    def each(self) -> Iterator[tuple[CheckedProcess, Element]]:
        """Every element, along the flow."""
        for process in self.processes:
            for id in sorted(process.elements, key=process.order.__getitem__):
                yield process, process.elements[id]


def checked(drawing: Drawing, resolve: Resolve | None = None) -> CheckedDrawing:
    """`resolve` gives the definitions that the tenant has; those of the drawing are asked first."""
    given = [(data, msgspec.json.encode(data)) for data in drawing.definitions]
    called = _resolver(given, resolve)
    own = {name for data, _ in given for name in _names(data)}

    def check(data: dict[str, Any], body: bytes = b"") -> list[Finding]:
        _, findings = check_document(
            body or msgspec.json.encode(data), name=_file_name(data), language="process", resolve=called
        )
        calls = {str(entry.get("id")) for entry in _entries(data, "activities") if _called(entry) in own}
        findings = [_without_line(finding) for finding in findings]
        return [f for f in findings if f.node not in calls or f.rule in _OF_CALLS or not f.message.startswith("In «")]

    processes = tuple(
        CheckedProcess(drawing, data, read_document(body, name=_file_name(data)), check(data, body))
        for data, body in given
    )
    return CheckedDrawing(drawing, processes, check)


def _without_line(finding: Finding) -> Finding:
    """What was checked is no text that anybody knows: its lines are those of no file."""
    where = Place(finding.where.pointer)
    return finding if where == finding.where else msgspec.structs.replace(finding, where=where)


def _file_name(data: dict[str, Any]) -> str:
    return f"{data.get('process_definition_id') or 'process'}.json"


def _resolver(given: list[tuple[dict[str, Any], bytes]], resolve: Resolve | None) -> Callable[[str], bytes]:
    known: dict[str, bytes] = {name: body for data, body in reversed(given) for name in reversed(_names(data))}

    def called(name: str) -> bytes:
        if name not in known and resolve is not None:
            known[name] = resolve(name)
        if name not in known:
            raise FileNotFoundError(name)
        return known[name]

    return called


def _names(data: dict[str, Any]) -> list[str]:
    """By which a process can be called."""
    names = (data.get("process_definition_id"), data.get("process_definition_name"))
    return [name for name in names if isinstance(name, str) and name]


def _called(entry: dict[str, Any]) -> str:
    how = entry.get("orchestration")
    return str(how.get("sub_process") or "") if isinstance(how, dict) else ""


def _entries(data: dict[str, Any], collection: str) -> Iterator[dict[str, Any]]:
    listed = data.get(collection)
    yield from (entry for entry in listed if isinstance(entry, dict)) if isinstance(listed, list) else ()
