"""What a function of the expression language is, and how it asks for its arguments.

One function = one Python function and one entry in its family's table. Its signature is what people read and what calls
are checked against: `(string, start, length?) -> string`, `(value, …) -> any`. It gets evaluated values; with
`sees_view` the view comes first (to pay for its steps, or to read what the host put there); a lazy one is built from
the closures of its arguments instead. It raises only errors of the `ExprError` family.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import msgspec

from penstock.errors import ExprTypeError
from penstock.expr.limits import View, check_array_size
from penstock.expr.values import named

Closure = Callable[[View], Any]


class Callback:
    """A lambda, expression string or field path, bound to its view and ready to be called with plain values."""

    __slots__ = ("call", "cost")

    def __init__(self, call: Callable[..., Any], cost: int) -> None:
        self.call = call
        self.cost = cost  # steps of one call


class LambdaShape(msgspec.Struct, frozen=True):
    """What may stand where a function takes a lambda."""

    locals: tuple[str, ...]  # the names an expression string may use; a written lambda names its own
    least: int = 1  # parameters of a written lambda
    field: bool = False  # a string may name a field of the item
    words: frozenset[str] = frozenset()  # strings that name something ready-made


class Function(msgspec.Struct, frozen=True):
    """One entry of the table; `signature` and `doc` make the reference page."""

    name: str
    signature: str
    doc: str
    call: Callable[..., Any]
    family: str = ""
    sees_view: bool = False
    lazy: bool = False
    lambdas: Mapping[int, LambdaShape] = {}
    reads: tuple[str, ...] = ()  # roots of the view that it reads by itself

    @property
    def arguments(self) -> str:
        return self.signature.partition(" -> ")[0]

    @property
    def returns(self) -> str:
        """boolean, integer, number, string, array or any."""
        return self.signature.partition(" -> ")[2]

    @property
    def least(self) -> int:
        """How many arguments it needs: those without a question mark."""
        return _bounds(self.arguments)[0]

    @property
    def most(self) -> int | None:
        """How many arguments it takes; None for any number."""
        return _bounds(self.arguments)[1]

    @property
    def is_method(self) -> bool:
        """`x.name(args)` is allowed for `fn.name(x, args)`."""
        return self.family in ("array", "string")

    @property
    def is_linear(self) -> bool:
        """Its work grows with its data, so many of them in one expression share a meter."""
        return self.family in ("array", "string")

    def arity(self) -> str:
        """How many arguments it takes, for a sentence."""
        if self.most is None:
            return f"at least {_count(self.least)}"
        if self.least == self.most:
            return _count(self.least)
        return f"{self.least} {'or' if self.most == self.least + 1 else 'to'} {_count(self.most)}"


def family(name: str, *functions: Function) -> tuple[Function, ...]:
    """The functions, marked as belonging together."""
    return tuple(msgspec.structs.replace(function, family=name) for function in functions)


@cache
def _bounds(arguments: str) -> tuple[int, int | None]:
    words = [word for word in arguments[1:-1].split(", ") if word]
    needed = sum(1 for word in words if word != "…" and not word.endswith("?"))
    return needed, None if "…" in words else len(words)


def _count(number: int) -> str:
    return "1 argument" if number == 1 else f"{number or 'no'} arguments"


# ---- asking for arguments --------------------------------------------------------------------------------------------


def array_of(function: str, value: Any) -> list[Any] | tuple[Any, ...]:
    if not isinstance(value, (list, tuple)):
        raise refused(function, "an array", value)
    check_array_size(len(value))
    return value


def text_from(function: str, value: Any) -> str:
    if not isinstance(value, str):
        raise refused(function, "a string", value)
    return value


def integer_of(function: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise refused(function, "an integer", value)
    return value


def number_of(function: str, value: Any) -> int | float:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise refused(function, "a number", value)
    return value


def refused(function: str, wanted: str, value: Any) -> ExprTypeError:
    return ExprTypeError(why=f"fn.{function} needs {wanted}, not {named(value)}")
