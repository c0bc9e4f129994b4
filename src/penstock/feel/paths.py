"""Closures of paths (`a.b`) and filters (`a[condition]`, `a[1]`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.feel import nodes as N
from penstock.feel.evaluation import Evaluation, Fault, Where
from penstock.feel.values.kinds import kind_of
from penstock.feel.values.numbers import is_number, whole
from penstock.feel.values.ranges import Range
from penstock.feel.values.temporal_math import TEMPORAL, property_of

Names = Mapping[str, Any]
Value = Callable[[Names, Evaluation], Any]
_RANGE = {
    "start": lambda value: value.low,
    "end": lambda value: value.high,
    "start included": lambda value: value.low_closed,
    "end included": lambda value: value.high_closed,
}


def path_closure(base: Value, name: str, where: Where) -> Value:
    def read(names: Names, evaluation: Evaluation) -> Any:
        value = base(names, evaluation)
        if type(value) is dict and name in value:
            return value[name]
        return member(value, name, where, evaluation)

    return read


def member(value: Any, name: str, where: Where, evaluation: Evaluation) -> Any:
    """The entry of a context, the property of a date or range, or of a list those of its members."""
    if value is None:
        return None
    kind = type(value)
    if kind is list:
        evaluation.spend(1 + len(value) // 10)
        return [
            item[name] if type(item) is dict and name in item else member(item, name, where, evaluation)
            for item in value
        ]
    try:
        if kind in TEMPORAL:
            return property_of(value, name)
    except Fault as fault:
        evaluation.warn(where, str(fault))
        return None
    if kind is Range and name in _RANGE:
        return _RANGE[name](value)
    if kind is dict and name in value:
        return value[name]
    evaluation.warn(where, f"There is no «{name}» in this {kind_of(value)}")
    return None


def filter_closure(
    base: Value, condition: Value, free: tuple[str, ...], node: N.Node, where: Where, cost: int
) -> Value:
    """`cost`: the steps that one item takes."""
    if _is_index(node):
        return _indexed(base, condition, where)
    read = _names_read(node)
    asks_item, asked = "item" in read, tuple(name for name in free if name in read)

    def filtered(names: Names, evaluation: Evaluation) -> Any:
        values = _listed(base(names, evaluation))
        if values is None:
            return None
        scope: dict[str, Any] = {}
        for name in free:
            if name in names:
                scope[name] = names[name]
        if not values:
            if not isinstance(node, N.Name | N.Path | N.Call | N.If | N.Filter):
                return []
            evaluation.spend(cost)
            about_items = asks_item or any(name not in names for name in asked)
            return None if is_number(_of_nothing(condition, scope, about_items, evaluation)) else []
        evaluation.spend(cost * len(values))
        kept = []
        for value in values:
            inner = scope
            if type(value) is dict:
                inner = {**scope, "item": value}
                for name in free:
                    if name in value:
                        inner[name] = value[name]
                if "item" in value:
                    inner["item"] = value["item"]
            else:
                scope["item"] = value
            verdict = condition(inner, evaluation)
            if verdict is True:
                kept.append(value)
            elif verdict is not False:
                if is_number(verdict):
                    return _at(values, verdict, where, evaluation)
                if verdict is not None:
                    evaluation.warn(where, f"A {kind_of(verdict)} is neither a condition nor a place in a list")
        return kept

    return filtered


def _of_nothing(condition: Value, scope: dict[str, Any], about_items: bool, evaluation: Evaluation) -> Any:
    """The condition of an empty list, which may be an index. Where it is about items, of which there are none, what is
    wrong with it is not said."""
    if not about_items:
        return condition({**scope, "item": None}, evaluation)
    strict, said = evaluation.strict, len(evaluation.warnings)
    evaluation.strict = False
    try:
        return condition({**scope, "item": None}, evaluation)
    finally:
        evaluation.strict = strict
        del evaluation.warnings[said:]


def _names_read(node: N.Node) -> set[str]:
    """The names that may be entries of an item: all but those of functions that are called."""
    names: set[str] = set()
    pending = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, N.Name):
            names.add(part.name)
        elif isinstance(part, N.Call) and isinstance(part.function, N.Name):
            pending.extend(part.arguments)
        else:
            pending.extend(N.parts(part))
    return names


def _is_index(node: N.Node) -> bool:
    """Whether the text says that it is a number."""
    if isinstance(node, N.Literal):
        return is_number(node.value)
    return isinstance(node, N.Negation) and _is_index(node.operand)


def _listed(value: Any) -> list[Any] | None:
    """What is no list is a list of itself."""
    return value if type(value) is list else None if value is None else [value]


def _indexed(base: Value, index: Value, where: Where) -> Value:
    def at(names: Names, evaluation: Evaluation) -> Any:
        values = _listed(base(names, evaluation))
        return None if values is None else _at(values, index(names, evaluation), where, evaluation)

    return at


def _at(values: list[Any], index: Any, where: Where, evaluation: Evaluation) -> Any:
    """Counted from 1, and from the end with negative numbers."""
    place = whole(index)
    if place is None or place == 0 or not -len(values) <= place <= len(values):
        evaluation.warn(where, f"There is no such place in a list of {len(values)}")
        return None
    return values[place - 1 if place > 0 else place]
