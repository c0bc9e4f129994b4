"""The seed's own lines (T-10.2, T-X.13): system/init, message, tool_use, result, error, progress, heartbeat.

Every program may write them. Fields of the real programs that carry the same meaning are read as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.executors.parts.agent_streams.contract import (
    NOTHING,
    Handler,
    StreamEvent,
    StreamSummary,
    cut,
    number,
    shown,
)


class System(msgspec.Struct, tag_field="type", tag="system", gc=False):
    subtype: str = ""
    session_id: str | None = None
    model: str | None = None
    message: Any = None


class Message(msgspec.Struct, tag_field="type", tag="message"):
    role: str = "assistant"
    content: Any = None
    text: str | None = None
    delta: bool = False
    usage: Any = None


class ToolUse(msgspec.Struct, tag_field="type", tag="tool_use"):
    name: str | None = None
    tool_name: str | None = None
    input: msgspec.Raw = NOTHING
    parameters: msgspec.Raw = NOTHING


class ToolResult(msgspec.Struct, tag_field="type", tag="tool_result"):
    status: str | None = None
    output: msgspec.Raw = NOTHING
    content: msgspec.Raw = NOTHING
    error: Any = None
    is_error: bool | None = None


class Result(msgspec.Struct, tag_field="type", tag="result"):
    subtype: str | None = None
    status: str | None = None
    is_error: bool | None = None
    result: Any = None
    text: str | None = None
    matched_criteria: list[Any] | None = None
    total_cost_usd: Any = None
    cost_usd: Any = None
    usage: Any = None
    stats: Any = None
    num_turns: Any = None
    duration_ms: Any = None
    error: Any = None
    errors: Any = None


class Error(msgspec.Struct, tag_field="type", tag="error"):
    message: Any = None
    error: Any = None
    severity: str | None = None
    fatal: bool = False


class Progress(msgspec.Struct, tag_field="type", tag="progress"):
    percent: float | None = None
    progress: float | None = None
    message: Any = None
    usage: Any = None
    cost_usd: Any = None


class Heartbeat(msgspec.Struct, tag_field="type", tag="heartbeat"):
    """Any byte is one (T-X.7): there is nothing to read in it."""


def system(line: System, summary: StreamSummary, out: list[StreamEvent]) -> None:
    if line.subtype != "init":
        out.append(StreamEvent("system", cut(message_of(line.message)), {"subtype": line.subtype[:80]}))
        return
    summary.cli_session, summary.model = (line.session_id or "")[:200], (line.model or "")[:200]
    kind = "system" if summary.started else "started"  # a program that starts another turn says it again
    summary.started = True
    out.append(StreamEvent(kind, "", {"session_id": summary.cli_session, "model": summary.model}))


def message(line: Message, summary: StreamSummary, out: list[StreamEvent]) -> None:
    if line.role == "user":  # the prompt, once more
        return
    text = line.text if line.text is not None else message_of(line.content)
    read_usage(line.usage, summary)
    summary.say(text)
    out.append(StreamEvent("message", cut(text)))


def tool_use(line: ToolUse, summary: StreamSummary, out: list[StreamEvent]) -> None:
    name = (line.name or line.tool_name or "tool")[:200]
    given = line.input if memoryview(line.input) else line.parameters
    out.append(StreamEvent("tool", name, {"tool": name, "input": shown(given)}))


def tool_result(line: ToolResult, summary: StreamSummary, out: list[StreamEvent]) -> None:
    wrong = bool(line.is_error) or line.status == "error" or line.error is not None
    output = line.output if memoryview(line.output) else line.content
    text = shown(output) or message_of(line.error)
    out.append(StreamEvent("tool", cut(text), {"output": True, "is_error": wrong}))


def result(line: Result, summary: StreamSummary, out: list[StreamEvent]) -> None:
    """The last one counts. `is_error`, a subtype error_… and status «error» are how programs say that it is none."""
    wrong = bool(line.is_error) or line.status == "error" or (line.subtype or "").startswith("error")
    text = line.text if line.text is not None else message_of(line.result)
    text = text or message_of(line.error) or message_of(line.errors)
    summary.has_result, summary.result_is_error = True, wrong
    summary.result = text or summary.result
    if text:
        summary.say(text)
    for criterion in line.matched_criteria or ():
        summary.claim(message_of(criterion).strip())
    summary.turns = int(number(line.num_turns))
    read_usage(line.usage if line.usage is not None else line.stats, summary)
    cost = line.total_cost_usd if line.total_cost_usd is not None else line.cost_usd
    summary.used(0, 0, number(cost))
    out.append(StreamEvent("result", cut(summary.result), {
        "is_error": wrong, "subtype": (line.subtype or line.status or "")[:80], "cost_usd": summary.cost_usd,
        "tokens_in": summary.tokens_in, "tokens_out": summary.tokens_out, "turns": summary.turns,
    }))  # fmt: skip


def error(line: Error, summary: StreamSummary, out: list[StreamEvent]) -> None:
    text = cut(message_of(line.message) or message_of(line.error) or "the agent reports an error")
    summary.fail(text, line.fatal)
    out.append(StreamEvent("error", text, {"fatal": line.fatal}))


def progress(line: Progress, summary: StreamSummary, out: list[StreamEvent]) -> None:
    percent = min(number(line.percent if line.percent is not None else line.progress), 100.0)
    summary.percent = max(summary.percent, percent)
    read_usage(line.usage, summary)
    summary.used(0, 0, number(line.cost_usd))
    out.append(StreamEvent("progress", cut(message_of(line.message)), {"percent": percent}))


def heartbeat(line: Heartbeat, summary: StreamSummary, out: list[StreamEvent]) -> None:
    """Read, and nothing to show."""


def read_usage(usage: Any, summary: StreamSummary) -> None:
    if isinstance(usage, Mapping):
        summary.used(*tokens_of(usage))


def tokens_of(usage: Mapping[str, Any]) -> tuple[int, int]:
    """In and out. What was read from a cache is in `input_tokens` at some, and beside it at others (cache_…)."""
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return int(sum(number(usage.get(name)) for name in names)), int(number(usage.get("output_tokens")))


def message_of(value: Any) -> str:
    """The text in a message's content: a text, a block, a list of blocks, or an error object."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(text for item in value[:1000] if (text := message_of(item)))
    if isinstance(value, Mapping):
        for name in ("text", "message", "content"):
            if value.get(name) is not None:
                return message_of(value[name])
    return shown(value)


LINES: dict[type[msgspec.Struct], Handler] = {
    System: system,
    Message: message,
    ToolUse: tool_use,
    ToolResult: tool_result,
    Result: result,
    Error: error,
    Progress: progress,
    Heartbeat: heartbeat,
}
