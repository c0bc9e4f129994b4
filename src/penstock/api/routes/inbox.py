"""The inbox: what waits for people, and what they do with it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Query
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
    found = page(door, who, who.permissions, mine=mine, kind=kind, start=start, limit=limit)
    after = paging.cursor_of(start + limit) if found.more else None
    return reply(shape.ItemPage, {"items": found.items, "next": after, "total": found.total})


@router.get("/{run}/{node}", response_model=shape.ItemOut, summary="One of them")
async def get(run: str, node: str, door: Door, who: Caller = may("inbox.read")) -> Response:
    found = item(door, who, who.permissions, f"{run}/{node}")
    return reply(shape.ItemOut, found, headers={"ETag": f'"{found.etag}"'})


@router.post("/{run}/{node}/approve", response_model=shape.Decided, summary="Approve it")
async def approve(
    run: str, node: str, asked: shape.DecisionAsked, door: Door, server: Server, if_match: IfMatch = None,
    who: Caller = may("inbox.decide"),
) -> Response:  # fmt: skip
    run = run_of_item(door, run, node)
    _unchanged(door, who, run, node, if_match)
    done = await door.inbox.approve(f"{run}/{node}", by=who, comment=asked.comment, value=asked.value)
    return _decided(door, server, who, done.id, done.run)


@router.post("/{run}/{node}/reject", response_model=shape.Decided, summary="Reject it")
async def reject(
    run: str, node: str, asked: shape.DecisionAsked, door: Door, server: Server, if_match: IfMatch = None,
    who: Caller = may("inbox.decide"),
) -> Response:  # fmt: skip
    run = run_of_item(door, run, node)
    _unchanged(door, who, run, node, if_match)
    done = await door.inbox.reject(f"{run}/{node}", by=who, comment=asked.comment, value=asked.value)
    return _decided(door, server, who, done.id, done.run)


@router.post("/{run}/{node}/judge", response_model=shape.Decided, summary="Give a review its verdict")
async def judge(
    run: str, node: str, asked: shape.JudgeAsked, door: Door, server: Server, if_match: IfMatch = None,
    who: Caller = may("inbox.decide"),
) -> Response:  # fmt: skip
    run = run_of_item(door, run, node)
    _unchanged(door, who, run, node, if_match)
    done = await door.inbox.judge(f"{run}/{node}", asked.decision, by=who, comment=asked.comment)
    return _decided(door, server, who, done.id, done.run)


@router.post("/{run}/{node}/respond", response_model=shape.Decided, summary="Answer it")
async def respond(
    run: str, node: str, asked: shape.AnswerAsked, door: Door, server: Server, if_match: IfMatch = None,
    who: Caller = may("inbox.decide"),
) -> Response:  # fmt: skip
    run = run_of_item(door, run, node)
    if if_match is not None:  # a node that is stuck has no item, and so no ETag
        _unchanged(door, who, run, node, if_match)
    await answer(door, run, node, asked.value, by=who, permissions=who.permissions)
    return _decided(door, server, who, f"{run}/{node}", run)


@router.post("/{run}/{node}/claim", response_model=shape.ItemOut, summary="Say that I am on it")
async def claim(run: str, node: str, door: Door, who: Caller = may("inbox.decide")) -> Response:
    run = run_of_item(door, run, node)
    Comments(door).claim(f"{run}/{node}", who)
    return reply(shape.ItemOut, item(door, who, who.permissions, f"{run}/{node}"))


@router.post("/{run}/{node}/release", response_model=shape.ItemOut, summary="Leave it to others")
async def release(run: str, node: str, door: Door, who: Caller = may("inbox.decide")) -> Response:
    run = run_of_item(door, run, node)
    Comments(door).release(f"{run}/{node}", who)
    return reply(shape.ItemOut, item(door, who, who.permissions, f"{run}/{node}"))


@router.post("/{run}/{node}/delegate", response_model=shape.ItemOut, summary="Let somebody else decide")
async def delegate(
    run: str, node: str, asked: shape.DelegateAsked, door: Door, who: Caller = may("inbox.decide")
) -> Response:
    run = run_of_item(door, run, node)
    Comments(door).delegate(f"{run}/{node}", who, asked.to, asked.comment)
    return reply(shape.ItemOut, item(door, who, who.permissions, f"{run}/{node}"))


@router.post("/{run}/{node}/comment", response_model=shape.ItemOut, summary="Say something about it")
async def comment(
    run: str, node: str, asked: shape.CommentAsked, door: Door, who: Caller = may("inbox.read")
) -> Response:
    run = run_of_item(door, run, node)
    Comments(door).comment(f"{run}/{node}", who, asked.text)
    return reply(shape.ItemOut, item(door, who, who.permissions, f"{run}/{node}"))


@router.post("/{run}/{node}/escalate", response_model=shape.ItemOut, summary="Let others decide, now")
async def escalate(
    run: str, node: str, asked: shape.EscalateAsked, door: Door, who: Caller = may("inbox.decide")
) -> Response:
    run = run_of_item(door, run, node)
    done = await escalated(door, f"{run}/{node}", by=who, to=asked.to, comment=asked.comment)
    return reply(shape.ItemOut, item(door, who, who.permissions, done.id))


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


def _unchanged(door: Door, who: Caller, run: str, node: str, if_match: str | None) -> None:
    """Who looked at something that has changed since decides on what it is now, not on what it was."""
    if if_match is not None and (now := item(door, who, who.permissions, f"{run}/{node}").etag) != if_match.strip('" '):
        raise ChangedMeanwhile(what=f"{run}/{node}", now=now)


def _decided(door: Door, server: Server, who: Caller, id: str, run: str) -> Response:
    look = door.view(run)
    server.hub.publish(who.tenant, "inbox", {"item": id})
    told = {"item": id, "run": look.run_id, "status": look.status, "state": look.internal_status}
    return reply(shape.Decided, told)
