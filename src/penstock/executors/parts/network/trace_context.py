"""W3C trace ids and the traceparent header (W-10.2.2), from what started a run to every call that it makes."""

from __future__ import annotations

import hashlib
import re
from contextvars import ContextVar
from typing import Protocol

_TRACE = re.compile(r"[0-9a-f]{32}")


class TracedEffect(Protocol):
    """What of a request its trace headers are made from."""

    @property
    def key(self) -> str: ...

    @property
    def run(self) -> str: ...

    @property
    def trace_id(self) -> str: ...


#: the effect that this task performs
CURRENT: ContextVar[TracedEffect | None] = ContextVar("penstock_effect", default=None)


def trace_id(given: str) -> str:
    """32 hex digits: the given id where it is one, else one that is always the same for it."""
    plain = given.replace("-", "").lower()
    return plain if _TRACE.fullmatch(plain) and plain.strip("0") else hexed(plain, 32)


def span_id(key: str) -> str:
    """16 hex digits, always the same for an effect's key."""
    return hexed(key, 16)


def hexed(text: str, digits: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:digits]


def traceparent() -> str | None:
    """The header of a call that the effect of this task makes."""
    request = CURRENT.get()
    if request is None:
        return None
    return f"00-{trace_id(request.trace_id or request.run)}-{span_id(request.key)}-01"
