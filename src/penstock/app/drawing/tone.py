"""Tones: what a status says at a glance. A colour never speaks alone, so a word stands beside each."""

from __future__ import annotations

from penstock.kernel.state import STATUS

_RUN = {
    "PENDING": "idle", "RUNNING": "moving", "WAITING": "held", "COMPLETED": "done", "FAILED": "failed",
    "CANCELLED": "idle", "COMPENSATING": "undone", "COMPENSATED": "undone",
}  # fmt: skip
_NODE = {
    "PENDING": "idle", "QUEUED": "idle", "SKIPPED": "idle", "CANCELLED": "idle", "RUNNING": "moving", "WAITING": "held",
    "RETRYING": "held", "SUCCEEDED": "done", "FAILED": "failed", "COMPENSATING": "undone", "COMPENSATED": "undone",
}  # fmt: skip


def run_state(status: int) -> str:
    """A run's status as it is shown: one that is only accepted is PENDING."""
    return "PENDING" if STATUS[status] == "CREATED" else STATUS[status]


def run_tone(state: str, *, paused: bool = False) -> str:
    """The tone of a run; a moving one that is paused is held."""
    return "held" if paused and _RUN.get(state) == "moving" else _RUN.get(state, "idle")


def node_tone(unit: str) -> str:
    return _NODE.get(unit, "idle")
