"""Reads an event log, XES or CSV, plain or compressed: cases one by one, and what was odd in the end."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from penstock.errors import (
    EventLogEmpty,
    EventLogTooLarge,
    EventLogTruncated,
    EventLogUnknown,
    EventLogUnreadable,
    Finding,
)
from penstock.mining.csv_reader import read_csv
from penstock.mining.event import Case
from penstock.mining.log_findings import LogFindings
from penstock.mining.log_options import LogOptions
from penstock.mining.xes_reader import read_xes

_BLOCK = 256 * 1024
_GZIP = b"\x1f\x8b"
_XML_STARTS = (b"<", b"\xef\xbb\xbf<", b"\xff\xfe<", b"\xfe\xff\0<")


class EventLog(Iterator[Case]):
    """The cases of a log, once. An error may come after some of them: store nothing before the last has come."""

    def __init__(self, source: Path | str | BinaryIO, name: str, options: LogOptions) -> None:
        self.name, self.options = name, options
        self._findings = LogFindings()
        self._cases = self._read(source)
        self.done = 0  # cases that have come

    def __next__(self) -> Case:
        case = next(self._cases)
        self.done += 1
        return case

    def findings(self) -> tuple[Finding, ...]:
        """What was odd in what has been read so far; of everything once the last case has come."""
        return self._findings.listed()

    def _read(self, source: Path | str | BinaryIO) -> Iterator[Case]:
        if isinstance(source, (str, Path)):
            with self._opened(Path(source)) as file:
                yield from self._cases_of(file)
        else:
            yield from self._cases_of(source)
        if not self.done:
            raise EventLogEmpty(name=self.name, why="")

    def _opened(self, file: Path) -> BinaryIO:
        try:
            return file.open("rb")
        except OSError as error:
            raise EventLogUnreadable(
                name=self.name, where="the file itself", why=error.strerror or "it is not there"
            ) from None

    def _cases_of(self, stream: BinaryIO) -> Iterator[Case]:
        limited = _Limited(stream, self.name, self.options.max_bytes)
        start = limited.peek(512)
        if start[:2] == _GZIP:
            with gzip.GzipFile(fileobj=limited) as inner:
                again = _Limited(inner, self.name, self.options.max_bytes)
                yield from self._by_content(again, again.peek(512))
        else:
            yield from self._by_content(limited, start)

    def _by_content(self, stream: _Limited, start: bytes) -> Iterator[Case]:
        if not start.strip():
            raise EventLogEmpty(name=self.name, why=": the file is empty")
        if start.lstrip(b" \t\r\n").startswith(_XML_STARTS):
            yield from read_xes(stream.blocks(), self.name, self.options, self._findings)
            return
        refusal = _other_format(start, self.options.encoding)
        if refusal:
            raise EventLogUnknown(name=self.name, why=refusal)
        yield from read_csv(io.BufferedReader(stream, _BLOCK), self.name, self.options, self._findings)


def read_log(source: Path | str | BinaryIO, name: str, options: LogOptions | None = None) -> EventLog:
    """The format is that of the content, whatever the name says."""
    return EventLog(source, name, options or LogOptions())


class _Limited(io.RawIOBase):
    """A stream of which no more than so many bytes are read, and whose end is told apart from a break."""

    def __init__(self, stream: BinaryIO | gzip.GzipFile, name: str, limit: int) -> None:
        self._stream, self._name, self._limit = stream, name, limit
        self._ahead = b""
        self.count = 0

    def readable(self) -> bool:
        return True

    def peek(self, size: int) -> bytes:
        while len(self._ahead) < size:
            more = self._from_stream(size - len(self._ahead))
            if not more:
                break
            self._ahead += more
        return self._ahead

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        block = self.read(len(buffer))
        buffer[: len(block)] = block
        return len(block)

    def read(self, size: int = -1) -> bytes:
        if self._ahead:
            block, self._ahead = self._ahead[:size], self._ahead[size:]
            return block
        return self._from_stream(_BLOCK if size < 0 else size)

    def blocks(self) -> Iterator[bytes]:
        while block := self.read(_BLOCK):
            yield block

    def _from_stream(self, size: int) -> bytes:
        try:
            block = self._stream.read(size)
        except EOFError:
            where = f"{self.count} bytes of what it holds"
            raise EventLogTruncated(name=self._name, where=where, why="the compressed file is cut off") from None
        except (zlib.error, gzip.BadGzipFile) as error:
            where = f"byte {self.count} of what it holds"
            raise EventLogUnreadable(name=self._name, where=where, why=f"the compression is damaged: {error}") from None
        self.count += len(block)
        if self.count > self._limit:
            raise EventLogTooLarge(what="bytes", limit=self._limit, where=f"byte {self.count}")
        return block


def _other_format(start: bytes, encoding: str | None) -> str:
    """What it is instead, where that is known by its first bytes."""
    if start[:4] == b"PK\x03\x04":
        return "it is a ZIP archive or a spreadsheet; unpack it, or save it as CSV"
    if start[:4] in (b"PAR1", b"%PDF", b"SQLi"):
        return "it is a file of another kind"
    if start.lstrip()[:1] in (b"{", b"["):
        return "it is JSON"
    if b"\0" in start and encoding is None and start[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        return "it is neither text nor XML"
    return ""
