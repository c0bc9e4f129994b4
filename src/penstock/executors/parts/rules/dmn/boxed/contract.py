"""What every boxed expression is: read from its element, compiled into a closure over a scope and a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from penstock.executors.parts.rules.dmn.run import ModelRun as Run
from penstock.executors.parts.rules.dmn.spot import Spot
from penstock.executors.parts.rules.dmn.xml import Element, line_of

Scope = Mapping[str, Any]
Names = frozenset[str]


@dataclass(frozen=True, slots=True)
class Box:
    """An expression as it stands in the file."""

    line: int
    id: str
    type_ref: str


Value = Callable[[Scope, Run], Any]
Test = Callable[[Any, Scope, Run], bool | None]
Coerce = Callable[[Any, Run], Any]


class Compiler(Protocol):
    """Turns texts and boxes of one file into closures; what is wrong in them becomes a finding, and null."""

    def box(self, box: Box, names: Names, spot: Spot) -> Value: ...

    def text(self, text: str, names: Names, spot: Spot) -> Value: ...

    def tests(self, text: str, names: Names, spot: Spot, type: Any = None) -> Test | None:
        """Unary tests of a value of the type; None where everything passes."""

    def declares(self, text: str) -> bool:
        """Whether an expression is an element whose type is declared, or a part of one: its texts are texts."""

    def type(self, type_ref: str, spot: Spot) -> Any:
        """The FEEL type of that name; None where none is named."""

    def coerce(self, type_ref: str, spot: Spot) -> Coerce | None:
        """Makes a value one of the type (DMN 1.5, 10.3.2.9.4); None where every value is."""

    def error(self, rule: str, message: str, spot: Spot, hint: str) -> None: ...


ReadBox = Callable[[Element], Box | None]


def common(element: Element) -> dict[str, Any]:
    """The fields that every box has."""
    return {"line": line_of(element), "id": element.get("id") or "", "type_ref": element.get("typeRef") or ""}


def null(scope: Scope, run: Run) -> Any:
    """The value of an expression that is not there."""
    return None


__all__ = [
    "Box",
    "Coerce",
    "Compiler",
    "Names",
    "ReadBox",
    "Run",
    "Scope",
    "Spot",
    "Test",
    "Value",
    "common",
    "null",
]
