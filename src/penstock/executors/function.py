"""function: a Python function is an executor."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from penstock.executors.contract import Done, Failed, Outcome, Request, Services, Skipped, failed
from penstock.executors.parts.exceptions import exception_failure, secrets_of
from penstock.executors.parts.json_values import NotJson, json_value
from penstock.executors.parts.threads import in_thread

Parameter = inspect.Parameter
#: Parameters that are filled by what the engine lends, not by an input.
_LENT = ("request", "services")
_DATA = (bytes, str, dict, list, int, float, bool, type(None))


class FunctionExecutor:
    """Calls `fn` with the inputs and arguments that it names, or with `request`.

    A coroutine function is awaited, any other runs in a thread, unless `inline` promises that it never blocks: then it
    is called on the engine's own loop. It returns a value that JSON can hold, bytes, or an outcome; what it raises
    becomes a failure.
    """

    def __init__(self, name: str, fn: Callable[..., Any], inline: bool = False) -> None:
        self.name = name
        self.inline = inline
        self._fn = fn
        self._awaits = inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(getattr(fn, "__call__", None))  # noqa: B004
        self._parameters = tuple(inspect.signature(fn).parameters.values())

    async def run(self, request: Request, services: Services) -> Outcome:
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        if self._parameters:
            try:
                args, kwargs = bind(self._parameters, request, services)
            except LookupError as error:
                return failed("INPUT_INVALID", "validation", f"«{self.name}» needs an input «{error.args[0]}».")
        try:
            if self._awaits:
                result = await self._fn(*args, **kwargs)
            elif self.inline:
                result = self._fn(*args, **kwargs)
            else:
                result = await in_thread(_call, self._fn, args, kwargs)
            if type(result) not in _DATA and inspect.isawaitable(result):
                result = await result
        except Exception as error:
            return exception_failure(error, secrets_of(services))
        return outcome_of(result, self.name)


def bind(parameters: tuple[Parameter, ...], request: Request, services: Services) -> tuple[list[Any], dict[str, Any]]:
    """Values for the parameters, by name, inputs before arguments. Raises LookupError for one that is missing.

    A function of one parameter that nothing names gets the first input: `def shout(text)` works on any edge.
    """
    values = dict(request.args) if isinstance(request.args, Mapping) else {}
    values.update(request.named())
    values.update(request=request, services=services)
    wanted = [p for p in parameters if p.kind not in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)]
    needed = [p for p in wanted if p.default is Parameter.empty]
    if len(needed) == 1 and needed[0].name not in values and request.inputs:
        values[needed[0].name] = request.inputs[0].body
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for parameter in wanted:
        if parameter.name in values:
            if parameter.kind is Parameter.POSITIONAL_ONLY:
                args.append(values[parameter.name])
            else:
                kwargs[parameter.name] = values[parameter.name]
        elif parameter.default is Parameter.empty:
            raise LookupError(parameter.name)
    if any(p.kind is Parameter.VAR_KEYWORD for p in parameters):
        taken = {p.name for p in wanted}
        kwargs.update({k: v for k, v in values.items() if k not in taken and k not in _LENT and isinstance(k, str)})
    return args, kwargs


def outcome_of(result: Any, name: str) -> Outcome:
    """What a function returned, as an outcome that the journal can hold."""
    if type(result) is bytes:
        return Done(result)
    if isinstance(result, Failed | Skipped):
        return result
    try:
        if isinstance(result, Done):
            return Done(json_value(result.body), json_value(result.meta), result.content_type)
        return Done(json_value(result))
    except NotJson as error:
        return failed("OUTPUT_INVALID", "permanent", f"«{name}» returned what JSON cannot hold: {error}.")


def _call(fn: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> Any:
    return fn(*args, **kwargs)
