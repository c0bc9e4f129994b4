"""Diagrams while they live: the states of nodes that people who draw know (seed 004)."""

from __future__ import annotations

from penstock.dialects.contract import Dialect
from penstock.dialects.diagram.words import WORDS, node_state


class Diagram(Dialect):
    name = "diagram"
    words = WORDS

    def node_state(
        self, unit: str | None, *, runs: int = 0, max_iter: int | None = None, cyclic: bool = True, ended: bool = False
    ) -> str:
        return node_state(unit, runs=runs, max_iter=max_iter, cyclic=cyclic, ended=ended)

    def node_status(
        self, unit: str, *, runs: int, max_iter: int | None, cyclic: bool, ended: bool, item: str | None
    ) -> str:
        return node_state(unit, runs=runs, max_iter=max_iter, cyclic=cyclic, ended=ended)


DIALECT = Diagram()
