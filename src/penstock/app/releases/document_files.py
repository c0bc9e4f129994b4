"""The files that a document names: looked for from its folder up to a root, and never outside it.

The root is given, or found upwards: the nearest folder with `.git` or `files/`, else with `prompts/`, else the
document's own. The home folder and the top of the disk are none, unless somebody says so.
"""

from __future__ import annotations

import os
from pathlib import Path

from penstock.errors import BadInput, DocumentTooLarge
from penstock.lang.files import LIMIT

_ROOT_MARKS, _WEAK_MARKS = (".git", "files"), ("prompts",)
_HIGHEST = 32


def read_source(path: Path) -> bytes:
    """A document's bytes. One that is too large is not read."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            source = file.read(LIMIT + 1) if size <= LIMIT else b""
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else None
        raise BadInput(what=f"«{path}»", why=(why or str(error)).lower(), where=path) from error
    if max(size, len(source)) > LIMIT:
        raise DocumentTooLarge(size=max(size, len(source)), limit=LIMIT, where=path)
    return source


def root_of(document: Path) -> Path:
    """The root that is found from a document's folder upwards."""
    folder = document.resolve().parent
    around = [folder, *folder.parents][:_HIGHEST]
    candidates = [place for place in around if place != Path.home() and place.parent != place] or [folder]
    for marks in (_ROOT_MARKS, _WEAK_MARKS):
        for place in candidates:
            if any((place / mark).exists() for mark in marks):
                return place
    return folder


def checked_root(root: Path) -> Path:
    """A root that somebody gives. Raises BadInput for one that is no folder."""
    if not root.is_dir():
        raise BadInput(what=f"the root «{root}»", why="it is not a folder", hint="Name a folder: --root FOLDER.")
    return root.resolve()


def input_folder(document: Path, root: Path | None = None) -> Path:
    """Where a run that is started with a document reads its files: the root that is given, else the folder that the
    program was started in, or the document's root when that lies elsewhere."""
    if root is not None:
        return checked_root(root)
    here = root_of(document)
    return Path() if Path.cwd().is_relative_to(here) or here == document.resolve().parent else here


class DocumentFiles:
    """Reads files by the names that a document gives them. A name that leads outside the root is refused, by a link,
    too; so is a hidden one above the document's folder."""

    def __init__(self, document: Path, root: Path | None = None) -> None:
        self.document = document
        self.root = root_of(document) if root is None else checked_root(root)

    def __call__(self, name: str) -> bytes:
        folders = self._folders()
        missing: BadInput | None = None
        for folder in folders:
            try:
                return read_source(self._inside(folder, name))
            except BadInput as error:
                if not isinstance(error.__cause__, FileNotFoundError | NotADirectoryError):
                    raise
                missing = missing or error
        assert missing is not None, "there is always a folder to look in"
        raise missing

    def _folders(self) -> list[Path]:
        """From the document's folder to the root; the root alone for a document that lies elsewhere."""
        own = self.document.resolve().parent
        if not own.is_relative_to(self.root):
            return [self.root]
        return [place for place in (own, *own.parents) if place.is_relative_to(self.root)]

    def _inside(self, folder: Path, name: str) -> Path:
        try:
            file = (folder / name).resolve()
        except (OSError, ValueError) as error:
            raise BadInput(what=f"«{name}»", why=str(error)) from error
        if not file.is_relative_to(self.root):
            raise BadInput(what=f"«{name}»", why=f"it lies outside the folder «{self.root}» that documents may read")
        own = self.document.resolve().parent
        if not file.is_relative_to(own) and any(part.startswith(".") for part in file.relative_to(self.root).parts):
            raise BadInput(what=f"«{name}»", why="names that begin with a dot are hidden")
        return file
