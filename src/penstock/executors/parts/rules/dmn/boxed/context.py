"""Boxed contexts: entries that see those above them, and a result cell that stands for the whole (10.2.1.4)."""

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
class Entry:
    name: str  # empty: the result cell
    type_ref: str
    value: Box | None


@dataclass(frozen=True, slots=True)
class ContextBox(Box):
    entries: tuple[Entry, ...]


def read(element: Element, read_box: ReadBox) -> ContextBox:
    entries = []
    for entry in children(element, "contextEntry"):
        variable = first(entry, "variable")
        name = (variable.get("name") or "") if variable is not None else ""
        type_ref = (variable.get("typeRef") or "") if variable is not None else ""
        boxes = [box for child in own_children(entry) if (box := read_box(child)) is not None]
        entries.append(Entry(name.strip(), type_ref, boxes[0] if boxes else None))
    return ContextBox(**common(element), entries=tuple(entries))


def compile(box: ContextBox, compiler: Compiler, names: Names, spot: Spot) -> Value:
    made: list[tuple[str, Value]] = []
    for index, entry in enumerate(box.entries):
        part = f"entry «{entry.name}»" if entry.name else "result"
        inner = spot.inner(part, f"context/{index}", entry.value.line if entry.value else box.line)
        if entry.name:
            names |= {entry.name}  # a function may call itself by the name of its entry
        value = compiler.box(entry.value, names, inner) if entry.value is not None else null
        coerce = compiler.coerce(entry.type_ref, inner)
        made.append((entry.name, value if coerce is None else _coerced(value, coerce)))

    def evaluate(scope: Scope, run: Run) -> Any:
        inner = dict(scope)
        context: dict[str, Any] = {}
        for name, value in made:
            result = value(inner, run)
            if not name:
                return result
            inner[name] = context[name] = result
        return context

    return evaluate


def _coerced(value: Value, coerce: Any) -> Value:
    return lambda scope, run: coerce(value(scope, run), run)
