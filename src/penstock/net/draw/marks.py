"""What a drawing shows about a run: tokens on edges, a status on nodes. Colour never speaks alone: icon, word, tone."""

from __future__ import annotations

from typing import Literal

import msgspec

from penstock.net.draw.text_width import clean

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


class StatusStyle(msgspec.Struct, frozen=True):
    """How a status is shown."""

    tone: Tone
    icon: str
    word: str


_LOOKS: dict[str, StatusStyle] = {
    "pending": StatusStyle("idle", "dot", "pending"),
    "queued": StatusStyle("idle", "dot", "queued"),
    "created": StatusStyle("idle", "dot", "created"),
    "todo": StatusStyle("idle", "dot", "to do"),
    "skipped": StatusStyle("idle", "skip", "skipped"),
    "cancelled": StatusStyle("idle", "stop", "cancelled"),
    "running": StatusStyle("moving", "play", "running"),
    "in_progress": StatusStyle("moving", "play", "in progress"),
    "waiting": StatusStyle("held", "hourglass", "waiting"),
    "submitted": StatusStyle("held", "hourglass", "submitted"),
    "retrying": StatusStyle("held", "rotate", "retrying"),
    "rework": StatusStyle("held", "rotate", "rework"),
    "timeout": StatusStyle("held", "hourglass", "timed out"),
    "paused": StatusStyle("held", "pause", "paused"),
    "failed": StatusStyle("failed", "cross", "failed"),
    "succeeded": StatusStyle("done", "check", "done"),
    "completed": StatusStyle("done", "check", "completed"),
    "done": StatusStyle("done", "check", "done"),
    "maxiter_reached": StatusStyle("done", "rotate", "limit reached"),
    "compensating": StatusStyle("undone", "undo", "compensating"),
    "compensated": StatusStyle("undone", "undo", "compensated"),
}
#: What did not happen, or not yet.
UNREACHED = frozenset({"", "pending", "queued", "created", "todo", "skipped"})


def status_style(status: str) -> StatusStyle:
    """An unknown status keeps its own word and says nothing by colour."""
    known = _LOOKS.get(status.lower())
    return known or StatusStyle("idle", "dot", clean(status.lower().replace("_", " ")))


def badge(mark: NodeMark) -> str:
    """The iteration counter: "2/3" with a limit, "×3" for a repeated node without one."""
    if mark.limit is not None and mark.count:
        return f"{mark.count}/{mark.limit}"
    return f"×{mark.count}" if mark.count > 1 else ""
