"""What one evaluation carries with it: limits, warnings, the moment that `now()` gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.errors import FeelError, FeelLimit, FeelSyntaxError

if TYPE_CHECKING:
    from penstock.feel.values.temporal import DateTime

_MOST_WARNINGS = 100
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Limits:
    """How far an evaluation may go; what goes further ends with FeelLimit."""

    #: rounds of loops and calls of functions, each by its size, and items that functions look at
    steps: int = 1_000_000
    #: calls inside calls
    depth: int = 200
    #: members of a list
    items: int = 1_000_000
    #: characters of a text
    text: int = 1 << 20


STANDARD = Limits()


class Where(NamedTuple):
    """A place in an expression: its text, and the index of the character."""

    source: str
    position: int

    def picture(self) -> str:
        """The line of the place, and under it a caret."""
        begin = self.source.rfind("\n", 0, self.position) + 1
        line = self.source[begin:].split("\n", 1)[0]
        column = self.position - begin
        if len(line) > _SHOWN:
            cut = max(0, column - _SHOWN // 2)
            line, column = line[cut : cut + _SHOWN], column - cut
        return f"{line}\n{' ' * column}^"

    def facts(self, why: str) -> dict[str, Any]:
        shown = self.source if len(self.source) <= _SHOWN else self.source[:_SHOWN] + "…"
        return {"why": why, "position": self.position + 1, "source": shown, "picture": self.picture()}


NOWHERE = Where("", 0)


class FeelWarning(NamedTuple):
    """Why a part of an expression is null: what is wrong, and where it stands."""

    message: str
    where: Where = NOWHERE

    @property
    def position(self) -> int:
        """The character, counted from 1."""
        return self.where.position + 1

    def __str__(self) -> str:
        return f"{self.message}, at character {self.position} of «{self.where.source[:_SHOWN]}»"


class Fault(Exception):
    """An operation has no result: the value is null, and the text says why."""


class Exceeded(Exception):
    """A limit is reached; the closure that knows the place adds it."""

    def __init__(self, why: str, where: Where | None = None) -> None:
        super().__init__(why)
        self.why, self.where = why, where

    def error(self) -> FeelLimit:
        return FeelLimit(**(self.where or NOWHERE).facts(self.why))


class Evaluation:
    """One evaluation: what closures ask for limits, warnings and the time. Cheap to make, used once."""

    __slots__ = ("depth", "limits", "now", "steps", "strict", "warnings")

    def __init__(self, now: DateTime | None = None, limits: Limits = STANDARD, strict: bool = False) -> None:
        self.now = now
        self.limits = limits
        self.strict = strict
        self.steps = limits.steps
        self.depth = 0
        self.warnings: list[FeelWarning] = []

    def warn(self, where: Where, why: str) -> None:
        """Notes why a value is null; in strict mode it raises FeelError instead."""
        if self.strict:
            raise FeelError(**where.facts(why))
        if len(self.warnings) < _MOST_WARNINGS:
            self.warnings.append(FeelWarning(why, where))

    def spend(self, steps: int = 1) -> None:
        self.steps -= steps
        if self.steps < 0:
            raise Exceeded(f"more than {self.limits.steps:,} steps")

    def budget(self) -> list[int]:
        """Eighths of steps, for what counts by itself; `settle` spends what it took."""
        return [8 * self.steps + 8]

    def settle(self, budget: list[int]) -> None:
        self.steps = min(self.steps, (budget[0] - 8) // 8)
        self.spend(0)

    def check_items(self, count: int) -> None:
        if count > self.limits.items:
            raise Exceeded(f"a list of more than {self.limits.items:,} items")

    def check_text(self, length: int) -> None:
        if length > self.limits.text:
            raise Exceeded(f"a text of more than {self.limits.text:,} characters")


def syntax_error(source: str, position: int, why: str) -> FeelSyntaxError:
    return FeelSyntaxError(**Where(source, position).facts(why))
