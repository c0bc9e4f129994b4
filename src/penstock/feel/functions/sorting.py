"""`sort(list, precedes)`: stable, with a function that says which of two comes first."""

from __future__ import annotations

from functools import cmp_to_key
from typing import Any

from penstock.feel.evaluation import Evaluation, Fault
from penstock.feel.functions.signature import declare, family
from penstock.feel.invoke import invoke
from penstock.feel.values.compare import order
from penstock.feel.values.functions import Function
from penstock.feel.values.kinds import kind_of


def _sort(evaluation: Evaluation, values: list[Any], precedes: Function) -> list[Any]:
    def compare(left: Any, right: Any) -> int:
        if invoke(precedes, (left, right), evaluation) is True:
            return -1
        return 1 if invoke(precedes, (right, left), evaluation) is True else 0

    return sorted(values, key=cmp_to_key(compare))


def _sort_naturally(values: list[Any]) -> list[Any]:
    """Without a function: by the order of the values, all of one kind."""

    def compare(left: Any, right: Any) -> int:
        ordering = order(left, right)
        if ordering is None:
            raise Fault(f"sort: a {kind_of(left)} and a {kind_of(right)} have no order")
        return ordering

    return sorted(values, key=cmp_to_key(compare))


FUNCTIONS = family(
    "sort",
    declare("sort(list: list, precedes: function)", _sort, evaluates=True),
    declare("sort(list: list)", _sort_naturally),
)
