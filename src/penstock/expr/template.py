"""Parses texts with `${…}` in them: which parts are expressions, and where each ends."""

from __future__ import annotations

import re

from penstock.errors import ExprLimit
from penstock.expr.limits import MAX_REFERENCES, MAX_TEMPLATE
from penstock.expr.nodes import Literal, Node, Template
from penstock.expr.parse import parse
from penstock.expr.tokenizer import broken

_OPENING = "${"
_MARK = re.compile(r"[{}]|\"[^\"]*\"|'[^']*'|[\"']")


def parse_template(source: str) -> Node:
    """A `Literal` without `${`, the expression itself when it is the whole text, otherwise a `Template`."""
    if len(source) > MAX_TEMPLATE:
        raise ExprLimit(why=f"the text has {len(source):,} characters, at most {MAX_TEMPLATE:,} are read")
    parts: list[Node] = []
    place = 0
    while (opening := source.find(_OPENING, place)) >= 0:
        if opening > place:
            parts.append(Literal(place, opening, source[place:opening]))
        closing = _closing(source, opening)
        if not source[opening + 2 : closing].strip():
            raise broken(source, opening, "There is nothing between ${ and }")
        part = parse(source, opening + 2, closing)
        place = closing + 1
        if not parts and place == len(source):
            return part
        parts.append(part)
        if len(parts) > 2 * MAX_REFERENCES:
            raise ExprLimit(why=f"the text has more than {MAX_REFERENCES:,} references")
    if place < len(source) or not parts:
        parts.append(Literal(place, len(source), source[place:]))
    if len(parts) == 1 and isinstance(parts[0], Literal):
        return parts[0]
    return Template(0, len(source), parts)


def _closing(source: str, opening: int) -> int:
    """Where the `}` of a `${` stands: brackets are counted, those in strings are not."""
    depth = 1
    for mark in _MARK.finditer(source, opening + 2):
        text = mark.group()
        if text == "{":
            depth += 1
        elif text == "}":
            depth -= 1
            if not depth:
                return mark.start()
        elif len(text) == 1:
            raise broken(source, mark.start(), "The string has no closing quote")
    raise broken(source, opening, "The «${» has no closing «}»")
