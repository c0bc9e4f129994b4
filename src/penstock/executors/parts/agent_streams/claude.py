"""Claude Code: `claude -p --output-format stream-json --verbose`.

system/init, then `assistant` and `user` messages with content blocks, then one `result` with the cost. One answer of
the model comes as several `assistant` lines with the same message id, which all repeat its usage.
"""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.executors.parts.agent_streams import seed
from penstock.executors.parts.agent_streams.contract import NOTHING, Shape, StreamEvent, StreamSummary, cut, shown


class Block(msgspec.Struct):
    type: str
    text: str | None = None
    name: str | None = None
    input: msgspec.Raw = NOTHING
    content: msgspec.Raw = NOTHING
    is_error: bool | None = None


class Usage(msgspec.Struct, gc=False):
    input_tokens: float | None = 0
    cache_creation_input_tokens: float | None = 0
    cache_read_input_tokens: float | None = 0
    output_tokens: float | None = 0


class Answer(msgspec.Struct):
    content: list[Block] | str = ""
    id: str = ""
    usage: Usage | None = None


class Assistant(msgspec.Struct, tag_field="type", tag="assistant"):
    message: Answer
    error: Any = None


class User(msgspec.Struct, tag_field="type", tag="user"):
    message: Answer


class StreamPart(msgspec.Struct, tag_field="type", tag="stream_event"):
    """A piece of a message that comes whole afterwards."""


class RateLimit(msgspec.Struct, tag_field="type", tag="rate_limit_event"):
    rate_limit_info: Any = None


def assistant(line: Assistant, summary: StreamSummary, out: list[StreamEvent]) -> None:
    """T-X.23: a message; a tool use inside its content is one."""
    answer = line.message
    if answer.usage is not None:
        used, cached = answer.usage, answer.usage.cache_creation_input_tokens or 0
        cached += used.cache_read_input_tokens or 0
        summary.answer_used(answer.id, int((used.input_tokens or 0) + cached), int(used.output_tokens or 0))
    if isinstance(answer.content, str):
        _say(answer.content, summary, out)
        return
    for block in answer.content:
        if block.type == "text":
            if block.text:
                _say(block.text, summary, out)
        elif block.type in ("tool_use", "server_tool_use"):
            name = (block.name or "tool")[:200]
            out.append(StreamEvent("tool", name, {"tool": name, "input": shown(block.input)}))
        elif block.type == "tool_result":
            _tool_result(block, out)
    if line.error is not None:
        out.append(StreamEvent("system", cut(seed.message_of(line.error)), {"subtype": "assistant_error"}))


def user(line: User, summary: StreamSummary, out: list[StreamEvent]) -> None:
    """What tools have answered. A text of the user is the prompt, which is known."""
    if not isinstance(line.message.content, str):
        for block in line.message.content:
            if block.type == "tool_result":
                _tool_result(block, out)


def stream_part(line: StreamPart, summary: StreamSummary, out: list[StreamEvent]) -> None:
    """Only a heartbeat."""


def rate_limit(line: RateLimit, summary: StreamSummary, out: list[StreamEvent]) -> None:
    out.append(StreamEvent("system", shown(line.rate_limit_info), {"subtype": "rate_limit"}))


def _say(text: str, summary: StreamSummary, out: list[StreamEvent]) -> None:
    summary.say(text)
    out.append(StreamEvent("message", cut(text)))


def _tool_result(block: Block, out: list[StreamEvent]) -> None:
    out.append(StreamEvent("tool", shown(block.content), {"output": True, "is_error": bool(block.is_error)}))


CLAUDE = Shape(
    "claude",
    ("claude", "-p", "--output-format", "stream-json", "--verbose"),
    {**seed.LINES, Assistant: assistant, User: user, StreamPart: stream_part, RateLimit: rate_limit},
)
