"""The console's client is written from the server's description; what is committed is what the server says today."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hatch_build import NotBuilt
from tests.house.files import ROOT
from tools.client import SCHEMA, described, made_from, write, written_from

pytest.importorskip("fastapi")


def test_the_clients_types_are_those_of_the_server() -> None:
    """By the hash of the description that the file carries: no Node is needed to notice."""
    assert written_from() == made_from(described()), "the API has changed: python -m tools.client"


def test_the_clients_types_are_not_written_by_hand(tmp_path: Path) -> None:
    """Written anew, the file is the same, byte by byte."""
    again = tmp_path / "schema.d.ts"
    try:
        write(described(), again)
    except NotBuilt as why:
        pytest.skip(str(why))
    assert again.read_bytes() == SCHEMA.read_bytes()


def test_the_consoles_shapes_come_from_the_written_ones() -> None:
    """A field of an answer that is told by hand would be one that nobody checks."""
    text = (ROOT / "console/src/api/types.ts").read_text(encoding="utf-8")
    assert 'from "./schema"' in text
    assert re.findall(r"^export interface (\w+)", text, re.MULTILINE) == ["Page"]
