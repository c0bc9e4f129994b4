"""The data of the sample tenant (C-81): what it has registered, its database, its documents."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import msgspec

_FOLDER = files(__name__)


def registered() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Everything it has registered: type, id, body."""
    by_type: dict[str, dict[str, dict[str, Any]]] = msgspec.json.decode((_FOLDER / "tenant.json").read_bytes())
    for type, bodies in by_type.items():
        for id, body in bodies.items():
            yield type, id, body
    for pack in _json_files("rule_packs"):
        body = msgspec.json.decode(pack.read_bytes())
        yield "rule_pack", body["id"], body


def database_script() -> str:
    """The SQL that makes its database."""
    return (_FOLDER / "sample.sql").read_text("utf-8")


def documents() -> list[bytes]:
    """Its documents, in the order of their file names."""
    return [file.read_bytes() for file in _json_files("documents")]


def _json_files(folder: str) -> list[Traversable]:
    entries = (_FOLDER / folder).iterdir()
    return sorted((file for file in entries if file.name.endswith(".json")), key=lambda file: file.name)
