"""Reads and writes files below one folder, and never outside it.

A path out of a document is taken apart into names, and each name is opened relative to the folder before it, never
through a symbolic link: there is no moment between a check and its use. Writing is temporary file, fsync, rename, fsync
of the folder. A repeated attempt leaves the file as one attempt would.
"""

from __future__ import annotations

import contextlib
import fcntl
import fnmatch
import hashlib
import os
import stat
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import msgspec

from penstock.executors.parts.files.path_policy import PathPolicy, PathRefused

MAX_BYTES = 10 * 1024 * 1024
_NAME_MAX, _PATH_MAX, _DEPTH_MAX = 255, 1024, 32
_OURS = ".penstock-"
_RESERVED = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}
_BIDI = set("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LEDGER_MAX = 1024 * 1024
_MATCHES_MAX = 1000
_NO_POLICY = PathPolicy()

__all__ = ["MAX_BYTES", "PathRefused", "TooLarge", "append", "match", "names_of", "open_to_read", "read", "write"]


class TooLarge(ValueError):
    """More bytes than the limit."""


class _Entry(msgspec.Struct):
    """A line of an append ledger: who appended what where. It is written before the bytes are."""

    key: str
    offset: int
    size: int
    sha: str


def names_of(path: str) -> list[str]:
    """The names a path consists of, or PathRefused."""
    if not path or not path.strip():
        raise PathRefused("the path is empty")
    if path.startswith(("/", "~")) or path[1:2] == ":":
        raise PathRefused("the path must be relative")
    if len(path.encode("utf-8", "surrogatepass")) > _PATH_MAX:
        raise PathRefused(f"the path is longer than {_PATH_MAX} bytes")
    names = [name for name in path.split("/") if name not in ("", ".")]
    if not names or path.endswith("/"):
        raise PathRefused("the path names no file")
    if len(names) > _DEPTH_MAX:
        raise PathRefused(f"the path is deeper than {_DEPTH_MAX} folders")
    for name in names:
        _check(name)
    return names


def _check(name: str) -> None:
    if name == "..":
        raise PathRefused("the path leaves its folder")
    if "\\" in name or ":" in name:
        raise PathRefused("a name holds a backslash or a colon")
    if any(unicodedata.category(c) in ("Cc", "Cs") or c in _BIDI for c in name):
        raise PathRefused("a name holds a control character")
    if len(name.encode("utf-8", "surrogatepass")) > _NAME_MAX:
        raise PathRefused(f"a name is longer than {_NAME_MAX} bytes")
    if name.split(".")[0].strip().lower() in _RESERVED or name.endswith((" ", ".")):
        raise PathRefused("a name is reserved")
    if name.startswith(_OURS):
        raise PathRefused(f"names that begin with «{_OURS}» are the engine's own")
    if name.startswith("."):
        raise PathRefused("names that begin with a dot are hidden")


def _inside(root: Path, path: str, policy: PathPolicy) -> list[str]:
    """The names of a path that may be used. No link is followed below the root, so this is where it leads."""
    names = names_of(path)
    if policy.closed(Path(os.path.realpath(root), *names)):
        raise PathRefused("it is the engine's own")
    return names


def read(root: Path, path: str, limit: int = MAX_BYTES, policy: PathPolicy = _NO_POLICY) -> bytes:
    """The file's bytes. Raises FileNotFoundError, PathRefused or TooLarge."""
    names = _inside(root, path, policy)
    with _folder(root, names[:-1], create=False) as folder:
        handle = _open(names[-1], os.O_RDONLY | os.O_NONBLOCK, folder)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise PathRefused("it is not a plain file")
            with open(handle, "rb", closefd=False) as file:
                data = file.read(limit + 1)
        finally:
            os.close(handle)
    if len(data) > limit:
        raise TooLarge(f"the file has more than {limit} bytes")
    return data


def open_to_read(root: Path, path: str, policy: PathPolicy = _NO_POLICY) -> int:
    """The descriptor of a plain file, which the caller closes. Raises FileNotFoundError or PathRefused."""
    names = _inside(root, path, policy)
    with _folder(root, names[:-1], create=False) as folder:
        handle = _open(names[-1], os.O_RDONLY | os.O_NONBLOCK, folder)
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise PathRefused("it is not a plain file")
    return handle


def write(root: Path, path: str, data: bytes, key: str, policy: PathPolicy = _NO_POLICY) -> None:
    """The whole file at once: a reader sees the old one or the new one. The same key and data give the same file."""
    names = _inside(root, path, policy)
    with _folder(root, names[:-1], create=True) as folder:
        _refuse_special(names[-1], folder)
        _replace(folder, names[-1], data, key)


def append(
    root: Path, path: str, data: bytes, key: str, limit: int = MAX_BYTES, policy: PathPolicy = _NO_POLICY
) -> None:  # fmt: skip
    """The bytes at the end, once per key, also when the process died half-way.

    The ledger names the place before the bytes are written. An attempt that finds its key checks the bytes at that
    place; one that finds the last entry's bytes cut short takes them away first.
    """
    names = _inside(root, path, policy)
    with _folder(root, names[:-1], create=True) as folder:
        ledger = f"{_OURS}keys-{hashlib.sha256(names[-1].encode()).hexdigest()[:24]}"
        with _locked(ledger, folder) as book:
            _refuse_special(names[-1], folder)
            file = _open(names[-1], os.O_RDWR | os.O_CREAT, folder)
            try:
                entries = _entries(book)
                entry = _appended(file, book, entries, data, key, limit)
            finally:
                os.close(file)
            os.fsync(folder)
            if entry and os.fstat(book).st_size > _LEDGER_MAX:
                kept = [*entries[len(entries) // 2 :], entry]
                _replace(folder, ledger, b"".join(msgspec.json.encode(line) + b"\n" for line in kept), key)


def _appended(file: int, book: int, entries: list[_Entry], data: bytes, key: str, limit: int) -> _Entry | None:
    sha = hashlib.sha256(data).hexdigest()
    if any(_stands(file, appended) for appended in entries if appended.key == key and appended.sha == sha):
        return None
    if entries:
        _cut_short(file, entries[-1])
    end = os.fstat(file).st_size
    if end + len(data) > limit:
        raise TooLarge(f"the file would have more than {limit} bytes")
    entry = _Entry(key, end, len(data), sha)
    _put(book, msgspec.json.encode(entry) + b"\n")
    os.lseek(file, end, os.SEEK_SET)
    _put(file, data)
    return entry


@contextlib.contextmanager
def _locked(name: str, folder: int) -> Iterator[int]:
    """The ledger, held alone. Whoever waited while it was replaced by a shorter one opens it again."""
    while True:
        handle = _open(name, os.O_RDWR | os.O_CREAT | os.O_APPEND, folder)
        fcntl.flock(handle, fcntl.LOCK_EX)
        with contextlib.suppress(FileNotFoundError):
            if os.fstat(handle).st_ino == os.stat(name, dir_fd=folder, follow_symlinks=False).st_ino:
                break
        os.close(handle)
    try:
        yield handle
    finally:
        os.close(handle)


def match(root: Path, pattern: str, policy: PathPolicy = _NO_POLICY) -> list[str]:
    """The paths of plain files under the folder that fit a pattern with * and ? in its names."""
    paths: list[str] = []
    try:
        with _folder(root, [], create=False) as folder:
            _match(folder, names_of(pattern), "", paths)
    except FileNotFoundError:
        return []
    here = os.path.realpath(root)
    return sorted(path for path in paths if not policy.closed(Path(here, path)))


def _match(folder: int, names: list[str], before: str, paths: list[str]) -> None:
    for name in sorted(os.listdir(folder)):
        if not fnmatch.fnmatchcase(name, names[0]) or name.startswith("."):
            continue
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if len(names) == 1 and stat.S_ISREG(mode):
            paths.append(before + name)
            if len(paths) > _MATCHES_MAX:
                raise TooLarge(f"more than {_MATCHES_MAX} files fit")
        elif len(names) > 1 and stat.S_ISDIR(mode):
            inner = _open(name, _DIRECTORY, folder)
            try:
                _match(inner, names[1:], f"{before}{name}/", paths)
            finally:
                os.close(inner)


@contextlib.contextmanager
def _folder(root: Path, names: list[str], *, create: bool) -> Iterator[int]:
    if create:
        root.mkdir(parents=True, exist_ok=True)
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)  # the root itself is the operator's choice
    try:
        for name in names:
            if create:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, 0o755, dir_fd=handle)
            inner = _open(name, _DIRECTORY, handle)
            os.close(handle)
            handle = inner
        yield handle
    finally:
        os.close(handle)


def _open(name: str, flags: int, folder: int) -> int:
    try:
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644, dir_fd=folder)
    except (FileNotFoundError, PermissionError):
        raise
    except OSError:  # ELOOP, ENOTDIR, EISDIR, ENXIO: a link, a folder or a pipe stands where a file should
        raise PathRefused("a part of the path is a link, or not what it should be") from None


