"""A project's folder: its plan files are read and replaced below it, and never through a link.

Every name is opened relative to the folder before it, so that there is no moment between a check and its use. Writing
is temporary file, fsync, rename, fsync of the folder: a reader sees the old file or the new one.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from penstock.errors import BadInput
from penstock.lang.plan.project_files import PLAN_FILES, folders_of

#: what is read at most: bytes of one file, of all files, and files
LARGEST_FILE, LARGEST_FOLDER, MOST_FILES = 1024 * 1024, 64 * 1024 * 1024, 20_000
_OURS = ".penstock-"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class FileMark(NamedTuple):
    """What a file was when it was read: another mark is another file."""

    inode: int
    size: int
    changed_ns: int


def checked_folder(path: str | Path) -> Path:
    """The folder's absolute path. Raises BadInput."""
    try:
        folder = Path(path).expanduser().resolve(strict=True)
    except (OSError, ValueError, RuntimeError) as error:
        raise _gone(path, error) from error
    if not folder.is_dir():
        raise BadInput(what=f"the project «{path}»", why="it is no folder", where=path)
    return folder


def read_plan_files(root: Path) -> dict[str, bytes]:
    """Every plan file by its path in the folder. Raises BadInput for a folder that is gone, a link, too much."""
    files: dict[str, bytes] = {}
    total = 0
    for path, handle in _plan_files(root):
        if len(files) >= MOST_FILES:
            raise _refused(root, path, f"the project has more than {MOST_FILES} plan files")
        data, _ = _read(handle, root, path)
        total += len(data)
        if total > LARGEST_FOLDER:
            raise _refused(root, path, f"the plan files have more than {LARGEST_FOLDER} bytes together")
        files[path] = data
    return files


def file_marks(root: Path) -> dict[str, FileMark]:
    """How every plan file stands, without reading it: two that are equal need no second look."""
    marks: dict[str, FileMark] = {}
    for path, handle in _plan_files(root):
        marks[path] = _mark(os.fstat(handle))
    return marks


def plan_file(root: Path) -> bytes | None:
    """What plan.yaml says; None where there is none."""
    found = (read_file(root, name) for name in PLAN_FILES)
    return next((data for data, _ in (each for each in found if each is not None)), None)


def read_file(root: Path, path: str) -> tuple[bytes, FileMark] | None:
    """One file and its mark; None when there is none. Raises BadInput for a link."""
    try:
        with _folder_of(root, path) as (folder, name):
            handle = os.open(name, _FILE, dir_fd=folder)
            try:
                return _read(handle, root, path)
            finally:
                os.close(handle)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _refused(root, path, _why(error)) from error


def replace_file(root: Path, path: str, data: bytes, before: FileMark | None, *, sync: bool = True) -> bool:
    """False, and nothing is written, when the file is not as it was `before` any more; None: there was none."""
    try:
        with _folder_of(root, path, create=before is None) as (folder, name):
            temporary = f"{_OURS}{secrets.token_hex(8)}.tmp"
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644, dir_fd=folder)
            try:
                _put(handle, data, sync)
                if _mark_of(folder, name) != before:
                    return False
                os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
                temporary = ""
                if sync:
                    os.fsync(folder)
            finally:
                os.close(handle)
                if temporary:
                    with contextlib.suppress(OSError):
                        os.unlink(temporary, dir_fd=folder)
    except OSError as error:
        raise _refused(root, path, _why(error)) from error
    return True


def rename_file(root: Path, path: str, name: str) -> None:
    with _folder_of(root, path) as (folder, old):
        os.rename(old, name, src_dir_fd=folder, dst_dir_fd=folder)


def _plan_files(root: Path) -> Iterator[tuple[str, int]]:
    """Path and open handle of each, in the order of their names; it is closed when the next one is asked for."""
    try:
        top = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise _gone(root, error) from error
    try:
        settings: bytes | None = None
        for name in PLAN_FILES:
            for path, handle in _opened(root, top, name, name):
                yield path, handle
                settings = settings or os.pread(handle, LARGEST_FILE, 0)
        folders = folders_of(settings)
        for part in (folders.tasks, folders.agents, folders.skills):
            yield from _files_in(root, part)
    finally:
        os.close(top)


def _files_in(root: Path, part: str) -> Iterator[tuple[str, int]]:
    try:
        with _folder_of(root, f"{part}/x") as (folder, _):
            for name in sorted(entry.name for entry in os.scandir(folder)):
                if name.endswith(".md") and not name.startswith("."):
                    yield from _opened(root, folder, name, f"{part}/{name}")
    except FileNotFoundError:
        return
    except OSError as error:
        raise _refused(root, part, _why(error)) from error


def _opened(root: Path, folder: int, name: str, path: str) -> Iterator[tuple[str, int]]:
    try:
        handle = os.open(name, _FILE, dir_fd=folder)
    except FileNotFoundError:  # it was there a moment ago, or it is the other name for the settings
        return
    except OSError as error:
        raise _refused(root, path, _why(error)) from error
    try:
        yield path, handle
    finally:
        os.close(handle)


@contextlib.contextmanager
def _folder_of(root: Path, path: str, *, create: bool = False) -> Iterator[tuple[int, str]]:
    """The folder that holds a file, and the file's name there."""
    *folders, name = path.split("/")
    assert name and ".." not in (*folders, name), "paths are those of plan files"
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for folder in folders:
            if create:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(folder, 0o755, dir_fd=handle)
            inner = os.open(folder, _FOLDER, dir_fd=handle)
            os.close(handle)
            handle = inner
        yield handle, name
    finally:
        os.close(handle)


def _read(handle: int, root: Path, path: str) -> tuple[bytes, FileMark]:
    about = os.fstat(handle)
    if not stat.S_ISREG(about.st_mode):
        raise _refused(root, path, "it is not a plain file")
    with open(handle, "rb", closefd=False) as file:
        data = file.read(LARGEST_FILE + 1)
    if len(data) > LARGEST_FILE:
        raise _refused(root, path, f"it has more than {LARGEST_FILE} bytes")
    return data, _mark(about)


def _mark(about: os.stat_result) -> FileMark:
    return FileMark(about.st_ino, about.st_size, about.st_mtime_ns)


def _mark_of(folder: int, name: str) -> FileMark | None:
    try:
        return _mark(os.stat(name, dir_fd=folder, follow_symlinks=False))
    except FileNotFoundError:
        return None


def _put(handle: int, data: bytes, sync: bool) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]
    if sync:
        os.fsync(handle)


def _why(error: OSError) -> str:
    """A link is not followed: the system says ELOOP, or ENOTDIR where a folder should be."""
    if error.errno in (40, 20):
        return "it is a link, or lies behind one: a plan file does not leave its folder"
    return (error.strerror or str(error)).lower()


def _refused(root: Path, path: str, why: str) -> BadInput:
    return BadInput(what=f"«{path}» of the project «{root.name}»", why=why, where=root / path)


def _gone(path: str | Path, error: Exception) -> BadInput:
    why = (error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error)
    hint = "Put the folder back, or register the project where it is now."
    return BadInput(what=f"the project's folder «{path}»", why=why, where=path, hint=hint)
