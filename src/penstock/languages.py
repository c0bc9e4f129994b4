"""The one table of languages: those of the house, and those that installed packages bring by entry points.

A language of the house is found by its name: `lang/NAME`, `dialects/NAME`, `app/NAME`, `api/NAME`, `cli/NAME`. One from
outside says in its package's metadata where its parts are: the groups are `penstock.languages`, `penstock.dialects`,
`penstock.apps`, `penstock.commands` and `penstock.routers`, and only the first is needed. Nothing of a language is
imported before it is asked for: the command line reads this table at every start.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

#: in the order in which a document is tried
HOUSE = ("decision", "diagram", "pipeline", "plan", "process")
LANGUAGES, DIALECTS, APPS = "penstock.languages", "penstock.dialects", "penstock.apps"
COMMANDS, ROUTERS = "penstock.commands", "penstock.routers"
#: where the part of a language of the house stands, and its name there
_PARTS = {
    LANGUAGES: ("penstock.lang.{}", "LANGUAGE"), DIALECTS: ("penstock.dialects.{}", "DIALECT"),
    APPS: ("penstock.app.{}", "APP"), COMMANDS: ("penstock.cli.{}.commands", "COMMANDS"),
    ROUTERS: ("penstock.api.{}.routers", "ROUTERS"),
}  # fmt: skip


@cache
def outside(group: str) -> tuple[str, ...]:
    """The names of the languages from outside that bring such a part; a language of the house cannot be replaced."""
    return tuple(sorted({*_entries(group)} - {*HOUSE}))


def names() -> tuple[str, ...]:
    """The names of all languages."""
    return HOUSE + outside(LANGUAGES)


@cache
def part_of(name: str, group: str) -> Any:
    """The part of one language, imported when it is first asked for; None where it has none."""
    if name in HOUSE:
        module, attribute = _PARTS[group]
        return getattr(import_module(module.format(name)), attribute)
    if not name or name not in outside(group):
        return None
    return _entries(group)[name].load()


def _entries(group: str) -> dict[str, Any]:
    from importlib.metadata import entry_points  # looked for only where the house does not know the name

    return {entry.name: entry for entry in entry_points(group=group)}
