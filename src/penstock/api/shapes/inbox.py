"""Work items at the edge."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from penstock.api.replies import Asked, Shape
from penstock.api.shapes.runs import MoveOut, Then
from penstock.api.time_fields import Moment


class FieldOut(Shape):
    """One of the few values that decide."""

    key: str
    label: str
    value: Any
    unit: str | None = None
    tone: str | None = None


class VoteOut(Shape):
    by: str
    decision: str
    comment: str | None
    at: Moment


class CommentOut(Shape):
    by: str
    at: Moment
    text: str


class DelegationOut(Shape):
    """Who has let whom decide as well."""

    by: str
    to: str


class Effects(Shape):
    """What a decision leads to: the label of the node that follows."""

    approve: str | None
    reject: str | None


class ItemWorkOut(Shape):
    """An activity of a process. `id` is its name under /processes/workitems; `agent`: an agent can do it."""

    id: str
    mode: str
    assignee: str | None
    activity_type: str
    agent: bool
    error: str | None


class ItemOut(Shape):
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


class ItemPage(Shape):
    items: list[ItemOut]
    next: str | None
    total: int


class DecisionAsked(Asked):
    comment: str | None = Field(None, max_length=4000)
    value: dict[str, Any] | None = Field(None, description="What the item's form asks for.")


class JudgeAsked(Asked):
    decision: str
    comment: str | None = Field(None, max_length=4000)


class AnswerAsked(Asked):
    value: Any = None
    comment: str | None = Field(None, max_length=4000)


class DelegateAsked(Asked):
    to: str = Field(min_length=1, max_length=200, description="user:…, role:… or group:…")
    comment: str | None = Field(None, max_length=4000)


class EscalateAsked(Asked):
    to: str | None = Field(None, min_length=1, max_length=200, description="Else those whom the document names.")
    comment: str | None = Field(None, max_length=4000)


class CommentAsked(Asked):
    text: str = Field(min_length=1, max_length=4000)


class LookingAsked(Asked):
    here: bool = Field(True, description="False: I look no longer.")


class LookingOut(Shape):
    """Who else looks at it now."""

    others: list[str]


class Decided(Shape):
    """What was decided, and how the run stands after it."""

    item: str
    run: str
    status: str
    state: str
