"""The words of people who process files: executions (F-1.3.9, F-2.1, F-2.2) and stages (F-1.4.6, F-2.3, F-2.4)."""

from __future__ import annotations

from penstock.dialects.contract import Words

#: F-1.3.9
EXECUTION = ("PENDING", "RUNNING", "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT")
#: F-1.4.6
STAGE = ("STARTED", "RUNNING", "COMPLETED", "FAILED", "SKIPPED", "TIMEOUT")
#: F-1.3.8
TRIGGERS = ("UPLOAD", "MANUAL", "SCHEDULED", "DEPENDENCY", "RETRY")

#: The house's run statuses → F-1.3.9. A rollback belongs to running: `CANCELLED` is fixed after it (F-2.6).
RUN = {
    "CREATED": "PENDING",
    "PENDING": "PENDING",
    "RUNNING": "RUNNING",
    "WAITING": "RUNNING",
    "COMPENSATING": "RUNNING",
    "COMPLETED": "COMPLETED",
    "FAILED": "FAILED",
    "CANCELLED": "CANCELLED",
    "COMPENSATED": "CANCELLED",
    "TIMEOUT": "TIMEOUT",
}

#: The house's words for units of work → F-1.4.6. Stages have no CANCELLED (F-X.8): one that was stopped has failed.
UNIT = {
    "QUEUED": "STARTED",
    "RUNNING": "RUNNING",
    "RETRYING": "RUNNING",
    "WAITING": "RUNNING",
    "SUCCEEDED": "COMPLETED",
    "FAILED": "FAILED",
    "SKIPPED": "SKIPPED",
    "CANCELLED": "FAILED",
}

WORDS = Words(run=RUN, unit=UNIT)


def execution_status(run: str, category: str | None, max_retries: int) -> str:
    """F-X.6: an execution whose only attempt ran out of time has ended TIMEOUT; every other final failure is FAILED.
    `category` is that of the run's failure."""
    if run == "FAILED" and category == "timeout" and max_retries == 0:
        return "TIMEOUT"
    return RUN.get(run, run)


def stage_status(unit: str, category: str | None) -> str:
    """F-2.4: a stage that failed because its time was over is TIMEOUT."""
    status = UNIT.get(unit, unit)
    return "TIMEOUT" if status == "FAILED" and category == "timeout" else status
