"""The diagram as a graph of labels: which nodes lie on one cycle, and what leads to a node."""

from __future__ import annotations

from penstock.lang.diagram.schema import Diagram, DrawnEdge
from penstock.net.graph import cyclic, sccs


class Graph:
    def __init__(self, diagram: Diagram) -> None:
        self._diagram = diagram
        self._number = {label: i for i, label in enumerate(diagram.nodes)}
        self.ins: dict[str, list[DrawnEdge]] = {label: [] for label in diagram.nodes}
        self.outs: dict[str, list[DrawnEdge]] = {label: [] for label in diagram.nodes}
        for edge in diagram.edges:
            self.ins[edge.target].append(edge)
            self.outs[edge.source].append(edge)
        succ = [[self._number[edge.target] for edge in self.outs[label]] for label in diagram.nodes]
        self._component = sccs(len(succ), succ)
        self._cyclic = cyclic(succ, self._component)

    def closes_cycle(self, edge: DrawnEdge) -> bool:
        """Can one come back from its target to its source?"""
        source, target = self._number[edge.source], self._number[edge.target]
        return self._component[source] == self._component[target]

    def limits(self, label: str) -> list[tuple[str, int]]:
        """D-X.6: the person_jobs with max_iteration on the same cycle; of a node on no cycle, all that lead to it."""
        here = self._number[label]
        if self._cyclic[here]:
            near = [one for one in self._diagram.nodes if self._component[self._number[one]] == self._component[here]]
        else:
            near = self._before(label)
        found = []
        for one in near:
            node = self._diagram.nodes[one]
            most = getattr(node.fields, "max_iteration", None)
            if node.type.name == "person_job" and most is not None:
                found.append((one, int(most)))
        return found

    def _before(self, label: str) -> list[str]:
        seen, todo = {label}, [label]
        while todo:
            for edge in self.ins[todo.pop()]:
                if edge.source not in seen:
                    seen.add(edge.source)
                    todo.append(edge.source)
        return [one for one in self._diagram.nodes if one in seen and one != label]
