"""Work items at the edge."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from penstock.api.replies import RequestBody, ResponseBody
from penstock.api.shapes.runs import MoveOut, Then
from penstock.api.time_fields import Moment


class FieldOut(ResponseBody):
    """One of the few values that decide."""

    key: str
    label: str
    value: Any
    unit: str | None = None
    tone: str | None = None


class VoteOut(ResponseBody):
    by: str
    decision: str
    comment: str | None
    at: Moment


class CommentOut(ResponseBody):
    by: str
    at: Moment
    text: str


class DelegationOut(ResponseBody):
    """Who has let whom decide as well."""

    by: str
    to: str


class Effects(ResponseBody):
    """What a decision leads to: the label of the node that follows."""

    approve: str | None
    reject: str | None


class ItemWorkOut(ResponseBody):
    """An activity of a process. `id` is its name under /processes/workitems; `agent`: an agent can do it."""

    id: str
    mode: str
    assignee: str | None
    activity_type: str
    agent: bool
    error: str | None


class ItemOut(ResponseBody):
    id: str
    run: str
    run_title: str
    node: str
    kind: str
    title: str
    description: str
    priority: str
    status: str
    document: str
    language: str
    opened_at: Moment
    due_at: Moment | None
    due_then: Then | None
    data: Any
    fields: list[FieldOut]
    form: dict[str, Any] | None
    candidates: list[str]
    why_me: list[str]
    eligible: bool
    not_eligible_because: str | None
    needed: int
    approvals: list[VoteOut]
    escalation_level: int
    claimed_by: str | None
    comments: list[CommentOut]
    delegations: list[DelegationOut]
    effects: Effects
    moves: list[MoveOut]
    etag: str
    work: ItemWorkOut | None


class ItemPage(ResponseBody):
    items: list[ItemOut]
    next: str | None
    total: int


class DecisionAsked(RequestBody):
    comment: str | None = Field(None, max_length=4000)
    value: dict[str, Any] | None = Field(None, description="What the item's form asks for.")


class JudgeAsked(RequestBody):
    decision: str
    comment: str | None = Field(None, max_length=4000)


class AnswerAsked(RequestBody):
    value: Any = None
    comment: str | None = Field(None, max_length=4000)


class DelegateAsked(RequestBody):
    to: str = Field(min_length=1, max_length=200, description="user:…, role:… or group:…")
    comment: str | None = Field(None, max_length=4000)


class EscalateAsked(RequestBody):
    to: str | None = Field(None, min_length=1, max_length=200, description="Else those whom the document names.")
    comment: str | None = Field(None, max_length=4000)


class CommentAsked(RequestBody):
    text: str = Field(min_length=1, max_length=4000)


class LookingAsked(RequestBody):
    here: bool = Field(True, description="False: I look no longer.")


class LookingOut(ResponseBody):
    """Who else looks at it now."""

    others: list[str]


class Decided(ResponseBody):
    """What was decided, and how the run stands after it."""

    item: str
    run: str
    status: str
    state: str
