"""Boxed invocations: a function and the values of its parameters, by name (10.2.1.6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
from penstock.executors.parts.rules.dmn.xml import Element, children, first, own_children


@dataclass(frozen=True, slots=True)
class InvocationBox(Box):
    function: Box | None
    bindings: tuple[tuple[str, str, Box | None], ...]  # (parameter, typeRef, value)


def read(element: Element, read_box: ReadBox) -> InvocationBox:
    boxes = [box for child in own_children(element) if (box := read_box(child)) is not None]
    bindings = []
    for binding in children(element, "binding"):
        parameter = first(binding, "parameter")
        name = (parameter.get("name") or "").strip() if parameter is not None else ""
        type_ref = (parameter.get("typeRef") or "") if parameter is not None else ""
        values = [box for child in own_children(binding) if (box := read_box(child)) is not None]
        bindings.append((name, type_ref, values[0] if values else None))
    return InvocationBox(**common(element), function=boxes[0] if boxes else None, bindings=tuple(bindings))


def compile(box: InvocationBox, compiler: Compiler, names: Names, spot: Spot) -> Value:
    if box.function is None:
        compiler.error("dmn_invocation", "The invocation names no function.", spot, "Write the function's name in it.")
        return null
    function = compiler.box(box.function, names, spot.inner("invoked function", "invocation", box.function.line))
    bindings = []
    for index, (name, type_ref, value) in enumerate(box.bindings):
        inner = spot.inner(f"parameter «{name}»", f"binding/{index}", value.line if value else box.line)
        given = compiler.box(value, names, inner) if value is not None else null
        bindings.append((name, given, compiler.coerce(type_ref, inner)))
    spot = spot.inner("invocation", "invocation", box.line)

    def evaluate(scope: Scope, run: Run) -> Any:
        arguments: dict[str, Any] = {}
        for name, given, coerce in bindings:
            value = given(scope, run)
            arguments[name] = value if coerce is None else coerce(value, run)
        return run.call(function(scope, run), arguments, spot)

    return evaluate
