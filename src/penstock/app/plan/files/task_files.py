"""Task files written back after each transition (T-X.8), without losing what a person has written meanwhile."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from penstock.app.plan.files.project_folder import read_file, replace_file
from penstock.errors import BadInput, DocumentUnreadable, PenstockError
from penstock.lang.plan.front_matter import new_file, read_front_matter, write_front_matter

#: how often a file is read again that somebody else writes at the same moment
_TRIES = 5
log = logging.getLogger("penstock")


def change_task_file(root: Path, path: str, changes: Mapping[str, Any], *, sync: bool = True) -> bool:
    """Change these fields of a task file and nothing else: what a person has written since stays. False when there is
    no such file any more, or it cannot be changed as it is now; it is then written with the next transition."""
    try:
        for _ in range(_TRIES):
            found = read_file(root, path)
            if found is None:
                return False
            data, mark = found
            written = write_front_matter(data, changes)
            if written == data or replace_file(root, path, written, mark, sync=sync):
                return True
    except (BadInput, DocumentUnreadable, OSError) as error:
        log.warning("the task file %s of %s was not written: %s", path, root.name, error)
    return False


def add_task_file(root: Path, path: str, fields: Mapping[str, Any], body: str) -> bool:
    """False when there is one already. Raises BadInput."""
    return replace_file(root, path, new_file(fields, body), None)


def fields_of(root: Path, path: str) -> Mapping[str, Any]:
    """What the front matter of a file says now; nothing where it cannot be read."""
    try:
        found = read_file(root, path)
        return read_front_matter(found[0]).fields if found is not None else {}
    except PenstockError:
        return {}
