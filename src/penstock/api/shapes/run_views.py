"""A run's log and what a move would do, at the edge."""

from __future__ import annotations

from penstock.api.replies import ResponseBody
from penstock.api.time_fields import Moment

#: from the least to the most important
LEVELS = ("debug", "info", "warning", "error")


class LogLineOut(ResponseBody):
    seq: int
    at: Moment
    level: str
    event: str
    node: str | None = None
    attempt: int | None = None
    ms: int | None = None
    code: str | None = None
    message: str | None = None


class LogPage(ResponseBody):
    items: list[LogLineOut]
    next: int | None


class ForeseenOut(ResponseBody):
    """Effects of one node with one fate: done, again, open or undone."""

    node: str
    label: str
    type: str
    fate: str
    count: int
    at: Moment


class PreviewOut(ResponseBody):
    verb: str
    fact: int
    of: int
    effects: list[ForeseenOut]
