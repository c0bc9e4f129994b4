"""Array functions: looking into arrays, mapping and folding them, building new ones, adding them up."""

from __future__ import annotations

import math
from typing import Any

from penstock.errors import ExprTypeError
from penstock.expr.functions.contract import (
    Callback,
    Function,
    LambdaShape,
    array_of,
    family,
    integer_of,
    number_of,
    refused,
    text_from,
)
from penstock.expr.functions.string import concat
from penstock.expr.limits import View, bounded_integer, check_array_size, finite, spend
from penstock.expr.operators import OPERATORS, truth
from penstock.expr.values import equal_in, identity, member, named, text_steps, walk

Items = list[Any] | tuple[Any, ...]

# ---- looking ---------------------------------------------------------------------------------------------------------


def _length(value: Any) -> int:
    if value is None:
        return 0
    if isinstance(value, (str, list, tuple, dict)):
        return len(value)
    raise refused("length", "an array, a string or an object", value)


def _first(array: Any) -> Any:
    return _at("first", array, 0)


def _last(array: Any) -> Any:
    return _at("last", array, -1)


def _nth(array: Any, index: Any) -> Any:
    return _at("nth", array, integer_of("nth", index))


def _at(function: str, array: Any, index: int) -> Any:
    return None if array is None else member(array_of(function, array), index)


def _contains(view: View, where: Any, value: Any) -> bool:
    if where is None:
        return False
    if isinstance(where, str):
        wanted = text_from("contains", value)
        spend(view, text_steps(where))
        return wanted in where
    items = array_of("contains", where)
    spend(view, len(items))
    return any(equal_in(view, item, value) for item in items)


# ---- with a lambda ---------------------------------------------------------------------------------------------------


def _filter(view: View, array: Any, condition: Any) -> list[Any]:
    items, test = array_of("filter", array), _callback("filter", "condition", condition)
    spend(view, len(items) * test.cost)
    call = test.call
    return [item for index, item in enumerate(items) if truth(call(item, index), "fn.filter(…)")]


def _map(view: View, array: Any, transform: Any) -> list[Any]:
    items = array_of("map", array)
    if isinstance(transform, str):  # from data: it may name a field, and is never read as an expression
        spend(view, len(items))
        return [walk(item, transform) for item in items]
    callback = _callback("map", "transform", transform)
    spend(view, len(items) * callback.cost)
    call = callback.call
    return [call(item, index) for index, item in enumerate(items)]


def _reduce(view: View, array: Any, initial: Any, function: Any) -> Any:
    items = array_of("reduce", array)
    if isinstance(function, str):
        return _reduce_by_word(view, items, initial, function)
    callback = _callback("reduce", "function", function)
    spend(view, len(items) * callback.cost)
    call = callback.call
    value = initial
    for index, item in enumerate(items):
        value = call(value, item, index)
    return value


def _reduce_by_word(view: View, items: Items, initial: Any, word: str) -> Any:
    start = [] if initial is None else [initial]
    if word == "sum":
        return _sum(view, [*start, *items])
    if word == "min":
        return _min(view, [*start, *items])
    if word == "max":
        return _max(view, [*start, *items])
    if word == "count":
        return OPERATORS["+"](view, 0 if initial is None else number_of("reduce", initial), len(items), "fn.reduce(…)")
    if word == "concat":
        spend(view, len(items))
        return concat(view, initial, *items)
    raise ExprTypeError(why=f"fn.reduce knows {', '.join(sorted(_WORDS))}, or a lambda")


def _sort(view: View, array: Any, key: Any = None, order: Any = "asc") -> list[Any]:
    items = array_of("sort", array)
    if order not in ("asc", "desc"):
        raise ExprTypeError(why="fn.sort: the order is 'asc' or 'desc'")
    if key is None:
        spend(view, len(items))
        keys: Items = items
    else:
        keys = _map(view, items, key)
    known = [index for index, value in enumerate(keys) if value is not None]
    _one_kind("sort", [keys[index] for index in known])
    known.sort(key=keys.__getitem__, reverse=order == "desc")
    return [items[index] for index in known] + [items[i] for i, value in enumerate(keys) if value is None]


def _callback(function: str, what: str, value: Any) -> Callback:
    if isinstance(value, Callback):
        return value
    if isinstance(value, str):
        raise ExprTypeError(why=f"fn.{function}: the {what} stands in the expression itself, it cannot come from data")
    raise refused(function, "a lambda or an expression string", value)


# ---- building --------------------------------------------------------------------------------------------------------


def _unique(view: View, array: Any) -> list[Any]:
    items = array_of("unique", array)
    spend(view, len(items))
    seen: set[Any] = set()
    kept = []
    for item in items:
        mark = identity(view, item)
        if mark not in seen:
            seen.add(mark)
            kept.append(item)
    return kept


