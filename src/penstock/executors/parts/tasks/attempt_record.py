"""How an attempt ended, in its session's folder: for the same question once more, and for the attempt after it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any, Literal

import msgspec

from penstock.kernel.failure import Failure

FILE = "outcome.json"
Ending = Literal["done", "failed", "returned"]


class AttemptRecord(msgspec.Struct, frozen=True, kw_only=True):
    """`resume`: the next attempt goes on in the worktree (T-X.21); else that one is removed."""

    outcome: Ending
    body: Any = None
    failure: Failure | None = None
    reason: str = ""
    resume: bool = False
    progress: int = 0
    matched: list[str] = []
    log_tail: str = ""


def read_record(folder: Path) -> AttemptRecord | None:
    """None: it has not ended."""
    try:
        return msgspec.json.decode((folder / FILE).read_bytes(), type=AttemptRecord)
    except (OSError, msgspec.DecodeError):
        return None


def write_file(path: Path, value: Any) -> None:
    """All of it or nothing."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_bytes(msgspec.json.encode(value))
    beside.replace(path)


def tail_of(path: Path, most: int) -> str:
    """The end of a file; nothing where there is none."""
    with contextlib.suppress(OSError), path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - most))
        return file.read(most).decode(errors="replace")
    return ""
