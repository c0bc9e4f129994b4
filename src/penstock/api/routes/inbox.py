"""The inbox: what waits for people, and what they do with it."""

from __future__ import annotations

import functools
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query
from starlette.responses import Response

from penstock.api import paging
from penstock.api.audited import AuditedRoute
from penstock.api.replies import reply
from penstock.api.run_body import run_of_item
from penstock.api.server_state import Caller, Door, Server, may
from penstock.api.shapes import inbox as shape
from penstock.app.inbox.comments import Comments
from penstock.app.inbox.escalation import escalate as escalated
from penstock.app.inbox.items import item, page
from penstock.app.inbox.open_items import find
from penstock.app.inbox.respond import answer
from penstock.errors import ChangedMeanwhile, ItemDecided

router = APIRouter(prefix="/inbox", tags=["inbox"], route_class=AuditedRoute)
IfMatch = Annotated[str | None, Header(alias="If-Match")]


@router.get("", response_model=shape.ItemPage, summary="What waits, the nearest deadline first")
async def each(
    door: Door, mine: bool = True, kind: Annotated[str | None, Query(pattern="^(approval|review|work)$")] = None,
    limit: paging.Limit = 50, cursor: paging.Cursor = None, who: Caller = may("inbox.read"),
) -> Response:  # fmt: skip
    start = paging.read_cursor(cursor, int) or 0
    items = page(door, who, who.permissions, mine=mine, kind=kind, start=start, limit=limit)
    after = paging.cursor_of(start + limit) if items.more else None
    return reply(shape.ItemPage, {"items": items.items, "next": after, "total": items.total})


@router.get("/{run}/{node}", response_model=shape.ItemOut, summary="One of them")
async def get(run: str, node: str, door: Door, who: Caller = may("inbox.read")) -> Response:
    body = item(door, who, who.permissions, f"{run}/{node}")
    return reply(shape.ItemOut, body, headers={"ETag": f'"{body.etag}"'})


class Item:
    """The work item that the path names. It is looked up in the route: who may not is refused before."""

    def __init__(self, run: str, node: str, door: Door) -> None:
        self._run, self.node, self.door = run, node, door

    @functools.cached_property
    def run(self) -> str:
        return run_of_item(self.door, self._run, self.node)

    @property
    def id(self) -> str:
        """Raises ItemNotFound."""
        return f"{self.run}/{self.node}"

    def reply(self, who: Caller, id: str | None = None) -> Response:
        return reply(shape.ItemOut, item(self.door, who, who.permissions, id or self.id))


class ItemToDecide(Item):
    """The same, with what its decision needs: the version that was seen, and who is told."""

    def __init__(self, run: str, node: str, door: Door, server: Server, if_match: IfMatch = None) -> None:
        super().__init__(run, node, door)
        self.server, self.if_match = server, if_match

    def unchanged(self, who: Caller) -> str:
        """The item's id, to be looked up exactly. Raises ChangedMeanwhile where it has changed since it was seen, so
        that nobody decides on what it was."""
        if self.if_match is None:
            return f"{self._run}/{self.node}"
        now = item(self.door, who, who.permissions, self.id).etag
        if now != self.if_match.strip('" '):
            raise ChangedMeanwhile(what=self.id, now=now)
        return self.id

    def decided(self, who: Caller, id: str, run: str) -> Response:
        now = self.door.status(run)
        self.server.hub.publish(who.tenant, "inbox", {"item": id})
        return reply(shape.Decided, {"item": id, "run": now.run, "status": now.status, "state": now.state})


At = Annotated[Item, Depends()]
ToDecide = Annotated[ItemToDecide, Depends()]


@router.post("/{run}/{node}/approve", response_model=shape.Decided, summary="Approve it")
async def approve(at: ToDecide, asked: shape.DecisionAsked, who: Caller = may("inbox.decide")) -> Response:
    done = await at.door.inbox.approve(at.unchanged(who), by=who, comment=asked.comment, value=asked.value, exact=True)
    return at.decided(who, done.id, done.run)


@router.post("/{run}/{node}/reject", response_model=shape.Decided, summary="Reject it")
async def reject(at: ToDecide, asked: shape.DecisionAsked, who: Caller = may("inbox.decide")) -> Response:
    done = await at.door.inbox.reject(at.unchanged(who), by=who, comment=asked.comment, value=asked.value, exact=True)
    return at.decided(who, done.id, done.run)


@router.post("/{run}/{node}/judge", response_model=shape.Decided, summary="Give a review its verdict")
async def judge(at: ToDecide, asked: shape.JudgeAsked, who: Caller = may("inbox.decide")) -> Response:
    done = await at.door.inbox.judge(at.unchanged(who), asked.decision, by=who, comment=asked.comment, exact=True)
    return at.decided(who, done.id, done.run)


@router.post("/{run}/{node}/respond", response_model=shape.Decided, summary="Answer it")
async def respond(at: ToDecide, asked: shape.AnswerAsked, who: Caller = may("inbox.decide")) -> Response:
    at.unchanged(who)
    await answer(at.door, at.run, at.node, asked.value, by=who, permissions=who.permissions)
    return at.decided(who, at.id, at.run)


@router.post("/{run}/{node}/claim", response_model=shape.ItemOut, summary="Say that I am on it")
async def claim(at: At, who: Caller = may("inbox.decide")) -> Response:
    Comments(at.door).claim(at.id, who)
    return at.reply(who)


@router.post("/{run}/{node}/release", response_model=shape.ItemOut, summary="Leave it to others")
async def release(at: At, who: Caller = may("inbox.decide")) -> Response:
    Comments(at.door).release(at.id, who)
    return at.reply(who)


@router.post("/{run}/{node}/delegate", response_model=shape.ItemOut, summary="Let somebody else decide")
async def delegate(at: At, asked: shape.DelegateAsked, who: Caller = may("inbox.decide")) -> Response:
    Comments(at.door).delegate(at.id, who, asked.to, asked.comment)
    return at.reply(who)


@router.post("/{run}/{node}/comment", response_model=shape.ItemOut, summary="Say something about it")
async def comment(at: At, asked: shape.CommentAsked, who: Caller = may("inbox.read")) -> Response:
    Comments(at.door).comment(at.id, who, asked.text)
    return at.reply(who)


@router.post("/{run}/{node}/escalate", response_model=shape.ItemOut, summary="Let others decide, now")
async def escalate(at: At, asked: shape.EscalateAsked, who: Caller = may("inbox.decide")) -> Response:
    done = await escalated(at.door, at.id, by=who, to=asked.to, comment=asked.comment)
    return at.reply(who, done.id)


@router.post("/{run}/{node}/looking", response_model=shape.LookingOut, summary="Say that I look at it; who else does?")
async def looking(
    run: str, node: str, asked: shape.LookingAsked, door: Door, server: Server, who: Caller = may("inbox.read")
) -> Response:
    """To be said again within thirty seconds. Nothing of it is stored; who comes and goes is told to the tenant's
    consoles."""
    here = asked.here
    try:
        id = find(door, f"{run}/{node}").id
    except ItemDecided:  # whoever still looks at it is told so by other means
        id, here = f"{door.row(run).id}/{node}", False
    tell = server.presence.here if here else server.presence.left
    if tell(who.tenant, id, who.user):
        server.hub.publish(who.tenant, "looking", {"item": id})
    return reply(shape.LookingOut, {"others": server.presence.others(who.tenant, id, who.user) if here else []})
