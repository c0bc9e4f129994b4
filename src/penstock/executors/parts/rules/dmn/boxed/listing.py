"""Boxed lists: one expression for every item (10.2.1.8)."""

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
)
from penstock.executors.parts.rules.dmn.xml import Element, own_children


@dataclass(frozen=True, slots=True)
class ListBox(Box):
    items: tuple[Box, ...]


def read(element: Element, read_box: ReadBox) -> ListBox:
    items = tuple(box for child in own_children(element) if (box := read_box(child)) is not None)
    return ListBox(**common(element), items=items)


def compile(box: ListBox, compiler: Compiler, names: Names, spot: Spot) -> Value:
    items = [
        compiler.box(item, names, spot.inner(f"item {index + 1}", f"list/{index}", item.line))
        for index, item in enumerate(box.items)
    ]

    def evaluate(scope: Scope, run: Run) -> Any:
        return [item(scope, run) for item in items]

    return evaluate
