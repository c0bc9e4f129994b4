"""Process instances and work items as they are sent (P-X.5, P-X.28)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from penstock.api.bodies import RequestBody, ResponseBody
from penstock.api.shapes.inbox import CommentOut
from penstock.api.time_fields import Moment
from penstock.app.process.events import PublishedEvent
from penstock.app.process.reevaluation import ThresholdReading
from penstock.dialects.process import instance

Mode = Literal["AUTONOMOUS", "SUPERVISED", "MANUAL"]
Comment = Annotated[str, Field(min_length=1, max_length=4000)]
Person = Annotated[str, Field(min_length=1, max_length=200)]
Version = Annotated[int | None, Field(ge=0, le=2_000_000_000, description="The version that was seen.")]


class InitiateAsked(RequestBody):
    initiator_id: Person | None = Field(default=None, description="Who begins it; the caller, where nobody is named.")
    input_data: dict[str, Any] = Field(default={}, examples=[{"line": "L01"}])
    mode_overrides: dict[str, Mode] = Field(default={}, examples=[{}])
    version: Annotated[int | None, Field(ge=1, le=2_000_000_000)] = None
    start_event: Person | None = Field(default=None, description="Which of several start events it begins with.")


class ProcessInstanceStarted(ResponseBody):
    proc_inst_id: str
    proc_def_id: str
    proc_def_version: int
    status: str


class Seen(RequestBody):
    version: Version = None


class WorkItemStartAsked(Seen):
    pass


class WorkItemSubmitAsked(Seen):
    result_data: dict[str, Any] = Field(default={}, examples=[{"has_issue": True}])
    submitter_id: Person | None = None


class ApproveAsked(Seen):
    approver_id: Person | None = None
    comment: Comment | None = None
    result_overrides: dict[str, Any] | None = None


class WorkItemRejectAsked(Seen):
    comment: Comment
    approver_id: Person | None = None


class ReworkAsked(Seen):
    comment: Comment | None = None


class SetModeAsked(Seen):
    mode: Mode


class TakeOverAsked(Seen):
    comment: Comment | None = None


class DelegateToAsked(Seen):
    to: Annotated[str, Field(min_length=1, max_length=200)] = Field(examples=["user:kim@example.com"])
    comment: Comment | None = None


class RemarkAsked(RequestBody):
    text: Comment


class WorkitemLine(
    ResponseBody,
    of=instance.WorkItem,
    only=(
        "id", "proc_inst_id", "proc_def_id", "activity_id", "activity_name", "activity_type", "agent_mode", "status",
        "assignee", "role", "priority", "due_at", "version", "created_at",
    ),
):  # fmt: skip
    """A line of a list. `version` grows with every change."""

    updated_at: Moment


class WorkitemPage(ResponseBody):
    items: list[WorkitemLine]
    next: str | None


class Remark(CommentOut):
    pass


class WorkitemOut(ResponseBody, of=instance.WorkItem, omit=("firing", "candidates", "transcript")):
    """P-X.5, with what is asked of whoever does it."""


class WorkitemWhole(WorkitemOut):
    comments: list[Remark]
    history: list[Passage]
    transcript: list[Any] = Field(description="What the agent has kept of how it came to its result.")


class Passage(ResponseBody, of=instance.Passage):
    """From one status to another: of an item, or, without one, of the instance."""


class StepOut(ResponseBody, of=instance.CompensationStep):
    """P-5.3.1, P-5.5.6."""

    status: str = Field(examples=["PENDING", "EXECUTED", "FAILED", "SKIPPED", "CANCELLED"])


class CompensationOut(ResponseBody):
    status: str = Field(examples=["NONE", "COMPLETE", "PARTIAL"])
    steps: list[StepOut]
    results: list[dict[str, Any]]


class ProcessInstanceOut(ResponseBody):
    id: str
    proc_def_id: str
    proc_def_version: int
    tenant_id: str
    status: str = Field(examples=["RUNNING", "COMPLETED", "TERMINATED"])
    compensation_status: str
    initiator_id: str | None
    variables: dict[str, Any]
    parent_inst_id: str | None
    failed_activity_id: str | None
    failure_reason: str | None
    version: int
    started_at: Moment
    completed_at: Moment | None
    workitems: list[WorkitemOut]
    history: list[Passage]
    compensation: CompensationOut
    compensation_steps: list[dict[str, Any]] = Field(description="P-5.3.9: what came of each step, in short")


class InstanceTold(ResponseBody):
    """`compensation_steps` (P-5.3.9): what was undone, and what is still to be, as far as it has come."""

    proc_inst_id: str
    status: str
    compensation_status: str
    compensation_steps: list[dict[str, Any]]


class WorkItemSubmittedOut(ResponseBody):
    """P-3.2.10."""

    next_nodes: list[str]
    workitem_id: str
    status: str
    version: int
    instance_status: str


class ProcessEventOut(ResponseBody, of=PublishedEvent):
    event: str = Field(examples=["PROCESS_STARTED"])


class ProcessEventPage(ResponseBody):
    items: list[ProcessEventOut]
    next: str | None


class ReevaluationRow(ResponseBody, of=ThresholdReading):
    """P-8: `value` is None where nothing was measured yet."""


class ReevaluationOut(ResponseBody):
    items: list[ReevaluationRow]


WorkitemWhole.model_rebuild()
