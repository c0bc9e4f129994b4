"""Operations at the edge: events, schedules, breakers, registered things."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from penstock.api.bodies import RequestBody, ResponseBody
from penstock.api.problems import FoundOut
from penstock.api.time_fields import Moment
from penstock.app.releases.schedules import FiredSchedule
from penstock.app.releases.triggers import EventReceipt
from penstock.app.runs.waiting.breakers import Breaker
from penstock.store.schedules import ScheduleRow


class EventAsked(RequestBody):
    source: str = Field(min_length=1, max_length=200, examples=["lab.result.completed"])
    payload: Any = None
    id: str | None = Field(None, min_length=1, max_length=200, description="The same id again changes nothing.")


class EventOut(ResponseBody, of=EventReceipt):
    imported: list[str] = Field(
        [], description="Models that it has brought (PROCESS_DISCOVERED); they wait for an approval."
    )


class KeptEvent(ResponseBody):
    number: int
    id: str
    source: str
    at: Moment
    payload: Any
    delivered: bool


class EventPage(ResponseBody):
    items: list[KeptEvent]
    next: str | None


class ScheduleOut(ResponseBody, of=ScheduleRow, omit=("tenant", "inputs")):
    paused: bool
    upcoming: list[Moment] = []


class SchedulePage(ResponseBody):
    items: list[ScheduleOut]
    next: str | None


class FiredOut(ResponseBody, of=FiredSchedule):
    pass


class FiredPage(ResponseBody):
    items: list[FiredOut]


class BackfillAsked(RequestBody):
    since: str = Field(max_length=40, examples=["2026-11-15T06:00:00Z"])
    until: str = Field(max_length=40, examples=["2026-11-15T07:00:00Z"])


class BreakerOut(ResponseBody, of=Breaker, defaults=True):
    pass


class BreakerPage(ResponseBody):
    items: list[BreakerOut]


class ThingOut(ResponseBody):
    id: str
    type: str
    version: str
    status: str
    at: Moment
    body: dict[str, Any]
    findings: list[FoundOut] = []


class ThingPage(ResponseBody):
    items: list[ThingOut]
    next: str | None


class SecretOut(ResponseBody):
    """Its value is never told again."""

    name: str
    at: Moment


class SecretPage(ResponseBody):
    items: list[SecretOut]
    next: str | None


class SecretAsked(RequestBody):
    value: str = Field(min_length=1, max_length=65536)


class Triggered(ResponseBody):
    """`new` is false when the same request had come before: nothing was started again."""

    instance_id: str
    new: bool
