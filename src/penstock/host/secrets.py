"""Where secrets lie (C-63): a reference of the document, else the tenant's store, else the environment.

A value is read at the last moment and never written. A document may name a place (`env:NAME`, `file:path`,
`vault:path#key`), but only places that the operator has opened: variables that begin with one of the known prefixes,
files below one folder, and what the setting `secrets`, which may be a function that asks a vault, has under
`vault:path#key`. Where tenants share the machine, what is the operator's is lent to those whom the settings name.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from penstock.host.secret_encryption import unsealed

PREFIXES = ("WF_SECRET_", "PENSTOCK_SECRET_")
#: kinds of places that secrets are read from
PLACES = ("env", "file", "vault")
#: is a secret of the operator's, as a document names it, lent to a tenant?
Lends = Callable[[str, str], bool]


class SecretPlaces:
    """`folder` is where `file:` references are looked for; without one there are none. `key_file` opens what is kept
    sealed. Without `lends` every tenant is the operator."""

    def __init__(
        self,
        given: Mapping[str, str] | Callable[[str], str | None] | None = None,
        *,
        folder: Path | None = None,
        key_file: Path | None = None,
        environment: Mapping[str, str] = os.environ,
        lends: Lends | None = None,
    ) -> None:
        self.given, self.folder, self.key_file, self.environment = given, folder, key_file, environment
        self.lends = lends

    def find(self, name: str, kept: Mapping[str, Any] | None, tenant: str = "") -> str | None:
        """`kept` is what the tenant's store has under the name: a value, sealed or not, or a place."""
        kind, colon, rest = name.partition(":")
        if colon:
            return self._place(kind, rest) if self._lent(tenant, name) else None
        if kept is not None:
            if isinstance(kept.get("value"), str):
                return str(kept["value"])
            if isinstance(kept.get("sealed"), str):
                return unsealed(kept["sealed"], f"{tenant}/{name}", self.key_file)
            kind, _, rest = str(kept.get("ref", "")).partition(":")
            return self._place(kind, rest, trusted=True)
        return self.own(name) if self._lent(tenant, name) else None

    def _lent(self, tenant: str, name: str) -> bool:
        return self.lends is None or self.lends(tenant, name)

    def _asked(self, name: str) -> str | None:
        given = self.given
        return given.get(name) if isinstance(given, Mapping) else given(name) if given is not None else None

    def own(self, name: str) -> str | None:
        """The operator's, for the engine itself."""
        secret = self._asked(name)
        if secret is not None:
            return secret
        for prefix in PREFIXES:
            for spelling in (name, name.upper()):
                value = self.environment.get(prefix + spelling)
                if value is not None:
                    return value
        return None

    def _place(self, kind: str, rest: str, *, trusted: bool = False) -> str | None:
        """A place that the operator has registered for a tenant is trusted; one in a document must have a prefix."""
        if kind == "vault":
            return self._asked(f"vault:{rest}")
        if kind == "env":
            return self.environment.get(rest) if trusted or rest.startswith(PREFIXES) else None
        if kind == "file" and self.folder is not None:
            folder = self.folder.resolve()
            path = (folder / rest).resolve()
            if path.is_relative_to(folder) and path.is_file():
                return path.read_text("utf-8").strip()
        return None


def places_of(settings: Mapping[str, Any], lends: Lends | None = None) -> SecretPlaces:
    file = settings.get("secrets.key_file")
    key_file = Path(file) if file is not None else None
    given, folder = settings.get("secrets"), settings.get("secrets.folder")
    return SecretPlaces(given, folder=folder, key_file=key_file, lends=lends)
