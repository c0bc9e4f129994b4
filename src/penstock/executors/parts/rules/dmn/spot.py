"""Places in a DMN model, as findings and warnings name them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spot:
    """Where something stands: the element of the graph, and the part of it."""

    element: str  # such as «decision «Fee»»
    id: str
    pointer: str
    line: int
    part: str = ""

    def inner(self, part: str, pointer: str, line: int = 0) -> Spot:
        """A part of what is here; without a line of its own it has that of the whole."""
        joined = ", ".join(text for text in (self.part, part) if text)
        return Spot(self.element, self.id, f"{self.pointer}/{pointer}", line or self.line, joined)

    def __str__(self) -> str:
        return f"{self.element}, {self.part}" if self.part else self.element
