"""JSON lines to events, as the bytes come: partial lines, garbage, broken UTF-8 and lines without end included."""

from __future__ import annotations

import logging
from functools import reduce
from operator import or_
from typing import Any

import msgspec

from penstock.executors.parts.agent_streams.contract import Shape, StreamEvent, StreamSummary, cut

#: a line that is longer is cut and counted; nobody writes one by intention
LINE_BYTES = 8 * 1024 * 1024
#: what is shown of a line that is no JSON
RAW_BYTES = 2 * 1024
UNKNOWN_TYPES = 100
#: what a line with an object begins with
_OBJECT = b"{ \t"
_LOG = logging.getLogger(__name__)


class StreamParser:
    """One per session. `feed` what comes, `close` at the end; `summary` says what has been read so far."""

    def __init__(self, shape: Shape, line_bytes: int = LINE_BYTES) -> None:
        self.shape, self.summary, self.line_bytes = shape, StreamSummary(), line_bytes
        self._decode = msgspec.json.Decoder(reduce(or_, shape.lines)).decode
        self._parts: list[bytes] = []  # of the line that has not ended
        self._size = 0  # of it, what was cut included

    def feed(self, chunk: bytes) -> list[StreamEvent]:
        out: list[StreamEvent] = []
        lines = chunk.split(b"\n")
        rest = lines.pop()
        if lines and self._size:
            first = lines[0]
            self._keep(first)
            lines[0] = self._take(out)
        for line in lines:
            if line:
                self._line(line, out)
        if rest:
            self._keep(rest)
        return out

    def close(self) -> list[StreamEvent]:
        """The last line need not end with a newline."""
        out: list[StreamEvent] = []
        if self._size and (line := self._take(out)):
            self._line(line, out)
        return out

    def _keep(self, part: bytes) -> None:
        room = self.line_bytes - self._size
        self._size += len(part)
        if room > 0:
            self._parts.append(part if len(part) <= room else part[:room])

    def _take(self, out: list[StreamEvent]) -> bytes:
        """The line that has ended; nothing if it was too long."""
        line, size = b"".join(self._parts), self._size
        self._parts, self._size = [], 0
        if size <= self.line_bytes:
            return line
        self.summary.lines += 1
        self.summary.cut_lines += 1
        text = line[:RAW_BYTES].decode(errors="replace")
        out.append(StreamEvent("raw", text, {"cut": True, "bytes": size}))
        return b""

    def _line(self, line: bytes, out: list[StreamEvent]) -> None:
        summary = self.summary
        summary.lines += 1
        if len(line) > self.line_bytes:
            summary.lines -= 1
            self._keep(line)
            self._take(out)
            return
        if line[0] not in _OBJECT:
            self._text(line, out)
            return
        try:
            read = self._decode(line)
        except msgspec.ValidationError:
            self._other(line, out)
        except (ValueError, RecursionError):
            self._no_json(line, out)
        else:
            self.shape.lines[type(read)](read, summary, out)

    def _other(self, line: bytes, out: list[StreamEvent]) -> None:
        """JSON of another form: a type that is not known, or none."""
        try:
            read = msgspec.json.decode(line)
        except (ValueError, RecursionError):
            self._no_json(line, out)
            return
        kind: Any = read.get("type") if isinstance(read, dict) else None
        if not isinstance(kind, str) or kind in self._known():
            self._text(line, out)
            return
        summary = self.summary
        summary.unknown_lines += 1
        if kind[:80] not in summary.unknown_types and len(summary.unknown_types) < UNKNOWN_TYPES:
            summary.unknown_types[kind[:80]] = 0
            _LOG.info("An agent writes lines of the type «%s», which is not known and left out.", kind[:80])
        if kind[:80] in summary.unknown_types:
            summary.unknown_types[kind[:80]] += 1

    def _known(self) -> set[Any]:
        return {struct.__struct_config__.tag for struct in self.shape.lines}

    def _no_json(self, line: bytes, out: list[StreamEvent]) -> None:
        """A broken character does not cost the line."""
        try:
            line.decode()
        except UnicodeDecodeError:
            mended = line.decode(errors="replace").encode()
            if mended[:1] == b"{" and len(mended) <= self.line_bytes:
                self.summary.lines -= 1
                self._line(mended, out)
                return
        self._text(line, out)

    def _text(self, line: bytes, out: list[StreamEvent]) -> None:
        text = line.rstrip(b"\r").decode(errors="replace")
        if self.shape.plain:
            self.summary.say(text)
            out.append(StreamEvent("message", cut(text)))
            return
        self.summary.raw_lines += 1
        text = cut(text, RAW_BYTES)
        self.summary.say(text)
        out.append(StreamEvent("raw", text))
