"""Functions of lists. A value that is no list is a list of itself."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from penstock.feel.evaluation import Evaluation, Exceeded, Fault
from penstock.feel.functions.signature import Declared, declare, family
from penstock.feel.invoke import invoke
from penstock.feel.values.compare import equal, identity_key, order
from penstock.feel.values.functions import Function
from penstock.feel.values.kinds import kind_of
from penstock.feel.values.numbers import CONTEXT, Number, add, divide, is_number, multiply, subtract, truncated
from penstock.feel.values.temporal import DaysTime, YearsMonths, days_time, years_months

_DEEPEST = 200


def _variadic(name: str, call: Any, *, evaluates: bool = False) -> tuple[Declared, Declared]:
    """Of one list, or of any number of arguments."""

    def spread(*values: Any) -> Any:
        return call(list(values))

    def spread_with(evaluation: Evaluation, *values: Any) -> Any:
        return call(evaluation, list(values))

    return (
        declare(f"{name}(list: list)", call, evaluates=evaluates),
        declare(f"{name}(...c: Any)", spread_with if evaluates else spread, evaluates=evaluates),
    )


# ---- membership ------------------------------------------------------------------------------------------------------


class _Members:
    """Values that were met: scalars by their key, all others one by one, which costs steps."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation
        self.keys: set[Any] = set()
        self.others: list[Any] = []
        self.budget = evaluation.budget()

    def add(self, value: Any) -> bool:
        """Whether it is new."""
        key = identity_key(value)
        if key is not None:
            new = key not in self.keys
            self.keys.add(key)
            return new
        self.budget[0] -= 8 * (1 + 3 * len(self.others))
        self.evaluation.settle(self.budget)
        if any(equal(value, other, self.budget) is True for other in self.others):
            return False
        self.others.append(value)
        return True


def _contains(evaluation: Evaluation, values: list[Any], element: Any) -> bool:
    budget = evaluation.budget()
    contained = any(equal(value, element, budget) is True for value in values)
    evaluation.settle(budget)
    return contained


def _index_of(evaluation: Evaluation, values: list[Any], match: Any) -> list[int]:
    budget = evaluation.budget()
    places = [place + 1 for place, value in enumerate(values) if equal(value, match, budget) is True]
    evaluation.settle(budget)
    return places


def _distinct(evaluation: Evaluation, values: list[Any]) -> list[Any]:
    members = _Members(evaluation)
    return [value for value in values if members.add(value)]


def _union(evaluation: Evaluation, *lists: list[Any]) -> list[Any]:
    return _distinct(evaluation, _concatenate(evaluation, *lists))


def _duplicates(evaluation: Evaluation, values: list[Any]) -> list[Any]:
    members, repeated = _Members(evaluation), _Members(evaluation)
    return [value for value in values if not members.add(value) and repeated.add(value)]


# ---- building --------------------------------------------------------------------------------------------------------


def _concatenate(evaluation: Evaluation, *lists: list[Any]) -> list[Any]:
    evaluation.check_items(sum(map(len, lists)))
    return [value for values in lists for value in values]


def _append(evaluation: Evaluation, values: list[Any], *items: Any) -> list[Any]:
    evaluation.check_items(len(values) + len(items))
    return [*values, *items]


def _place(values: list[Any], position: Number, *, after_end: bool = False) -> int:
    place = truncated(position)
    count = len(values) + after_end
    if place == 0 or not -len(values) <= place <= count:
        raise Fault(f"There is no position {place} in a list of {len(values)}")
    return place - 1 if place > 0 else len(values) + place


def _sublist(values: list[Any], start: Number, length: Number | None = None) -> list[Any]:
    begin = _place(values, start)
    if length is None:
        return values[begin:]
    count = truncated(length)
    if count < 0 or begin + count > len(values):
        raise Fault("sublist: the list is shorter than that")
    return values[begin : begin + count]


def _insert_before(evaluation: Evaluation, values: list[Any], position: Number, item: Any) -> list[Any]:
    place = _place(values, position)
    evaluation.check_items(len(values) + 1)
    return [*values[:place], item, *values[place:]]


def _remove(values: list[Any], position: Number) -> list[Any]:
    place = _place(values, position)
    return [*values[:place], *values[place + 1 :]]


def _replace_at(values: list[Any], position: Number, item: Any) -> list[Any]:
    place = _place(values, position)
    return [*values[:place], item, *values[place + 1 :]]


def _replace_matching(evaluation: Evaluation, values: list[Any], match: Function, item: Any) -> list[Any]:
    replaced = []
    for value in values:
        verdict = invoke(match, (value, item), evaluation)
        if type(verdict) is not bool:
            raise Fault("list replace: the match function gives no boolean")
        replaced.append(item if verdict else value)
    return replaced


