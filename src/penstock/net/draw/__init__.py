"""Pictures of a net, and of a run in it."""

from __future__ import annotations

from penstock.net.draw.marks import Marks, NodeMark
from penstock.net.draw.svg import svg

__all__ = ["Marks", "NodeMark", "svg"]
