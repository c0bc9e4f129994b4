"""Runs at the edge: lists, one run, its picture, its facts."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from penstock.api.bodies import RequestBody, ResponseBody
from penstock.api.locale import WordedFailure, WordedResult
from penstock.api.paging import LARGEST
from penstock.api.time_fields import Moment
from penstock.app.drawing import net_graph, run_graph, run_overlay
from penstock.app.runs import attempts, detail, summary
from penstock.app.runs.commands import moves
from penstock.app.runs.timeline import fact_pages, trace
from penstock.app.runs.waiting import wait_context
from penstock.kernel.fact_lines import FactLine


class Then(ResponseBody, of=wait_context.Followup, defaults=True):
    pass


class WhyOut(ResponseBody, WordedFailure, of=wait_context.WaitReason, defaults=True):
    """One reason for which a run rests; the lowest rank is told first."""


class MoveOut(ResponseBody, of=moves.Move, first=("verb", "label_key", "allowed"), defaults=True):
    """Something that may be done now, by this caller."""


class RunSummary(ResponseBody, WordedResult, of=summary.RunSummary):
    pass


class RunPage(ResponseBody):
    items: list[RunSummary]
    next: str | None
    total: int | None = Field(None, description="How many fit, where it was asked for and can be counted.")


class AttemptOut(ResponseBody, WordedFailure, of=attempts.Attempt, defaults=True):
    outcome: str


class WaitOut(ResponseBody, of=attempts.WaitPeriod):
    until: Moment | None = None


class FiringOut(ResponseBody, of=detail.FiringDetail):
    number: int = Field(description="Grows in the order in which they began.")


class FiringPage(ResponseBody):
    items: list[FiringOut]
    next: str | None


class FailureOut(ResponseBody, WordedFailure):
    code: str
    category: str
    message: str
    hint: str | None = None
    node: str | None = None
    detail: Any = None


class DefinitionRef(ResponseBody, of=detail.Definition):
    pass


class TriggerOut(ResponseBody):
    type: str
    source: str | None = None


class RunLine(ResponseBody, of=summary.RunSummary, omit=("why", "more_why")):
    """What a run and its line in a list have in common."""


class RunOut(RunLine, of=detail.RunDetail, omit=("run",)):
    failure: FailureOut | None
    firings: list[FiringOut] = Field(description="The newest, and all that have not ended.")
    older: str | None = Field(description="The cursor of /runs/{run}/firings for those that are left out.")
    waiting: list[dict[str, Any]]
    trigger: TriggerOut | None


class StartAsked(RequestBody):
    definition: str = Field(description="The name of a released definition.", examples=["wf_defect_alert_v2"])
    version: int | None = Field(None, ge=1, le=LARGEST)
    input: Any = Field(None, examples=[{"line_id": "L01"}])
    key: str | None = Field(None, max_length=200, description="The same key again is the same run.")
    priority: int = Field(1000, ge=0, le=9999)
    environment: str = Field("", max_length=64, description="Use what is deployed there; else the tenant's own.")


class Started(ResponseBody):
    id: str
    status: str


class FactOut(ResponseBody, of=FactLine, first=("seq", "at"), defaults=True):
    pass


class FactPage(ResponseBody):
    items: list[FactOut]
    next: int | None
    of: int


class MomentOut(ResponseBody, of=fact_pages.FactTime):
    pass


class MomentPage(ResponseBody):
    items: list[MomentOut]
    of: int


class TraceNode(ResponseBody, of=trace.TraceNode, first=("node_id", "type", "status", "retry_count"), defaults=True):
    pass


class TraceTrigger(ResponseBody, of=trace.TraceTrigger):
    pass


_OF_TRACE = {
    trace.TraceError: "TraceError", trace.OutputSummary: "OutputSummary", trace.TracedExecution: "Execution",
}  # fmt: skip


class TraceOut(ResponseBody, of=trace.Trace, parts=_OF_TRACE):
    pass


_OF_GRAPH = {
    net_graph.GraphNode: "GraphNode", net_graph.GraphEdge: "GraphEdge", run_overlay.TokenPlace: "GraphToken",
    run_overlay.NodeState: "GraphState",
}  # fmt: skip


class GraphOut(ResponseBody, of=run_graph.RunGraph, parts=_OF_GRAPH):
    at: int
    time: Moment | None


class DeltaOut(ResponseBody, of=run_graph.GraphDelta):
    not_taken: list[str] | None = None


class DeltasOut(ResponseBody, of=run_graph.GraphDeltas):
    pass


class CancelAsked(RequestBody):
    mode: str = Field("now", pattern="^(now|boundary)$")
    reason: str | None = Field(None, max_length=2000)


class RetryAsked(RequestBody):
    how: str = Field("here", pattern="^(here|restart)$")


class CompensateAsked(RequestBody):
    only: list[str] = []


class ForkAsked(RequestBody):
    fact: int = Field(ge=1, le=LARGEST)


class SignalAsked(RequestBody):
    name: str = Field(min_length=1, max_length=200)
    payload: Any = None
    id: str = Field("", max_length=200)


class ResolveAsked(RequestBody):
    node: str
    value: Any = None


class SkipAsked(RequestBody):
    node: str
    reason: str = Field(min_length=1, max_length=2000)


class VariablesAsked(RequestBody):
    set: dict[str, Any]
    reason: str = Field(min_length=1, max_length=2000)
