"""The log of one run: the lines that a collector would have of it, made from its journal and so as lasting as that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from penstock.app.runs.queries import Queries
from penstock.app.runs.timeline.trace import mask_of
from penstock.kernel.fact_lines import FactLine, firing_of
from penstock.net.author import author
from penstock.net.compiled import Compiled

_LONGEST = 500  # characters of a message


class LogLine(msgspec.Struct, kw_only=True):
    """`level` is debug, info, warning or error; `event` the word for what happened. It holds names, numbers and
    messages of failures, and never what a node was given or gave."""

    seq: int
    at: int
    level: str
    event: str
    node: str | None = None
    attempt: int | None = None
    ms: int | None = None
    code: str | None = None
    message: str | None = None


def run_log(door: Queries, run: str) -> list[LogLine]:
    """Oldest first. Raises RunNotFound."""
    timeline, mask = door.timeline(run), mask_of(door)
    lines, net = timeline.lines(), timeline.reading.net
    began: dict[str, int] = {}
    entries = (_line(line, net, began, mask) for line in lines)
    return [entry for entry in entries if entry is not None]


def _line(line: FactLine, net: Compiled | None, began: dict[str, int], mask: Callable[[Any], Any]) -> LogLine | None:
    made = LogLine(seq=line.seq, at=line.at, level="info", event=line.fact, node=_author(net, line.node))
    data = line.data
    if line.fact == "effect.asked":
        began[str(data["key"]).split("/", 2)[2]] = line.at
        made.level, made.attempt = "debug", data.get("attempt")
    elif line.fact == "attempt.failed":
        made.level, made.attempt = "warning", data.get("attempt")
        made.ms = _since(began, str(data["firing"]), line.at)
        _failed(made, data.get("failure"), mask)
    elif line.fact == "settled":
        made.attempt, made.ms = data.get("attempt"), _since(began, firing_of(line), line.at)
        if data.get("status") == "failed":
            made.level = "error"
        _failed(made, data.get("failure"), mask)
    elif line.fact == "incident":
        made.level, made.code = "error", data.get("code")
    elif line.fact == "run.moved":
        made.event, made.level = f"run.{str(data.get('to')).lower()}", "error" if data.get("to") == "FAILED" else "info"
        _failed(made, data.get("failure"), mask)
    elif line.fact == "ignored":
        made.level, made.message = "warning", _text(data.get("why"), mask)
    elif line.fact not in _TOLD:
        return None
    return made


#: facts that say enough by their names
_TOLD = frozenset({
    "run.started", "wait.opened", "work.opened", "work.moved", "signal.used", "signal.kept", "signal.expired",
    "undo.planned", "undo.ended", "revived", "run.reopened", "paused", "draining", "forked", "migrated", "sets",
})  # fmt: skip


def _since(began: dict[str, int], firing: str, at: int) -> int | None:
    start = began.pop(firing, None)
    return None if start is None else at - start


def _failed(made: LogLine, failure: Any, mask: Callable[[Any], Any]) -> None:
    if isinstance(failure, dict):
        made.code, made.message = str(failure.get("code") or "") or None, _text(failure.get("message"), mask)


def _text(value: Any, mask: Callable[[Any], Any]) -> str | None:
    return str(mask(value))[:_LONGEST] if isinstance(value, str) and value else None


def _author(net: Compiled | None, node: str) -> str | None:
    found = net.by_id.get(node) if net is not None and node else None
    return author(found) if found is not None else node or None
