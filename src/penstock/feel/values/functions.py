"""Functions as values: built in, written in FEEL, or any callable of Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from penstock.feel.types import Type


class Parameter(NamedTuple):
    """A parameter; a `type` makes the call convert the argument, or give null where it does not conform."""

    name: str
    type: Type | None = None


class Function:
    """A value that can be called.

    `call(*arguments)` is called with one FEEL value per parameter, or `call(evaluation, *arguments)` where `evaluates`
    is true: what evaluates FEEL passes the evaluation on, so that limits and warnings are one. `variadic` functions
    take any number of arguments.
    """

    __slots__ = ("call", "evaluates", "name", "parameters", "result", "variadic")

    def __init__(
        self,
        parameters: Sequence[Parameter | str],
        call: Callable[..., Any],
        *,
        name: str = "",
        result: Type | None = None,
        evaluates: bool = False,
        variadic: bool = False,
    ) -> None:
        self.parameters = tuple(
            parameter if isinstance(parameter, Parameter) else Parameter(parameter) for parameter in parameters
        )
        self.call = call
        self.name = name
        self.result = result
        self.evaluates = evaluates
        self.variadic = variadic

    def __repr__(self) -> str:
        return f"function {self.name}({', '.join(parameter.name for parameter in self.parameters)})"
