"""The commands of people who process files."""

from __future__ import annotations

from penstock.cli.language import LanguageCommand

COMMANDS: dict[str, LanguageCommand] = {}
