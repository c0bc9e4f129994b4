"""Documents of tests: compiled once per process, however many tests use them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from penstock.app.language import app_languages
from penstock.app.releases.documents import compile_source, read_source
from penstock.dialects.net_nodes import is_synthetic
from penstock.lang.contract import Compiled as Document
from penstock.net.author import author
from penstock.net.compiled import Compiled

_MOST_KEPT, _MOST_FILES = 200, 2000


class CompiledFile(NamedTuple):
    document: Document
    source: bytes


_compiled: dict[tuple[Any, ...], CompiledFile] = {}


def compiled_file(path: Path, settings: Mapping[str, Any]) -> CompiledFile:
    """A file, or a folder that a language reads as one document. Raises DocumentInvalid, BadInput."""
    key = (str(path.resolve()), _state(path), repr(sorted(settings.items())))
    known = _compiled.get(key)
    if known is None:
        known = CompiledFile(*_compile(path, settings))
        if len(_compiled) >= _MOST_KEPT:
            _compiled.pop(next(iter(_compiled)))
        _compiled[key] = known
    return known


def node_ids(document: Document) -> set[str]:
    """The author's nodes of a document, and of those that are called inside it."""
    nets = (Compiled(net) for net in (document.net, *document.children.values()))
    return {author(node) for net in nets for node in net.nodes if not is_synthetic(node)}


def _state(path: Path) -> tuple[tuple[str, int], ...]:
    """Changes when the file is written, or one beside it that it may name."""
    try:
        files = path.rglob("*") if path.is_dir() else path.parent.iterdir()
        return tuple(sorted((str(each), each.stat().st_mtime_ns) for each in islice(files, _MOST_FILES)))
    except OSError:
        return ()


def _compile(path: Path, settings: Mapping[str, Any]) -> tuple[Document, bytes]:
    if not path.is_dir():
        return compile_source(path, settings=settings)
    for language in app_languages():
        source = language.read_folder(path, settings)
        if source is not None:
            return compile_source(source, name=path.name, settings=settings)
    return compile_source(read_source(path), name=path.name, settings=settings)  # raises: a folder is no document
