"""What a drawing shows about a run: tokens on edges, a status on nodes. Colour never speaks alone: icon, word, tone."""

from __future__ import annotations

from typing import Literal

import msgspec

from penstock.net.draw.measure import clean

Tone = Literal["idle", "moving", "held", "failed", "done", "undone"]


class NodeMark(msgspec.Struct, frozen=True, omit_defaults=True):
    """`count` of `limit` is the iteration badge; `note` is a short text beside the status, such as a duration."""

    status: str = ""
    count: int = 0
    limit: int | None = None
    note: str = ""


class Marks(msgspec.Struct, frozen=True, omit_defaults=True):
    """By id. `taken` counts what ever went along an edge; where nothing is given it is guessed from the nodes."""

    tokens: dict[str, int] = {}
    nodes: dict[str, NodeMark] = {}
    taken: dict[str, int] = {}


class Look(msgspec.Struct, frozen=True):
    """How a status is shown."""

    tone: Tone
    icon: str
    word: str


_LOOKS: dict[str, Look] = {
    "pending": Look("idle", "dot", "pending"),
    "queued": Look("idle", "dot", "queued"),
    "created": Look("idle", "dot", "created"),
    "todo": Look("idle", "dot", "to do"),
    "skipped": Look("idle", "skip", "skipped"),
    "cancelled": Look("idle", "stop", "cancelled"),
    "running": Look("moving", "play", "running"),
    "in_progress": Look("moving", "play", "in progress"),
    "waiting": Look("held", "hourglass", "waiting"),
    "submitted": Look("held", "hourglass", "submitted"),
    "retrying": Look("held", "rotate", "retrying"),
    "rework": Look("held", "rotate", "rework"),
    "timeout": Look("held", "hourglass", "timed out"),
    "paused": Look("held", "pause", "paused"),
    "failed": Look("failed", "cross", "failed"),
    "succeeded": Look("done", "check", "done"),
    "completed": Look("done", "check", "completed"),
    "done": Look("done", "check", "done"),
    "maxiter_reached": Look("done", "rotate", "limit reached"),
    "compensating": Look("undone", "undo", "compensating"),
    "compensated": Look("undone", "undo", "compensated"),
}
#: What did not happen, or not yet.
UNREACHED = frozenset({"", "pending", "queued", "created", "todo", "skipped"})


def look(status: str) -> Look:
    """An unknown status keeps its own word and says nothing by colour."""
    known = _LOOKS.get(status.lower())
    return known or Look("idle", "dot", clean(status.lower().replace("_", " ")))


def badge(mark: NodeMark) -> str:
    """The iteration counter: "2/3" with a limit, "×3" for a repeated node without one."""
    if mark.limit is not None and mark.count:
        return f"{mark.count}/{mark.limit}"
    return f"×{mark.count}" if mark.count > 1 else ""
