"""Diagrams while they live: the states of nodes that people who draw know (seed 004)."""

from __future__ import annotations

from typing import Any

from penstock.dialects.contract import Dialect
from penstock.dialects.diagram.labels import LABELS
from penstock.dialects.diagram.words import WORDS, node_state


class Diagram(Dialect):
    name = "diagram"
    words = WORDS
    labels = LABELS

    def node_types(self) -> dict[str, Any]:
        """D-X.15, D-X.30: what handlers and installed packages bring."""
        from penstock.executors.handler import load_handlers
        from penstock.lang.diagram.nodes import handler_type

        return {name: handler_type(name) for name in load_handlers()}

    def node_state(
        self, unit: str | None, *, runs: int = 0, max_iter: int | None = None, cyclic: bool = True, ended: bool = False
    ) -> str:
        return node_state(unit, runs=runs, max_iter=max_iter, cyclic=cyclic, ended=ended)

    def node_status(
        self, unit: str, *, runs: int, max_iter: int | None, cyclic: bool, ended: bool, item: str | None
    ) -> str:
        return node_state(unit, runs=runs, max_iter=max_iter, cyclic=cyclic, ended=ended)


DIALECT = Diagram()
