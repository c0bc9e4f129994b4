"""What a hit policy makes of the rules of a decision table that hit (DMN 1.5, 8.2.8 and 8.2.11)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from penstock.feel.evaluation import Fault
from penstock.feel.values.compare import equal, order
from penstock.feel.values.numbers import add, is_number

POLICIES = {
    "UNIQUE": "U", "ANY": "A", "PRIORITY": "P", "FIRST": "F", "RULE ORDER": "R", "OUTPUT ORDER": "O", "COLLECT": "C",
    "COLLECT SUM": "C+", "COLLECT MIN": "C<", "COLLECT MAX": "C>", "COLLECT COUNT": "C#",
}  # fmt: skip
AGGREGATES = frozenset({"C+", "C<", "C>", "C#"})
MANY = frozenset("ROC")
RANKED = frozenset("PO")


class HitRow(Protocol):
    """A line of a table."""

    @property
    def id(self) -> str: ...

    @property
    def name(self) -> str: ...


Row = TypeVar("Row", bound=HitRow)


class TableConflict(Exception):
    """Lines that may not hit together did; `lines` has their ids."""

    def __init__(self, why: str, lines: list[str]) -> None:
        self.lines = lines
        super().__init__(why)


class NotAllowed(Exception):
    """A value that an input does not take."""


class TableResult(NamedTuple):
    """The result as DMN has it (a value, an object of outputs, a list of either), and the lines that gave it."""

    value: Any
    lines: list[Any]  # HitRow
    records: list[Any]  # what each of these lines says, in the same order; one for an aggregate


def settle(
    policy: str,
    hits: Sequence[Row],
    outputs: Callable[[Row], list[Any]],
    names: Sequence[str],
    ranks: Sequence[Sequence[Any]],
) -> TableResult:
    """The result of a table of which something hit. `ranks` has the values of every output, the most important first.

    Raises TableConflict."""
    lines = list(hits)
    if policy == "U" and len(hits) > 1:
        raise _conflict(lines, "hit together in a table where only one may")
    if policy == "C#":
        return TableResult(len(hits), lines, [len(hits)])
    rows = [outputs(row) for row in hits]
    if policy == "A" and any(equal(row, rows[0]) is not True for row in rows[1:]):
        raise _conflict(lines, "hit together and say different things")
    if policy in AGGREGATES:
        value = aggregate(policy, [row[0] for row in rows])
        return TableResult(value, lines, [value])
    if policy in RANKED:
        order = sorted(range(len(rows)), key=lambda index: _rank(rows[index], ranks))
        lines, rows = [lines[index] for index in order], [rows[index] for index in order]
    records = [record(row, names) for row in rows]
    if policy in MANY:
        return TableResult(records, lines, records)
    return TableResult(records[0], lines[:1], records[:1])


def _conflict(lines: Sequence[HitRow], why: str) -> TableConflict:
    ids = [line.id for line in lines]
    return TableConflict(f"the lines {', '.join(ids[:20])} {why}", ids)


def settle_none(policy: str, default: Callable[[], list[Any]] | None, names: Sequence[str]) -> TableResult:
    """The result of a table of which nothing hit."""
    if policy == "C#":
        return TableResult(0, [], [0])
    if default is not None:
        value = record(default(), names)
        return TableResult([value] if policy in MANY else value, [], [value])
    return TableResult([] if policy in MANY else None, [], [])


def record(row: list[Any], names: Sequence[str]) -> Any:
    """One output is its value, several are a context."""
    return row[0] if len(row) == 1 else dict(zip(names, row, strict=True))


def aggregate(policy: str, values: list[Any]) -> Any:
    """The sum, the least or the greatest; null where the values have none."""
    if policy == "C#":
        return len(values)
    if policy == "C+":
        return _sum(values)
    best = values[0]
    if order(best, best) is None:  # a boolean, a list or a context is neither least nor greatest
        return None
    wanted = -1 if policy == "C<" else 1
    for value in values[1:]:
        place = order(value, best)
        if place is None:
            return None
        best = value if place == wanted else best
    return best


def _sum(values: list[Any]) -> Any:
    if not all(map(is_number, values)):
        return None
    total: Any = 0
    try:
        for value in values:
            total = add(total, value)
    except Fault:
        return None
    return total


def _rank(row: list[Any], ranks: Sequence[Sequence[Any]]) -> tuple[int, ...]:
    """The place of every output among its values; what is not listed comes last."""
    return tuple(
        next((place for place, known in enumerate(values) if equal(known, value) is True), len(values))
        for values, value in zip(ranks, row, strict=True)
    )
