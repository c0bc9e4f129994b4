"""Settings of the machine, from `settings.toml` beside the store, and secrets, from there or from the environment.

    [llm]
    base_url = "http://localhost:11434/v1"
    model = "small"

    [http]
    allow = ["api.example.com"]

    [secrets]
    API_KEY = "…"

`secrets_folder = "keys"`, before any table, names a folder whose files a document may refer to as `file:NAME`.

`[python] modules = ["my_package.processors", "own.py"]` are modules that are imported before documents are checked or
run; a file is found beside the settings.

`${secrets.API_KEY}` in a document is looked for in the variable PENSTOCK_SECRET_API_KEY first.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from penstock.errors import BadInput

FILE = "settings.toml"
_MODULES = "python.modules"
_SECRET = "PENSTOCK_SECRET_"  # noqa: S105  (the beginning of a variable's name)


def read_settings(store: Path) -> dict[str, Any]:
    """Tables become dotted names: [llm] base_url is `llm.base_url`."""
    path = store.parent / FILE
    settings: dict[str, Any] = {}
    try:
        with path.open("rb") as file:
            settings = tomllib.load(file)
    except FileNotFoundError:
        pass
    except tomllib.TOMLDecodeError as error:
        raise BadInput(what=f"«{path}»", why=f"it is not TOML: {error}", where=path) from error
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(what=f"«{path}»", why=str(error), where=path) from error
    kept = settings.pop("secrets", {})
    folder = settings.pop("secrets_folder", None)
    if not isinstance(kept, dict):
        raise BadInput(what=f"«{path}»", why="[secrets] is a table of names and texts", where=path)
    more = {"secrets.folder": path.parent / str(folder)} if folder is not None else {}
    known = _dotted("", settings)
    if isinstance(known.get(_MODULES), list):
        known[_MODULES] = [_beside(path, name) for name in known[_MODULES]]
    return {**known, **more, "secrets": _Secrets(kept)}


def _beside(path: Path, name: Any) -> Any:
    """A file that the settings name is found from where they lie."""
    return str(path.parent / name) if isinstance(name, str) and name.endswith(".py") else name


def _dotted(before: str, table: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, dict):
            out.update(_dotted(f"{before}{name}.", value))
        else:
            out[before + name] = value
    return out


class _Secrets:
    def __init__(self, kept: Mapping[str, Any]) -> None:
        self.kept = kept

    def __call__(self, name: str) -> str | None:
        secret = os.environ.get(_SECRET + name, self.kept.get(name))
        return None if secret is None else str(secret)
