"""A bucket that is a folder of this machine: written whole or not at all, and never read past a link."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets as random_names
import shutil
import stat
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from penstock.executors.parts.objects.contract import (
    CHUNK,
    OURS,
    ObjectError,
    ObjectInfo,
    ObjectMissing,
    check_etag,
    check_size,
    key_names,
    refused,
)
from penstock.executors.parts.threads import in_thread

#: as the folder itself writes them; others were made up by whoever wrote the message
_FOLDER_ETAG = re.compile(r"[0-9a-f]{1,16}-[0-9a-f]+")
_NAME_MAX = 255
_WORK = f"{OURS}work"
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class FolderStore:
    """A bucket that is a folder. No symbolic link below it is followed."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def work_folder(self) -> Path:
        try:
            above = self.root / _WORK
            above.mkdir(parents=True, exist_ok=True)
            _sweep(above)
            made = above / f"{os.getpid()}-{random_names.token_hex(8)}"
            made.mkdir(mode=0o700)
        except OSError as error:
            raise refused(error) from None
        return made

    async def info(self, key: str, version: str = "") -> ObjectInfo:
        with self._opened(key) as handle:
            known = os.fstat(handle)
            return ObjectInfo(known.st_size, _folder_etag(known))

    async def local(
        self, key: str, folder: Path, most: int | None = None, *, version: str = "", etag: str = ""
    ) -> Path:
        """By the handle that was opened: under its name a link out of the folder may lie a moment later."""

        def take() -> Path:
            with self._opened(key) as handle:
                known = os.fstat(handle)
                check_size(known.st_size, most)
                check_etag(_FOLDER_ETAG, etag, _folder_etag(known))
                return _taken(handle, folder / f"fetched-{random_names.token_hex(4)}")

        return await in_thread(take)

    async def put_file(self, key: str, file: Path, mime: str = "") -> int:
        return await in_thread(self._put_file, key, file)

    async def put(self, key: str, data: bytes, mime: str = "") -> None:
        def write() -> None:
            folder = self.work_folder()
            try:
                file = folder / "data"
                file.write_bytes(data)
                self._put_file(key, file)
            except OSError as error:
                raise refused(error) from None
            finally:
                shutil.rmtree(folder, ignore_errors=True)

        await in_thread(write)

    async def read(self, key: str, most: int) -> bytes:
        def read() -> bytes:
            with self._opened(key) as handle, open(handle, "rb", closefd=False) as file:
                check_size(os.fstat(handle).st_size, most)
                return file.read(most)

        return await in_thread(read)

    async def stream(self, key: str) -> AsyncIterator[bytes]:
        with self._opened(key) as handle, open(handle, "rb", closefd=False) as file:
            while data := await in_thread(file.read, CHUNK):
                yield data

    async def delete(self, key: str) -> None:
        names = key_names(key)
        with contextlib.suppress(ObjectMissing), self._folder(names[:-1]) as folder:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(names[-1], dir_fd=folder)

    def _put_file(self, key: str, file: Path) -> int:
        names = key_names(key)
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            size = file.stat().st_size
            with self._folder(names[:-1], make=True) as folder:
                fresh = f"{OURS}{random_names.token_hex(8)}"
                try:
                    _bring(file, fresh, folder)
                    os.rename(fresh, names[-1], src_dir_fd=folder, dst_dir_fd=folder)
                except BaseException:
                    with contextlib.suppress(OSError):
                        os.unlink(fresh, dir_fd=folder)
                    raise
                os.fsync(folder)
            return size
        except OSError as error:
            raise refused(error) from None

    @contextlib.contextmanager
    def _opened(self, key: str) -> Iterator[int]:
        names = key_names(key)
        with self._folder(names[:-1]) as folder:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            try:
                handle = os.open(names[-1], flags, dir_fd=folder)
            except FileNotFoundError:
                raise ObjectMissing("there is no such object in the bucket") from None
            except OSError as error:
                raise refused(error) from None
            try:
                if not stat.S_ISREG(os.fstat(handle).st_mode):
                    raise ObjectMissing("there is no such object in the bucket")
                yield handle
            finally:
                os.close(handle)

    @contextlib.contextmanager
    def _folder(self, names: list[str], make: bool = False) -> Iterator[int]:
        try:
            handle = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            raise ObjectError("the bucket's folder is not there") from None
        except OSError as error:
            raise refused(error) from None
        try:
            for name in names:
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(name, dir_fd=handle)
                below = os.open(name, _DIRECTORY, dir_fd=handle)
                os.close(handle)
                handle = below
            yield handle
        except FileNotFoundError:
            raise ObjectMissing("there is no such object in the bucket") from None
        except OSError as error:
            raise refused(error) from None
        finally:
            os.close(handle)


def _bring(file: Path, name: str, folder: int) -> None:
    """The file under a name in the folder, durable: moved on the same disk, copied from another."""
    try:
        with file.open("rb") as source:
            os.fsync(source.fileno())
        os.rename(file, name, dst_dir_fd=folder)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
        with open(handle, "wb") as target, file.open("rb") as source:
            shutil.copyfileobj(source, target, CHUNK)
            target.flush()
            os.fsync(target.fileno())


def _taken(handle: int, target: Path) -> Path:
    """The open file under another name: the same one on the same disk, else a copy."""
    try:
        # with a folder's handle, since only then the link of /proc is followed
        os.link(f"/proc/self/fd/{handle}", target, src_dir_fd=handle, follow_symlinks=True)
        return target
    except (OSError, NotImplementedError):
        pass  # another disk, a file of somebody else, or one that is being deleted
    try:
        with open(handle, "rb", closefd=False) as source, target.open("wb") as copy:
            shutil.copyfileobj(source, copy, CHUNK)
    except OSError as error:
        raise refused(error) from None
    return target


def _folder_etag(known: os.stat_result) -> str:
    return f"{known.st_mtime_ns:x}-{known.st_size:x}"


_SWEPT: set[Path] = set()


def _sweep(above: Path) -> None:
    """What a process that was killed has left here; looked for once."""
    if above in _SWEPT:
        return
    _SWEPT.add(above)
    for left in above.iterdir():
        owner = left.name.partition("-")[0]
        try:
            os.kill(int(owner), 0)
        except (ProcessLookupError, ValueError):
            shutil.rmtree(left, ignore_errors=True)
        except OSError:
            continue
