"""Timestamps at the edges: milliseconds inside, ISO 8601 in UTC outside."""

from __future__ import annotations

from datetime import UTC, datetime

from penstock.errors import BadInput
from penstock.expr.calendar import moment_at, text_of_moment


def iso(at: int) -> str:
    return text_of_moment(moment_at(at))


def moment(text: str, name: str) -> int:
    """Milliseconds of a moment that a caller wrote; without a zone it is UTC."""
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError as error:
        raise BadInput(what=f"«{name}»", why="it is not a moment", hint="Write 2026-11-15T06:00:00Z.") from error
    if parsed.tzinfo is None:
        parsed = parsed.replace(tzinfo=UTC)
    try:
        return int(parsed.timestamp() * 1000)
    except (OverflowError, ValueError) as error:
        raise BadInput(what=f"«{name}»", why="it is out of range") from error
