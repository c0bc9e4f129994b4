"""Calls of function values: arguments by place or by name, conversion to the parameters' types, depth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.feel.evaluation import Evaluation, Exceeded, Fault
from penstock.feel.functions.signature import BuiltIn
from penstock.feel.types import coerced
from penstock.feel.values.functions import Function, Parameter

_CALL = 3  # steps: a call costs more than a round of a loop


def invoke(function: Function, arguments: Sequence[Any], evaluation: Evaluation, names: Sequence[str] = ()) -> Any:
    """The result of a call; Fault where the arguments do not fit."""
    evaluation.spend(_CALL)
    evaluation.depth += 1
    if evaluation.depth > evaluation.limits.depth:
        raise Exceeded(f"calls more than {evaluation.limits.depth} deep")
    try:
        if isinstance(function, BuiltIn):
            if names:
                return function.invoke_named(evaluation, names, arguments)
            return function.invoke(evaluation, *arguments)
        placed = _by_name(function, names, arguments) if names else list(arguments)
        return _call(function, placed, evaluation)
    finally:
        evaluation.depth -= 1


def _call(function: Function, arguments: list[Any], evaluation: Evaluation) -> Any:
    parameters = function.parameters
    if not function.variadic:
        if len(arguments) != len(parameters):
            raise Fault(f"{_shown(function)} takes {len(parameters)} arguments, not {len(arguments)}")
        for place, parameter in enumerate(parameters):
            if parameter.type is not None:
                if type(arguments[place]) is list:
                    evaluation.spend(len(arguments[place]) >> 2)
                arguments[place] = _fitting(parameter, arguments[place])
    result = function.call(evaluation, *arguments) if function.evaluates else function.call(*arguments)
    return result if function.result is None else coerced(result, function.result)


def _fitting(parameter: Parameter, value: Any) -> Any:
    try:
        return coerced(value, parameter.type)  # type: ignore[arg-type]
    except Fault as fault:
        raise Fault(f"{parameter.name}: {fault}") from None


def _by_name(function: Function, names: Sequence[str], arguments: Sequence[Any]) -> list[Any]:
    given = dict(zip(names, arguments, strict=True))
    wanted = [parameter.name for parameter in function.parameters]
    unknown = [name for name in names if name not in wanted]
    missing = [name for name in wanted if name not in given]
    if unknown or missing or len(given) != len(names):
        why = f"has no parameter «{unknown[0]}»" if unknown else f"needs «{(missing or [''])[0]}»"
        raise Fault(f"{_shown(function)} {why}")
    return [given[name] for name in wanted]


def _shown(function: Function) -> str:
    return f"The function {function.name}" if function.name else "The function"


def truth_of(value: Any) -> bool | None:
    """A boolean as it is; anything else is null in logic."""
    return value if type(value) is bool else None
