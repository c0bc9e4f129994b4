"""Expressions that cannot be read or evaluated."""

from __future__ import annotations

from typing import ClassVar

from penstock.errors.base import PenstockError


class ExprSyntaxError(PenstockError):
    """{why}, at character {position} of «{source}»."""

    code, http = "EXPR_SYNTAX", 422
    hint = "Correct it at the character named: texts stand in quotes, members follow a dot, functions are fn.name(…)."

    def pointer(self) -> str:
        """The line that cannot be read, and under it a caret at the place."""
        return str(self.facts.get("picture", ""))


class ExprError(PenstockError):
    """{why}."""

    code, http = "EXPR_TYPE", 422
    category: ClassVar[str] = "validation"
    hint = "Look at what the names stood for: `penstock show RUN` has the value that every node gave out."


class ExprTypeError(ExprError):
    """{why}."""

    code = "EXPR_TYPE"


class ExprDivisionByZero(ExprError):
    """Division by zero."""

    code = "EXPR_DIV_ZERO"
    hint = "Guard it, such as fn.if(n == 0, 0, total / n)."


class ExprLimit(ExprError):
    """The expression went over a limit: {why}."""

    code = "EXPR_LIMIT"
    hint = "Make it smaller: split it over several nodes, or do the work in a code_job."


class ExprUnknownRoot(ExprError):
    """«{name}» is not a known name here."""

    code = "unresolved_reference"
    hint = "A connection brings a name: its label, or where it comes from."


class ExprSecretMissing(ExprError):
    """There is no secret «{name}»."""

    code = "SECRET_NOT_FOUND"
    category = "authorization"
    hint = "Give the secret to the tenant under this name, or correct the name."
