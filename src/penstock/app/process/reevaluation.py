"""When to think again (P-8): what is measured now of the seven thresholds, and which of them are exceeded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from penstock.app.process.figures import Figures
from penstock.app.process.thresholds import THRESHOLDS

if TYPE_CHECKING:
    from penstock.app.runs.queries import Queries


class ThresholdReading(msgspec.Struct, frozen=True):
    id: str
    condition: str
    what: str
    value: float | None
    threshold: float
    exceeded: bool


def reevaluation(door: Queries) -> list[ThresholdReading]:
    values = Figures(door.store, door.net_of).of(door.tenant, door.now()).values()
    return [
        ThresholdReading(
            line.id, line.condition, line.what, value, line.threshold, value is not None and line.beyond(value)
        )
        for line in THRESHOLDS
        for value in (values[line.metric],)
    ]
