"""Versions of definitions on their way into force: simulated, rolled out."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from penstock.api.bodies import RequestBody, ResponseBody
from penstock.app.releases.release_report import REPLAYED, RUNS, ReleaseReport, ReportRequest

_DAY_MS = 86_400_000
#: virtual runs of one request: the machine has others to serve
MOST_RUNS = 20_000


class SimulateAsked(RequestBody):
    input: Any = Field(None, examples=[{"line_id": "L01"}], description="Else inputs of real runs.")
    answers: dict[str, Any] | None = Field(None, description="What nodes answer, by their ids; else what they did.")
    runs: int = Field(RUNS, ge=0, le=MOST_RUNS, description="Virtual runs; 0: the dry run alone.")
    seed: int = Field(0, ge=0, le=2_000_000_000)
    due_ms: int | None = Field(None, ge=1, le=3660 * _DAY_MS, description="The odds of keeping it are told.")
    replay: int = Field(REPLAYED, ge=0, le=2000, description="Real runs of the active version that are replayed.")

    def request(self) -> ReportRequest:
        return ReportRequest(**self.model_dump())


class ReleaseReportOut(ResponseBody, of=ReleaseReport):
    """What a version would do, and what real runs of the active one would have done otherwise with it."""
