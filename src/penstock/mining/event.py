"""A case of an event log and its events, whoever has written the log."""

from __future__ import annotations

from typing import NamedTuple

HUMAN_MODES = frozenset({"MANUAL"})
AGENT_MODES = frozenset({"SUPERVISED", "AUTONOMOUS"})


class Event(NamedTuple):
    """One activity of a case that was done. Moments are milliseconds since 1970, UTC."""

    activity: str
    at: int  # when it was completed
    started: int | None = None  # when work on it began, where the log says so
    resource: str = ""  # who did it; "" where nobody is named
    mode: str = ""  # MANUAL, SUPERVISED or AUTONOMOUS; "" where the log says nothing
    paused: int = 0  # milliseconds between start and completion in which work on it was suspended


class Case(NamedTuple):
    """`events` are in the order of their moments; those of the same moment in the order of the log."""

    id: str
    events: tuple[Event, ...]
