"""A store per test: a copy of one that was made once, in memory where there is room for it."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from penstock.app.registry.registry import install_sample
from penstock.store.address import open_store

STORE = "store.db"
_MEMORY = Path("/dev/shm")  # noqa: S108 (folders in it get names that nobody can guess)
_MOST_KEPT = 8
_templates: dict[tuple[int, bool], tempfile.TemporaryDirectory[str]] = {}


def new_folder() -> tempfile.TemporaryDirectory[str]:
    memory = _MEMORY if _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK) and "TMPDIR" not in os.environ else None
    return tempfile.TemporaryDirectory(prefix="penstock-test-", dir=memory)


def fresh_store(now: int, *, sample: bool) -> tempfile.TemporaryDirectory[str]:
    """A folder with a store in it; with the sample tenant as it stands at that moment where `sample` is asked for."""
    template = _templates.get((now, sample))
    if template is None:
        template = new_folder()
        _fill(Path(template.name), now, sample)
        if len(_templates) >= _MOST_KEPT:
            _templates.pop(next(iter(_templates))).cleanup()
        _templates[now, sample] = template
    made = new_folder()
    shutil.copytree(template.name, made.name, dirs_exist_ok=True)
    return made


def drop_templates() -> None:
    """Delete what was made once; for a process that ends without its finalizers."""
    while _templates:
        _templates.popitem()[1].cleanup()


def _fill(folder: Path, now: int, sample: bool) -> None:
    store = open_store(folder / STORE)
    try:
        store.born_with("dev")
        if sample:
            install_sample(store, folder, now)
    finally:
        store.close()
