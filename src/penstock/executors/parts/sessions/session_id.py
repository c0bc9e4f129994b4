"""The id of a session: one attempt's process. The same effect and attempt have the same one, also after a restart."""

from __future__ import annotations

from hashlib import sha256


def session_id(key: str, attempt: int) -> str:
    """`key` is the effect's idempotency key."""
    return "s" + sha256(f"{key}#{attempt}".encode()).hexdigest()[:24]
