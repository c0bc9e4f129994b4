"""Bodies for the history of a run, and for the checkpoints that its document asked for."""

from __future__ import annotations

from typing import Any

from penstock.api.bodies import ResponseBody
from penstock.api.time_fields import Moment
from penstock.dialects.transitions import Transition


class TransitionOut(ResponseBody, of=Transition):
    """What has moved: the instance, a node or an approval (W-2.2.5)."""


class HistoryOut(ResponseBody):
    items: list[TransitionOut]
    next: str | None


class CheckpointOut(ResponseBody):
    """A row of workflow_checkpoints (W-8.2.1); what it holds is told of one alone."""

    id: str
    instance_id: str
    checkpoint_number: int
    node_id: str
    status: str
    size_bytes: int
    storage: str
    created_at: Moment
    expires_at: Moment | None


class CheckpointWhole(ResponseBody):
    """What one holds (W-8.1.2), without secrets. Where it cannot be read it is the one before it, and `damaged` names
    those that could not (C-79)."""

    instance_id: str
    checkpoint_number: int
    node_id: str
    status: str
    context_snapshot: Any
    node_outputs: Any
    pending_events: Any
    size_bytes: int
    created_at: Moment
    damaged: list[int]


class CheckpointPage(ResponseBody):
    items: list[CheckpointOut]
    next: str | None
