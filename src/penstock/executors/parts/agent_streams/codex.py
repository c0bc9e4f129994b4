"""Codex: `codex exec --json`: thread.started, turn.started, item.started and .completed, turn.completed, turn.failed.

It has no `result`: a turn that is completed is one, and the answer is the last `agent_message`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.executors.parts.agent_streams import seed
from penstock.executors.parts.agent_streams.contract import (
    NOTHING,
    Handler,
    Shape,
    StreamEvent,
    StreamSummary,
    cut,
    shown,
)


class ThreadStarted(msgspec.Struct, tag_field="type", tag="thread.started", gc=False):
    thread_id: str | None = None


class TurnStarted(msgspec.Struct, tag_field="type", tag="turn.started", gc=False):
    pass


class Item(msgspec.Struct):
    type: str = ""
    item_type: str = ""  # its name before 2025-10
    text: str | None = None
    command: Any = None
    aggregated_output: str | None = None
    exit_code: int | None = None
    status: str | None = None
    changes: Any = None
    server: str | None = None
    tool: str | None = None
    arguments: msgspec.Raw = NOTHING
    query: str | None = None
    message: Any = None


class ItemStarted(msgspec.Struct, tag_field="type", tag="item.started"):
    item: Item


class ItemUpdated(msgspec.Struct, tag_field="type", tag="item.updated", gc=False):
    """A state between that is told again when the item is completed."""


class ItemCompleted(msgspec.Struct, tag_field="type", tag="item.completed"):
    item: Item


class TurnCompleted(msgspec.Struct, tag_field="type", tag="turn.completed"):
    usage: dict[str, Any] | None = None


class TurnFailed(msgspec.Struct, tag_field="type", tag="turn.failed"):
    error: Any = None


def thread_started(line: ThreadStarted, summary: StreamSummary, out: list[StreamEvent]) -> None:
    seed.system(seed.System("init", line.thread_id), summary, out)


def nothing(line: Any, summary: StreamSummary, out: list[StreamEvent]) -> None:
    """Only a heartbeat."""


def item_started(line: ItemStarted, summary: StreamSummary, out: list[StreamEvent]) -> None:
    item = line.item
    if item.type == "command_execution":
        out.append(StreamEvent("tool", shown(item.command), {"tool": "command", "input": shown(item.command)}))
    elif item.type == "mcp_tool_call":
        name = f"{item.server or ''}.{item.tool or ''}"[:200]
        out.append(StreamEvent("tool", name, {"tool": name, "input": shown(item.arguments)}))


def item_completed(line: ItemCompleted, summary: StreamSummary, out: list[StreamEvent]) -> None:
    item = line.item
    kind = item.type or item.item_type
    if kind in ("agent_message", "assistant_message"):
        summary.result = item.text or ""
        summary.say(summary.result)
        out.append(StreamEvent("message", cut(summary.result)))
    elif kind == "command_execution":
        wrong = item.status in ("failed", "declined") or bool(item.exit_code)
        data: dict[str, Any] = {"output": True, "is_error": wrong, "exit_code": item.exit_code}
        out.append(StreamEvent("tool", shown(item.aggregated_output), data))
    elif kind == "file_change":
        data = {"tool": kind, "is_error": item.status == "failed"}
        out.append(StreamEvent("tool", shown(item.changes), data))
    elif kind in ("mcp_tool_call", "web_search", "collab_tool_call"):
        text = item.query or f"{item.server or ''}.{item.tool or ''}"
        out.append(StreamEvent("tool", cut(text), {"tool": kind, "is_error": item.status == "failed"}))
    else:  # reasoning, todo_list, error (that it goes on after), what comes later
        text = item.text or seed.message_of(item.message)
        out.append(StreamEvent("system", cut(text), {"subtype": kind[:80]}))


def turn_completed(line: TurnCompleted, summary: StreamSummary, out: list[StreamEvent]) -> None:
    usage = line.usage or {}
    given = {name: usage.get(name) for name in ("input_tokens", "output_tokens")}  # cached ones are in the first
    seed.result(seed.Result(subtype="success", usage=given), summary, out)


def turn_failed(line: TurnFailed, summary: StreamSummary, out: list[StreamEvent]) -> None:
    seed.error(seed.Error(error=line.error), summary, out)


def error(line: seed.Error, summary: StreamSummary, out: list[StreamEvent]) -> None:
    """It says with an `error` that it connects once more. If that fails, `turn.failed` comes."""
    if seed.message_of(line.message).startswith("Reconnecting"):
        out.append(StreamEvent("system", cut(seed.message_of(line.message)), {"subtype": "reconnecting"}))
    else:
        seed.error(line, summary, out)


_LINES: dict[type[msgspec.Struct], Handler] = {
    ThreadStarted: thread_started,
    TurnStarted: nothing,
    ItemStarted: item_started,
    ItemUpdated: nothing,
    ItemCompleted: item_completed,
    TurnCompleted: turn_completed,
    TurnFailed: turn_failed,
    seed.Error: error,
}
CODEX = Shape(
    "codex",
    ("codex", "exec", "--json", "--sandbox", "workspace-write", "--skip-git-repo-check", "-"),
    {**seed.LINES, **_LINES},
)
