"""Home: what is stuck and why, what waits for me, what flows."""

from __future__ import annotations

from typing import Any

from penstock.api.replies import ResponseBody
from penstock.api.shapes.runs import RunSummary, WhyOut
from penstock.api.time_fields import Moment


class HeadlineOut(ResponseBody):
    stuck: int
    waiting: int
    flowing: int
    ended_24h: int
    completed_24h: int


class StuckOut(ResponseBody):
    run: RunSummary
    why: WhyOut


class ShortItemOut(ResponseBody):
    id: str
    run: str
    run_title: str
    node: str
    kind: str
    title: str
    priority: str
    opened_at: Moment
    candidates: list[str]
    due_at: Moment | None
    due_then: str | None


class TileOut(ResponseBody):
    id: str
    value: float | None
    unit: str
    threshold: float | None
    alarm: bool
    detail: dict[str, Any]
    series: list[float | None]


class WorkerOut(ResponseBody):
    name: str
    state: str
    detail: dict[str, Any]


class HourOut(ResponseBody):
    at: Moment
    done: int
    held: int
    failed: int


class SlowOut(ResponseBody):
    node_type: str
    p95_ms: int
    count: int


class LanguageOut(ResponseBody):
    language: str
    running: int
    waiting: int
    stuck: int
    undoing: int


class NextOut(ResponseBody):
    name: str
    next_at: Moment
    title: str


class HomeOut(ResponseBody):
    at: Moment
    headline: HeadlineOut
    stuck: list[StuckOut]
    waiting: list[ShortItemOut]
    tiles: list[TileOut]
    workers: list[WorkerOut]
    hours: list[HourOut]
    slowest: list[SlowOut]
    by_language: list[LanguageOut]
    schedules: list[NextOut]
