"""The commands of people who write workflows."""

from __future__ import annotations

from penstock.cli.language import LanguageCommand

COMMANDS = {
    "dlq": LanguageCommand(
        "penstock.cli.decision.dead_letters", "Runs that ended badly: list, show, replay.", "schedules"
    ),
    "rules": LanguageCommand(
        "penstock.cli.decision.rules", "Rule packs: list them, check one and run its tests.", "dlq"
    ),
    "judgments": LanguageCommand(
        "penstock.cli.decision.judgments", "Judgments: list them, import past ones, label them.", "rules"
    ),
    "simulations": LanguageCommand(
        "penstock.cli.decision.simulations", "Simulations of a change: list, show, write a report.", "judgments"
    ),
}  # fmt: skip
