"""Literal expressions: a FEEL text (DMN 1.5, 7.3.4)."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.executors.parts.rules.dmn.boxed.contract import Box, Compiler, Names, ReadBox, Spot, Value, common
from penstock.executors.parts.rules.dmn.xml import Element, text_of


@dataclass(frozen=True, slots=True)
class LiteralBox(Box):
    text: str
    language: str


def read(element: Element, read_box: ReadBox) -> LiteralBox:
    return LiteralBox(**common(element), text=text_of(element), language=element.get("expressionLanguage") or "")


def compile(box: LiteralBox, compiler: Compiler, names: Names, spot: Spot) -> Value:
    spot = spot.inner("", "expression", box.line)
    if is_foreign(box.language):
        return _foreign(box, compiler, spot)
    return compiler.text(box.text, names, spot)


def is_foreign(language: str) -> bool:
    """Whether an expression language is another one than FEEL."""
    return bool(language) and "feel" not in language.lower()


def _foreign(box: LiteralBox, compiler: Compiler, spot: Spot) -> Value:
    """An expression in another language is not read as if it were FEEL."""
    message = f"«{box.language}» is an expression language that is not read."
    compiler.error("dmn_part", message, spot, "Write it in FEEL.")
    return lambda scope, run: run.note(spot, "dmn_part", message, box.text)
