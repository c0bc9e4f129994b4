"""Boxed iterators: for, some and every (DMN 1.5, 10.2.1.11 and 10.2.1.12)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
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
from penstock.executors.parts.rules.dmn.boxed.literal import LiteralBox
from penstock.executors.parts.rules.dmn.xml import Element, local_name

_BRACKETS_AND_DOTS = re.compile(r'"(?:\\.|[^"\\])*"|\.\.|[\[\](){}]')
_OPENING, _CLOSING = ("[", "(", "{"), ("]", ")", "}")


@dataclass(frozen=True, slots=True)
class IteratorBox(Box):
    kind: str  # for, some or every
    variable: str
    source: Box | None
    body: Box | None


def read(element: Element, read_box: ReadBox) -> IteratorBox:
    kind = local_name(element)
    return IteratorBox(
        **common(element),
        kind=kind,
        variable=(element.get("iteratorVariable") or "").strip(),
        source=read_part(element, "in", read_box),
        body=read_part(element, "return" if kind == "for" else "satisfies", read_box),
    )


def compile(box: IteratorBox, compiler: Compiler, names: Names, spot: Spot) -> Value:
    gone_through = _iterable(box.source)
    source = compiler.box(gone_through, names, spot.inner("in", "in", gone_through.line)) if gone_through else null
    word = "return" if box.kind == "for" else "satisfies"
    inner = spot.inner(word, word, box.body.line if box.body else box.line)
    known = names | {box.variable} | ({"partial"} if box.kind == "for" else set())
    body = compiler.box(box.body, known, inner) if box.body else null
    return _loop(box, source, body, spot) if box.kind == "for" else _quantifier(box, source, body, spot)


def _iterable(source: Box | None) -> Box | None:
    """What is iterated; `1..3` without brackets, which is no value but may stand in an iterator, as a list."""
    if not isinstance(source, LiteralBox) or not _is_bare_range(source.text):
        return source
    return replace(source, text=f"for each in {source.text} return each")


def _is_bare_range(text: str) -> bool:
    """Whether two dots stand outside of brackets and texts."""
    depth = 0
    for sign in _BRACKETS_AND_DOTS.findall(text):
        if sign == ".." and depth == 0:
            return True
        depth += (sign in _OPENING) - (sign in _CLOSING)
    return False


def _reads_partial(box: IteratorBox) -> bool:
    """Whether the results so far are read anywhere within: only then they are copied for every item."""
    return "partial" in repr(box.body)


def items_of(value: Any, run: Run, spot: Spot) -> list[Any] | None:
    """What is iterated: the items of a list, the numbers or days of a range, else the single value itself."""
    if value is None:
        run.note(spot, "dmn_list", "There is no list to go through: it is null.")
        return None
    return run.items(value, spot)


def _loop(box: IteratorBox, source: Value, body: Value, spot: Spot) -> Value:
    copies = _reads_partial(box)

    def evaluate(scope: Scope, run: Run) -> Any:
        items = items_of(source(scope, run), run, spot)
        if items is None:
            return None
        results: list[Any] = []
        for item in items:
            run.step()
            inner = {**scope, box.variable: item}
            if copies:
                inner["partial"] = list(results)
            results.append(body(inner, run))
        return results

    return evaluate


def _quantifier(box: IteratorBox, source: Value, body: Value, spot: Spot) -> Value:
    """Three-valued as FEEL's own; a value that is neither true, false nor null makes the whole null."""
    decisive = box.kind == "some"

    def evaluate(scope: Scope, run: Run) -> Any:
        items = items_of(source(scope, run), run, spot)
        if items is None:
            return None
        truths = set()
        for item in items:
            run.step()
            holds = body({**scope, box.variable: item}, run)
            if holds is not None and not isinstance(holds, bool):
                return run.note(spot, "dmn_condition", f"What «{box.kind}» asks is true or false.")
            truths.add(holds)
        return decisive if decisive in truths else None if None in truths else not decisive

    return evaluate
