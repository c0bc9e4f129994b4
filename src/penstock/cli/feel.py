"""The command that evaluates FEEL."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

import typer

from penstock import feel as engine
from penstock.cli.options import STORE, Json, NoStore, read_value
from penstock.cli.output import DONE, print_json, say
from penstock.errors import BadInput


def feel(
    expression: Annotated[str, typer.Argument(metavar="EXPRESSION", help="The FEEL text, or - for standard input.")],
    context: Annotated[
        str | None, typer.Option("--context", metavar="JSON", help="The names it may read: JSON, @FILE, or -.")
    ] = None,
    tests: Annotated[
        str | None,
        typer.Option("--tests", metavar="JSON", help="The text is unary tests of this value: '< 5, [10..20]'."),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Fail where the standard gives null.")] = False,
    json: Json = False,
    store: NoStore = STORE,
) -> int:
    """Evaluate FEEL, the expression language of DMN, and print the value as FEEL writes it.

    What is null because something is wrong is said on standard error, with the place.
    """
    text = typer.get_text_stream("stdin").read() if expression == "-" else expression
    names = read_value(context, "--context") if context is not None else {}
    if not isinstance(names, Mapping):
        raise BadInput(what="--context", why="it is no object with names", where="--context")
    now = datetime.now().astimezone()
    known: dict[str, Any] = {"names": tuple(names), "members": engine.nested_names(names)}
    if tests is not None:
        value = read_value(tests, "--tests")
        result = engine.compile_unary_tests(text, **known).evaluate(value, names, now=now, strict=strict)
    else:
        result = engine.compile(text, **known, strict=strict).evaluate(names, now=now)
    if json:
        warnings = [{"message": each.message, "position": each.position} for each in result.warnings]
        print_json({"value": engine.to_json(result.value, text), "warnings": warnings})
        return DONE
    say(engine.written(result.value, text))
    _print_warnings(result.warnings)
    return DONE


def _print_warnings(warnings: list[Any]) -> None:
    for warning in warnings:
        say(("warning", "yellow"), f"  {warning.message}, at character {warning.position}", err=True)
        for line in warning.where.picture().splitlines():
            say(f"    {line}", err=True)
