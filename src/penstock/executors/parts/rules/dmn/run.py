"""One evaluation of a model: FEEL's evaluation, which also knows where in the model it is and which rules hit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from penstock import feel
from penstock.errors import DecisionNull, FeelLimit
from penstock.executors.parts.rules.dmn.moments import moments_in
from penstock.executors.parts.rules.dmn.spot import Spot
from penstock.executors.parts.rules.hit_policy import TableResult
from penstock.feel.evaluation import STANDARD, Evaluation, Exceeded, Fault, Limits, Where
from penstock.feel.expression import limit_error
from penstock.feel.invoke import invoke
from penstock.feel.values import DateTime, Function, Parameter, Range
from penstock.feel.values.text import written

_MOST_WARNINGS = 100
_MOST_HITS = 10_000
_SHOWN = 60
_ITEMS = feel.compile("for each in range return each", ["range"])
_NOWHERE = Spot("", "", "", 0)


class ModelWarning(NamedTuple):
    """Why a value is null: what is wrong, in which element, and in which expression."""

    code: str
    message: str
    spot: Spot
    expression: str = ""

    def __str__(self) -> str:
        line = f" (line {self.spot.line})" if self.spot.line else ""
        shown = f" In «{self.expression[:200]}»." if self.expression else ""
        return f"{self.spot}{line}: {self.message}{shown}"


class Hit(NamedTuple):
    """A decision table that was asked, and the rules that gave its result."""

    element: str  # the id of the decision
    result: TableResult

    @property
    def rules(self) -> list[str]:
        """Their ids."""
        return [line.id for line in self.result.lines]


def shown_value(value: Any) -> str:
    """A value as a message shows it, cut short."""
    try:
        text = written(value)
    except Exceeded:
        text = "…"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


class ModelRun(Evaluation):
    """Cheap to make, used once."""

    __slots__ = ("hits", "known", "lenient", "noted", "notes", "spot", "texts")

    def __init__(
        self,
        now: DateTime | None = None,
        limits: Limits = STANDARD,
        strict: bool = False,
        *,
        lenient: bool = False,
    ) -> None:
        """`lenient`: data comes from JSON, which has no dates; a text of an input without a type is read as a moment
        where it has no meaning as a text."""
        super().__init__(now, limits, strict)
        self.spot = _NOWHERE
        self.lenient = lenient
        self.known: dict[str, Any] = {}  # what all expressions of a lenient run know
        self.texts: frozenset[str] = frozenset()  # those of them whose type is declared: their texts are texts
        self.notes: list[ModelWarning] = []
        self.noted = 0  # how many notes there were, kept or not
        self.hits: list[Hit] = []

    def warn(self, where: Where, why: str) -> None:
        """FEEL's own warnings, with the place in the model."""
        self.note(self.spot, "feel", f"{why}.", where.source)

    def note(self, spot: Spot, code: str, message: str, expression: str = "") -> Any:
        """Why a value is null, which is what this gives; in strict mode it raises DecisionNull instead."""
        if self.strict:
            raise DecisionNull(where=spot, why=message.rstrip("."), expression=expression, line=spot.line)
        self.noted += 1
        if len(self.notes) < _MOST_WARNINGS:
            self.notes.append(ModelWarning(code, message, spot, expression))
        return None

    def hit(self, spot: Spot, result: TableResult) -> None:
        """Keeps which rules of a decision table gave its result."""
        if len(self.hits) < _MOST_HITS:
            self.hits.append(Hit(spot.id, result))

    def shown(self, value: Any) -> str:
        return shown_value(value)

    def step(self, count: int = 1) -> None:
        """Raises when the evaluation has cost too much."""
        self.spend(count)

    def moment(self, value: Any) -> Any:
        """A text as the moment that it stands for, where that is how texts of the data are read; else the value."""
        return moments_in(value) if self.lenient and type(value) is str else value

    def items(self, value: Any, spot: Spot) -> list[Any] | None:
        """What a loop over the value goes through: a list's items, a range's numbers or days, a single value."""
        if type(value) is list:
            return value
        if type(value) is not Range:
            return [value]
        outer, self.spot = self.spot, spot
        items: list[Any] | None = _ITEMS.value({"range": value}, self)
        self.spot = outer
        return items

    def function(
        self, name: str, parameters: list[tuple[str, Any]], body: Callable[[list[Any]], Any], result: Any
    ) -> Function:
        """A FEEL function of these parameters (name, type or None) and this type of result."""
        declared = [Parameter(parameter, type) for parameter, type in parameters]
        return Function(declared, lambda *arguments: body(list(arguments)), name=name, result=result)

    def call(self, function: Any, arguments: Mapping[str, Any], spot: Spot) -> Any:
        """What a FEEL function gives for arguments by name; null where it cannot be called so."""
        if not isinstance(function, Function):
            return self.note(spot, "dmn_invocation", f"{self.shown(function)} is no function.")
        try:
            return invoke(function, list(arguments.values()), self, list(arguments))
        except Fault as wrong:
            return self.note(spot, "dmn_invocation", f"{wrong}.")

    def limit(self, error: Exceeded | RecursionError) -> FeelLimit:
        """The error of an evaluation that went too far, with the place where it was."""
        return limit_error(error, str(self.spot))
