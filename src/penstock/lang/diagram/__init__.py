"""The diagram language: people draw, tokens move along the edges (seed 004)."""

from __future__ import annotations

from penstock.errors import Finding
from penstock.lang.contract import Language
from penstock.lang.diagram.lower import lower
from penstock.lang.diagram.nodes import NODE_TYPES, NodeType, handler_type
from penstock.lang.diagram.schema import read, recognise
from penstock.lang.document import Document


def _recursive(document: Document, why: str) -> Finding:
    message = f"The diagram «{document.name}» cannot be called here: {why}."
    return Finding("recursive_diagram", "error", message, document.place(), "Use a loop instead.")


LANGUAGE = Language("diagram", recognise, read, lower, recursive=_recursive)

__all__ = ["LANGUAGE", "NODE_TYPES", "NodeType", "handler_type"]
