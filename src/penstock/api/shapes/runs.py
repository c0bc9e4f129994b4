"""Runs at the edge: lists, one run, its picture, its facts."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from penstock.api.paging import LARGEST
from penstock.api.replies import RequestBody, ResponseBody
from penstock.api.time_fields import Moment


class Then(ResponseBody):
    kind: str
    to: str | None = None


class WhyOut(ResponseBody):
    """One reason for which a run rests; the lowest rank is told first."""

    rank: int
    kind: str
    node: str | None = None
    label: str | None = None
    who: list[str] = []
    what: str | None = None
    since: Moment | None = None
    until: Moment | None = None
    then: Then | None = None
    attempt: int | None = None
    of: int | None = None
    code: str | None = None
    message: str | None = None
    move: str | None = None
    run: str | None = None


class MoveOut(ResponseBody):
    """Something that may be done now, by this caller."""

    verb: str
    label_key: str
    allowed: bool = True
    confirm: str
    effect_key: str
    needs: list[str] = []
    target: str | None = None


class RunSummary(ResponseBody):
    id: str
    key: str | None
    name: str
    title: str
    language: str
    version: int | None
    status: str
    state: str
    tone: str
    why: WhyOut | None
    more_why: int
    result: str | None
    node: str | None
    started_at: Moment
    updated_at: Moment
    ended_at: Moment | None
    active_ms: int
    priority: int
    parent: str | None
    tenant: str


class RunPage(ResponseBody):
    items: list[RunSummary]
    next: str | None


class AttemptOut(ResponseBody):
    n: int
    started_at: Moment
    ended_at: Moment | None = None
    outcome: str
    code: str | None = None
    message: str | None = None
    next_at: Moment | None = None


class WaitOut(ResponseBody):
    since: Moment
    until: Moment | None = None
    why: str


class FiringOut(ResponseBody):
    id: str
    number: int = Field(description="Grows in the order in which they began.")
    node: str
    label: str
    type: str
    kind: str
    status: str
    state: str
    tone: str
    epoch: int
    iteration: int
    scope: str
    attempt: int
    started_at: Moment
    ended_at: Moment | None
    attempts: list[AttemptOut]
    waits: list[WaitOut]


class FiringPage(ResponseBody):
    items: list[FiringOut]
    next: str | None


class FailureOut(ResponseBody):
    code: str
    category: str
    message: str
    hint: str | None = None
    node: str | None = None
    detail: Any = None


class DefinitionRef(ResponseBody):
    name: str
    version: int | None
    hash: str
    language: str


class TriggerOut(ResponseBody):
    type: str
    source: str | None = None


class RunOut(ResponseBody):
    id: str
    key: str | None
    name: str
    title: str
    language: str
    version: int | None
    status: str
    state: str
    tone: str
    result: str | None
    node: str | None
    started_at: Moment
    updated_at: Moment
    ended_at: Moment | None
    active_ms: int
    priority: int
    parent: str | None
    tenant: str
    input: Any
    output: Any
    outputs: dict[str, Any]
    variables: dict[str, Any]
    failure: FailureOut | None
    warnings: list[dict[str, Any]]
    firings: list[FiringOut] = Field(description="The newest, and all that have not ended.")
    older: str | None = Field(description="The cursor of /runs/{run}/firings for those that are left out.")
    firing_count: int
    attempt_count: int
    waiting: list[dict[str, Any]]
    why: list[WhyOut]
    moves: list[MoveOut]
    facts: int
    trace_id: str
    trigger: TriggerOut | None
    children: list[RunSummary]
    definition: DefinitionRef
    paused: bool
    retries: int


class StartAsked(RequestBody):
    definition: str = Field(description="The name of a released definition.", examples=["wf_defect_alert_v2"])
    version: int | None = Field(None, ge=1, le=LARGEST)
    input: Any = Field(None, examples=[{"line_id": "L01"}])
    key: str | None = Field(None, max_length=200, description="The same key again is the same run.")
    priority: int = Field(1000, ge=0, le=9999)


class Started(ResponseBody):
    id: str
    status: str


class FactOut(ResponseBody):
    seq: int
    at: Moment
    fact: str
    node: str = ""
    edge: str = ""
    scope: str = ""
    epoch: int = -1
    data: dict[str, Any] = {}


class FactPage(ResponseBody):
    items: list[FactOut]
    next: int | None
    of: int


class TraceNode(ResponseBody):
    node_id: str
    type: str
    status: str
    retry_count: int
    duration_ms: int | None = None
    model: str | None = None
    tokens_used: int | None = None


class TraceError(ResponseBody):
    node_id: str | None
    code: str
    category: str
    message: str
    at: str


class OutputSummary(ResponseBody):
    decision: str | None
    actions_taken: list[str]


class TraceTrigger(ResponseBody):
    type: str
    source: str | None


class Execution(ResponseBody):
    workflow_id: str
    instance_id: str
    version: int | None
    tenant_id: str
    started_at: str
    completed_at: str | None
    duration_ms: int | None
    status: str
    trigger: TraceTrigger
    input_summary: dict[str, Any]
    output_summary: OutputSummary
    nodes_executed: list[TraceNode]
    errors: list[TraceError]
    checkpoints: int


class TraceOut(ResponseBody):
    trace_id: str
    span_id: str
    workflow_execution: Execution


class GraphNode(ResponseBody):
    id: str
    label: str
    kind: str
    shape: str
    type: str
    parent: str | None
    icon: str


class GraphEdge(ResponseBody):
    id: str
    source: str = Field(alias="from")
    target: str = Field(alias="to")
    port: str
    label: str | None
    back: bool
    skip: bool


class GraphToken(ResponseBody):
    edge: str | None
    node: str | None
    count: int
    epochs: list[int]


class GraphState(ResponseBody):
    state: str
    status: str
    tone: str
    count: int
    attempt: int
    ms: int | None
    note: str | None


class GraphOut(ResponseBody):
    hash: str
    name: str
    language: str
    direction: str
    at: int
    of: int
    time: Moment | None
    nodes: list[GraphNode]
    edges: list[GraphEdge]
    tokens: list[GraphToken]
    states: dict[str, GraphState]
    taken: list[str]
    not_taken: list[str]
    variables: dict[str, Any]


class DeltaOut(ResponseBody):
    fact: int
    at: Moment
    kind: str
    node: str | None
    tokens: dict[str, int]
    resting: dict[str, int]
    states: dict[str, GraphState]
    variables: dict[str, Any]
    gone: list[str]
    taken: list[str]
    not_taken: list[str] | None = None


class DeltasOut(ResponseBody):
    first: int = Field(alias="from")
    last: int = Field(alias="to")
    of: int
    snapshot: GraphOut
    steps: list[DeltaOut]


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
