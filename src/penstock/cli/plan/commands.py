"""The commands of people who let agents do a project's tasks."""

from __future__ import annotations

from penstock.cli.language import LanguageCommand

COMMANDS: dict[str, LanguageCommand] = {
    "plan": LanguageCommand(
        "penstock.cli.plan.verbs", "Let agents do a project's tasks: run, watch, review, mend.", "pipeline"
    ),
}
