"""Where secrets lie (C-63): a reference of the document, else the tenant's store, else the environment.

A value is read at the last moment and never written. A document may name a place (`env:NAME`, `file:path`), but only
places that the operator has opened: variables that begin with one of the known prefixes, files below one folder.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

PREFIXES = ("WF_SECRET_", "PENSTOCK_SECRET_")


class SecretPlaces:
    """`folder` is where `file:` references are looked for; without one there are none."""

    def __init__(
        self,
        given: Mapping[str, str] | Callable[[str], str | None] | None = None,
        *,
        folder: Path | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self.given, self.folder, self.environment = given, folder, environment

    def find(self, name: str, kept: Mapping[str, Any] | None) -> str | None:
        """`kept` is what the tenant's store has under the name: a value, or a place."""
        kind, colon, rest = name.partition(":")
        if colon:
            return self._place(kind, rest)
        if kept is not None:
            if isinstance(kept.get("value"), str):
                return str(kept["value"])
            kind, _, rest = str(kept.get("ref", "")).partition(":")
            return self._place(kind, rest, trusted=True)
        return self._given(name)

    def _given(self, name: str) -> str | None:
        given = self.given
        found = given.get(name) if isinstance(given, Mapping) else given(name) if given is not None else None
        if found is not None:
            return found
        for prefix in PREFIXES:
            for spelling in (name, name.upper()):
                value = self.environment.get(prefix + spelling)
                if value is not None:
                    return value
        return None

    def _place(self, kind: str, rest: str, *, trusted: bool = False) -> str | None:
        """A place that a tenant's administrator has registered is trusted; one in a document must have a prefix."""
        if kind == "env":
            return self.environment.get(rest) if trusted or rest.startswith(PREFIXES) else None
        if kind == "file" and self.folder is not None:
            folder = self.folder.resolve()
            path = (folder / rest).resolve()
            if path.is_relative_to(folder) and path.is_file():
                return path.read_text("utf-8").strip()
        return None
