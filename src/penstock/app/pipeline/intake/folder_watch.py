"""A watched folder: files that are whole become messages; those still being written are left alone (F-X.20).

The folder is the queue: nothing of it is lost when the watcher dies, for its next look finds every file again, and what
was begun already is known by its idempotency key. A file is whole when its size and its time have not changed between
two looks and it was not touched for a moment.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from penstock.lang.pipeline.messages import FileMessage
from penstock.lang.pipeline.mime import mime_of

#: what an execution leaves beside its file
RESULTS = ".results"
#: how long a file must not have been touched
QUIET_MS = 500
#: names of files that programs are still writing
_TEMPORARY = (".tmp", ".temp", ".part", ".partial", ".crdownload", ".download", ".swp", ".swx", ".filepart", "~")
_MOST_DEEP = 32


class Stamp(NamedTuple):
    """What changes while somebody writes a file."""

    size: int
    mtime_ns: int
    inode: int

    @property
    def etag(self) -> str:
        return f"{self.mtime_ns:x}-{self.size:x}"


class FolderWatch:
    """`look` is asked again and again; each whole file is told once by it."""

    def __init__(self, folder: Path, bucket: str, tenant: str, *, quiet_ms: int = QUIET_MS) -> None:
        self.folder, self.bucket, self.tenant, self.quiet_ms = folder, bucket, tenant, quiet_ms
        self.seen: dict[str, Stamp] = {}  # as they were at the last look
        self.told: dict[str, Stamp] = {}

    def look(self, now_ms: int) -> list[FileMessage]:
        """Files that are whole and new, or new again, in the order of their keys. Raises OSError where the folder is
        not there."""
        files = dict(self._files(self.folder, "", 0))
        whole = [
            key
            for key, stamp in sorted(files.items())
            if self.seen.get(key) == stamp
            and self.told.get(key) != stamp
            and abs(now_ms - stamp.mtime_ns // 1_000_000) >= self.quiet_ms
        ]
        self.seen = files
        self.told = {key: stamp for key, stamp in self.told.items() if key in files}
        return [self._message(key, files[key]) for key in whole]

    def done(self, message: FileMessage) -> None:
        """It is in the store: it is not told again unless it changes."""
        stamp = self.seen.get(message.key)
        if stamp is not None and stamp.etag == message.etag:
            self.told[message.key] = stamp

    @property
    def settling(self) -> bool:
        """Is there a file that was not told yet?"""
        return any(self.told.get(key) != stamp for key, stamp in self.seen.items())

    @property
    def unfinished(self) -> list[str]:
        """Those files: they are still being written, or were just laid there."""
        return [key for key, stamp in self.seen.items() if self.told.get(key) != stamp]

    def _files(self, folder: Path, above: str, depth: int) -> Iterator[tuple[str, Stamp]]:
        """Plain files; links are not followed, and what is not readable now is looked at again next time."""
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            if depth:
                return
            raise
        for entry in entries:
            if is_temporary(entry.name):
                continue
            try:
                known = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if stat.S_ISDIR(known.st_mode):
                if not entry.name.endswith(RESULTS) and depth < _MOST_DEEP:
                    yield from self._files(Path(entry.path), f"{above}{entry.name}/", depth + 1)
            elif stat.S_ISREG(known.st_mode):
                yield f"{above}{entry.name}", Stamp(known.st_size, known.st_mtime_ns, known.st_ino)

    def _message(self, key: str, stamp: Stamp) -> FileMessage:
        at = datetime.fromtimestamp(stamp.mtime_ns / 1e9, UTC).isoformat(timespec="milliseconds")
        return FileMessage(
            bucket=self.bucket, key=key, size=stamp.size, mime=mime_of(key), tenant_id=self.tenant,
            organization_id=None, trace_id=secrets.token_hex(16), occurred_at=at.replace("+00:00", "Z"),
            etag=stamp.etag, event_name="ObjectCreated:Put",
        )  # fmt: skip


def is_temporary(name: str) -> bool:
    """Hidden ones, locks of office programs, and the names that browsers and copying programs give what is not done;
    names that cannot be a key are left alone, too."""
    odd = any(ord(char) < 32 or 0xD800 <= ord(char) < 0xE000 or char == "\\" for char in name)
    return odd or name.startswith((".", "~$")) or name.lower().endswith(_TEMPORARY)
