"""Times at the edges: milliseconds inside, ISO 8601 in UTC outside."""

from __future__ import annotations

from datetime import UTC, datetime

from penstock.errors import BadInput


def iso(at: int) -> str:
    stamp = datetime.fromtimestamp(at / 1000, UTC)
    return f"{stamp:%Y-%m-%dT%H:%M:%S}.{at % 1000:03d}Z"


def moment(text: str, name: str) -> int:
    """Milliseconds of a moment that a caller wrote; without a zone it is UTC."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise BadInput(what=f"«{name}»", why="it is not a moment", hint="Write 2026-11-15T06:00:00Z.") from error
    if found.tzinfo is None:
        found = found.replace(tzinfo=UTC)
    try:
        return int(found.timestamp() * 1000)
    except (OverflowError, ValueError) as error:
        raise BadInput(what=f"«{name}»", why="it is out of range") from error
