"""The diagram as a graph of labels: which nodes lie on one cycle, and what leads to a node."""

from __future__ import annotations

from penstock.lang.diagram.schema import Diagram, DrawnEdge
from penstock.net.graph import cyclic, sccs


class DiagramGraph:
    def __init__(self, diagram: Diagram) -> None:
        self._number = {label: i for i, label in enumerate(diagram.nodes)}
        self.ins: dict[str, list[DrawnEdge]] = {label: [] for label in diagram.nodes}
        self.outs: dict[str, list[DrawnEdge]] = {label: [] for label in diagram.nodes}
        for edge in diagram.edges:
            self.ins[edge.target].append(edge)
            self.outs[edge.source].append(edge)
        succ = [[self._number[edge.target] for edge in self.outs[label]] for label in diagram.nodes]
        self._component = sccs(len(succ), succ)
        self._cyclic = cyclic(succ, self._component)
        self._budget = 2_000_000  # steps of looking back
        self._limited = {
            label: int(most)
            for label, node in diagram.nodes.items()
            if node.type.name == "person_job" and (most := getattr(node.fields, "max_iteration", None)) is not None
        }

    def closes_cycle(self, edge: DrawnEdge) -> bool:
        """Can one come back from its target to its source?"""
        source, target = self._number[edge.source], self._number[edge.target]
        return self._component[source] == self._component[target]

    def limits(self, label: str) -> list[tuple[str, int]] | None:
        """D-X.6: the person_jobs with max_iteration on the same cycle; of a node on no cycle, all that lead to it. None
        when a huge diagram asks this so often that looking would take minutes."""
        here = self._number[label]
        if self._cyclic[here]:
            self._budget -= len(self._limited)
            near = [one for one in self._limited if self._component[self._number[one]] == self._component[here]]
        else:
            before = self._before(label)
            near = [one for one in self._limited if one in before]
        return [(one, self._limited[one]) for one in near] if self._budget > 0 else None

    def _before(self, label: str) -> set[str]:
        seen, todo = {label}, [label]
        while todo and self._budget > 0:
            for edge in self.ins[todo.pop()]:
                self._budget -= 1
                if edge.source not in seen:
                    seen.add(edge.source)
                    todo.append(edge.source)
        return seen - {label}
