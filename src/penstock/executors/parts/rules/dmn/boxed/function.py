"""Boxed functions: formal parameters and a body; external ones are refused by name (10.2.1.7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.errors import ExprNotSupported
from penstock.executors.parts.rules.dmn.boxed.contract import (
    Box,
    Compiler,
    Names,
    ReadBox,
    Run,
    Scope,
    Spot,
    Value,
    common,
    null,
)
from penstock.executors.parts.rules.dmn.xml import Element, children, own_children


@dataclass(frozen=True, slots=True)
class FunctionBox(Box):
    kind: str  # FEEL, Java or PMML
    parameters: tuple[tuple[str, str], ...]  # (name, typeRef)
    body: Box | None


def read(element: Element, read_box: ReadBox) -> FunctionBox:
    parameters = tuple(
        ((child.get("name") or "").strip(), child.get("typeRef") or "")
        for child in children(element, "formalParameter")
    )
    boxes = [box for child in own_children(element) if (box := read_box(child)) is not None]
    kind = (element.get("kind") or "FEEL").strip()
    return FunctionBox(**common(element), kind=kind, parameters=parameters, body=boxes[0] if boxes else None)


def compile(
    box: FunctionBox,
    compiler: Compiler,
    names: Names,
    spot: Spot,
    *,
    name: str = "",
    result_type: Any = None,
    own_name: str = "",
) -> Value:
    """The function as a value. The box's `typeRef` is the type of the function, or, as older files have it, of its
    result; `result_type` is that of whoever has the function; `own_name` is what its body calls it."""
    label = name or spot.part or "function"
    if box.kind.upper() != "FEEL":
        return _external(box, compiler, spot)
    body = compiler.box(box.body, names | {name for name, _ in box.parameters}, spot) if box.body else null
    parameters = [(name, compiler.type(type_ref, spot)) for name, type_ref in box.parameters]
    words = [name for name, _ in parameters]
    result = result_type or compiler.type(box.type_ref, spot)

    def evaluate(scope: Scope, run: Run) -> Any:
        own: dict[str, Any] = {}

        def call(arguments: list[Any]) -> Any:
            return body({**scope, **own, **dict(zip(words, arguments, strict=True))}, run)

        made = run.function(label, parameters, call, result)
        if own_name:
            own[own_name] = made
        return made

    return evaluate


def _external(box: FunctionBox, compiler: Compiler, spot: Spot) -> Value:
    """What only a Java machine or a PMML engine can work out has no value here: not even null."""
    message = f"A function in {box.kind} is not called here"
    compiler.error("dmn_part", f"{message}.", spot.inner("", "function", box.line), "Write its body in FEEL.")

    def refuse(scope: Scope, run: Run) -> Any:
        raise ExprNotSupported(why=message, expression=str(spot))

    return refuse
