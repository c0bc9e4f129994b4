"""Pictures of a net, and of a run in it: SVG, Mermaid, terminal; and a terminal recording."""

from __future__ import annotations

from penstock.net.draw.marks import Marks, NodeMark
from penstock.net.draw.mermaid import mermaid
from penstock.net.draw.recording import recording
from penstock.net.draw.svg import svg
from penstock.net.draw.terminal import StyledSpan, TextLine, terminal

__all__ = ["Marks", "NodeMark", "StyledSpan", "TextLine", "mermaid", "recording", "svg", "terminal"]
