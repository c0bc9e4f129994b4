"""Modules of one's own that the settings name, imported first: what their decorators register every command knows.

Decorators register processors and handlers; documents are checked and run afterwards.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from penstock.errors import BadInput

SETTING = "python.modules"
_imported: set[str] = set()


def import_modules(settings: Mapping[str, Any]) -> None:
    """`python.modules`: names, or files that end in .py. Each once. Raises BadInput."""
    given = settings.get(SETTING)
    names = [given] if isinstance(given, str) else given or []
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) and name for name in names):
        why = "it is a list of modules, by their names or by their files"
        raise BadInput(what=f"the setting «{SETTING}»", why=why)
    for name in names:
        if name in _imported:
            continue
        try:
            _file(Path(name)) if name.endswith(".py") else importlib.import_module(name)
        except Exception as error:  # whatever somebody's module does when it is imported
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            hint = "A module that is named here must be importable on this machine."
            raise BadInput(what=f"the module «{name}»", why=f"{type(error).__name__}: {why}", hint=hint) from error
        _imported.add(name)


def imported() -> bool:
    """Has this process something that another one would have to import first?"""
    return bool(_imported)


def _file(path: Path) -> ModuleType:
    """As Python runs a script: what lies beside the file can be imported, after everything else."""
    where = path.resolve(strict=True)
    name = f"penstock_own_{where.stem}_{hashlib.sha256(str(where).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, where)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if str(where.parent) not in sys.path:
        sys.path.append(str(where.parent))
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
