"""The graph of a definition: transitions, the elements of each sub-process, and where each level starts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.lang.process.fields import EventFields, TransitionFields
from penstock.lang.process.schema import Definition, Element, Flow
from penstock.net.graph import sccs


class ProcessGraph:
    """`level` is the id of the sub-process an element lies in, "" at the top."""

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        elements = definition.elements
        self.outgoing: dict[str, list[Flow]] = {id: [] for id in elements}
        self.incoming: dict[str, list[Flow]] = {id: [] for id in elements}
        self.link_ends = _link_ends(definition)
        self.links = [_link(throw, ends[0]) for throw, ends in self.link_ends if ends]
        for flow in (*definition.flows, *self.links):
            self.outgoing[flow.fields.source].append(flow)
            self.incoming[flow.fields.target].append(flow)
        self.children: dict[str, list[str]] = {"": []}
        for id, element in elements.items():
            self.children.setdefault(element.fields.parent, []).append(id)
        self.boundaries: dict[str, list[Element]] = {}
        for element in elements.values():
            if element.event is not None and element.event.position == "boundary":
                self.boundaries.setdefault(element.event.attached_to, []).append(element)
        self.compensation_handlers = self._handlers()
        self._event_sub_processes: dict[str, list[Element]] = {}
        for element in elements.values():
            if element.activity is not None and element.activity.triggered_by_event:
                self._event_sub_processes.setdefault(element.fields.parent, []).append(element)

    def _handlers(self) -> set[str]:
        """Compensation handlers: activities that only undo, and lie on no path."""
        elements, handlers = self.definition.elements, set()
        self.compensates: set[str] = set()  # activities that are named as a compensation
        for element in elements.values():
            activity, event = element.activity, element.event
            if activity is not None and activity.is_for_compensation:
                handlers.add(element.id)
            named = element.undo if isinstance(element.undo, str) else ""
            if event is not None and event.position == "boundary" and event.trigger == "compensation":
                named = event.activity
            self.compensates.add(named)
            if named in elements and named != element.id and not self.outgoing[named] and not self.incoming[named]:
                handlers.add(named)
        return handlers

    def boundary_handler(self, id: str) -> str:
        """The handler that an activity's compensation boundary event names."""
        events = (element.event for element in self.boundaries.get(id, ()))
        return next((event.activity for event in events if event is not None and event.trigger == "compensation"), "")

    # -- what an element is --------------------------------------------------------------------------------------------

    def errors_bring_data(self, id: str) -> bool:
        """Is it, or does it hold at any depth, an activity that a worker does? Its business errors have variables."""
        element = self.definition.elements.get(id)
        if element is not None and element.activity is not None and element.activity.job:
            return True
        return any(self.errors_bring_data(child) for child in self.children.get(id, ()))

    def is_embedded(self, element: Element) -> bool:
        """Is it a sub-process with elements of its own?"""
        activity = element.activity
        return activity is not None and activity.type == "subProcess" and element.id in self.children

    def is_transaction(self, level: str) -> bool:
        """Is what this level holds done as a whole, or undone?"""
        element = self.definition.elements.get(level)
        return element is not None and element.activity is not None and element.activity.bpmn == "transaction"

    def has_output(self, level: str) -> bool:
        """Is something said of what each of its instances gives?"""
        element = self.definition.elements.get(level)
        multi = element.activity.multi if element is not None and element.activity is not None else None
        return multi is not None and multi.output is not None

    def is_ad_hoc(self, level: str) -> bool:
        """Does somebody choose what of this level is done?"""
        element = self.definition.elements.get(level)
        activity = element.activity if element is not None else None
        return activity is not None and (activity.bpmn == "adHocSubProcess" or activity.ad_hoc is not None)

    def event_sub_processes(self, level: str) -> list[Element]:
        """The event sub-processes of a level."""
        return self._event_sub_processes.get(level, [])

    def off_path(self, element: Element) -> bool:
        """Does no path of its level reach it: a handler, a boundary event, an event sub-process?"""
        activity, event = element.activity, element.event
        if element.id in self.compensation_handlers or activity is not None and activity.triggered_by_event:
            return True
        return event is not None and event.position == "boundary"

    def after_event_gateway(self, id: str) -> bool:
        """Has an event-based gateway before it waited for its event already?"""
        return any(waits_for_events(self.definition.elements[flow.fields.source]) for flow in self.incoming[id])

    def reached_otherwise(self, id: str) -> bool:
        """Does something else lead to it, too?"""
        return not all(waits_for_events(self.definition.elements[flow.fields.source]) for flow in self.incoming[id])

    def starts(self, level: str) -> list[Element]:
        """Where a level begins: at its start events, else at everything without an incoming flow (P-X.35). In an ad-hoc
        sub-process: what may be chosen."""
        elements = [self.definition.elements[id] for id in self.children.get(level, ())]
        if self.is_ad_hoc(level):
            return [element for element in elements if element.activity is not None and self._is_chosen(element)]
        begins = [element for element in elements if is_start_event(element) or self.instantiates(element)]
        if begins:
            return begins
        return [element for element in elements if not self.incoming[element.id] and not self.off_path(element)]

    def _is_chosen(self, element: Element) -> bool:
        """Of an ad-hoc sub-process: a step to which at most a start event leads, which begins nothing there."""
        sources = (self.definition.elements[flow.fields.source] for flow in self.incoming[element.id])
        return not self.off_path(element) and all(is_start_event(source) for source in sources)

    def alternatives(self) -> list[Alternative]:
        """The ways in which the process may begin; none where it has no start events and nothing that begins it."""
        found = []
        for element in self.starts(""):
            if is_start_event(element) or element.activity is not None and self.instantiates(element):
                found.append(Alternative(element, (element,)))
            elif self.instantiates(element):
                ids = dict.fromkeys(flow.fields.target for flow in self.outgoing[element.id])
                found.append(Alternative(element, tuple(self.definition.elements[id] for id in ids)))
        return found

    def instantiates(self, element: Element) -> bool:
        """Is it a receive task, or an event-based gateway that nothing leads to, with which the process begins (BPMN
        10.3.3, 10.6.6)?"""
        activity, gateway = element.activity, element.gateway
        if element.fields.parent:
            return False
        if activity is not None:
            return activity.instantiate and activity.bpmn == "receiveTask"
        begins = gateway is not None and gateway.instantiate and gateway.type == "eventBasedGateway"
        return begins and not self.incoming[element.id]

    def begins_beside_others(self, id: str) -> bool:
        """Is it one of several events that are all waited for, and of which any may begin the process?"""
        sources = (self.definition.elements[flow.fields.source] for flow in self.incoming[id])
        return any(self.instantiates(source) and not waits_for_events(source) for source in sources)

    def levels(self) -> Iterator[str]:
        """The top, and every sub-process with elements."""
        yield from (level for level in self.children if level == "" or level in self.definition.elements)

    # -- cycles --------------------------------------------------------------------------------------------------------

    def cycles(self, stops: set[str]) -> list[list[str]]:
        """The cycles that pass none of the elements in `stops`, each as a list of ids."""
        ids = [id for id in self.definition.elements if id not in stops]
        number = {id: i for i, id in enumerate(ids)}
        succ = [[number[f.fields.target] for f in self.outgoing[id] if f.fields.target in number] for id in ids]
        groups: dict[int, list[str]] = {}
        for id, component in zip(ids, sccs(len(ids), succ), strict=True):
            groups.setdefault(component, []).append(id)
        loops = (group for group in groups.values())
        return [
            group
            for group in loops
            if len(group) > 1 or any(f.fields.target == group[0] for f in self.outgoing[group[0]])
        ]


