"""When to think again about processes (P-8): seven thresholds."""

from __future__ import annotations

from penstock.app.language import MetricThreshold


class Threshold(MetricThreshold, frozen=True):
    """`condition` says it in words, `what` is to be thought about."""

    id: str
    condition: str
    what: str


THRESHOLDS = (
    Threshold(
        "process_definitions", False, 100, "definitions",
        "P-8.1", "definitions > 100", "definition caching strategy",
    ),
    Threshold(
        "process_running_instances", False, 500, "instances",
        "P-8.2", "running instances > 500", "horizontal scaling of the engine",
    ),
    Threshold(
        "process_compensation_failure_rate", False, 0.05, "ratio",
        "P-8.3", "compensation failure rate > 5%", "compensation strategy",
    ),
    Threshold(
        "process_extraction_accuracy", True, 0.7, "ratio",
        "P-8.4", "extraction accuracy < 70%", "prompt optimisation or fine-tuning",
    ),
    Threshold(
        "process_discovered_fitness", True, 0.7, "ratio",
        "P-8.5", "mined model fitness < 0.7", "event-log quality, preprocessing",
    ),
    Threshold(
        "process_log_export_records", False, 100_000, "events",
        "P-8.6", "log export > 100,000 records", "batch and incremental export",
    ),
    Threshold(
        "process_discovered_approval_rate", True, 0.5, "ratio",
        "P-8.7", "approval rate of discovered models < 50%", "mining parameters",
    ),
)  # fmt: skip
