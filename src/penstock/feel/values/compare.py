"""How values compare: order, equality, being inside a range. Null is the answer of what cannot be compared."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from penstock.feel.evaluation import Exceeded
from penstock.feel.values.kinds import KINDS, kind_of
from penstock.feel.values.ranges import Range
from penstock.feel.values.temporal_math import TEMPORAL, order_temporal

MOST_COMPARED = 8_000_000
_COST = 8  # of one pair
_NUMBERS = (int, Decimal)


def order(left: Any, right: Any) -> int | None:
    """-1, 0 or 1; None where the two have no order."""
    kind, other = type(left), type(right)
    if (kind is int or kind is Decimal) and (other is int or other is Decimal):
        return int(left > right) - int(left < right)
    if kind is not other:
        return None
    if kind is str:
        return int(left > right) - int(left < right)
    return order_temporal(left, right) if kind in TEMPORAL else None


def equal(left: Any, right: Any, budget: list[int] | None = None) -> bool | None:
    """None for two kinds that cannot be compared; null equals only null. `budget` is how many parts may be compared."""
    if left is None or right is None:
        return left is right
    kind, other = type(left), type(right)
    if kind is other and (kind is str or kind is bool):
        return bool(left == right)
    if (kind is int or kind is Decimal) and (other is int or other is Decimal):
        return bool(left == right)
    return _equal(left, right, [MOST_COMPARED] if budget is None else budget)


def _equal(left: Any, right: Any, budget: list[int]) -> bool | None:
    if left is None or right is None:
        return left is right
    if KINDS.get(type(left)) != KINDS.get(type(right)) or kind_of(left) != kind_of(right):
        return None
    kind = type(left)
    if kind in TEMPORAL:
        return order_temporal(left, right) == 0
    if kind is list or kind is dict or kind is Range:
        return left is right or _equal_parts(left, right, budget)
    return bool(left == right)


def _equal_parts(left: Any, right: Any, budget: list[int]) -> bool:
    if type(left) is dict:
        if left.keys() != right.keys():
            return False
        pairs = [(item, right[key]) for key, item in left.items()]
    else:
        if len(left) != len(right):
            return False
        pairs = list(zip(left, right, strict=True))
    budget[0] -= _COST * (len(pairs) + 1)
    if budget[0] < 0:
        raise Exceeded("a comparison of too many values")
    return all(_equal(first, second, budget) is True for first, second in pairs)


def inside(value: Any, range: Range) -> bool | None:
    """Whether the value lies in the range; None where it cannot be compared with an end."""
    low = 1 if range.low is None else order(value, range.low)
    high = -1 if range.high is None else order(value, range.high)
    if low is None or high is None or (range.low is None and range.high is None):
        return None
    return (low > 0 or (low == 0 and range.low_closed)) and (high < 0 or (high == 0 and range.high_closed))


def includes(wanted: Any, value: Any, budget: list[int] | None = None) -> bool | None:
    """`value in wanted`: within a range, equal to a member of a list or within it, else equal."""
    if type(wanted) is Range:
        return inside(value, wanted)
    if type(wanted) is list:
        if type(value) is list and equal(value, wanted, budget) is True:
            return True
        return any(
            (inside(value, item) if type(item) is Range else equal(value, item, budget)) is True for item in wanted
        )
    return equal(value, wanted)


_UNHASHABLE = (list, dict, Range)


def identity_key(value: Any) -> Any:
    """What equal scalars share and unequal ones do not, to find them in a set; None where there is no such key."""
    kind = type(value)
    if kind is int or kind is Decimal:
        return ("n", value)
    if kind is str:
        return ("s", value)
    if kind is bool or value is None:
        return ("b", value)
    return None
