"""The commands of people who process files."""

from __future__ import annotations

from penstock.cli.language import LanguageCommand

COMMANDS: dict[str, LanguageCommand] = {
    "pipeline": LanguageCommand(
        "penstock.cli.pipeline.verbs", "Process files: watch a folder, look at executions, mend them.", "items"
    ),
}
