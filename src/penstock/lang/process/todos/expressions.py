"""Expressions that somebody writes as an answer, read as those of a file are."""

from __future__ import annotations

from typing import Any

from penstock.errors import PenstockError
from penstock.expr import compile_expression
from penstock.lang.process import feel_text
from penstock.lang.process.bpmn import dialects
from penstock.lang.process.flow_conditions import unwrapped
from penstock.lang.process.todos.edit import refusal


def checked_expression(text: Any, at: str, *, condition: bool = False) -> str:
    """The expression as a definition has it. Raises ProcessInvalid with the place in the answer."""
    if not isinstance(text, str) or not text.strip():
        raise refusal("missing_field", "An expression is a text.", at, "Write something like `amount > 1000`.")
    written = unwrapped(dialects.expression(text, condition=condition))
    try:
        read = feel_text.as_expression(written, condition=condition) if written.startswith("=") else written
        roots = compile_expression(read, words=True).roots
    except PenstockError as error:
        raise refusal("expression_syntax", f"The expression cannot be read: {error}", at, error.hint) from None
    if "secrets" in roots:
        message = "An expression of a process reads no secrets."
        raise refusal("secret_in_expression", message, at, "Register the tool with its secret, and name that.")
    return written
