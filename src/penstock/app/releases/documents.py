"""Documents as files: read with a limit, and compiled with the files that they name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from penstock.app.own_modules import import_modules
from penstock.app.releases.document_files import DocumentFiles, read_source
from penstock.dialects import dialect_of
from penstock.errors import BadInput, Finding
from penstock.lang.compile import check_document, compile_document
from penstock.lang.contract import Compiled as Document
from penstock.languages import names

__all__ = [
    "Release", "check_source", "compile_source", "document_defaults", "node_types", "read_source",
]  # fmt: skip
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
    settings: Mapping[str, Any] | None = None, root: Path | None = None,
) -> tuple[Document, bytes]:  # fmt: skip
    """Read a file, or take bytes, and compile them; files that the document names are looked for from its folder up to
    the root. `unsound`: it is taken although not every run of it can end. `settings` are those of the machine, for what
    will be run."""
    import_modules(settings or {})
    more: dict[str, Any] = {"unsound": unsound, "defaults": document_defaults(settings or {}), "extra": node_types()}
    if isinstance(document, bytes):
        return compile_document(document, name=name or "document", **more), document
    path = Path(document)
    source = read_source(path)
    return compile_document(source, name=name or path.stem, resolve=DocumentFiles(path, root), **more), source


def check_source(
    document: str | Path,
    *,
    secret: Callable[[str], bool] | None = None,
    registered: Callable[[str, str], bool] | None = None,
    sound: bool = False,
    settings: Mapping[str, Any] | None = None,
    root: Path | None = None,
) -> tuple[str | None, list[Finding]]:
    """The language of a file, if it has one, and all findings. `secret` tells whether a secret
    is set on this machine, `registered` whether the tenant has a thing (type, id); `sound`: can every run end?"""
    import_modules(settings or {})
    path = Path(document)
    return check_document(
        read_source(path), name=path.stem, resolve=DocumentFiles(path, root), extra=node_types(), secret=secret,
        registered=registered, sound=sound,
    )  # fmt: skip
