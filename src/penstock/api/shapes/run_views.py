"""A run's log and what a move would do, at the edge."""

from __future__ import annotations

from penstock.api.bodies import ResponseBody
from penstock.api.locale import WordedFailure
from penstock.app.runs.commands.preview import Preview, PreviewedEffect
from penstock.app.runs.timeline.log import LogLine
from penstock.app.simulation.run_forecast import RunForecast

#: from the least to the most important
LEVELS = ("debug", "info", "warning", "error")


class LogLineOut(ResponseBody, WordedFailure, of=LogLine, defaults=True):
    pass


class LogPage(ResponseBody):
    items: list[LogLineOut]
    next: int | None


class ForeseenOut(ResponseBody, of=PreviewedEffect):
    """Effects of one node with one fate: done, again, open or undone."""


class PreviewOut(ResponseBody, of=Preview):
    pass


class ForecastOut(ResponseBody, of=RunForecast):
    """Shares lie between 0 and 1, times are milliseconds."""
