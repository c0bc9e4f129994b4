"""Log lines: JSON for collectors, plain text for people. They name things, and never hold what is in them."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import IO, Any

from penstock.executors.parts.network.trace_context import CURRENT, trace_id

#: what a line may say beside its message: names, numbers and ids
FIELDS = (
    "event", "method", "route", "status", "ms", "tenant", "user", "run", "name", "language", "code", "facts",
    "active_ms", "metric", "value",
)  # fmt: skip
VARIABLE = "PENSTOCK_LOG"
#: the trace that a request belongs to, 32 hex digits: what it starts carries it on, and log lines name it
TRACE: ContextVar[str] = ContextVar("penstock_trace", default="")


class JsonLines(logging.Formatter):
    """One object per line."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, Any] = {
            "at": f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z", "level": record.levelname.lower(),
            "logger": record.name, "message": record.getMessage(),
        }  # fmt: skip
        for field in FIELDS:
            value = record.__dict__.get(f"ps_{field}")
            if value is not None:
                line[field] = value
        trace = record.__dict__.get("ps_trace") or current_trace()
        if trace:
            line["trace"] = trace
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def current_trace() -> str:
    """Of the request that is answered, or of the effect that is performed."""
    given = TRACE.get()
    if given:
        return given
    request = CURRENT.get()
    return trace_id(request.trace_id or request.run) if request is not None else ""


def fields(**said: Any) -> dict[str, Any]:
    """What is given to `extra` of a log call; a name that is not one of FIELDS (or `trace`) is a bug."""
    assert set(said) <= {*FIELDS, "trace"}, "a log line says only what is known to hold no secret"
    return {f"ps_{name}": value for name, value in said.items()}


def form(settings: Mapping[str, Any]) -> str:
    """json or text; the variable goes before the setting."""
    return str(os.environ.get(VARIABLE) or settings.get("log.format") or "text").lower()


def configure(settings: Mapping[str, Any], out: IO[str] | None = None) -> str:
    """For a server: once, at its start. In JSON every request and every end of a run has a line; as text only what
    somebody should look at."""
    kind = form(settings)
    handler = logging.StreamHandler(out or sys.stderr)
    handler.setFormatter(
        JsonLines() if kind == "json" else logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    )
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("penstock").setLevel(logging.INFO if kind == "json" else logging.WARNING)
    return kind
