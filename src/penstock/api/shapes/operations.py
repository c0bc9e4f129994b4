"""Operations at the edge: events, schedules, dead letters, breakers, judgments, registered things."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from penstock.api.problems import FoundOut
from penstock.api.replies import Asked, Shape
from penstock.api.time_fields import Moment


class EventAsked(Asked):
    source: str = Field(min_length=1, max_length=200, examples=["lab.result.completed"])
    payload: Any = None
    id: str | None = Field(None, min_length=1, max_length=200, description="The same id again changes nothing.")


class EventOut(Shape):
    number: int
    id: str
    new: bool
    delivered: bool
    resumed: list[str]
    started: list[str]
    warnings: list[str]
    imported: list[str] = Field(
        [], description="Models that it has brought (PROCESS_DISCOVERED); they wait for an approval."
    )


class KeptEvent(Shape):
    number: int
    id: str
    source: str
    at: Moment
    payload: Any
    delivered: bool


class EventPage(Shape):
    items: list[KeptEvent]
    next: str | None


class ScheduleOut(Shape):
    name: str
    version: int
    cron: str
    zone: str
    overlap: str
    catch_up: str
    paused: bool
    last_at: Moment | None
    next_at: Moment | None
    upcoming: list[Moment] = []


class SchedulePage(Shape):
    items: list[ScheduleOut]
    next: str | None


class FiredOut(Shape):
    at: Moment
    runs: list[str]


class FiredPage(Shape):
    items: list[FiredOut]


class BackfillAsked(Asked):
    since: str = Field(max_length=40, examples=["2026-11-15T06:00:00Z"])
    until: str = Field(max_length=40, examples=["2026-11-15T07:00:00Z"])


class LetterOut(Shape):
    run: str
    document: str
    version: int
    queue: str
    status: str
    code: str
    category: str
    at: Moment
    until: Moment
    replays: int
    max_replays: int
    error: Any = None
    input: Any = None
    context_snapshot: Any = None
    execution_history: list[Any] | None = None


class LetterPage(Shape):
    items: list[LetterOut]
    next: str | None


class BulkReplayAsked(Asked):
    runs: list[str] = Field(min_length=1, max_length=1000)
    dry_run: bool = True


class BulkReplayOut(Shape):
    count: int
    replayed: dict[str, str]
    refused: dict[str, str]
    dry_run: bool


class Replayed(Shape):
    run: str
    of: str


class BreakerOut(Shape):
    name: str
    status: str
    failures_in_a_row: int
    recent: list[int]
    opened_at: Moment | None = None


class BreakerPage(Shape):
    items: list[BreakerOut]


class JudgmentOut(Shape):
    run: str
    node: str
    document: str
    decision: str
    needs_review: bool
    at: Moment
    input: Any = None
    output: Any = None
    proposed: Any = None


class JudgmentPage(Shape):
    items: list[JudgmentOut]
    next: str | None


class ThingOut(Shape):
    id: str
    type: str
    version: str
    status: str
    at: Moment
    body: dict[str, Any]
    findings: list[FoundOut] = []


class ThingPage(Shape):
    items: list[ThingOut]
    next: str | None


class SecretOut(Shape):
    """Its value is never told again."""

    name: str
    at: Moment


class SecretPage(Shape):
    items: list[SecretOut]
    next: str | None


class SecretAsked(Asked):
    value: str = Field(min_length=1, max_length=65536)
