"""The commands of process owners."""

from __future__ import annotations

from penstock.cli.language import LanguageCommand

COMMANDS = {
    "process": LanguageCommand(
        "penstock.cli.process.definitions", "Define and begin processes; look at instances, end, undo.", "releases"
    ),
    "items": LanguageCommand(
        "penstock.cli.process.items", "Work items of processes: list, submit, approve, delegate.", "process"
    ),
    "autonomy": LanguageCommand(
        "penstock.cli.process.autonomy", "Propose how far agents may work alone, from their drafts.", "items"
    ),
    "mine": LanguageCommand(
        "penstock.cli.process.mining",
        "Draw what really happened, and propose a better process.",
        "autonomy",
    ),
}
