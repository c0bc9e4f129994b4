"""Documents as files: read with a limit, compiled, and never reaching outside their own folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from penstock.app.own_modules import import_modules
from penstock.dialects import dialect_of
from penstock.errors import BadInput, DocumentTooLarge, Finding
from penstock.lang.compile import check_document, compile_document
from penstock.lang.contract import Compiled as Document
from penstock.lang.files import LIMIT
from penstock.languages import names

#: C-38, and what a document may say itself at most: a hundred years
WAIT_TIMEOUT, _LONGEST_WAIT_S = "waits.timeout_s", 3_155_760_000


class Release(msgspec.Struct, frozen=True):
    """A document that can be run."""

    name: str
    language: str
    hash: str
    findings: list[Any] = []


def node_types() -> dict[str, Any]:
    """Node types that handlers and installed packages bring."""
    return {type: made for name in names() for type, made in dialect_of(name).node_types().items()}


def document_defaults(settings: Mapping[str, Any]) -> dict[str, int]:
    """What holds on this machine where a document says nothing. Raises BadInput for a setting that is none."""
    seconds = settings.get(WAIT_TIMEOUT)
    if seconds is None:
        return {}
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 1 <= seconds <= _LONGEST_WAIT_S:
        why = f"it is a number of seconds from 1 to {_LONGEST_WAIT_S}"
        raise BadInput(what=f"the setting «{WAIT_TIMEOUT}»", why=why)
    return {"wait_timeout_ms": round(seconds * 1000)}


def compile_source(
    document: str | Path | bytes, *, name: str | None = None, unsound: bool = False,
    settings: Mapping[str, Any] | None = None,
) -> tuple[Document, bytes]:  # fmt: skip
    """Read a file, or take bytes, and compile them; files that the document names are looked for beside it. `unsound`:
    it is taken although not every run of it can end. `settings` are those of the machine, for what will be run."""
    import_modules(settings or {})
    more: dict[str, Any] = {"unsound": unsound, "defaults": document_defaults(settings or {}), "extra": node_types()}
    if isinstance(document, bytes):
        return compile_document(document, name=name or "document", **more), document
    path = Path(document)
    source = read_source(path)
    return compile_document(source, name=name or path.stem, resolve=_beside(path), **more), source


def check_source(
    document: str | Path,
    *,
    secret: Callable[[str], bool] | None = None,
    registered: Callable[[str, str], bool] | None = None,
    sound: bool = False,
    settings: Mapping[str, Any] | None = None,
) -> tuple[str | None, list[Finding]]:
    """The language of a file, if it has one, and all findings. `secret` tells whether a secret
    is set on this machine, `registered` whether the tenant has a thing (type, id); `sound`: can every run end?"""
    import_modules(settings or {})
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
