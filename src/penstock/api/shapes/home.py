"""Home: what is stuck and why, what waits for me, what flows."""

from __future__ import annotations

from typing import Any

from penstock.api.replies import Shape
from penstock.api.shapes.runs import RunSummary, WhyOut
from penstock.api.time_fields import Moment


class HeadlineOut(Shape):
    stuck: int
    waiting: int
    flowing: int
    ended_24h: int
    completed_24h: int


class StuckOut(Shape):
    run: RunSummary
    why: WhyOut


class ShortItemOut(Shape):
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


class TileOut(Shape):
    id: str
    value: float | None
    unit: str
    threshold: float | None
    alarm: bool
    detail: dict[str, Any]
    series: list[float | None]


class WorkerOut(Shape):
    name: str
    state: str
    detail: dict[str, Any]


class HourOut(Shape):
    at: Moment
    done: int
    held: int
    failed: int


class SlowOut(Shape):
    node_type: str
    p95_ms: int
    count: int


class LanguageOut(Shape):
    language: str
    running: int
    waiting: int
    stuck: int
    undoing: int


class NextOut(Shape):
    name: str
    next_at: Moment
    title: str


class HomeOut(Shape):
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
