"""Administration: keys, tenants, the audit, drafts, and messages that were kept instead of sent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Header, Path, Query
from starlette.responses import Response

from penstock.api import paging
from penstock.api.audited import AuditedRoute
from penstock.api.replies import reply
from penstock.api.server_state import Caller, Door, Server, ServerState, may
from penstock.api.shapes import admin as shape
from penstock.api.time_fields import moment
from penstock.app.access.audit import ChainHead
from penstock.app.access.keys import ApiKey, ApiKeys
from penstock.app.access.names import same_user
from penstock.app.access.roles import ADMIN, config_of, each_user, in_our_words, permissions_of, person
from penstock.app.inbox.drafts import Draft, Drafts
from penstock.errors import BadInput, ChangedMeanwhile, DraftNotFound, NotAllowed, NotYours, TenantExists

router = APIRouter(route_class=AuditedRoute)
Text = Annotated[str | None, Query(max_length=500)]
IfMatch = Annotated[str | None, Header(alias="If-Match", max_length=100)]


# -- keys --------------------------------------------------------------------------------------------------------------


@router.get("/keys", response_model=shape.KeyPage, tags=["keys"], summary="The tenant's keys, without their secrets")
async def keys(
    door: Door, limit: paging.Limit = 50, cursor: paging.Cursor = None, _: Caller = may("key.write")
) -> Response:
    page, after = paging.page_of(ApiKeys(door).each(), cursor, limit)
    return reply(shape.KeyPage, {"items": [_key(key) for key in page], "next": after})


@router.post("/keys", response_model=shape.KeyMade, status_code=201, tags=["keys"], summary="Make a key")
async def create_key(asked: shape.KeyAsked, door: Door, who: Caller = may("key.write")) -> Response:
    """A key for another user takes «key.mint» besides, and does not make its holder the second pair of eyes."""
    user = asked.user or who.user
    own = same_user(user, who.user)
    scopes = None if asked.scopes is None else in_our_words(asked.scopes)
    no_more_than(who, person(door, user, roles=asked.roles, scopes=scopes).permissions)
    if not own and "key.mint" not in who.permissions:
        raise NotAllowed(user=who.user, permission="key.mint")
    key, token = ApiKeys(door).create(
        asked.name, user=user, by=who.user, roles=asked.roles, scopes=asked.scopes, rate=asked.rate,
        expires_at=moment(asked.expires_at, "expires_at") if asked.expires_at is not None else None,
        approves=own and who.approves,
    )  # fmt: skip
    return reply(shape.KeyMade, {**_key(key), "token": token}, status=201)


@router.delete("/keys/{id}", status_code=204, tags=["keys"], summary="Revoke a key")
async def revoke_key(id: Annotated[str, Path(max_length=64)], door: Door, _: Caller = may("key.write")) -> Response:
    ApiKeys(door).revoke(id)
    return Response(status_code=204)


def _key(key: ApiKey) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(key)
    return {**fields, "scopes": sorted(key.scopes) if key.scopes is not None else None}


def no_more_than(who: Caller, given: Iterable[str]) -> None:
    """Nobody makes a key, a user or a role that may do more than they may."""
    beyond = sorted(frozenset(given) - who.permissions)
    if beyond:
        raise NotYours(user=who.user, permission=beyond[0])


# -- tenants -----------------------------------------------------------------------------------------------------------


def _tenant(server: ServerState, id: str) -> dict[str, Any]:
    door = server.door.of(id)
    active = [key for key in ApiKeys(door).each() if key.revoked_at is None]
    name = str(config_of(door).get("name") or id)
    return {"id": id, "name": name, "users": len(each_user(door)), "keys": len(active)}


@router.get("/tenants", response_model=shape.TenantPage, tags=["tenants"], summary="The tenants that the caller sees")
async def tenants(
    server: Server, limit: paging.Limit = 50, cursor: paging.Cursor = None, who: Caller = may("tenant.write")
) -> Response:
    """The server's own tenant sees them all; every other one sees itself."""
    known = {who.tenant}
    if who.tenant == server.door.tenant:
        known |= set(server.audit.tenants())
    page, after = paging.page_of(sorted(known), cursor, limit)
    return reply(shape.TenantPage, {"items": [_tenant(server, tenant) for tenant in page], "next": after})


@router.post("/tenants", response_model=shape.TenantMade, status_code=201, tags=["tenants"], summary="Make a tenant")
async def create_tenant(asked: shape.TenantAsked, server: Server, who: Caller = may("tenant.write")) -> Response:
    """With an administrator and a key for them, which is shown once. Only the server's own tenant can."""
    if who.tenant != server.door.tenant:
        raise NotAllowed(user=who.user, permission="tenant.write")
    door = server.door.of(asked.id)
    if asked.id in server.audit.tenants() or asked.id == server.door.tenant or ApiKeys(door).each() or each_user(door):
        raise TenantExists(tenant=asked.id)
    server.audit.record(asked.id, f"{who.tenant}/{who.user}", "POST /tenants", f"tenants/{asked.id}")
    door.registry.put("config", "tenant", {"name": asked.name or asked.id})
    door.registry.put("user", asked.admin, {"name": asked.admin, "roles": [ADMIN]})
    _, token = ApiKeys(door).create("the first key", user=asked.admin, by=who.user, approves=True)
    return reply(shape.TenantMade, {**_tenant(server, asked.id), "token": token}, status=201)


# -- the audit ---------------------------------------------------------------------------------------------------------