def _flatten(view: View, array: Any) -> list[Any]:
    items = array_of("flatten", array)
    size = sum(len(item) if isinstance(item, (list, tuple)) else 1 for item in items)
    check_array_size(size)
    spend(view, len(items) + size)
    flat: list[Any] = []
    for item in items:
        if isinstance(item, (list, tuple)):
            flat.extend(item)
        else:
            flat.append(item)
    return flat


# ---- adding up -------------------------------------------------------------------------------------------------------


def _sum(view: View, array: Any) -> int | float:
    return _total(view, _numbers(view, "sum", array))


def _avg(view: View, array: Any) -> float | None:
    numbers = _numbers(view, "avg", array)
    if not numbers:
        return None
    average: float = OPERATORS["/"](view, _total(view, numbers), len(numbers), "fn.avg(…)")
    return average


def _total(view: View, numbers: list[Any]) -> int | float:
    if all(isinstance(number, int) for number in numbers):
        return bounded_integer(sum(numbers))
    try:
        return finite(math.fsum(numbers))  # exact, so the same on every Python
    except (OverflowError, ValueError):
        raise ExprTypeError(why="the sum is not a finite number") from None


def _numbers(view: View, function: str, array: Any) -> list[Any]:
    items = array_of(function, array)
    spend(view, len(items))
    return [number_of(function, item) for item in items if item is not None]


def _min(view: View, array: Any) -> Any:
    known = _comparable(view, "min", array)
    return min(known) if known else None


def _max(view: View, array: Any) -> Any:
    known = _comparable(view, "max", array)
    return max(known) if known else None


def _comparable(view: View, function: str, array: Any) -> list[Any]:
    items = array_of(function, array)
    spend(view, len(items))
    return _one_kind(function, [item for item in items if item is not None])


def _one_kind(function: str, values: list[Any]) -> list[Any]:
    """The values, when all are numbers or all are strings."""
    text = bool(values) and isinstance(values[0], str)
    for value in values:
        fits = isinstance(value, str) if text else isinstance(value, (int, float)) and not isinstance(value, bool)
        if not fits:
            raise ExprTypeError(
                why=f"fn.{function} compares numbers with numbers or strings with strings, not {named(value)}"
                + (f" with {named(values[0])}" if value is not values[0] else "")
            )
    return values


_WORDS = frozenset({"sum", "min", "max", "count", "concat"})
_CONDITION = LambdaShape(("item", "index"))
_TRANSFORM = LambdaShape(("item", "index"), field=True)
_STEP = LambdaShape(("acc", "item", "index"), least=2, words=_WORDS)


ARRAY = family(
    "array",
    Function(
        "length",
        "(array) -> integer",
        "How many items an array, characters a string or members an object has; 0 for null.",
        _length,
    ),
    Function("first", "(array) -> any", "The first item, or null.", _first),
    Function("last", "(array) -> any", "The last item, or null.", _last),
    Function(
        "nth",
        "(array, index) -> any",
        "The item at the index: the first is 0, the last -1; null when there is none.",
        _nth,
    ),
    Function(
        "filter",
        "(array, condition) -> array",
        "The items for which a lambda, or an expression string with item, index and the item's fields, is true.",
        _filter,
        sees_view=True,
        lambdas={1: _CONDITION},
    ),
    Function(
        "map",
        "(array, transform) -> array",
        "Every item transformed: by a lambda, an expression string, or the name of a field.",
        _map,
        sees_view=True,
        lambdas={1: _TRANSFORM},
    ),
    Function(
        "reduce",
        "(array, initial, function) -> any",
        "The items folded into one value: by a lambda (acc, item) => …, an expression string with acc, item and index, "
        "or 'sum', 'min', 'max', 'count', 'concat'.",
        _reduce,
        sees_view=True,
        lambdas={2: _STEP},
    ),
    Function(
        "sort",
        "(array, key?, order?) -> array",
        "Sorted, by a key (field or lambda) if given; 'asc' or 'desc'; equal items keep their order, nulls are last.",
        _sort,
        sees_view=True,
        lambdas={1: _TRANSFORM},
    ),
    Function("unique", "(array) -> array", "Every value once, where it came first.", _unique, sees_view=True),
    Function(
        "flatten",
        "(array) -> array",
        "Arrays in the array replaced by their items, one level deep.",
        _flatten,
        sees_view=True,
    ),
    Function(
        "contains",
        "(array, value) -> boolean",
        "Whether the array has the value, or the string has the part; false for null.",
        _contains,
        sees_view=True,
    ),
    Function(
        "sum",
        "(array) -> number",
        "The sum of the numbers; nulls are left out, 0 when there are none.",
        _sum,
        sees_view=True,
    ),
    Function(
        "avg",
        "(array) -> any",
        "The average of the numbers; nulls are left out, null when there are none.",
        _avg,
        sees_view=True,
    ),
    Function(
        "min",
        "(array) -> any",
        "The smallest number or string; nulls are left out, null when there are none.",
        _min,
        sees_view=True,
    ),
    Function(
        "max",
        "(array) -> any",
        "The greatest number or string; nulls are left out, null when there are none.",
        _max,
        sees_view=True,
    ),
)
