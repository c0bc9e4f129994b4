"""FEEL for people who try an expression: its value as text and as JSON, its type, and why parts of it are null."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from math import isfinite
from typing import Any

import msgspec

from penstock import feel
from penstock.feel.evaluation import Exceeded
from penstock.feel.expression import limit_error
from penstock.feel.values.kinds import kind_of

#: an expression that somebody tries is answered within some seconds, whatever it says
LIMITS = feel.Limits(steps=100_000, depth=100, items=20_000, text=1 << 16)
#: characters of a value as FEEL writes it
MOST_TEXT = 1 << 16


class FeelWarning(msgspec.Struct):
    """Why a part is null. `position` counts characters from 1; 0 where it has no place."""

    message: str
    position: int


class FeelValue(msgspec.Struct):
    """`text` is the value as FEEL writes it, `value` the same as JSON; `names` are those that it read."""

    text: str
    value: Any
    type: str
    warnings: list[FeelWarning]
    names: list[str]


def try_expression(text: str, context: Mapping[str, Any], *, now: int, strict: bool = False) -> FeelValue:
    """The value of an expression. Raises FeelSyntaxError, FeelLimit, and in strict mode FeelError."""
    expression = feel.compile(text, tuple(context), members=feel.nested_names(context), strict=strict)
    result = expression.evaluate(context, now=_moment(now), limits=LIMITS)
    return _shown(text, result, expression.names)


def try_tests(text: str, value: Any, context: Mapping[str, Any], *, now: int, strict: bool = False) -> FeelValue:
    """Whether a value passes unary tests, as in a cell of a decision table. Raises as `try_expression`."""
    tests = feel.compile_unary_tests(text, tuple(context), members=feel.nested_names([context, value]))
    result = tests.evaluate(value, context, now=_moment(now), limits=LIMITS, strict=strict)
    return _shown(text, result, tests.names)


def _moment(now: int) -> datetime:
    return datetime.fromtimestamp(now / 1000, UTC)


def _shown(source: str, result: feel.Result, names: tuple[str, ...]) -> FeelValue:
    try:
        written = feel.written(result.value)
        if len(written) > MOST_TEXT:
            raise Exceeded(f"a value of more than {MOST_TEXT:,} characters")
        value = _finite(feel.to_json(result.value))
    except (Exceeded, RecursionError) as error:
        raise limit_error(error, source) from None
    warnings = [FeelWarning(warning.message, warning.position) for warning in result.warnings]
    return FeelValue(written, value, kind_of(result.value), warnings, list(names))


def _finite(value: Any) -> Any:
    """JSON has no number beyond 10^308: such a one is null there, and whole in the text."""
    if isinstance(value, float) and not isfinite(value):
        return None
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return {key: _finite(item) for key, item in value.items()} if isinstance(value, dict) else value
