"""Files: how large a document may be, and why one that a document names cannot be read."""

from __future__ import annotations

from penstock.errors import PenstockError

LIMIT = 4 * 1024 * 1024


def why_not_found(wrong: OSError | PenstockError) -> tuple[str, str]:
    """Why a file that a document names cannot be read, and as a hint where it was looked for."""
    if isinstance(wrong, OSError):
        why, spot = wrong.strerror or str(wrong), wrong.filename
    else:
        why, spot = str(wrong.facts.get("why") or wrong).rstrip("."), wrong.facts.get("where")
    looked = f"It was looked for at {spot}. " if spot else ""
    return why[:1].lower() + why[1:], f"{looked}A path is read from the folder of the document that is released."