def _flatten(evaluation: Evaluation, values: list[Any]) -> list[Any]:
    flat: list[Any] = []
    _flatten_into(evaluation, values, flat, 0)
    return flat


def _flatten_into(evaluation: Evaluation, values: list[Any], flat: list[Any], depth: int) -> None:
    if depth > _DEEPEST:
        raise Exceeded(f"lists nested more than {_DEEPEST} deep")
    evaluation.spend(1 + len(values))
    for value in values:
        if type(value) is list:
            _flatten_into(evaluation, value, flat, depth + 1)
        else:
            flat.append(value)
    evaluation.check_items(len(flat))


# ---- figures ---------------------------------------------------------------------------------------------------------


def _extreme(name: str, wanted: int) -> Any:
    def extreme(values: list[Any]) -> Any:
        if not values:
            return None
        best = values[0]
        if order(best, best) is None:
            raise Fault(f"{name}: a {kind_of(best)} has no order")
        for value in values[1:]:
            ordering = order(value, best)
            if ordering is None:
                raise Fault(f"{name}: a {kind_of(value)} and a {kind_of(best)} have no order")
            if ordering == wanted:
                best = value
        return best

    return extreme


def _numbers(name: str, values: list[Any]) -> list[Any]:
    wrong = next((value for value in values if not is_number(value)), MISSING)
    if wrong is not MISSING:
        raise Fault(f"{name}: the list has a {kind_of(wrong)} in it")
    return values


MISSING = object()


def _sum(values: list[Any]) -> Any:
    if not values:
        return None
    kind = type(values[0])
    if kind in (DaysTime, YearsMonths) and all(type(value) is kind for value in values):
        total = sum(value[0] for value in values)
        return days_time(total) if kind is DaysTime else years_months(total)
    result: Number = 0
    for value in _numbers("sum", values):
        result = add(result, value)
    return result


def _product(values: list[Any]) -> Any:
    if not values:
        return None
    result: Number = 1
    for value in _numbers("product", values):
        result = multiply(result, value)
    return result


def _mean(values: list[Any]) -> Any:
    if not values:
        return None
    total = _sum(values)
    if isinstance(total, DaysTime):
        return days_time(int(divide(total.nanos, len(values))))
    if isinstance(total, YearsMonths):
        return years_months(int(divide(total.months, len(values))))
    return divide(total, len(values))


def _median(values: list[Any]) -> Any:
    if not values:
        return None
    ordered = sorted(_numbers("median", values))
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return divide(add(ordered[middle - 1], ordered[middle]), 2)


def _stddev(values: list[Any]) -> Any:
    """Of a sample: of one value there is none."""
    if len(values) < 2:
        raise Fault("stddev: it needs two numbers at least")
    mean = _mean(_numbers("stddev", values))
    total: Number = 0
    for value in values:
        distance = subtract(value, mean)
        total = add(total, multiply(distance, distance))
    return CONTEXT.sqrt(Decimal(divide(total, len(values) - 1)))


def _mode(values: list[Any]) -> list[Any]:
    counts: dict[Any, int] = {}
    for value in _numbers("mode", values):
        counts[value] = counts.get(value, 0) + 1
    most = max(counts.values(), default=0)
    return sorted(value for value, count in counts.items() if count == most)


FUNCTIONS = family(
    "list",
    declare("list contains(list: list, element: Any)", _contains, evaluates=True),
    declare("count(list: list)", len),
    *_variadic("min", _extreme("min", -1)),
    *_variadic("max", _extreme("max", 1)),
    *_variadic("sum", _sum),
    *_variadic("mean", _mean),
    *_variadic("product", _product),
    *_variadic("median", _median),
    *_variadic("stddev", _stddev),
    *_variadic("mode", _mode),
    declare("sublist(list: list, start position: number, length?: number?)", _sublist),
    declare("append(list: list, ...item: Any)", _append, evaluates=True),
    declare("concatenate(...list: list)", _concatenate, evaluates=True),
    declare("insert before(list: list, position: number, newItem: Any)", _insert_before, evaluates=True),
    declare("remove(list: list, position: number)", _remove),
    declare("list replace(list: list, position: number, newItem: Any)", _replace_at),
    declare("list replace(list: list, match: function, newItem: Any)", _replace_matching, evaluates=True),
    declare("reverse(list: list)", lambda values: values[::-1]),
    declare("index of(list: list, match: Any)", _index_of, evaluates=True),
    declare("union(...list: list)", _union, evaluates=True),
    declare("distinct values(list: list)", _distinct, evaluates=True),
    declare("duplicate values(list: list)", _duplicates, evaluates=True),
    declare("flatten(list: list)", _flatten, evaluates=True),
)
