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
from penstock.api.routes.registry import artifact_body, etag_of, find_artifact, unchanged
from penstock.api.server_state import Caller, Door, may
from penstock.api.shapes import configs as shape
from penstock.api.shapes.operations import ThingOut, ThingPage
from penstock.api.unmasking import unmasked
from penstock.app.access.audit import masked
from penstock.app.registry.setting_proposals import CONFIG, SettingProposal, SettingProposals
from penstock.errors import ChangedMeanwhile

router = APIRouter(prefix="/configs", tags=["registry"], route_class=AuditedRoute)
proposed = APIRouter(prefix="/config-proposals", tags=["registry"], route_class=AuditedRoute)


def _proposal_body(proposal: SettingProposal) -> dict[str, Any]:
    return {
        "id": proposal.id,
        "body": masked(proposal.body),
        "by": proposal.by,
        "at": proposal.at,
        "status": "pending_approval",
    }


def _etag(proposal: SettingProposal) -> str:
    shown = msgspec.json.encode(_proposal_body(proposal), order="deterministic")
    return f'"{proposal.at}-{hashlib.blake2b(shown, digest_size=8).hexdigest()}"'


def _check_seen(request: Request, proposal: SettingProposal) -> None:
    """Who approves approves what they have seen."""
    wanted = request.headers.get("if-match")
    if wanted is not None and wanted.strip() not in (_etag(proposal), "*"):
        raise ChangedMeanwhile(what=f"the proposal of config «{proposal.id}»", now=_etag(proposal))


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
    proposal = SettingProposals(door).put(id, body, who.user)
    return reply(shape.ProposalOut, _proposal_body(proposal), status=202, headers={"ETag": _etag(proposal)})


@router.delete("/{id}", response_model=shape.ProposalOut, status_code=202, summary="Propose to take a config away")
async def propose_without(id: str, request: Request, door: Door, who: Caller = may("registry.write")) -> Response:
    find_artifact(door, CONFIG, id)
    unchanged(request, door, CONFIG, id)
    proposal = SettingProposals(door).put(id, None, who.user)
    return reply(shape.ProposalOut, _proposal_body(proposal), status=202, headers={"ETag": _etag(proposal)})


@proposed.get("", response_model=shape.ProposalPage, summary="What was proposed and waits for another")
async def each_proposal(
    door: Door, limit: paging.Limit = 50, cursor: paging.Cursor = None, _: Caller = may("registry.read")
) -> Response:
    page, after = paging.page_of(SettingProposals(door).each(), cursor, limit)
    return reply(shape.ProposalPage, {"items": [_proposal_body(proposal) for proposal in page], "next": after})


@proposed.get("/{id}", response_model=shape.ProposalOut, summary="What was proposed for a config")
async def get_proposal(id: str, door: Door, _: Caller = may("registry.read")) -> Response:
    proposal = SettingProposals(door).get(id)
    return reply(shape.ProposalOut, _proposal_body(proposal), headers={"ETag": _etag(proposal)})


@proposed.post("/{id}/approve", status_code=204, summary="Put what another has proposed in force")
async def approve(id: str, request: Request, door: Door, who: Caller = may("definition.approve")) -> Response:
    _check_seen(request, SettingProposals(door).get(id))
    SettingProposals(door).approve(id, who.user)
    return Response(status_code=204)


@proposed.post("/{id}/reject", status_code=204, summary="Reject what was proposed")
async def reject(id: str, request: Request, door: Door, _: Caller = may("definition.approve")) -> Response:
    _check_seen(request, SettingProposals(door).get(id))
    SettingProposals(door).drop(id)
    return Response(status_code=204)
