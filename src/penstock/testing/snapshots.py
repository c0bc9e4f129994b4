"""Snapshots of timelines: kept in files, compared, and written anew when that is asked for."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

from penstock.errors import BadInput

#: how the name of a snapshot ends that a scenario file writes
SNAPSHOT_ENDING = ".timeline.txt"
_TIMELINE = re.compile(r" *\+(\d+(ms|[smhd]))+  ")
_MOST_LINES = 60
LONGEST = 4 * 1024 * 1024


class SnapshotChanged(AssertionError):
    """A timeline is not as it was kept; the message has the difference."""


def compare_snapshot(file: Path, text: str, *, update: bool = False) -> bool:
    """True where the file was written, which only `update` asks for. Raises SnapshotChanged, BadInput."""
    kept = _read(file)
    if kept == text:
        return False
    if update:
        if kept and not _TIMELINE.match(kept):
            why = "it does not look like a timeline, and is not written over"
            raise BadInput(what=f"the snapshot «{file}»", why=why, hint="Remove the file, or name another one.")
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        except OSError as error:
            raise BadInput(what=f"the snapshot «{file}»", why=(error.strerror or str(error)).lower()) from error
        return True
    if kept is None:
        raise SnapshotChanged(f"there is no snapshot {file} yet; updating the snapshots writes it")
    lines = list(difflib.unified_diff(kept.splitlines(), text.splitlines(), "kept", "now", lineterm="", n=1))
    more = [f"… and {len(lines) - _MOST_LINES} lines more"] if len(lines) > _MOST_LINES else []
    difference = "\n".join([*lines[:_MOST_LINES], *more])
    raise SnapshotChanged(f"the timeline is not as {file} has it:\n{difference}\nIf it should be so, update it.")


def _read(file: Path) -> str | None:
    try:
        if file.stat().st_size > LONGEST:
            raise BadInput(what=f"the snapshot «{file}»", why=f"it has more than {LONGEST} bytes")
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(what=f"the snapshot «{file}»", why=str(error)) from error
