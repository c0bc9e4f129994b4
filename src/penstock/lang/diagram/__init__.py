"""The diagram language: people draw, tokens move along the edges (seed 004)."""

from __future__ import annotations

from penstock.lang.contract import Language, Recursion
from penstock.lang.diagram.lower import lower
from penstock.lang.diagram.nodes import NODE_TYPES, NodeType, handler_type
from penstock.lang.diagram.schema import read, recognise

LANGUAGE = Language("diagram", recognise, read, lower, recursion=Recursion("recursive_diagram", "diagram"))

__all__ = ["LANGUAGE", "NODE_TYPES", "NodeType", "handler_type"]
