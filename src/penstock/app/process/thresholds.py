"""When to think again about processes (P-8): seven thresholds."""

from __future__ import annotations

import msgspec


class Threshold(msgspec.Struct, frozen=True):
    """`below`: it is exceeded when the value is smaller; else when it is greater. Exactly at it, it is not."""

    id: str
    metric: str
    condition: str
    what: str
    below: bool
    threshold: float
    unit: str

    def beyond(self, value: float | None) -> bool:
        if value is None:
            return False
        return value < self.threshold if self.below else value > self.threshold


THRESHOLDS = (
    Threshold(
        "P-8.1", "process_definitions", "definitions > 100", "definition caching strategy", False, 100, "definitions"
    ),
    Threshold(
        "P-8.2", "process_running_instances", "running instances > 500", "horizontal scaling of the engine", False, 500,
        "instances",
    ),
    Threshold(
        "P-8.3", "process_compensation_failure_rate", "compensation failure rate > 5%", "compensation strategy", False,
        0.05, "ratio",
    ),
    Threshold(
        "P-8.4", "process_extraction_accuracy", "extraction accuracy < 70%", "prompt optimisation or fine-tuning", True,
        0.7, "ratio",
    ),
    Threshold(
        "P-8.5", "process_discovered_fitness", "mined model fitness < 0.7", "event-log quality, preprocessing", True,
        0.7, "ratio",
    ),
    Threshold(
        "P-8.6", "process_log_export_records", "log export > 100,000 records", "batch and incremental export", False,
        100_000, "events",
    ),
    Threshold(
        "P-8.7", "process_discovered_approval_rate", "approval rate of discovered models < 50%", "mining parameters",
        True, 0.5, "ratio",
    ),
)  # fmt: skip
