"""The words of people who write workflows: instance states (W-2.2.1), node states (W-2.3.1); lower case outside."""

from __future__ import annotations

from penstock.dialects.contract import Words

#: The house's run statuses → W-2.2.1, as they are written on the wire (W-2.2.6).
RUN = {
    "CREATED": "created",
    "PENDING": "pending",
    "RUNNING": "running",
    "WAITING": "waiting",
    "COMPENSATING": "compensating",
    "COMPLETED": "completed",
    "FAILED": "failed",
    "CANCELLED": "cancelled",
    "COMPENSATED": "compensated",
    "TIMEOUT": "timeout",
}

#: The house's words for units of work → W-2.3.1. A suspended node is at work (W-2.3.4).
UNIT = {
    "QUEUED": "queued",
    "RUNNING": "running",
    "RETRYING": "retrying",
    "WAITING": "running",
    "SUCCEEDED": "succeeded",
    "FAILED": "failed",
    "SKIPPED": "skipped",
    "CANCELLED": "skipped",
}

#: Work items → W-4.6: what an approval is called while people decide.
APPROVAL = {
    "TODO": "pending",
    "IN_PROGRESS": "pending",
    "SUBMITTED": "pending",
    "REWORK": "pending",
    "DONE": "decided",
    "CANCELLED": "cancelled",
    "COMPENSATED": "cancelled",
}

EVENTS = (
    "instance.created", "instance.running", "instance.waiting", "instance.completed", "instance.failed",
    "instance.cancelled", "instance.timeout", "instance.compensating", "instance.compensated",
    "node.started", "node.succeeded", "node.failed", "node.skipped",
)  # fmt: skip

WORDS = Words(run=RUN, unit=UNIT, approval=APPROVAL, events=EVENTS)
