"""FEEL in rule packs: texts over rows of JSON, which has no dates.

A text of the data is read as the moment that it stands for where it has no meaning as a text. Texts in single quotes,
which packs may have, are read like those in double quotes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from penstock import feel
from penstock.errors import ExprNotSupported, FeelSyntaxError
from penstock.executors.parts.rules.dmn.compiler import is_closed, noting_test, text_among_moments, unknown_functions
from penstock.executors.parts.rules.dmn.moments import moments_in, tested_with_moment, with_moments
from penstock.executors.parts.rules.dmn.run import ModelRun
from penstock.feel import FUNCTIONS, Function, from_python, to_json
from penstock.feel.evaluation import syntax_error
from penstock.feel.types import Type

#: functions that packs may call and the standard does not have
_OLDER = {
    "round": Function(
        ["n", "scale"],
        lambda n, scale=0: FUNCTIONS["decimal"].signatures[0].call(n, scale),
        name="round",
        variadic=True,
    )
}
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'([^'\"\\]*)'")


class Reading(NamedTuple):
    """What the texts of a table read: the row as it came, and the names of it that FEEL reads, as FEEL values."""

    view: Mapping[str, Any]
    scope: dict[str, Any]
    run: ModelRun


Value = Callable[[Reading], Any]
Cell = Callable[[Reading, Any], Any]


class FeelValue(NamedTuple):
    names: tuple[str, ...]
    value: Value


class FeelTest(NamedTuple):
    names: tuple[str, ...]
    test: Cell


def reading(view: Mapping[str, Any], names: Collection[str]) -> Reading:
    scope: dict[str, Any] = {}
    for name in names:
        try:
            scope[name] = from_python(view[name])
        except KeyError:
            continue
        if scope[name] is None and name in _OLDER:
            scope[name] = _OLDER[name]
    run = ModelRun(lenient=True)
    run.known = scope
    return Reading(view, scope, run)


def compile_value(text: str, names: Collection[str] = ()) -> FeelValue:
    """An expression. Raises FeelSyntaxError."""
    expression = _retried(text, lambda source: feel.compile(source, names, members=names))
    _known_functions(expression, names)
    body = expression.value
    return FeelValue(expression.names, lambda row: with_moments(body, row.scope, row.run))


def compile_test(text: str, names: Collection[str] = (), type: Type | None = None) -> FeelTest | None:
    """A cell of a table; None where everything passes. Raises FeelSyntaxError."""
    tests = _retried(text, lambda source: feel.compile_unary_tests(source, names, members=names))
    if tests.node.any:
        return None
    text_among_moments(tests, type)
    _known_functions(tests, names)
    body, typed = noting_test(tests), is_closed(type)

    def test(row: Reading, value: Any) -> Any:
        if not typed and isinstance(value, str) and (moment := moments_in(value)) is not value:
            return tested_with_moment(body, value, moment, row.scope, row.run)
        return body(value, row.scope, row.run)

    return FeelTest(tests.names, test)


def plain(value: Any, where: str) -> Any:
    """A value as JSON has it. ExprNotSupported for a number that is larger than any of JSON's readers takes."""
    try:
        result = to_json(value)
    except OverflowError:
        result = math.inf
    if _is_endless(result):
        raise ExprNotSupported(why="The number is larger than any that JSON holds", expression=where)
    return result


def _is_endless(value: Any) -> bool:
    if isinstance(value, float):
        return math.isinf(value)
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(_is_endless(part) for part in parts)


def _known_functions(text: feel.Expression | feel.Tests, names: Collection[str]) -> None:
    for name in unknown_functions(text.node, text.names, {*names, *_OLDER}):
        place = max(0, text.source.find(name))
        raise syntax_error(text.source, place, f"There is no function «{name}»")


def _retried(text: str, make: Callable[[str], Any]) -> Any:
    try:
        return make(text)
    except FeelSyntaxError:
        quoted = _QUOTED.sub(lambda match: match[0] if match[1] is None else f'"{match[1]}"', text)
        if quoted == text:
            raise
        return make(quoted)
