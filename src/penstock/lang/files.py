"""How large a document may be, and why a file that a document names cannot be read."""

from __future__ import annotations

from penstock.errors import PenstockError

LIMIT = 5 * 1024 * 1024


def why_not_found(error: OSError | PenstockError) -> tuple[str, str]:
    """Why a file that a document names cannot be read, and as a hint where it was looked for."""
    if isinstance(error, OSError):
        why, place = error.strerror or str(error), error.filename
    else:
        why, place = str(error.facts.get("why") or error).rstrip("."), error.facts.get("where")
    looked = f"It was looked for at {place}. " if place else ""
    return why[:1].lower() + why[1:], f"{looked}A path is read from the document's folder, then from its root."
