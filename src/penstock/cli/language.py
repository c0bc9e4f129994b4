"""The commands that languages bring, each with its place in the list of commands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from penstock.languages import COMMANDS, part_of


class LanguageCommand(NamedTuple):
    """A command is the function, or the dict of functions, that has its name in the module. `after`: it is listed
    behind this one; "": at the end."""

    module: str
    about: str
    after: str = ""


def with_languages(own: Mapping[str, tuple[str, str]], languages: Iterable[str]) -> dict[str, tuple[str, str]]:
    """The commands of the house and those of languages: name → module, and what the list says about it."""
    listed = list(own.items())
    for language in languages:
        for name, command in part_of(language, COMMANDS).items():
            places = [place for place, (other, _) in enumerate(listed) if other == command.after]
            listed.insert(places[0] + 1 if places else len(listed), (name, (command.module, command.about)))
    return dict(listed)
