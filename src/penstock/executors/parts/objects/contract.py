"""What a bucket does, and how it refuses."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Protocol

import msgspec

CHUNK = 1024 * 1024
_KEY_MAX = 1024
#: how names begin that are no keys, since the engine works there
OURS = ".penstock-"


class ObjectError(Exception):
    """A store that does not do what it is asked for; the text says why, without a path of the machine."""

    category = "transient"


class ObjectMissing(ObjectError):
    """There is no object under the key."""

    category = "external"


class ObjectChanged(ObjectError):
    """Another object than the one that was meant lies under the key."""

    category = "validation"


class KeyRefused(ObjectError):
    """A key that names no place in the bucket."""

    category = "validation"


class BucketUnknown(ObjectError):
    """No bucket of that name is set up, or what it needs is not installed."""

    category = "permanent"


class ObjectInfo(msgspec.Struct, frozen=True):
    size: int
    etag: str = ""


class ObjectStore(Protocol):
    """One bucket."""

    def work_folder(self) -> Path:
        """A new folder from which a file gets into the bucket without being copied, where that is possible."""
        ...

    async def info(self, key: str, version: str = "") -> ObjectInfo: ...

    async def local(
        self, key: str, folder: Path, most: int | None = None, *, version: str = "", etag: str = ""
    ) -> Path:
        """A file of the folder to read the object from: it or a copy. Never write to it. Raises ObjectChanged where the
        bucket has another etag by now; an etag that does not look like the bucket's own is not compared."""
        ...

    async def put_file(self, key: str, file: Path, mime: str = "") -> int:
        """The file becomes the object, whole; it may be moved. Its size."""
        ...

    async def put(self, key: str, data: bytes, mime: str = "") -> None: ...

    async def read(self, key: str, most: int) -> bytes: ...

    def stream(self, key: str) -> AsyncIterator[bytes]: ...

    async def delete(self, key: str) -> None: ...


def key_names(key: str) -> list[str]:
    """The names a key consists of. Raises KeyRefused."""
    if not key or len(key.encode("utf-8", "surrogatepass")) > _KEY_MAX:
        raise KeyRefused(f"a key has 1 to {_KEY_MAX} bytes")
    names = key.split("/")
    for name in names:
        if name in ("", ".", "..") or "\\" in name or any(ord(c) < 32 or 0xD800 <= ord(c) < 0xE000 for c in name):
            raise KeyRefused("the key is no path inside the bucket")
        if name.startswith(OURS):
            raise KeyRefused(f"names that begin with «{OURS}» are the engine's own")
    return names


def check_etag(own: re.Pattern[str], wanted: str, etag: str) -> None:
    if wanted and wanted != etag and own.fullmatch(wanted):
        raise ObjectChanged("the file was replaced since it came; what it is now is an event of its own")


def check_size(size: int, most: int | None) -> None:
    if most is not None and size > most:
        error = ObjectError(f"the object has {size} bytes, and at most {most} are read")
        error.category = "validation"
        raise error


def refused(error: OSError) -> ObjectError:
    return ObjectError(f"the bucket's folder refuses: {error.strerror or type(error).__name__}")
