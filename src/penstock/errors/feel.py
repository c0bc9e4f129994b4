"""FEEL texts that cannot be read, that fail in strict mode, or that go over a limit."""

from __future__ import annotations

from typing import ClassVar

from penstock.errors.expressions import ExprError, ExprSyntaxError


class FeelSyntaxError(ExprSyntaxError, code="FEEL_SYNTAX"):
    """{why}, at character {position} of «{source}»."""

    told = ("position",)
    hint = "Correct it at the character named. A name with blanks or signs is read only where it is known."


class FeelError(ExprError, code="FEEL_EVALUATION"):
    """{why}, at character {position} of «{source}»."""

    category: ClassVar[str] = "validation"
    told = ("position",)
    hint = "Strict mode fails where the standard gives null. Guard the value, or evaluate without strict."

    def pointer(self) -> str:
        """The expression, and under it a caret at the place."""
        return str(self.facts.get("picture", ""))


class FeelLimit(FeelError, code="FEEL_LIMIT"):
    """The expression went over a limit: {why}, at character {position} of «{source}»."""

    hint = "Make it smaller: filter before you loop, end a recursion, shorten ranges and texts."
