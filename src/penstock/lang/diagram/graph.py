"""The graph of a diagram: which nodes lie on one cycle, and which lead to a node."""

from __future__ import annotations

from penstock.lang.diagram.schema import Diagram, DiagramEdge
from penstock.net.graph import cyclic, sccs


class DiagramGraph:
    """Incoming and outgoing edges by label, and the cycles among the nodes."""

    def __init__(self, diagram: Diagram) -> None:
        self._number = {label: i for i, label in enumerate(diagram.nodes)}
        self.incoming: dict[str, list[DiagramEdge]] = {label: [] for label in diagram.nodes}
        self.outgoing: dict[str, list[DiagramEdge]] = {label: [] for label in diagram.nodes}
        for edge in diagram.edges:
            self.incoming[edge.target].append(edge)
            self.outgoing[edge.source].append(edge)
        succ = [[self._number[edge.target] for edge in self.outgoing[label]] for label in diagram.nodes]
        self._component = sccs(len(succ), succ)
        self._cyclic = cyclic(succ, self._component)
        self._budget = 2_000_000  # edges that may be followed while looking for ancestors
        self._limited = {
            label: int(limit)
            for label, node in diagram.nodes.items()
            if node.type.name == "person_job" and (limit := getattr(node.fields, "max_iteration", None)) is not None
        }

    def closes_cycle(self, edge: DiagramEdge) -> bool:
        """Does a path lead from its target back to its source?"""
        source, target = self._number[edge.source], self._number[edge.target]
        return self._component[source] == self._component[target]

    def limits(self, label: str) -> list[tuple[str, int]] | None:
        """The person_jobs with max_iteration on the same cycle; of a node on no cycle, all that lead to it (D-X.6).
        None when the diagram is too large to search."""
        here = self._number[label]
        if self._cyclic[here]:
            self._budget -= len(self._limited)
            labels = [other for other in self._limited if self._component[self._number[other]] == self._component[here]]
        else:
            ancestors = self._ancestors(label)
            labels = [other for other in self._limited if other in ancestors]
        return [(other, self._limited[other]) for other in labels] if self._budget > 0 else None

    def _ancestors(self, label: str) -> set[str]:
        ancestors, pending = {label}, [label]
        while pending and self._budget > 0:
            for edge in self.incoming[pending.pop()]:
                self._budget -= 1
                if edge.source not in ancestors:
                    ancestors.add(edge.source)
                    pending.append(edge.source)
        return ancestors - {label}
