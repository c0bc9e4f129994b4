"""How ended instances fit the versions that they ran by, as it is sent (P-7.2.2)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from penstock.api.bodies import ResponseBody
from penstock.api.time_fields import Moment

DeviationKind = Literal["skipped", "repeated", "unknown", "order", "missing_end"]


class RunDeviation(ResponseBody):
    """The first deviation of so many runs. `before` and `after` stand beside it in the run; empty at its ends."""

    kind: DeviationKind
    activity: str = Field(examples=["Inspect item"])
    before: str
    after: str
    runs: int


class VersionFitOut(ResponseBody):
    version: int
    runs: int
    fitting: int
    fitness: float = Field(description="The share of runs that fit.")
    deviations: list[RunDeviation]


class FitsOut(ResponseBody):
    """`read_to`: runs that ended until then have been read; null: none."""

    id: str
    read_to: Moment | None
    versions: list[VersionFitOut]


class DeviatingRun(ResponseBody):
    id: str
    ended_at: Moment


class DeviatingRunPage(ResponseBody):
    items: list[DeviatingRun]
    next: str | None
