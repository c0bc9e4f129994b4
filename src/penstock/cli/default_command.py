"""Several commands under one name, of which the first is meant where none of them is named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from typer.core import TyperGroup


class DefaultCommands(dict[str, Callable[..., int]]):
    """`penstock NAME WORD` is the first of them with WORD, unless WORD is one of the others."""


class DefaultGroup(TyperGroup):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or args[0] not in (*self.commands, *ctx.help_option_names):
            args = [next(iter(self.commands)), *args]
        return super().parse_args(ctx, args)
