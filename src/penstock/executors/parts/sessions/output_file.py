"""Takes what the agent writes from a pipe into a file, up to a limit; the rest is read and dropped. Standard library.

The agent never waits for anybody but the supervisor, and the disk never fills: beyond the limit, or when there is no
room, bytes are counted and forgotten.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

_CHUNK = 1 << 18
_F_SETPIPE_SZ = 1031
_PIPE_BYTES = 1 << 20


class OutputFile:
    def __init__(self, path: Path, most: int) -> None:
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.reader, False)
        if sys.platform == "linux":
            import fcntl

            with contextlib.suppress(OSError):  # a limit of the user; the usual size will do
                fcntl.fcntl(self.writer, _F_SETPIPE_SZ, _PIPE_BYTES)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._most = most
        self._buffer = memoryview(bytearray(_CHUNK))
        self.kept = self.dropped = 0
        self.open = True

    def close_writer(self) -> None:
        """The agent has it; ours would keep the pipe open after all others have gone."""
        os.close(self.writer)

    def take(self) -> int:
        """How many bytes there were, at most a buffer full. Nobody holds the pipe any more: `open` is False."""
        try:
            size = os.readv(self.reader, [self._buffer])
        except (BlockingIOError, InterruptedError):
            return 0
        if size == 0:
            self.open = False
            os.close(self.reader)
            return 0
        room = max(0, self._most - self.kept)
        written = self._write(self._buffer[: min(size, room)]) if room else 0
        self.kept += written
        self.dropped += size - written
        return size

    def finish(self) -> None:
        """All that lies in the pipe, and to the disk."""
        while self.open and self.take():
            pass
        with contextlib.suppress(OSError):
            os.fsync(self._file)

    def _write(self, data: memoryview) -> int:
        written = 0
        with contextlib.suppress(OSError):  # no room on the disk
            while written < len(data):
                written += os.write(self._file, data[written:])
        return written
