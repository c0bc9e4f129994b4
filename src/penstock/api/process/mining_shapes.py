"""Maps, logs, discovered models and what they would change, as they are sent (P-7)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from penstock.api.bodies import RequestBody, ResponseBody
from penstock.api.problems import FoundOut
from penstock.api.process.definition_shapes import Name
from penstock.api.time_fields import Moment
from penstock.app.process.mining.model_diff import Change
from penstock.app.process.mining.views.model_evidence import Still
from penstock.app.process.mining.views.overview import MinedLine, PendingModel
from penstock.mining.activity_map import ActivityStats, Bottleneck, FlowStats, Handover, Rework

_LOG = "Y2FzZSxhY3Rpdml0eSx0aW1lCjEsQSwyMDI2LTExLTAxVDA5OjAwOjAwWgo="


ColumnOf = Literal["case", "activity", "time", "start", "resource", "lifecycle", "mode", "instance", "paused"]


class LogAsked(RequestBody):
    """`content_base64`: the file, XES or CSV, also compressed by gzip."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "claims.csv", "content_base64": _LOG, "process": None}]}
    )

    name: Name
    content_base64: Annotated[str, Field(min_length=1, max_length=400_000_000)]
    process: Name | None = Field(None, description="The process whose cases they are.")
    columns: dict[ColumnOf, Name] = Field(
        {}, max_length=9, description="Of CSV: the names of columns that do not say by themselves what they hold."
    )
    zone: Annotated[str, Field(max_length=64)] | None = Field(
        None, description="What times without a zone mean.", examples=["Asia/Seoul"]
    )


class DiscoverAsked(RequestBody):
    """`noise`: paths that are taken less often than this share of the most frequent one beside them are left out."""

    noise: Annotated[float, Field(ge=0, lt=1)] = 0.0
    log: Annotated[str, Field(max_length=64)] | None = None
    from_: Annotated[str, Field(max_length=40)] | None = Field(None, alias="from")
    to: Annotated[str, Field(max_length=40)] | None = None


class EventLogOut(ResponseBody):
    id: str
    name: str
    process: str | None
    sha256: str
    size: int
    cases: int
    events: int
    begin_at: Moment | None
    end_at: Moment | None
    added_by: str | None
    added_at: Moment
    warnings: list[FoundOut] = []


class EventLogPage(ResponseBody):
    items: list[EventLogOut]
    next: str | None


class BottleneckOut(ResponseBody, of=Bottleneck):
    """The way on which cases wait longest in all; `share` is that of the elapsed time of all cases."""


class MinedLineOut(ResponseBody, of=MinedLine):
    """`fitness`: the share of cases that fit the version in force; null where there is none."""

    source: str = Field(examples=["runs", "log"])


class MinedPage(ResponseBody):
    items: list[MinedLineOut]
    next: str | None


class PeriodOut(ResponseBody):
    from_: Moment | None = Field(alias="from")
    to: Moment | None


class ActivityOut(ResponseBody, of=ActivityStats):
    """`activity_id` where the version in force has an activity of this name."""

    activity_id: str | None


class FlowOut(ResponseBody, of=FlowStats):
    """`source` is empty where cases begin, `target` where they end."""


class ReworkOut(ResponseBody, of=Rework):
    pass


class HandoverOut(ResponseBody, of=Handover):
    pass


class VariantOut(ResponseBody):
    """`deviating` are the places of the activities that deviate, from 0."""

    rank: int
    activities: list[str]
    cases: int
    share: float
    median_ms: int
    fits: bool | None
    deviating: list[int]
    case_ids: list[str]


class DeviationOut(ResponseBody):
    """`cases` have it first; `in_discovered`: the model that waits allows it, null where none does."""

    kind: str = Field(examples=["skipped", "repeated", "unknown", "order", "missing_end"])
    activity: str
    before: str
    after: str
    cases: int
    variants: list[int]
    in_discovered: bool | None


class ConformanceOut(ResponseBody):
    """`bounded`: the search was ended somewhere, so that a smaller deviation may explain a case."""

    version: int
    fitting: int
    cases: int
    fitness: float
    precision: float
    bounded: bool
    deviations: list[DeviationOut]


class PendingModelOut(ResponseBody, of=PendingModel):
    pass


class MinedMapOut(ResponseBody):
    id: str
    name: str
    version: int | None
    source: str = Field(examples=["runs", "log"])
    log_id: str | None
    period: PeriodOut
    cases: int
    events: int
    median_case_ms: int
    activities: list[ActivityOut]
    flows: list[FlowOut]
    variants: list[VariantOut]
    variants_total: int
    bottleneck: BottleneckOut | None
    rework: list[ReworkOut]
    handovers: list[HandoverOut]
    conformance: ConformanceOut | None
    discovered: PendingModelOut | None


class ModelProposed(ResponseBody):
    """It waits for an approval; `changes` are those against the process that it was mined for."""

    model_id: str
    version: int
    new: bool
    approval_status: str = Field(examples=["pending"])
    fitness: float
    precision: float
    changes: int


class ModelChangeOut(ResponseBody, of=Change):
    """`shape` and `activities` are what title and detail say in English. `elements` are ids of either model, `cases`
    the evidence; `saved_ms_per_week` is null where nothing tells."""

    kind: str = Field(examples=["added", "removed", "changed"])
    shape: str = Field(examples=["path_back", "optional", "beside", "step_added", "step_removed", "other"])


class StillOut(ResponseBody, of=Still):
    """`rule`: it goes past a control, which is never learned."""

    kind: str = Field(examples=["skipped", "repeated", "unknown", "order", "missing_end"])


class ReplayOut(ResponseBody):
    """So many of the cases fit each; `still`: why the others do not fit the model either."""

    cases: int
    base_fit: int
    model_fit: int
    still: list[StillOut]


class ApproversOut(ResponseBody):
    """`mine`: whoever asks has the permission; `needs_two`: a person other than the author; `by_author`: who asks is
    the author."""

    permission: str
    mine: bool
    needs_two: bool
    by_author: bool


class CannotMoveOut(ResponseBody):
    reason: str
    count: int


class RestingOut(ResponseBody):
    activity: str
    count: int


class RunningOut(ResponseBody):
    """Instances that have not ended. `looked_at` of them were asked whether they could go on in the model."""

    total: int
    looked_at: int
    can_move: int
    cannot: list[CannotMoveOut]
    at: list[RestingOut]


class ModelDiffOut(ResponseBody):
    id: str
    name: str
    base_version: int
    model_id: str
    model_version: int
    approval_status: str
    algorithm: str
    period: PeriodOut
    cases: int
    events: int
    precision: float | None
    sound: bool
    base_bpmn: str
    model_bpmn: str
    merged_bpmn: str
    changes: list[ModelChangeOut]
    replay: ReplayOut
    saved_ms_per_week: int
    approvers: ApproversOut
    running: RunningOut