@router.get("/audit", response_model=shape.EntryPage, tags=["audit"], summary="Who changed what, the newest first")
async def audit(
    door: Door, server: Server, actor: Text = None, action: Text = None, target: Text = None, limit: paging.Limit = 50,
    cursor: paging.Cursor = None, _: Caller = may("audit.read"),
) -> Response:  # fmt: skip
    before = paging.read_cursor(cursor, int)
    entries = server.audit.each(
        door.tenant, before=before, limit=limit + 1, actor=actor, action=action, target=target
    )  # fmt: skip
    following = paging.cursor_of(entries[limit - 1].no) if len(entries) > limit else None
    return reply(shape.EntryPage, {"items": entries[:limit], "next": following})


@router.get("/audit/head", response_model=shape.HeadOut, tags=["audit"], summary="Where its chain ends, to be noted")
async def audit_head(door: Door, server: Server, _: Caller = may("audit.read")) -> Response:
    return reply(shape.HeadOut, server.audit.head(door.tenant))


@router.get("/audit/verify", response_model=shape.VerifiedOut, tags=["audit"], summary="Does its chain hold?")
async def verify(
    door: Door, server: Server, no: Annotated[int | None, Query(ge=1, le=paging.LARGEST)] = None,
    hash: Annotated[str | None, Query(max_length=100)] = None, _: Caller = may("audit.read"),
) -> Response:  # fmt: skip
    """`no` and `hash`: a head that was noted before, which must be in the chain still."""
    if (no is None) != (hash is None):
        raise BadInput(what="the head", why="«no» and «hash» are given together", hint="`GET /audit/head` has both.")
    noted = None if no is None or hash is None else ChainHead(door.tenant, no, hash)
    breaks = await server.audit.verified(door.tenant, noted)
    body = {"ok": not breaks, "entries": door.store.audit_last(door.tenant), "breaks": breaks}
    return reply(shape.VerifiedOut, body)


# -- drafts ------------------------------------------------------------------------------------------------------------

Name = Annotated[str, Path(max_length=200)]
#: of one user
MOST_DRAFTS = 200


def _drafted(draft: Draft) -> Response:
    return reply(shape.DraftOut, draft, headers={"ETag": f'"{draft.number}"'})


@router.get("/drafts", response_model=shape.DraftPage, tags=["drafts"], summary="What the caller has begun to write")
async def drafts(
    door: Door, limit: paging.Limit = 50, cursor: paging.Cursor = None, who: Caller = may("run.read")
) -> Response:
    page, after = paging.page_of(Drafts(door, who.user).each(), cursor, limit)
    return reply(shape.DraftPage, {"items": page, "next": after})


@router.get("/drafts/{key}", response_model=shape.DraftOut, tags=["drafts"], summary="One draft of the caller's")
async def get_draft(key: Name, door: Door, who: Caller = may("run.read")) -> Response:
    draft = Drafts(door, who.user).get(key)
    if draft is None:
        raise DraftNotFound(key=key)
    return _drafted(draft)


@router.put("/drafts/{key}", response_model=shape.DraftOut, tags=["drafts"], summary="Keep a draft")
async def put_draft(
    key: Name, asked: shape.DraftAsked, door: Door, if_match: IfMatch = None, who: Caller = may("run.read")
) -> Response:
    """`If-Match` is the ETag of the draft that it takes the place of; a new one has none."""
    mine = Drafts(door, who.user)
    if mine.get(key) is None and len(mine.each()) >= MOST_DRAFTS:
        why = f"there are {MOST_DRAFTS} already"
        raise BadInput(what="the draft", why=why, hint="Throw one away: DELETE /drafts/KEY.")
    return _drafted(mine.put(key, asked.body, seen=_number(if_match)))


@router.delete("/drafts/{key}", status_code=204, tags=["drafts"], summary="Throw a draft away")
async def drop_draft(
    key: Name, door: Door, if_match: IfMatch = None, who: Caller = may("run.read")
) -> Response:  # fmt: skip
    mine = Drafts(door, who.user)
    there, seen = mine.get(key), _number(if_match)
    if there is None:
        raise DraftNotFound(key=key)
    if seen is not None and seen != there.number:
        raise ChangedMeanwhile(what=f"the draft «{key}»", now=f"«{there.number}»")
    mine.drop(key)
    return Response(status_code=204)


def _number(tag: str | None) -> int | None:
    if tag is None:
        return None
    text = tag.strip().removeprefix("W/").strip('"')
    if not text.isascii() or not text.isdecimal() or len(text) > 15:
        raise BadInput(what="If-Match", why="it is not the ETag of a draft")
    return int(text)


# -- messages ----------------------------------------------------------------------------------------------------------


@router.get("/outbox", response_model=shape.MessagePage, tags=["operations"], summary="Messages kept instead of sent")
async def outbox(
    door: Door, run: Annotated[str | None, Query(max_length=200)] = None, limit: paging.Limit = 50,
    _: Caller = may("ops.read"),
) -> Response:  # fmt: skip
    wanted = door.row(run).id if run is not None else None
    messages = [
        {"run": row.run, "channel": row.channel, "target": row.target, "at": row.at,
         "message": msgspec.msgpack.decode(row.body)}
        for row in door.store.messages(door.tenant, wanted, limit)
    ]  # fmt: skip
    return reply(shape.MessagePage, {"items": messages})


def given_by(door: Door, type: str, body: dict[str, Any]) -> frozenset[str]:
    """What a user or a role that is registered so may do."""
    if type == "role":
        permissions = body.get("permissions")
        names = permissions if isinstance(permissions, list) else ()
        return in_our_words(name for name in names if isinstance(name, str))
    roles = body.get("roles")
    return permissions_of(door, [str(name) for name in roles] if isinstance(roles, list) else ())
