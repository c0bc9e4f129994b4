"""Functions of booleans: `not`, `all`, `any`, `is`."""

from __future__ import annotations

from typing import Any

from penstock.feel.evaluation import Fault
from penstock.feel.functions.signature import declare, family
from penstock.feel.values.compare import equal
from penstock.feel.values.kinds import kind_of
from penstock.feel.values.temporal import DateTime, Time


def _not(value: Any) -> bool | None:
    if value is not None and type(value) is not bool:
        raise Fault(f"not: a {kind_of(value)} is no boolean")
    return None if value is None else not value


def _all(values: list[Any]) -> bool | None:
    """False if any item is false, else true of nothing but true, else null."""
    if any(value is False for value in values):
        return False
    _check_truths("all", values)
    return True if all(value is True for value in values) else None


def _any(values: list[Any]) -> bool | None:
    if any(value is True for value in values):
        return True
    _check_truths("any", values)
    return False if all(value is False for value in values) else None


def _check_truths(name: str, values: list[Any]) -> None:
    for value in values:
        if value is not None and type(value) is not bool:
            raise Fault(f"{name}: a {kind_of(value)} is no boolean")


def _is(first: Any, second: Any) -> bool:
    """Same kind and same value; moments of two zones are not the same, even at one instant."""
    if kind_of(first) != kind_of(second):
        return False
    if isinstance(first, Time | DateTime):
        return bool(first == second)
    return equal(first, second) is True


FUNCTIONS = family(
    "boolean",
    declare("not(negand: Any)", _not),
    declare("all(list: list)", _all),
    declare("all(...b: Any)", lambda *values: _all(list(values))),
    declare("any(list: list)", _any),
    declare("any(...b: Any)", lambda *values: _any(list(values))),
    declare("is(value1: Any, value2: Any)", _is),
)
