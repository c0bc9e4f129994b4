"""The decision language's own words (C-66): workflows, instances, approvals, judgment reviews, by the seed's names."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from penstock.api.bodies import RequestBody, ResponseBody
from penstock.api.paging import LARGEST
from penstock.api.problems import FoundOut
from penstock.api.shapes.definitions import DECIDED
from penstock.api.shapes.runs import TraceTrigger
from penstock.api.time_fields import Moment
from penstock.app.runs.timeline import trace
from penstock.store.releases import ReleaseRow

EXAMPLE = {
    "id": "wf_line_check", "name": "Line check", "version": 1,
    "nodes": [{"id": "wait_go", "type": "WAIT", "condition": {"type": "manual"}}], "edges": [],
}  # fmt: skip


class WorkflowVersion(
    ResponseBody,
    of=ReleaseRow,
    only=("id", "workflow_id", "version", "tenant_id", "dsl_hash", "status", *DECIDED, "message"),
):
    """A row of workflow_versions (W-9.3.1)."""

    workflow_id: str
    tenant_id: str
    dsl_hash: str
    message: str = Field(examples=["Workflow activated"])


class WorkflowVersionWhole(WorkflowVersion):
    dsl: dict[str, Any]


class WorkflowVersionPage(ResponseBody):
    items: list[WorkflowVersion]
    next: str | None


class WorkflowOut(ResponseBody):
    workflow_id: str
    name: str
    active_version: int | None
    newest_version: int
    status: str


class WorkflowPage(ResponseBody):
    items: list[WorkflowOut]
    next: str | None


class WorkflowAsked(RequestBody):
    dsl: dict[str, Any] = Field(description="The document.", examples=[EXAMPLE])
    change_summary: str | None = Field(None, max_length=2000)


class ValidateAsked(RequestBody):
    dsl: dict[str, Any] = Field(examples=[EXAMPLE])


class ValidateOut(ResponseBody):
    valid: bool
    errors: list[FoundOut]
    warnings: list[FoundOut]


class WorkflowSubmitted(WorkflowVersion):
    warnings: list[FoundOut]


class WorkflowActivated(WorkflowVersion):
    replayed: list[str]


class FeedbackAsked(RequestBody):
    feedback: str = Field(min_length=1, max_length=4000, examples=["The threshold is missing."])


class InstanceAsked(RequestBody):
    workflow_id: str = Field(min_length=1, max_length=200, examples=["wf_defect_alert_v2"])
    version: int | None = Field(None, ge=1, le=LARGEST)
    input: Any = Field(None, examples=[{"line_id": "L01"}])
    parent_instance_id: str | None = Field(None, max_length=200)
    environment: str = Field("", max_length=64, description="Use what is deployed there; else the tenant's own.")


class WorkflowInstanceStarted(ResponseBody):
    instance_id: str
    status: str


class InstanceSummary(ResponseBody):
    instance_id: str
    workflow_id: str
    version: int | None
    tenant_id: str
    status: str
    active_ms: int
    parent_instance_id: str | None
    started_at: Moment
    updated_at: Moment
    completed_at: Moment | None


class InstancePage(ResponseBody):
    items: list[InstanceSummary]
    next: str | None


class NodeExecution(ResponseBody):
    node_id: str
    type: str
    status: str
    attempt: int
    started_at: Moment
    completed_at: Moment | None


class InstanceError(ResponseBody, of=trace.TraceError, omit=("at",), first=("code", "category", "message")):
    pass


class InstanceTrigger(TraceTrigger):
    pass


class WorkflowInstanceOut(InstanceSummary):
    trigger: InstanceTrigger | None
    input: Any
    output: Any
    context: dict[str, Any]
    error: InstanceError | None
    nodes: list[NodeExecution]


class NodeSignalAsked(RequestBody):
    payload: Any = Field(None, examples=[{"go": True}])
    id: str = Field("", max_length=200, description="The same id again changes nothing.")


class InstanceCancelAsked(RequestBody):
    reason: str | None = Field(None, max_length=2000)


class InstanceCompensateAsked(RequestBody):
    node_ids: list[str] = []


class ApprovalDecision(ResponseBody):
    approver: str
    decision: str
    comment: str | None
    at: Moment


class ApprovalOut(ResponseBody):
    """A row of approval_requests (C-65)."""

    id: str
    instance_id: str
    workflow_id: str
    node_id: str
    status: str
    title: str
    description: str
    approvers: list[str]
    data: Any
    priority: str
    deadline: Moment | None
    escalation_level: int
    decisions: list[ApprovalDecision]
    requested_at: Moment


class ApprovalPage(ResponseBody):
    items: list[ApprovalOut]
    next: str | None


class ApprovalAsked(RequestBody):
    comment: str | None = Field(None, max_length=4000)


class ApprovalEscalateAsked(RequestBody):
    to: str | None = Field(None, min_length=1, max_length=200, examples=["role:qa_lead"])
    comment: str | None = Field(None, max_length=4000)


class ApprovalDecided(ResponseBody):
    id: str
    instance_id: str
    instance_status: str


class ReviewOut(ResponseBody):
    id: str
    instance_id: str
    workflow_id: str
    node_id: str
    title: str
    reviewers: list[str]
    data: Any
    deadline: Moment | None
    requested_at: Moment


class ReviewPage(ResponseBody):
    items: list[ReviewOut]
    next: str | None


class ReviewAsked(RequestBody):
    instance_id: str = Field(min_length=1, max_length=200)
    node_id: str = Field(min_length=1, max_length=200)
    decision: str = Field(pattern="^(normal|warning|critical|unknown)$", examples=["warning"])
    confidence: float = Field(1.0, ge=0, le=1)
    comment: str | None = Field(None, max_length=4000)
