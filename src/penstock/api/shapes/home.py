"""Home: what is stuck and why, what waits for me, what flows."""

from __future__ import annotations

from penstock.api.bodies import ResponseBody
from penstock.api.shapes.runs import RunSummary, WhyOut
from penstock.app.metrics.overview import Headline, Home, ItemSummary, LanguageCounts, NextSchedule, Worker
from penstock.app.metrics.stuck import StuckRuns
from penstock.app.metrics.tiles import Hour, SlowNode, Tile


class StuckOut(ResponseBody, of=StuckRuns):
    run: RunSummary
    why: WhyOut


class HomeOut(
    ResponseBody,
    of=Home,
    parts={
        Headline: "HeadlineOut", ItemSummary: "ShortItemOut", Tile: "TileOut", Worker: "WorkerOut", Hour: "HourOut",
        SlowNode: "SlowOut", LanguageCounts: "LanguageOut", NextSchedule: "NextOut",
    },
):  # fmt: skip
    pass
