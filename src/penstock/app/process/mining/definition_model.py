"""A definition as a flow model, over which cases are replayed.

What a person or an agent does leaves an event under the activity's name and must be there. What a tool, a script or a
called process does leaves one only in logs from elsewhere, so it may be there; so may the item by which a gateway asks
a person for its way. Instances of several are allowed one after the other, those of parallel sub-processes in any
order; steps of an ad-hoc sub-process come in any order. A compensation may come at any time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from penstock.errors import DocumentInvalid, Finding
from penstock.lang.contract import Setting
from penstock.lang.document import Document, Mark
from penstock.lang.process.choices import choice_labels
from penstock.lang.process.fields import CHOOSING, ActivityFields
from penstock.lang.process.graph import ProcessGraph
from penstock.lang.process.schema import Element, read
from penstock.lang.report import Report
from penstock.mining.flow_model import FlowModel, FlowModelBuilder, Join, Split

_EMPTY = Finding("no_start", "error", "The process has no activities.", hint="Add an activity.")
_STOPS = ("terminate", "error", "cancel")
_NO_EVENT = ("sendTask", "receiveTask", "businessRuleTask", "scriptTask")


def definition_graph(data: Mapping[str, Any]) -> ProcessGraph:
    """Raises DocumentInvalid for one that cannot be read."""
    document = Document("process.json", msgspec.to_builtins(data), Mark(1, 1))
    report = Report(document)
    definition = read(document, report, Setting())
    if not definition.complete or not definition.elements:
        raise DocumentInvalid(report.findings or [_EMPTY])
    return ProcessGraph(definition)


def definition_model(data: Mapping[str, Any]) -> FlowModel:
    return _Lowering(definition_graph(data)).model()


def leaves_an_event(activity: ActivityFields) -> bool:
    """Is it done by a person or an agent, so that every run has it in its log?"""
    if activity.type == "humanTask":
        return activity.computes is None
    outside = activity.tool or activity.job or activity.computes is not None or activity.bpmn in _NO_EVENT
    return activity.type == "serviceTask" and not outside


class _Lowering:
    """`edge_of` has the edge of every transition; `ends` of a level are the edges on which its tokens end."""

    def __init__(self, graph: ProcessGraph) -> None:
        self.graph, self.definition = graph, graph.definition
        self.builder = FlowModelBuilder()
        flows = {flow.id: None for flows in graph.outgoing.values() for flow in flows}
        self.edge_of = {id: self.builder.edge() for id in flows}
        self.terminating: list[int] = []  # nodes

    def model(self) -> FlowModel:
        begin, final = self.builder.edge(), self.builder.edge()
        self._level("", begin, final)
        handlers = (self.definition.elements[id] for id in self.graph.compensation_handlers)
        return FlowModel(self.builder.nodes, begin, final, [element.name for element in handlers])

    # -- levels --------------------------------------------------------------------------------------------------------

    def _level(self, level: str, begin: int, end: int) -> int:
        """Everything that a level holds; `end` has a token when nothing of it can go on. The mask of its edges."""
        graph, builder = self.graph, self.builder
        outer, self.terminating = self.terminating, []
        first, ends = builder.edges, list[int]()
        starts = {start.id: builder.edge() for start in graph.starts(level)}
        inner = builder.edge()
        split: Split = "one" if not level and len(graph.alternatives()) > 1 else "all"
        builder.node([inner], starts.values(), split=split)
        for element in self._elements(level):
            self._element(element, starts.get(element.id), ends)
        inside: int = sum(1 << edge for edge in (*range(first, builder.edges), *self._flow_edges(level)))
        opened = [inner]
        for handler in graph.event_sub_processes(level):
            into, out = builder.edge(), builder.edge()
            self._level(handler.id, into, out)
            ends.append(out)
            if any(start.event is not None and start.event.interrupting for start in graph.starts(handler.id)):
                builder.node([], [into], clears=inside)
            else:  # beside the level: never, once, or again
                opened.append(into)
                builder.node([into], [out])
                builder.node([out], [into])
        for number in self.terminating:
            builder.nodes[number] = builder.nodes[number]._replace(clears=inside)
        builder.node([begin], opened)
        builder.node(ends, [end], join="last")
        self.terminating = outer
        return inside

    def _elements(self, level: str) -> Iterator[Element]:
        elements = (self.definition.elements[id] for id in self.graph.children.get(level, ()))
        return (element for element in elements if not self.graph.off_path(element))

    def _flow_edges(self, level: str) -> Iterator[int]:
        """Of everything inside, at any depth."""
        for id in self.graph.children.get(level, ()):
            yield from (self.edge_of[flow.id] for flow in self.graph.outgoing[id])
            yield from self._flow_edges(id) if id else ()

    # -- elements ------------------------------------------------------------------------------------------------------

    def _element(self, element: Element, start: int | None, ends: list[int]) -> None:
        ins = [self.edge_of[flow.id] for flow in self.graph.incoming[element.id]]
        ins += [start] if start is not None else []
        if element.gateway is not None:
            self._gateway(element, ins, self._ways(element, ends))
        elif element.activity is not None:
            self._activity(element, element.activity, ins, ends)
        else:
            outs = self._ways(element, ends)
            event = element.event
            if event is not None and event.position == "end" and event.trigger in _STOPS:
                self.terminating.append(len(self.builder.nodes))
            self.builder.node(ins, outs)

    def _ways(self, element: Element, ends: list[int]) -> list[int]:
        """The ways out; of what has none, a place where a token ends."""
        outs = [self.edge_of[flow.id] for flow in self.graph.outgoing[element.id]]
        if not outs:
            outs = [self.builder.edge()]
            ends += outs
        return outs

    def _gateway(self, element: Element, ins: list[int], outs: list[int]) -> None:
        gateway = element.gateway
        assert gateway is not None
        joins: dict[str, tuple[Join, Split]] = {
            "parallelGateway": ("all", "all"), "exclusiveGateway": ("any", "one"),
            "inclusiveGateway": ("inclusive", "some"), "complexGateway": ("inclusive", "some"),
            "eventBasedGateway": ("any", "all" if gateway.all_events else "one"),
        }  # fmt: skip
        join, split = joins[str(gateway.type)]
        if gateway.ask is None or gateway.type not in CHOOSING or len(outs) < 2:
            self.builder.node(ins, outs, join=join, split=split)
            return
        title = gateway.name or " / ".join(choice_labels(element, self.graph).values())
        asked, answered = self.builder.edge(), self.builder.edge()
        self.builder.node(ins, [asked], join=join)
        self.builder.node([asked], [answered], title, optional=True)
        self.builder.node([answered], outs, split=split)

    def _activity(self, element: Element, activity: ActivityFields, ins: list[int], ends: list[int]) -> None:
        graph, builder = self.graph, self.builder
        into, out, done = builder.edge(), builder.edge(), builder.edge()
        inside = self._work(element, activity, into, out)
        opened = [into]
        for boundary in graph.boundaries.get(element.id, ()):
            event = boundary.event
            if event is None or event.trigger == "compensation":
                continue
            ways = self._ways(boundary, ends)
            if event.interrupting:
                builder.node([], ways, clears=inside | 1 << into)
            else:
                happens = builder.edge()
                opened.append(happens)
                builder.node([happens], ways)
                builder.node([happens], [])
        builder.node(ins, opened)
        builder.node([out], [done])
        flows = graph.outgoing[element.id]
        chooses = bool(activity.default) or any(flow.fields.condition for flow in flows)
        builder.node([done], self._ways(element, ends), split="some" if chooses else "all")

    def _work(self, element: Element, activity: ActivityFields, into: int, out: int) -> int:
        """What an activity does between two edges; the mask of the edges in between."""
        builder, multi = self.builder, activity.multi
        if multi is not None:
            builder.node([into], [out])  # for no item at all
            builder.node([out], [into])
        if not self.graph.is_embedded(element):
            builder.node([into], [out], element.name, optional=not leaves_an_event(activity))
            return 0
        if self.graph.is_ad_hoc(element.id) or multi is not None and multi.mode == "parallel":
            builder.anything(into, out, dict.fromkeys(self._names(element.id)))
            return 0
        return self._level(element.id, into, out)

    def _names(self, level: str) -> Iterator[str]:
        for id in self.graph.children.get(level, ()):
            element = self.definition.elements[id]
            if element.activity is not None and not self.graph.is_embedded(element):
                yield element.name
            yield from self._names(id)
