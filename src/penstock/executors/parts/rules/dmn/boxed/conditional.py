"""Boxed conditionals: if, then, else (DMN 1.5, 10.2.1.9). What is not true is not then: null chooses else."""

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
from penstock.executors.parts.rules.dmn.xml import Element, first, own_children


@dataclass(frozen=True, slots=True)
class ConditionalBox(Box):
    condition: Box | None
    then: Box | None
    otherwise: Box | None


def read(element: Element, read_box: ReadBox) -> ConditionalBox:
    return ConditionalBox(
        **common(element),
        condition=read_part(element, "if", read_box),
        then=read_part(element, "then", read_box),
        otherwise=read_part(element, "else", read_box),
    )


def read_part(element: Element, name: str, read_box: ReadBox) -> Box | None:
    """The expression within the child of that name."""
    part = first(element, name)
    boxes = [] if part is None else [box for child in own_children(part) if (box := read_box(child)) is not None]
    return boxes[0] if boxes else None


def compile(box: ConditionalBox, compiler: Compiler, names: Names, spot: Spot) -> Value:
    def part(box: Box | None, name: str) -> Value:
        return null if box is None else compiler.box(box, names, spot.inner(name, name, box.line))

    condition, then, otherwise = part(box.condition, "if"), part(box.then, "then"), part(box.otherwise, "else")

    def evaluate(scope: Scope, run: Run) -> Any:
        chosen = condition(scope, run)
        if chosen is not None and not isinstance(chosen, bool):
            run.note(spot, "dmn_condition", "A condition is true or false.")
        return then(scope, run) if chosen is True else otherwise(scope, run)

    return evaluate
