"""What a SIMULATE node asks for: mode, comparison, analysis, candidate, report (W-4.13, C-59)."""

from __future__ import annotations

from datetime import timedelta, tzinfo
from typing import Annotated, Any, Literal

import msgspec

from penstock.executors.parts.simulation.metrics import NAMES
from penstock.executors.parts.simulation.sampling import Sampling
from penstock.expr.calendar import BadDate, moment_of

WEEK_MS = 7 * 24 * 3_600_000
ENVIRONMENTS = ("production", "staging")  # where a DEPLOY may put things
CURRENT = "current_"  # …production: the version that is deployed there
Metric = Literal[
    "accuracy", "precision", "recall", "f1_score", "false_positive_rate", "false_negative_rate",
    "decision_distribution", "processing_time",
]  # fmt: skip
Share = Annotated[float, msgspec.Meta(gt=0, lt=1)]


class OrderInvalid(Exception):
    """What is asked for cannot be done; `code` and `hint` as a failure has them."""

    def __init__(self, why: str, *, code: str = "INPUT_INVALID", hint: str = "", detail: Any = None) -> None:
        self.code, self.hint, self.detail = code, hint, detail
        super().__init__(f"{why} {hint}".strip())


class TimeRange(msgspec.Struct):
    start: str | int | None = None
    end: str | int | None = None

    def window(self, now: int, zone: tzinfo) -> tuple[int, int]:
        """Milliseconds, both ends within; by default the seven days until now. A time without a zone is the plant's,
        and a date as the end is the whole day. Raises OrderInvalid."""
        end = now if self.end is None else _moment(self.end, "end", zone, whole_day=True)
        start = end - WEEK_MS if self.start is None else _moment(self.start, "start", zone)
        if start > end:
            raise OrderInvalid("time_range.start lies after its end.", hint="Exchange them.")
        return start, end


class Replay(msgspec.Struct):
    data_source: Literal["historical"] = "historical"
    time_range: TimeRange = msgspec.field(default_factory=TimeRange)
    sample_size: Annotated[int, msgspec.Meta(ge=1, le=20_000)] | None = None
    sampling: Sampling = "random"
    seed: int | None = None


class WhatIf(msgspec.Struct):
    base_scenario: str = "current_production"
    modifications: list[Any] = []


class MonteCarlo(msgspec.Struct):
    iterations: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 1000
    seed: int | None = None
    distributions: dict[str, Any] = {}


class Mode(msgspec.Struct):
    type: Literal["dry_run", "replay", "what_if", "monte_carlo"]
    replay: Replay = msgspec.field(default_factory=Replay)
    what_if: WhatIf | None = None
    monte_carlo: MonteCarlo = msgspec.field(default_factory=MonteCarlo)


class Comparison(msgspec.Struct):
    baseline: str = "current_production"
    metrics: list[Metric] = msgspec.field(default_factory=lambda: list(NAMES))  # type: ignore[arg-type]


class Analysis(msgspec.Struct):
    statistical_test: Literal["chi_square", "t_test", "ks_test"] = "chi_square"
    confidence_level: Share = 0.95
    effect_size: bool = True
    on: Literal["confidence", "processing_time"] = "confidence"  # what t_test compares


class ReportWish(msgspec.Struct):
    generate: bool = True
    format: Literal["html", "pdf", "json"] = "html"
    include_visualizations: bool = True
    language: Literal["ko", "en"] = "ko"


class ArtifactName(msgspec.Struct):
    id: str
    type: Literal["rule_pack", "prompt", "model", "config"] = "rule_pack"
    version: str | int | None = None


class CandidateSources(msgspec.Struct):
    """Where the candidate may come from, in the order of C-59: the node's own artifact, then (after what-if
    modifications) that of the nearest DEPLOY, the variable `rule_pack`, the input's `rule_pack_id`."""

    artifact: ArtifactName | None = None
    deploy: ArtifactName | None = None
    rule_pack: Any = None
    rule_pack_id: Any = None


class Given(msgspec.Struct):
    """Data of the node itself, for dry_run and monte_carlo: one judgment, or several samples {data, context, label}."""

    data: Any = None
    context: Any = None
    samples: list[Any] | None = None


class Order(msgspec.Struct):
    mode: Mode
    comparison: Comparison = msgspec.field(default_factory=Comparison)
    analysis: Analysis = msgspec.field(default_factory=Analysis)
    report: ReportWish = msgspec.field(default_factory=ReportWish)
    candidate: CandidateSources = msgspec.field(default_factory=CandidateSources)
    input: Given = msgspec.field(default_factory=Given)
    document: str = ""


def _moment(value: str | int, name: str, zone: tzinfo, *, whole_day: bool = False) -> int:
    if isinstance(value, int):
        return value
    try:
        moment = moment_of(value, zone)
        if whole_day and len(value) == len("2026-11-15"):
            next_day = (moment.replace(tzinfo=None) + timedelta(days=1)).replace(tzinfo=zone)
            return round(next_day.timestamp() * 1000) - 1
        return round(moment.timestamp() * 1000)
    except (BadDate, ValueError, OverflowError):
        raise OrderInvalid(
            f"time_range.{name} is no time: «{value[:40]}».",
            hint="Write 2026-01-31, or a time such as 2026-01-31T08:00:00+09:00.",
        ) from None
