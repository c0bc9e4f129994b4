"""Archives that unfold to more than anybody wants are refused before anything is unfolded, and while it is."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import IO

from penstock.executors.processors.contract import ProcessorContext, ProcessorError, bad_file, beyond_limit

MAX_UNPACKED_BYTES = 2 * 1024**3
MAX_RATIO = 200
MAX_ENTRIES = 10_000
_SMALL = 1024 * 1024  # a small archive may be as dense as it likes
_CHUNK = 1024 * 1024


class UnpackLimits:
    """Counts what really comes out of an archive, whatever its directory says."""

    def __init__(self, context: ProcessorContext) -> None:
        self.most = context.bound("max_unpacked_bytes", MAX_UNPACKED_BYTES)
        self.ratio = context.bound("max_ratio", MAX_RATIO)
        self.entries = context.bound("max_entries", MAX_ENTRIES)
        self.packed = max(1, context.size)
        self.unpacked = self.seen = 0

    def entry(self) -> None:
        self.seen += 1
        if self.seen > self.entries:
            raise beyond_limit(f"the archive has more than {self.entries} entries")

    def add(self, size: int) -> None:
        self.unpacked += size
        self.check(self.unpacked)

    def check(self, size: int) -> None:
        if size > self.most:
            raise beyond_limit(f"the archive unfolds to more than {self.most} bytes")
        if size > _SMALL and size > self.packed * self.ratio:
            raise beyond_limit(f"the archive unfolds to more than {self.ratio} times its size")

    def drain(self, source: IO[bytes], target: IO[bytes] | None = None) -> int:
        size = 0
        while data := source.read(_CHUNK):
            self.add(len(data))
            size += len(data)
            if target is not None:
                target.write(data)
        return size


def open_zip(context: ProcessorContext, limits: UnpackLimits) -> zipfile.ZipFile:
    """Its directory is within the limits. Raises ProcessorError."""
    try:
        archive = zipfile.ZipFile(context.file)
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError) as error:
        raise bad_file(f"the file is no zip archive ({type(error).__name__})") from None
    if len(archive.infolist()) > limits.entries:
        raise beyond_limit(f"the archive has more than {limits.entries} entries")
    limits.check(sum(entry.file_size for entry in archive.infolist()))
    return archive


def check_zip(context: ProcessorContext) -> None:
    """For what is read by somebody else, who trusts its directory: every entry is as large as it says."""
    limits = UnpackLimits(context)
    with open_zip(context, limits) as archive:
        for entry in archive.infolist():
            with open_member(archive, entry) as source:
                if limits.drain(source) > entry.file_size:
                    raise beyond_limit("an entry of the archive is larger than it says")


def open_member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> IO[bytes]:
    if entry.flag_bits & 1:
        raise ProcessorError("FILE_ENCRYPTED", "the archive is encrypted")
    try:
        return archive.open(entry)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError) as error:
        raise bad_file(f"the archive is broken ({type(error).__name__})") from None


def is_plain_name(name: str) -> bool:
    """A name inside an archive that leads nowhere else."""
    parts = Path(name.replace("\\", "/")).parts
    return bool(parts) and not name.startswith(("/", "\\")) and ".." not in parts and ":" not in parts[0]
