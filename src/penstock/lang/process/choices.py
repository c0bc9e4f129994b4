"""The ways out of a gateway as somebody chooses between them: each by the name of its flow, else of what comes next."""

from __future__ import annotations

from collections import Counter

from penstock.lang.process.graph import ProcessGraph
from penstock.lang.process.schema import Element, Flow

#: A way that leads to nothing with a name.
_END = "End"
_AWAY = "Another way"
#: so many gateways and events without a name are looked through
_FAR = 50


def choice_labels(element: Element, graph: ProcessGraph) -> dict[str, str]:
    """Flow → label, each different from the others."""
    flows = graph.outgoing[element.id]
    named = {flow.id: _blank_free(flow.fields.name) or target_name(flow, graph) for flow in flows}
    counted = Counter(named.values())
    labels: dict[str, str] = {}
    for flow in flows:
        label = named[flow.id]
        if counted[label] > 1 and flow.fields.name and (target := target_name(flow, graph)) != label:
            label = f"{label}: {target}"
        labels[flow.id] = different(label, set(labels.values()))
    return labels


def target_name(flow: Flow, graph: ProcessGraph) -> str:
    """The name of what a flow leads to, looking through what has no name."""
    elements, pending, reached = graph.definition.elements, [flow.fields.target], set[str]()
    while pending and len(reached) < _FAR:
        element = elements[pending.pop(0)]
        if element.id in reached:
            continue
        reached.add(element.id)
        if (name := _blank_free(element.fields.name)) and not (element.gateway is not None and name == element.id):
            return name
        pending += [other.fields.target for other in graph.outgoing[element.id]]
    ends = (elements[id].event for id in reached)
    return _END if any(event is not None and event.position == "end" for event in ends) else _AWAY


def _blank_free(name: str) -> str:
    return " ".join(name.split())


def different(label: str, taken: set[str]) -> str:
    number, made = 2, label
    while made in taken:
        made, number = f"{label} ({number})", number + 1
    return made
