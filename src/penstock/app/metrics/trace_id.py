"""The trace that a request belongs to: what it starts carries it on, and log lines name it."""

from __future__ import annotations

from contextvars import ContextVar

#: 32 hex digits, or nothing
TRACE: ContextVar[str] = ContextVar("penstock_trace", default="")