@dataclass(frozen=True)
class Alternative:
    """One way in which a process may begin: where, and the events any of which it begins by."""

    element: Element
    begun_by: tuple[Element, ...]


def is_start_event(element: Element) -> bool:
    return element.event is not None and element.event.position == "start"


def waits_for_events(element: Element) -> bool:
    """Is it an event-based gateway, which waits in the place of the events after it? One for all of them does not."""
    gateway = element.gateway
    return gateway is not None and gateway.type == "eventBasedGateway" and not gateway.all_events


# ---- links -----------------------------------------------------------------------------------------------------------


def link_name(event: EventFields) -> str:
    return event.link or event.name or event.id


def _link_ends(definition: Definition) -> list[tuple[Element, list[Element]]]:
    """Every throw event of a link, with the catch events of its name on its level (BPMN 10.5.5)."""
    thrown: list[tuple[Element, tuple[str, str]]] = []
    caught: dict[tuple[str, str], list[Element]] = {}
    for element in definition.elements.values():
        event = element.event
        if event is not None and event.trigger == "link" and event.position == "catch":
            caught.setdefault((event.parent, link_name(event)), []).append(element)
        elif event is not None and event.trigger == "link" and event.position == "throw":
            thrown.append((element, (event.parent, link_name(event))))
    return [(throw, caught.get(name, [])) for throw, name in thrown]


def _link(throw: Element, catch: Element) -> Flow:
    """The way from one end of a link to the other: a transition that is not drawn."""
    id = f"{throw.id}>{catch.id}"
    return Flow(id, TransitionFields(id=id, source=throw.id, target=catch.id), throw.pointer)
