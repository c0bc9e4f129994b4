"""The table of languages: what is found by name, what a language that says nothing gets, what cannot be replaced."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint, EntryPoints
from typing import Any

import pytest

from penstock import languages
from penstock.app.language import app_language
from penstock.dialects import dialect_of
from penstock.dialects.contract import Dialect
from penstock.errors import StatusConflict


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[EntryPoint]]:
    """Entry points as if packages had brought them."""
    entries: list[EntryPoint] = []

    def entry_points(*, group: str) -> EntryPoints:
        return EntryPoints(entry for entry in entries if entry.group == group)

    monkeypatch.setattr("importlib.metadata.entry_points", entry_points)
    _forget()
    yield entries
    _forget()


def _forget() -> None:
    for remembered in (languages.outside, languages.part_of, dialect_of, app_language):
        remembered.cache_clear()


@pytest.mark.parametrize("name", ["decision", "diagram", "pipeline", "plan", "process"])
def test_every_part_of_a_language_of_the_house_is_found_by_its_name(name: str) -> None:
    groups = ("LANGUAGES", "DIALECTS", "APPS", "COMMANDS", "ROUTERS")
    parts: dict[str, Any] = {group: languages.part_of(name, getattr(languages, group)) for group in groups}
    assert all(part is not None for part in parts.values())
    assert parts["LANGUAGES"].name == parts["DIALECTS"].name == name


def test_a_net_that_was_made_in_python_has_a_plain_dialect() -> None:
    plain = dialect_of("")
    assert type(plain) is Dialect and plain.words.run == {}
    refused = StatusConflict(what="run r", status="RUNNING", verb="retry", allowed="FAILED")
    assert plain.error(refused) is refused
    assert plain.node_state(None) == "PENDING" and plain.node_state(None, ended=True) == "SKIPPED"
    assert app_language("").work_rules is None


def test_a_language_of_the_house_cannot_be_replaced(installed: list[EntryPoint]) -> None:
    installed += [
        EntryPoint("process", "nowhere:LANGUAGE", languages.LANGUAGES),
        EntryPoint("other", "penstock.dialects.contract:Dialect", languages.DIALECTS),
        EntryPoint("other", "nowhere:LANGUAGE", languages.LANGUAGES),
    ]
    assert languages.names() == ("decision", "diagram", "pipeline", "plan", "process", "other")
    assert languages.part_of("process", languages.LANGUAGES).name == "process"
    assert languages.part_of("other", languages.DIALECTS) is Dialect
    assert languages.part_of("other", languages.COMMANDS) is None
