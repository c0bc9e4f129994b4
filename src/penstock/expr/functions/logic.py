"""Logic functions: if, coalesce, default, is_null, is_empty, type_of."""

from __future__ import annotations

from typing import Any

from penstock.errors import ExprTypeError
from penstock.expr.functions.contract import Closure, Function, family
from penstock.expr.limits import View
from penstock.expr.operators import truth
from penstock.expr.values import kind_of


def _if(condition: Closure, then: Closure, otherwise: Closure) -> Closure:
    def choose(view: View) -> Any:
        return then(view) if truth(condition(view), "fn.if(…)") else otherwise(view)

    return choose


def _coalesce(*options: Closure) -> Closure:
    def first_known(view: View) -> Any:
        for option in options:
            value = option(view)
            if value is not None:
                return value
        return None

    return first_known


def _is_null(value: Any) -> bool:
    return value is None


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, (str, list, tuple, dict)) and not value)


def _type_of(value: Any) -> str:
    kind = kind_of(value)
    if kind == "unreadable":
        raise ExprTypeError(why="this value is not data and has no type")
    return kind


LOGIC = family(
    "logic",
    Function(
        "if",
        "(condition, then, else) -> any",
        "`then` when the condition is true, otherwise `else`; the other one is not evaluated.",
        _if,
        lazy=True,
    ),
    Function(
        "coalesce",
        "(value, …) -> any",
        "The first value that is not null; later ones are not evaluated.",
        _coalesce,
        lazy=True,
    ),
    Function("default", "(value, default) -> any", "The value, or the default when it is null.", _coalesce, lazy=True),
    Function("is_null", "(value) -> boolean", "Whether the value is null.", _is_null),
    Function("is_empty", "(value) -> boolean", 'Whether the value is null, "", [] or {}.', _is_empty),
    Function("type_of", "(value) -> string", "null, boolean, integer, float, string, array or object.", _type_of),
)
