"""The built-in queue, the one of those that could not be taken, and how their cause is told (F-3.5, F-X.20)."""

from __future__ import annotations

from penstock.errors import PenstockError
from penstock.executors.parts.personal_data import masked
from penstock.store.queues import DEAD

QUEUE = "ff-pipeline-ingest"
DEAD_QUEUE = QUEUE + DEAD
#: characters of a cause
_WHY_MOST = 4000


def cause_of(error: PenstockError) -> tuple[str, str]:
    """F-X.16, F-X.34: short, and without personal data."""
    return error.code, masked(str(error))[:_WHY_MOST]
