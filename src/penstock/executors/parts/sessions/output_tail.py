"""Reads a file that grows, from where it was left, a piece at a time: a stream of any size takes no memory."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

_PIECE = 1 << 18


class OutputTail:
    def __init__(self, path: Path, sink: Callable[[bytes], None], after: int) -> None:
        self._path, self._sink, self.offset = path, sink, after
        self._file: int | None = None

    def read(self) -> bool:
        """Hands on one piece; False: there is nothing new."""
        if self._file is None:
            try:
                self._file = os.open(self._path, os.O_RDONLY)
            except FileNotFoundError:
                return False
        piece = os.pread(self._file, _PIECE, self.offset)
        if not piece:
            return False
        self.offset += len(piece)
        self._sink(piece)
        return True

    def close(self) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):
                os.close(self._file)
            self._file = None
