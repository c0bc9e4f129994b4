"""What the output of an agent's program becomes: events, and a summary of all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

#: texts of one event; what is longer is cut, and whole in the session's output
TEXT_CHARS = 16 * 1024
#: arguments of a tool call and its output, as they are shown
TOOL_CHARS = 2 * 1024
#: what the agent has said, kept for `output_matches`; the newest
SAID_CHARS = 1024 * 1024
CLAIMS = 10_000
#: a field that a line does not have
NOTHING = msgspec.Raw()

#: T-10.2: what each kind of event is called outside
EMITTED = {
    "started": "claude:started", "message": "claude:stream", "tool": "claude:stream", "progress": "claude:stream",
    "system": "claude:stream", "raw": "claude:stream", "result": "claude:complete", "error": "claude:error",
}  # fmt: skip


class StreamEvent(msgspec.Struct, frozen=True, gc=False):
    """`kind` is one of EMITTED. An `error` ends the attempt; a warning of the program is `system`."""

    kind: str
    text: str = ""
    data: Any = None

    @property
    def name(self) -> str:
        return EMITTED[self.kind]


class StreamSummary:
    """What all events together say. Lines are counted, whatever became of them."""

    def __init__(self) -> None:
        self.cli_session = self.model = ""
        self.started = self.has_result = self.result_is_error = False
        self.result = self.error = ""
        self.has_error = self.fatal = False
        self.percent = 0.0
        self.tokens_in = self.tokens_out = self.turns = 0
        self.cost_usd = 0.0
        self.claims: dict[str, None] = {}  # criteria that the agent says are met, in the order it said so
        self.lines = self.raw_lines = self.cut_lines = self.unknown_lines = 0
        self.unknown_types: dict[str, int] = {}
        self.unfinished = ""  # a message that comes in pieces
        self._answer, self._answer_tokens, self._before = "", (0, 0), (0, 0)
        self._said: list[str] = []
        self._said_chars = 0

    @property
    def said(self) -> str:
        """The newest of what the agent has said, without what its tools have read."""
        return "\n".join(self._said)[-SAID_CHARS:]

    def say(self, text: str) -> None:
        self._said.append(text)
        self._said_chars += len(text)
        if self._said_chars > 2 * SAID_CHARS:
            self._said = [self.said]
            self._said_chars = SAID_CHARS
        if "[x]" in text or "[X]" in text:
            self.claim_lines(text)

    def claim_lines(self, text: str) -> None:
        """T-X.13: the literal line `[x] TEXT`, also as an item of a list."""
        for line in text.splitlines():
            line = line.strip()
            if line[:2] in ("- ", "* "):
                line = line[2:].lstrip()
            if line[:3] in ("[x]", "[X]"):
                self.claim(line[3:].strip())

    def claim(self, text: str) -> None:
        if text and len(self.claims) < CLAIMS:
            self.claims[text] = None

    def fail(self, message: str, fatal: bool = False) -> None:
        self.error = self.error or message
        self.has_error = True
        self.fatal = self.fatal or fatal

    def used(self, tokens_in: int, tokens_out: int, cost_usd: float | None = None) -> None:
        """Totals of the session so far; a total never falls."""
        self.tokens_in, self.tokens_out = max(self.tokens_in, tokens_in), max(self.tokens_out, tokens_out)
        if cost_usd is not None:
            self.cost_usd = max(self.cost_usd, cost_usd)

    def answer_used(self, answer: str, tokens_in: int, tokens_out: int) -> None:
        """Of one answer of the model, which may be told several times."""
        if answer != self._answer or not answer:
            (before_in, before_out), (last_in, last_out) = self._before, self._answer_tokens
            self._before, self._answer = (before_in + last_in, before_out + last_out), answer
        self._answer_tokens = (tokens_in, tokens_out)
        self.used(self._before[0] + tokens_in, self._before[1] + tokens_out)


#: turns a line into events
Handler = Callable[[Any, StreamSummary, list[StreamEvent]], None]


class Shape(msgspec.Struct, frozen=True):
    """How one program writes: a struct per type of line, and what makes events of it. `plain` lines are messages."""

    name: str
    command: tuple[str, ...]
    lines: Mapping[type[msgspec.Struct], Handler]
    plain: bool = False


def cut(text: str, most: int = TEXT_CHARS) -> str:
    return text if len(text) <= most else text[:most] + "…"


def number(value: Any) -> float:
    """A figure that a program has written; what is none counts as nothing."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return 0.0
    return min(max(float(value), 0.0), 1e15)


_TEXT = msgspec.json.Decoder(str).decode


def shown(value: Any, most: int = TOOL_CHARS) -> str:
    """A text or a piece of JSON, cut to what is shown. `value` may be JSON that nobody has decoded."""
    if value is None:
        return ""
    if isinstance(value, str):
        return cut(value, most)
    if isinstance(value, msgspec.Raw):
        view = memoryview(value)
        data = bytes(view[: most * 4])
        if data in (b"", b"null"):
            return ""
        if data[:1] == b'"' and len(view) <= most * 4:
            return cut(_TEXT(data), most)
        return cut(data.decode(errors="replace"), most)
    return cut(msgspec.json.encode(value).decode(), most)
