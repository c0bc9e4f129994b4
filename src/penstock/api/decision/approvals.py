"""Approvals and judgment reviews, in the words of the decision language (C-66, C-52)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path
from starlette.responses import Response

from penstock.api import paging
from penstock.api.audited import AuditedRoute
from penstock.api.decision import shapes as shape
from penstock.api.replies import reply
from penstock.api.run_body import run_of_item
from penstock.api.server_state import Caller, Door, Server, may
from penstock.app.inbox.escalation import escalate as escalated
from penstock.app.inbox.items import ItemDetail, page
from penstock.app.inbox.open_items import InboxItem, find
from penstock.errors import ItemNotFound

router = APIRouter(tags=["approvals"], route_class=AuditedRoute)
Id = Annotated[str, Path(max_length=400, description="INSTANCE:NODE, or INSTANCE where only one waits.")]


def _id(item: str) -> str:
    """One part of a path: what the inbox calls RUN/NODE."""
    run, _, node = item.partition("/")
    return f"{run}:{node}"


def _item(door: Door, id: str, kind: str) -> str:
    run, _, node = id.partition(":")
    run_id = run_of_item(door, run, node)
    item = find(door, f"{run_id}/{node}" if node else run_id)
    if item.kind != kind:
        raise ItemNotFound(item=id)
    return item.id


class WaitingItems:
    """A page of what waits for people. The cursor is read in the route: who may not is refused before."""

    def __init__(self, door: Door, mine: bool = False, limit: paging.Limit = 50, cursor: paging.Cursor = None) -> None:
        self.door, self.mine, self.limit, self.cursor = door, mine, limit, cursor

    def of(self, kind: str, who: Caller) -> tuple[list[ItemDetail], str | None]:
        """The items, and the cursor of the next page."""
        start = paging.read_cursor(self.cursor, int) or 0
        items = page(self.door, who, who.permissions, mine=self.mine, kind=kind, start=start, limit=self.limit)
        return items.items, paging.cursor_of(start + self.limit) if items.more else None


Waiting = Annotated[WaitingItems, Depends()]


def _approval(item: ItemDetail) -> dict[str, Any]:
    return {
        "id": _id(item.id), "instance_id": item.run, "workflow_id": item.document, "node_id": item.node,
        "status": item.status, "title": item.title, "description": item.description, "approvers": item.candidates,
        "data": item.data, "priority": item.priority, "deadline": item.due_at,
        "escalation_level": item.escalation_level,
        "decisions": [
            {"approver": v.by, "decision": v.decision, "comment": v.comment, "at": v.at} for v in item.approvals
        ],
        "requested_at": item.opened_at,
    }  # fmt: skip


@router.get("/approvals", response_model=shape.ApprovalPage, summary="Approvals that wait, the nearest deadline first")
async def approvals(waiting: Waiting, who: Caller = may("inbox.read")) -> Response:
    items, after = waiting.of("approval", who)
    return reply(shape.ApprovalPage, {"items": [_approval(item) for item in items], "next": after})


class Approval:
    """The approval that the path names. It is looked up in the route: who may not is refused before."""

    def __init__(self, id: Id, door: Door, server: Server) -> None:
        self.id, self.door, self.server = id, door, server

    async def decide(self, verb: Decide, asked: shape.ApprovalAsked | None, who: Caller) -> Response:
        item = _item(self.door, self.id, "approval")
        done = await verb(item, by=who, comment=asked.comment if asked is not None else None)
        return _decided(self.door, self.server, who, done.id, done.run)


Decide = Callable[..., Awaitable[InboxItem]]
At = Annotated[Approval, Depends()]


@router.post("/approvals/{id}/approve", response_model=shape.ApprovalDecided, summary="Approve it")
async def approve(at: At, asked: shape.ApprovalAsked | None = None, who: Caller = may("inbox.decide")) -> Response:
    return await at.decide(at.door.inbox.approve, asked, who)


@router.post("/approvals/{id}/reject", response_model=shape.ApprovalDecided, summary="Reject it")
async def reject(at: At, asked: shape.ApprovalAsked | None = None, who: Caller = may("inbox.decide")) -> Response:
    return await at.decide(at.door.inbox.reject, asked, who)


@router.post("/approvals/{id}/escalate", response_model=shape.ApprovalDecided, summary="Let others decide, now")
async def escalate(
    at: At, asked: shape.ApprovalEscalateAsked | None = None, who: Caller = may("inbox.decide")
) -> Response:
    given = asked or shape.ApprovalEscalateAsked(to=None, comment=None)
    done = await escalated(at.door, _item(at.door, at.id, "approval"), by=who, to=given.to, comment=given.comment)
    return _decided(at.door, at.server, who, done.id, done.run)


@router.get("/judgment-reviews", response_model=shape.ReviewPage, summary="Verdicts that wait for a person (C-52)")
async def reviews(waiting: Waiting, who: Caller = may("inbox.read")) -> Response:
    items, after = waiting.of("review", who)
    bodies = [
        {"id": _id(item.id), "instance_id": item.run, "workflow_id": item.document, "node_id": item.node,
         "title": item.title, "reviewers": item.candidates, "data": item.data, "deadline": item.due_at,
         "requested_at": item.opened_at}
        for item in items
    ]  # fmt: skip
    return reply(shape.ReviewPage, {"items": bodies, "next": after})


@router.post("/judgment-reviews", response_model=shape.ApprovalDecided, summary="Give a review its verdict")
async def judge(asked: shape.ReviewAsked, door: Door, server: Server, who: Caller = may("inbox.decide")) -> Response:
    item = _item(door, f"{asked.instance_id}:{asked.node_id}", "review")
    done = await door.inbox.judge(item, asked.decision, by=who, comment=asked.comment, confidence=asked.confidence)
    return _decided(door, server, who, done.id, done.run)


def _decided(door: Door, server: Server, who: Caller, item: str, run: str) -> Response:
    server.hub.publish(who.tenant, "inbox", {"item": item})
    body = {"id": _id(item), "instance_id": run, "instance_status": door.status(run).status}
    return reply(shape.ApprovalDecided, body)
