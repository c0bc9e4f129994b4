"""The files of a session's folder, and writing them so that nobody reads half of one. Standard library only."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
from pathlib import Path
from typing import Any

CLAIM = "claim.json"  # who has begun this session; made once and for all
SPEC = "spec.json"  # how it was to run, without the values of its environment
STATE = "state.json"  # who runs, and when it was last heard of
EXIT = "exit.json"  # how it ended; the last thing that is written
STOP = "stop"  # somebody wants it to end; holds the reason
PROMPT = "stdin.txt"
OUT, ERR = "out.log", "err.log"
SIGNALS = "signals.log"  # a line of JSON for each signal that was sent
LOG = "supervisor.log"  # what the supervisor itself had to complain about
TEMPORARY = "tmp"  # the agent's TMPDIR; gone when it has ended
HEARTBEAT = "heartbeat"  # in TEMPORARY, where the agent may write
BEAT = "beat"  # touched by the engine, when somebody says that the agent lives

_numbers = itertools.count()


def read(path: Path) -> dict[str, Any] | None:
    """None: there is no such file, or it holds no object (a machine that lost power may leave an empty one)."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def write(path: Path, value: dict[str, Any], *, sync: bool = False) -> None:
    """All of it or nothing; with `sync` it is there after a loss of power, too."""
    write_bytes(path, encode(value), sync=sync)


def write_bytes(path: Path, data: bytes, *, sync: bool = False) -> None:
    beside = _beside(path)
    _write_new(beside, data, sync)
    beside.replace(path)
    if sync:
        _sync_folder(path.parent)


def create(path: Path, value: dict[str, Any]) -> bool:
    """False: somebody has made it before. Nobody ever sees it empty, because it gets its name when it is written."""
    beside = _beside(path)
    _write_new(beside, encode(value), sync=True)
    try:
        os.link(beside, path)
    except FileExistsError:
        return False
    finally:
        with contextlib.suppress(OSError):
            beside.unlink()
    _sync_folder(path.parent)
    return True


def encode(value: dict[str, Any]) -> bytes:
    """In ASCII, whatever the locale of who reads it."""
    return json.dumps(value).encode()


def _beside(path: Path) -> Path:
    """A name that nobody else writes to: no other process, and no other thread of this one."""
    return path.with_name(f".{path.name}.{os.getpid()}.{next(_numbers)}")


def _write_new(path: Path, data: bytes, sync: bool) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        while data:
            data = data[os.write(file, data) :]
        if sync:
            os.fsync(file)
    finally:
        os.close(file)


def _sync_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):  # some file systems cannot
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
