"""Boxed filters: the items of a list for which a match is true (DMN 1.5, 10.2.1.10). The result is always a list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.executors.parts.rules.dmn.boxed.conditional import read_part
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
from penstock.executors.parts.rules.dmn.boxed.iterator import items_of
from penstock.executors.parts.rules.dmn.xml import Element


@dataclass(frozen=True, slots=True)
class FilterBox(Box):
    source: Box | None
    match: Box | None


def read(element: Element, read_box: ReadBox) -> FilterBox:
    return FilterBox(
        **common(element), source=read_part(element, "in", read_box), match=read_part(element, "match", read_box)
    )


def compile(box: FilterBox, compiler: Compiler, names: Names, spot: Spot) -> Value:
    source = compiler.box(box.source, names, spot.inner("in", "in", box.source.line)) if box.source else null
    inner = spot.inner("match", "match", box.match.line if box.match else box.line)
    match = compiler.box(box.match, names | {"item"}, inner) if box.match else null

    def evaluate(scope: Scope, run: Run) -> Any:
        items = items_of(source(scope, run), run, spot)
        if items is None:
            return None
        kept = []
        for item in items:
            run.step()
            fields = item if isinstance(item, Mapping) else {}
            holds = match({**scope, "item": item, **fields}, run)
            if holds is True:
                kept.append(item)
            elif holds is not None and holds is not False:
                return run.note(inner, "dmn_condition", "The match of a filter is true or false.")
        return kept

    return evaluate
