"""Gemini CLI: `gemini --output-format stream-json`: init, message, tool_use, tool_result, error, result with stats.

Answers come in pieces (`delta`). After an `error` with a severity it goes on; `result` says how it ended.
"""

from __future__ import annotations

import msgspec

from penstock.executors.parts.agent_streams import seed
from penstock.executors.parts.agent_streams.contract import Shape, StreamEvent, StreamSummary, cut


class Init(msgspec.Struct, tag_field="type", tag="init", gc=False):
    session_id: str | None = None
    model: str | None = None


def init(line: Init, summary: StreamSummary, out: list[StreamEvent]) -> None:
    seed.system(seed.System("init", line.session_id, line.model), summary, out)


def message(line: seed.Message, summary: StreamSummary, out: list[StreamEvent]) -> None:
    if line.role == "user":
        return
    text = line.text if line.text is not None else seed.message_of(line.content)
    summary.unfinished = (summary.unfinished if line.delta else "") + text
    if not line.delta:
        _finish(summary)
    out.append(StreamEvent("message", cut(text), {"delta": True} if line.delta else None))


def tool_use(line: seed.ToolUse, summary: StreamSummary, out: list[StreamEvent]) -> None:
    _finish(summary)
    seed.tool_use(line, summary, out)


def error(line: seed.Error, summary: StreamSummary, out: list[StreamEvent]) -> None:
    if line.severity is None or line.fatal:
        seed.error(line, summary, out)
    else:
        out.append(StreamEvent("system", cut(seed.message_of(line.message)), {"subtype": line.severity[:80]}))


def result(line: seed.Result, summary: StreamSummary, out: list[StreamEvent]) -> None:
    """Without a text of its own: the answer is the last message."""
    _finish(summary)
    seed.result(line, summary, out)


def _finish(summary: StreamSummary) -> None:
    if summary.unfinished:
        summary.result = summary.unfinished
        summary.say(summary.unfinished)
        summary.unfinished = ""


GEMINI = Shape(
    "gemini",
    ("gemini", "--output-format", "stream-json", "--approval-mode", "auto_edit"),
    {
        **seed.LINES, Init: init, seed.Message: message, seed.ToolUse: tool_use, seed.Error: error,
        seed.Result: result,
    },
)  # fmt: skip
