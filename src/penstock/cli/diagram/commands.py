"""The commands of people who draw."""

from __future__ import annotations

from penstock.cli.language import LanguageCommand

COMMANDS = {
    "convert": LanguageCommand("penstock.cli.diagram.convert", "Write a diagram in another of its forms.", "draw"),
}
