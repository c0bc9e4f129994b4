"""`fn.feel`: FEEL inside an expression, for documents that bring FEEL of their own."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.errors import ExprTypeError
from penstock.expr.functions.contract import Function, family
from penstock.expr.values import named

if TYPE_CHECKING:
    from penstock.feel import Expression, Limits

_STEPS = 100_000
_KEPT = 512


def _feel(text: Any, names: Any = None, now: Any = None) -> Any:
    """A text that has both kinds of quotes in it comes in parts: strings here have no escapes."""
    whole = "".join(text) if isinstance(text, list) and all(isinstance(part, str) for part in text) else text
    if type(whole) is not str or not isinstance(names, dict | None):
        wrong = whole if not isinstance(whole, str) else names
        raise ExprTypeError(why=f"fn.feel takes a text and an object of names, not {named(wrong)}")
    compiled = _compiled(whole, tuple(names or ()))
    moment = None if now is None else _moment(now)
    value = compiled.expression.evaluate(names, now=moment, limits=compiled.limits).value
    return value if type(value) is bool else compiled.to_json(value, whole)


class _Compiled(NamedTuple):
    """An expression, and what of the engine its evaluation needs: the engine is loaded when FEEL is first met."""

    expression: Expression
    limits: Limits
    to_json: Callable[[Any, str], Any]


@lru_cache(maxsize=_KEPT)
def _compiled(text: str, names: tuple[str, ...]) -> _Compiled:
    from penstock import feel

    limits = feel.Limits(steps=_STEPS, items=_STEPS, depth=50)
    variables = [name for name in names if name not in feel.FUNCTIONS]  # `count(list) < count` calls the function
    return _Compiled(feel.compile(text, variables), limits, feel.to_json)


def _moment(now: Any) -> Any:
    from penstock.feel.values.temporal import at_instant

    if not isinstance(now, int | float):
        raise ExprTypeError(why=f"fn.feel takes milliseconds as its third argument, not {named(now)}")
    return at_instant(round(now) * 1_000_000, 0)


FEEL = family(
    "feel",
    Function(
        "feel",
        "(text, names?, now?) -> any",
        "The value of a FEEL expression with these names; `now` in milliseconds is what now() gives.",
        _feel,
    ),
)
