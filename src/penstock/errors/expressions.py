"""Expressions that cannot be read or evaluated."""

from __future__ import annotations

from typing import ClassVar

from penstock.errors.base import PenstockError


class ExprSyntaxError(PenstockError, code="EXPR_SYNTAX"):
    """{why}, at character {position} of «{source}»."""

    hint = "Correct it at the character named: texts stand in quotes, members follow a dot, functions are fn.name(…)."

    def pointer(self) -> str:
        """The line that cannot be read, and under it a caret at the place."""
        return str(self.facts.get("picture", ""))


class ExprError(PenstockError, code="EXPR_TYPE"):
    """{why}."""

    category: ClassVar[str] = "validation"
    hint = "Look at what the names stood for: `penstock show RUN` has the value that every node gave out."


class ExprTypeError(ExprError):
    """{why}."""


class ExprDivisionByZero(ExprError, code="EXPR_DIV_ZERO"):
    """Division by zero."""

    hint = "Guard it, such as fn.if(n == 0, 0, total / n)."


class ExprLimit(ExprError, code="EXPR_LIMIT"):
    """The expression went over a limit: {why}."""

    hint = "Make it smaller: split it over several nodes, or do the work in a code_job."


class ExprNotSupported(ExprError, code="EXPR_NOT_SUPPORTED"):
    """{why}, in «{expression}»."""

    hint = "Write it another way: docs/reference/feel.md says what of FEEL is worked out here."


class ExprUnknownRoot(ExprError, code="unresolved_reference"):
    """«{name}» is not a known name here."""

    hint = "A connection brings a name: its label, or where it comes from."


class ExprSecretMissing(ExprError, code="SECRET_NOT_FOUND"):
    """There is no secret «{name}»."""

    category = "authorization"
    hint = "Give the secret to the tenant under this name, or correct the name."
