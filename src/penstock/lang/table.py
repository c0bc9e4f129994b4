"""The one table of languages: those of the house, and those that installed packages bring by entry points.

A language of the house is found by its name: `lang/NAME`, `dialects/NAME`, `app/NAME`, `api/NAME`, `cli/NAME`. One from
outside says in its package's metadata where its parts are: the groups are `penstock.languages`, `penstock.dialects`,
`penstock.apps`, `penstock.commands` and `penstock.routers`, and only the first is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from penstock.lang.contract import Language

#: in the order in which a document is tried
HOUSE = ("decision", "diagram", "process")
LANGUAGES, DIALECTS, APPS = "penstock.languages", "penstock.dialects", "penstock.apps"
COMMANDS, ROUTERS = "penstock.commands", "penstock.routers"
#: where the part of a language of the house stands, and its name there
_PARTS = {
    LANGUAGES: ("penstock.lang.{}", "LANGUAGE"), DIALECTS: ("penstock.dialects.{}", "DIALECT"),
    APPS: ("penstock.app.{}", "APP"), COMMANDS: ("penstock.cli.{}", "COMMANDS"),
    ROUTERS: ("penstock.api.{}", "ROUTERS"),
}  # fmt: skip


@cache
def outside(group: str) -> tuple[str, ...]:
    """The names of the languages from outside that bring such a part; a language of the house cannot be replaced."""
    return tuple(sorted({entry.name for entry in entry_points(group=group)} - {*HOUSE}))


def names() -> tuple[str, ...]:
    """The names of all languages."""
    return HOUSE + outside(LANGUAGES)


def languages() -> Iterator[Language]:
    """Every language that documents may be written in; one is imported when its turn comes."""
    for name in HOUSE:
        yield part_of(name, LANGUAGES)
    for name in outside(LANGUAGES):
        yield part_of(name, LANGUAGES)


def language_named(name: str) -> Language:
    language: Language = part_of(name, LANGUAGES)
    return language


@cache
def part_of(name: str, group: str) -> Any:
    """The part of one language, imported when it is first asked for; None where it has none."""
    if name in HOUSE:
        module, attribute = _PARTS[group]
        return getattr(import_module(module.format(name)), attribute)
    if not name or name not in outside(group):
        return None
    return next(iter(entry_points(group=group, name=name))).load()