def _refuse_special(name: str, folder: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise PathRefused("something that is not a plain file has this name")


def _replace(folder: int, name: str, data: bytes, key: str) -> None:
    temporary = f"{_OURS}{hashlib.sha256(f'{key}/{name}'.encode()).hexdigest()[:24]}.tmp"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temporary, dir_fd=folder)  # what a died attempt has left
    handle = _open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, folder)
    try:
        _put(handle, data)
    finally:
        os.close(handle)
    os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    os.fsync(folder)


def _put(handle: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]
    os.fsync(handle)


def _entries(book: int) -> list[_Entry]:
    os.lseek(book, 0, os.SEEK_SET)
    text = b""
    while part := os.read(book, 1 << 16):
        text += part
    entries = []
    for line in text.split(b"\n"):
        with contextlib.suppress(
            msgspec.DecodeError, msgspec.ValidationError
        ):  # a half-written last line counts as none
            entries.append(msgspec.json.decode(line, type=_Entry))
    if text and not text.endswith(b"\n"):
        _put(book, b"\n")
    return entries


def _stands(file: int, entry: _Entry) -> bool:
    there = os.pread(file, entry.size, entry.offset)
    return len(there) == entry.size and hashlib.sha256(there).hexdigest() == entry.sha


def _cut_short(file: int, entry: _Entry) -> None:
    if entry.offset < os.fstat(file).st_size < entry.offset + entry.size:
        os.ftruncate(file, entry.offset)
