"""The transcript of a session: its events in `events.jsonl` of its folder, numbered from 1, capped.

After a restart the output is read once more from its beginning: what stands in the file is not written again.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from penstock.executors.parts.agent_streams.contract import StreamEvent

FILE = "events.jsonl"
MOST_BYTES = 16 * 1024 * 1024
#: written although the transcript is full: how it ended
_ALWAYS = frozenset({"started", "result", "error"})
_ALWAYS_EVENTS = 1000
_WINDOW = 64 * 1024


class TranscriptLine(msgspec.Struct, frozen=True):
    number: int
    at: int  # milliseconds since the epoch
    kind: str
    text: str = ""
    data: Any = None


_DECODER = msgspec.json.Decoder(TranscriptLine)


class Transcript:
    """Writes. `known` is the number of the last event that an earlier engine has written."""

    def __init__(self, folder: Path, most_bytes: int = MOST_BYTES) -> None:
        self.path, self.most_bytes = folder / FILE, most_bytes
        self.size, self.known, self.full = _whole_lines(self.path)
        self.number = 0
        self._kept = 0
        self._file: BinaryIO | None = None

    def write(self, events: Sequence[StreamEvent], at: int) -> list[tuple[int, StreamEvent]]:
        """Appends; gives those back that are new, with their numbers."""
        new: list[tuple[int, StreamEvent]] = []
        lines: list[bytes] = []
        for event in events:
            self.number += 1
            if self.number <= self.known:
                continue
            new.append((self.number, event))
            self._add(event, at, lines)
        if lines:
            if self._file is None:
                self._file = self.path.open("ab", buffering=0)
            self._file.write(b"".join(lines))
        return new

    def _add(self, event: StreamEvent, at: int, lines: list[bytes]) -> None:
        if self.full:
            if event.kind not in _ALWAYS or self._kept >= _ALWAYS_EVENTS:
                return
            self._kept += 1
        line = _encode(TranscriptLine(self.number, at, event.kind, event.text, event.data))
        if not self.full and self.size + len(line) > self.most_bytes:
            self.full = True
            text = "the transcript is full; the output goes on in the log"
            lines.append(_encode(TranscriptLine(self.number, at, "system", text, {"cut": True})))
            if event.kind not in _ALWAYS:
                return
        self.size += len(line)
        lines.append(line)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def read_events(folder: Path, after: int = 0, limit: int = 2000) -> list[TranscriptLine]:
    """Those with a number above `after`, oldest first; none where there is no transcript (yet)."""
    found: list[TranscriptLine] = []
    with contextlib.suppress(OSError), (folder / FILE).open("rb") as file:
        _seek_near(file, after)
        for line in file:
            if not line.endswith(b"\n"):
                break
            with contextlib.suppress(msgspec.DecodeError):
                event = _DECODER.decode(line)
                if event.number > after:
                    found.append(event)
            if len(found) >= limit:
                break
    return found


def _seek_near(file: BinaryIO, after: int) -> None:
    """Numbers grow: whoever follows a long transcript need not read it from its beginning each time."""
    low, high = 0, file.seek(0, os.SEEK_END) if after else 0
    while high - low > _WINDOW:
        middle = (low + high) // 2
        file.seek(middle)
        file.readline()
        line = file.readline()
        try:
            before = line.endswith(b"\n") and _DECODER.decode(line).number <= after
        except msgspec.DecodeError:
            before = False
        low, high = (middle, high) if before else (low, middle)
    file.seek(low)
    if low:
        file.readline()


def _encode(line: TranscriptLine) -> bytes:
    return msgspec.json.encode(line) + b"\n"


def _whole_lines(path: Path) -> tuple[int, int, bool]:
    """Size, number of the last event and whether it is full, of what an earlier engine has written. Half a line at the
    end goes: the engine was killed while it wrote."""
    size, number, full = 0, 0, False
    try:
        with path.open("rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    break
                size += len(line)
                event = _DECODER.decode(line)
                number = max(number, event.number)
                full = full or (event.kind == "system" and event.data == {"cut": True})
    except FileNotFoundError:
        return 0, 0, False
    except (OSError, msgspec.DecodeError):
        pass
    with contextlib.suppress(OSError):
        os.truncate(path, size)
    return size, number, full
