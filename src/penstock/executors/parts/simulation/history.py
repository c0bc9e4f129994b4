"""Past judgments: what a simulation replays, and what it takes for the truth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

#: C-82: the prompt of a judgment that names none.
DEFAULT_PROMPT = "judgment_default"
DEFAULT_MODEL = "gpt-4o"
_SHOWN = 80  # characters of a value


class PastJudgment(msgspec.Struct, frozen=True, kw_only=True):
    """A judgment as it was made: its input, its verdict, and what a person said of it later. `llm` is the model's own
    verdict of a HYBRID judgment; `label` is a person's word, `reviewed` says that a person has decided it, and
    `proposed` is what had been decided before that person did."""

    judgment: str  # RUN/FIRING, or the id of an imported one
    at: int
    data: Any
    context: Any = None
    policy: Mapping[str, Any] = {}
    decision: str = "unknown"
    confidence: float = 0.0
    decided_by: str = ""
    reviewed: bool = False
    proposed: str | None = None
    proposed_confidence: float = 0.0
    label: str | None = None
    llm: Mapping[str, Any] | None = None
    run: str | None = None
    node: str | None = None
    line: str | None = None

    def used(self, type: str, id: str) -> bool:
        """Whether this artifact took part in the judgment."""
        kind = self.policy.get("type") or "RULE_ONLY"
        if type == "rule_pack":
            return kind in ("RULE_ONLY", "HYBRID") and self.policy.get("rule_pack_id") == id
        if type == "config":
            return kind in ("RULE_ONLY", "HYBRID")
        if kind not in ("LLM_ONLY", "HYBRID"):
            return False
        if type == "prompt":
            return (self.policy.get("prompt_id") or DEFAULT_PROMPT) == id
        config = self.policy.get("llm_config")
        return ((config.get("model") if isinstance(config, Mapping) else None) or DEFAULT_MODEL) == id

    def replayable(self) -> bool:
        """HYBRID judgments need what the model has said, unless it had said nothing and the rules decided."""
        return self.policy.get("type") != "HYBRID" or self.llm is not None or self.decided_by == "rule"


def line_of(data: Any, context: Any) -> str | None:
    """The production line that a judgment was about: the context's, else the only one of its rows."""
    if isinstance(context, Mapping) and isinstance(context.get("line_id"), str):
        return str(context["line_id"])
    rows = data if isinstance(data, list | tuple) else [data]
    lines = {row["line_id"] for row in rows if isinstance(row, Mapping) and isinstance(row.get("line_id"), str)}
    return str(lines.pop()) if len(lines) == 1 else None


def shown_value(data: Any) -> str:
    """The measured values of a judgment in one line: of its first row the numbers, else whatever it has."""
    row = data[0] if isinstance(data, list | tuple) and data else data
    if not isinstance(row, Mapping):
        return str(row)[:_SHOWN]
    numbers = {k: v for k, v in row.items() if isinstance(v, int | float) and not isinstance(v, bool)}
    return ", ".join(f"{name} {value}" for name, value in (numbers or row).items())[:_SHOWN]
