"""Diagrams while they live: the states of nodes that people who draw know (seed 004)."""

from __future__ import annotations

from penstock.dialects.contract import Dialect
from penstock.dialects.diagram.words import WORDS


class Diagram(Dialect):
    name = "diagram"
    words = WORDS


DIALECT = Diagram()
