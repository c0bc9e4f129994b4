"""Documents as files: read with a limit, compiled, and never reaching outside their own folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from penstock.dialects import dialect_of
from penstock.errors import BadInput, DocumentTooLarge, Finding
from penstock.lang.compile import check_document, compile_document
from penstock.lang.contract import Compiled as Document
from penstock.lang.files import LIMIT
from penstock.languages import names


class Release(msgspec.Struct, frozen=True):
    """A document that can be run."""

    name: str
    language: str
    hash: str
    findings: list[Any] = []


def node_types() -> dict[str, Any]:
    """Node types that handlers and installed packages bring."""
    return {type: made for name in names() for type, made in dialect_of(name).node_types().items()}


def compile_source(
    document: str | Path | bytes, *, name: str | None = None, unsound: bool = False
) -> tuple[Document, bytes]:
    """Read a file, or take bytes, and compile them; files that the document names are looked for beside it. `unsound`:
    it is taken although not every run of it can end."""
    if isinstance(document, bytes):
        return compile_document(document, name=name or "document", extra=node_types(), unsound=unsound), document
    path = Path(document)
    source, types = read_source(path), node_types()
    made = compile_document(source, name=name or path.stem, resolve=_beside(path), extra=types, unsound=unsound)
    return made, source


def check_source(
    document: str | Path,
    *,
    secret: Callable[[str], bool] | None = None,
    registered: Callable[[str, str], bool] | None = None,
    sound: bool = False,
) -> tuple[str | None, list[Finding]]:
    """The language of a file, if it has one, and all findings. `secret` tells whether a secret
    is set on this machine, `registered` whether the tenant has a thing (type, id); `sound`: can every run end?"""
    path = Path(document)
    return check_document(
        read_source(path), name=path.stem, resolve=_beside(path), extra=node_types(), secret=secret,
        registered=registered, sound=sound,
    )  # fmt: skip


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


def _beside(path: Path) -> Callable[[str], bytes]:
    """A reader of files in the document's folder and below; a name that leads outside, by a link too, is refused."""

    def resolve(other: str) -> bytes:
        folder = path.parent.resolve()
        try:
            file = (folder / other).resolve()
        except (OSError, ValueError) as error:
            raise BadInput(what=f"«{other}»", why=str(error)) from error
        if not file.is_relative_to(folder):
            raise BadInput(what=f"«{other}»", why="it lies outside the folder of the document that names it")
        return read_source(file)

    return resolve
