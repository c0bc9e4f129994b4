"""The definition as a graph: what leads where, what lies in which sub-process, where each of them begins."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.lang.process.schema import Definition, Element, Flow
from penstock.net.graph import sccs


class ProcessGraph:
    """`level` is the id of the sub-process an element lies in, "" at the top."""

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        elements = definition.elements
        self.outs: dict[str, list[Flow]] = {id: [] for id in elements}
        self.ins: dict[str, list[Flow]] = {id: [] for id in elements}
        for flow in definition.flows:
            self.outs[flow.fields.source].append(flow)
            self.ins[flow.fields.target].append(flow)
        self.children: dict[str, list[str]] = {"": []}
        for id, element in elements.items():
            self.children.setdefault(element.fields.parent, []).append(id)
        self.boundaries: dict[str, list[Element]] = {}
        for element in elements.values():
            if element.event is not None and element.event.position == "boundary":
                self.boundaries.setdefault(element.event.attached_to, []).append(element)
        self.handlers = self._handlers()
        self._listening: dict[str, list[Element]] = {}
        for element in elements.values():
            if element.activity is not None and element.activity.triggered_by_event:
                self._listening.setdefault(element.fields.parent, []).append(element)

    def _handlers(self) -> set[str]:
        """Activities that only undo: they are on no path."""
        elements, found = self.definition.elements, set()
        self.undoes: set[str] = set()  # what is named by something that it undoes
        for element in elements.values():
            activity, event = element.activity, element.event
            if activity is not None and activity.is_for_compensation:
                found.add(element.id)
            named = element.undo if isinstance(element.undo, str) else ""
            if event is not None and event.position == "boundary" and event.trigger == "compensation":
                named = event.activity
            self.undoes.add(named)
            if named in elements and named != element.id and not self.outs[named] and not self.ins[named]:
                found.add(named)
        return found

    def handler_at(self, id: str) -> str:
        """The activity that a compensation event at an activity's border names."""
        events = (one.event for one in self.boundaries.get(id, ()))
        return next((one.activity for one in events if one is not None and one.trigger == "compensation"), "")

    # -- what an element is --------------------------------------------------------------------------------------------

    def embedded(self, element: Element) -> bool:
        """A sub-process whose elements are drawn in it."""
        activity = element.activity
        return activity is not None and activity.type == "subProcess" and element.id in self.children

    def event_handlers(self, level: str) -> list[Element]:
        """The event sub-processes of a level."""
        return self._listening.get(level, [])

    def beside(self, element: Element) -> bool:
        """Is it on no path of its level: a handler, a boundary event, an event sub-process?"""
        activity, event = element.activity, element.event
        if element.id in self.handlers or activity is not None and activity.triggered_by_event:
            return True
        return event is not None and event.position == "boundary"

    def starts(self, level: str) -> list[Element]:
        """P-X.35: where a level begins: at its start events, else at everything that nothing leads to."""
        elements = [self.definition.elements[id] for id in self.children.get(level, ())]
        events = [one for one in elements if one.event is not None and one.event.position == "start"]
        if events:
            return events
        return [one for one in elements if not self.ins[one.id] and not self.beside(one)]

    def levels(self) -> Iterator[str]:
        """The top, and every sub-process that holds something."""
        yield from (level for level in self.children if level == "" or level in self.definition.elements)

    # -- cycles --------------------------------------------------------------------------------------------------------

    def cycles(self, stops: set[str]) -> list[list[str]]:
        """Cycles that pass none of these elements, each as the elements that lie on it."""
        ids = [id for id in self.definition.elements if id not in stops]
        number = {id: i for i, id in enumerate(ids)}
        succ = [[number[f.fields.target] for f in self.outs[id] if f.fields.target in number] for id in ids]
        groups: dict[int, list[str]] = {}
        for id, component in zip(ids, sccs(len(ids), succ), strict=True):
            groups.setdefault(component, []).append(id)
        loops = (group for group in groups.values())
        return [
            group for group in loops if len(group) > 1 or any(f.fields.target == group[0] for f in self.outs[group[0]])
        ]
