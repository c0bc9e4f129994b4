"""Settings of a tenant (`config`): proposed by one, approved by another."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
from fastapi import APIRouter, Body, Request
from starlette.responses import Response

from penstock.api import paging
from penstock.api.audited import AuditedRoute
from penstock.api.replies import reply
from penstock.api.routes.registry import etag_of, found_thing, told_thing, unchanged
from penstock.api.server_state import Caller, Door, may
from penstock.api.shapes import configs as shape
from penstock.api.shapes.operations import ThingOut, ThingPage
from penstock.api.unmasking import unmasked
from penstock.app.access.audit import masked
from penstock.app.registry.setting_proposals import CONFIG, SettingProposal, SettingProposals
from penstock.errors import ChangedMeanwhile

router = APIRouter(prefix="/configs", tags=["registry"], route_class=AuditedRoute)
proposed = APIRouter(prefix="/config-proposals", tags=["registry"], route_class=AuditedRoute)


def _told(one: SettingProposal) -> dict[str, Any]:
    return {"id": one.id, "body": masked(one.body), "by": one.by, "at": one.at, "status": "pending_approval"}


def _etag(one: SettingProposal) -> str:
    seen = msgspec.json.encode(_told(one), order="deterministic")
    return f'"{one.at}-{hashlib.blake2b(seen, digest_size=8).hexdigest()}"'


def _as_seen(request: Request, one: SettingProposal) -> None:
    """Who approves approves what they have seen."""
    wanted = request.headers.get("if-match")
    if wanted is not None and wanted.strip() not in (_etag(one), "*"):
        raise ChangedMeanwhile(what=f"the proposal of config «{one.id}»", now=_etag(one))


@router.get("", response_model=ThingPage, summary="Every config that is in force")
async def each(
    door: Door, limit: paging.Limit = 50, cursor: paging.Cursor = None, _: Caller = may("registry.read")
) -> Response:
    page, after = paging.page_of(door.registry.each(CONFIG), cursor, limit)
    return reply(ThingPage, {"items": [told_thing(row) for row in page], "next": after})


@router.get("/{id}", response_model=ThingOut, summary="One config, as it is in force")
async def get(id: str, door: Door, _: Caller = may("registry.read")) -> Response:
    row = found_thing(door, CONFIG, id)
    return reply(ThingOut, told_thing(row), headers={"ETag": etag_of(row)})


@router.put("/{id}", response_model=shape.ProposalOut, status_code=202, summary="Propose a config")
async def propose(
    id: str, request: Request, door: Door, body: dict[str, Any] = Body(), who: Caller = may("registry.write")
) -> Response:
    unchanged(request, door, CONFIG, id)
    there = door.registry.get(CONFIG, id)
    if there is not None:
        body = unmasked(f"config «{id}»", body, msgspec.msgpack.decode(there.body))
    one = SettingProposals(door).put(id, body, who.user)
    return reply(shape.ProposalOut, _told(one), status=202, headers={"ETag": _etag(one)})


@router.delete("/{id}", response_model=shape.ProposalOut, status_code=202, summary="Propose to take a config away")
async def propose_without(id: str, request: Request, door: Door, who: Caller = may("registry.write")) -> Response:
    found_thing(door, CONFIG, id)
    unchanged(request, door, CONFIG, id)
    one = SettingProposals(door).put(id, None, who.user)
    return reply(shape.ProposalOut, _told(one), status=202, headers={"ETag": _etag(one)})


@proposed.get("", response_model=shape.ProposalPage, summary="What was proposed and waits for another")
async def each_proposal(
    door: Door, limit: paging.Limit = 50, cursor: paging.Cursor = None, _: Caller = may("registry.read")
) -> Response:
    page, after = paging.page_of(SettingProposals(door).each(), cursor, limit)
    return reply(shape.ProposalPage, {"items": [_told(one) for one in page], "next": after})


@proposed.get("/{id}", response_model=shape.ProposalOut, summary="What was proposed for a config")
async def get_proposal(id: str, door: Door, _: Caller = may("registry.read")) -> Response:
    one = SettingProposals(door).get(id)
    return reply(shape.ProposalOut, _told(one), headers={"ETag": _etag(one)})


@proposed.post("/{id}/approve", status_code=204, summary="Put what another has proposed in force")
async def approve(id: str, request: Request, door: Door, who: Caller = may("definition.approve")) -> Response:
    _as_seen(request, SettingProposals(door).get(id))
    SettingProposals(door).approve(id, who.user)
    return Response(status_code=204)


@proposed.post("/{id}/reject", status_code=204, summary="Reject what was proposed")
async def reject(id: str, request: Request, door: Door, _: Caller = may("definition.approve")) -> Response:
    _as_seen(request, SettingProposals(door).get(id))
    SettingProposals(door).drop(id)
    return Response(status_code=204)
