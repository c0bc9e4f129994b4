"""Which files of this machine a document may name: never the engine's own; on a shared machine only its tenant's."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import msgspec


class PathRefused(ValueError):
    """A path that is not followed; the text says why."""


class PathPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """All paths are without links. Without a `store` nothing is closed: then there is no engine on this machine."""

    store: Path | None = None
    own: tuple[Path, ...] = ()  # more that is the engine's: settings, keys, secrets
    open: tuple[Path, ...] = ()  # folders that are declared for files, although they may lie in the store's folder
    shared: bool = False  # the tenants are not the operator: only what is listed is reached
    sql_base: Path | None = None  # where relative paths of connections begin; None: as the settings say
    file_base: Path | None = None
    sql_roots: tuple[Path, ...] = ()  # what connections may name where the machine is shared
    file_roots: tuple[Path, ...] = ()
    apart: Path | None = None  # where every tenant has its folder, of which only one is
    mine: Path | None = None

    def closed(self, path: Path) -> bool:
        """Is it the engine's? The store, what begins with its name, and its folder but for what is declared."""
        if self.store is None:
            return False
        if any(path.is_relative_to(root) for root in self.own) or self._anothers(path):
            return True
        folder = self.store.parent
        if not path.is_relative_to(folder):
            return False
        around = [root for root in self.open if path.is_relative_to(root) and root.is_relative_to(folder)]
        if any(root != folder for root in around):
            return False
        inner = path.relative_to(folder).parts
        if inner and inner[0].casefold().startswith(self.store.name.casefold()):
            return True
        return not around

    def _anothers(self, path: Path) -> bool:
        """Another tenant's, however wide the folder is that was declared around it."""
        if self.apart is None or not path.is_relative_to(self.apart):
            return False
        return self.mine is None or not path.is_relative_to(self.mine)

    def opened(self, folder: Path) -> PathPolicy:
        """The same with one more declared folder."""
        return msgspec.structs.replace(self, open=(*self.open, folder))

    def database(self, text: str, base: Path, id: str) -> Path:
        """The SQLite file that a connection names. Raises PathRefused."""
        path = _real((self.sql_base or base) / text)
        if self.shared and not any(path.is_relative_to(root) for root in self.sql_roots):
            raise _refused(id, "lies in no folder of the tenant and in none that «sql.roots» lists")
        if self.opened(path.parent).closed(path) or self._is_store(path):
            raise _refused(id, "is the engine's own")
        return path

    def folder(self, text: str, base: Path, id: str) -> Path:
        """The folder whose files a connection reads. Raises PathRefused."""
        path = _real((self.file_base or base) / text)
        if self.shared and not any(path.is_relative_to(root) for root in self.file_roots):
            raise _refused(id, "lies in no folder of the tenant and in none that «file.roots» lists")
        return path

    def _is_store(self, path: Path) -> bool:
        """The same file under another name."""
        with contextlib.suppress(OSError):
            return self.store is not None and path.samefile(self.store)
        return False


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _refused(id: str, why: str) -> PathRefused:
    return PathRefused(f"what the connection «{id}» names {why}")
