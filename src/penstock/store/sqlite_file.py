"""The file behind an open store: is it still the one at its path?

SQLite goes on writing into a file that was deleted, renamed or replaced. So before and after each commit the path is
asked what lies there: a stat of the file and one of its write-ahead log, and the header through SQLite's own handle,
shared between the two so that a commit pays for four calls of the system. The file is never opened here: to close a
second handle would drop the locks that SQLite holds.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

from penstock.errors import StoreGone
from penstock.store.schema import APPLICATION_ID

_HANDLES = Path("/proc/self/fd")
_MAGIC = b"SQLite format 3\0"
_HEADER = 100
_ID = struct.Struct(">I").unpack_from  # the application id stands at byte 68


class StoreFile:
    """Who lies at a path, as of when it was opened."""

    def __init__(self, path: Path) -> None:
        self.path, self._log_path = path, path.with_name(f"{path.name}-wal")
        there = path.stat()
        self._file = (there.st_dev, there.st_ino)
        self._log: tuple[int, int] | None = None
        self._handle = -1
        self._find_handle()

    def check(self) -> None:
        """Raises StoreGone."""
        self.check_file()
        self.check_log()
        self.check_header()

    def check_file(self) -> None:
        try:
            there = self.path.stat()
        except OSError as error:
            raise StoreGone(why=f"{self.path}: {error.strerror}") from error
        if (there.st_dev, there.st_ino) != self._file:
            raise StoreGone(why=f"{self.path} is another file now")

    def check_log(self) -> None:
        try:
            there = self._log_path.stat()
        except OSError as error:
            if self._log is not None:  # before the first commit there is none
                raise StoreGone(why=f"{self._log_path}: {error.strerror}") from error
            return
        if self._log is None:
            self._log = (there.st_dev, there.st_ino)
        elif (there.st_dev, there.st_ino) != self._log:
            raise StoreGone(why=f"{self._log_path} is another file now")

    def check_header(self) -> None:
        """A file that was overwritten in its place is still there."""
        if self._handle < 0:
            return
        try:
            header = os.pread(self._handle, _HEADER, 0)
            if header.startswith(_MAGIC) and _ID(header, 68)[0] in (0, APPLICATION_ID):
                return
            there = os.fstat(self._handle)
        except OSError:
            self._find_handle()
            return
        if (there.st_dev, there.st_ino) == self._file:
            raise StoreGone(why=f"{self.path} was overwritten")
        self._find_handle()  # SQLite has closed this one, and the number is another's

    def reopened(self) -> None:
        """The same file with a new handle and, as the last one who closes it takes it away, a new log."""
        self._log = None
        self._find_handle()

    def _find_handle(self) -> None:
        """SQLite's own, by what it leads to; -1 where the system does not tell."""
        self._handle = -1
        handles = [int(handle.name) for handle in _HANDLES.iterdir()] if _HANDLES.is_dir() else []
        for handle in handles:
            try:
                there = os.fstat(handle)
            except OSError:
                continue
            if (there.st_dev, there.st_ino) == self._file:
                self._handle = handle
                return
