"""Work items at the edge."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from penstock.api.bodies import RequestBody, ResponseBody
from penstock.api.shapes.runs import MoveOut, Then
from penstock.app.inbox import comments, items
from penstock.app.language import ItemWork


class FieldOut(ResponseBody, of=items.DecisiveField, defaults=True):
    """One of the few values that decide."""


class VoteOut(ResponseBody, of=items.Vote):
    pass


class CommentOut(ResponseBody, of=comments.ItemComment):
    pass


class DelegationOut(ResponseBody, of=items.Delegation):
    """Who has let whom decide as well."""


class Effects(ResponseBody, of=items.DecisionEffects):
    """What a decision leads to: the label of the node that follows."""


class ItemWorkOut(ResponseBody, of=ItemWork):
    """An activity of a process. `id` is its name under /processes/workitems; `agent`: an agent can do it."""


class ItemOut(ResponseBody, of=items.ItemDetail):
    due_then: Then | None
    moves: list[MoveOut]


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
