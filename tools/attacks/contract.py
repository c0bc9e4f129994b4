"""What every attack gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class AttackResult:
    name: str
    verdict: Literal["ok", "bad"]
    figures: dict[str, str | float] = field(default_factory=dict)
    note: str = ""
