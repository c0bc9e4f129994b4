"""People who draw have no commands of their own."""

from __future__ import annotations

from penstock.cli.language import LanguageCommand

COMMANDS: dict[str, LanguageCommand] = {}
