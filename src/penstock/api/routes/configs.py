"""Settings of a tenant (`config`): proposed by one, approved by another."""

from __future__ import annotations

from typing import Any

import msgspec
from fastapi import APIRouter, Body, Request
from starlette.responses import Response

from penstock.api import paging
from penstock.api.audited import AuditedRoute
from penstock.api.replies import reply
from penstock.api.routes.proposals import proposal_routes, proposed_reply
from penstock.api.routes.registry import artifact_body, etag_of, find_artifact, unchanged
from penstock.api.server_state import Caller, Door, may
from penstock.api.shapes import proposals as shape
from penstock.api.shapes.operations import ThingOut, ThingPage
from penstock.api.unmasking import unmasked
from penstock.app.registry.proposals import CONFIG, Proposals

router = APIRouter(prefix="/configs", tags=["registry"], route_class=AuditedRoute)
proposed = proposal_routes("/config-proposals", CONFIG)


@router.get("", response_model=ThingPage, summary="Every config that is in force")
async def each(
    door: Door, limit: paging.Limit = 50, cursor: paging.Cursor = None, _: Caller = may("registry.read")
) -> Response:
    page, after = paging.page_of(door.registry.each(CONFIG), cursor, limit)
    return reply(ThingPage, {"items": [artifact_body(row) for row in page], "next": after})


@router.get("/{id}", response_model=ThingOut, summary="One config, as it is in force")
async def get(id: str, door: Door, _: Caller = may("registry.read")) -> Response:
    row = find_artifact(door, CONFIG, id)
    return reply(ThingOut, artifact_body(row), headers={"ETag": etag_of(row)})


@router.put("/{id}", response_model=shape.ProposalOut, status_code=202, summary="Propose a config")
async def propose(
    id: str, request: Request, door: Door, body: dict[str, Any] = Body(), who: Caller = may("registry.write")
) -> Response:
    unchanged(request, door, CONFIG, id)
    there = door.registry.get(CONFIG, id)
    if there is not None:
        body = unmasked(f"config «{id}»", body, msgspec.msgpack.decode(there.body))
    return proposed_reply(Proposals(door).put(id, body, who.user))


@router.delete("/{id}", response_model=shape.ProposalOut, status_code=202, summary="Propose to take a config away")
async def propose_without(id: str, request: Request, door: Door, who: Caller = may("registry.write")) -> Response:
    find_artifact(door, CONFIG, id)
    unchanged(request, door, CONFIG, id)
    return proposed_reply(Proposals(door).put(id, None, who.user))
