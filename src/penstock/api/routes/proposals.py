"""Changes that one has proposed and another puts in force: of settings always, else where four eyes are asked for."""

from __future__ import annotations

import hashlib
from typing import Any
from urllib.parse import quote

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import Response

from penstock.api import paging
from penstock.api.audited import AuditedRoute
from penstock.api.replies import reply
from penstock.api.server_state import Caller, Door, may
from penstock.api.shapes import proposals as shape
from penstock.app.access.audit import masked
from penstock.app.registry.proposals import CONFIG, Proposal, Proposals
from penstock.errors import ChangedMeanwhile


def proposed_reply(proposal: Proposal, *, status: int = 202) -> Response:
    return reply(shape.ProposalOut, _body(proposal), status=status, headers={"ETag": _etag(proposal)})


def _body(proposal: Proposal) -> dict[str, Any]:
    return {
        "id": proposal.id, "type": proposal.type, "body": masked(proposal.body), "by": proposal.by, "at": proposal.at,
        "status": "pending_approval",
    }  # fmt: skip


def _etag(proposal: Proposal) -> str:
    shown = msgspec.json.encode(_body(proposal), order="deterministic")
    return f'"{proposal.at}-{hashlib.blake2b(shown, digest_size=8).hexdigest()}"'


def _check_seen(request: Request, proposal: Proposal) -> None:
    """Who approves approves what they have seen."""
    wanted = request.headers.get("if-match")
    if wanted is not None and wanted.strip() not in (_etag(proposal), "*"):
        raise ChangedMeanwhile(what=f"the proposal of {proposal.type} «{proposal.id}»", now=_etag(proposal))


def proposal_routes(prefix: str, type: str) -> APIRouter:
    router = APIRouter(prefix=prefix, tags=["registry"], route_class=AuditedRoute)

    @router.get("", response_model=shape.ProposalPage, summary="What was proposed and waits for another",
                name=f"each_{type}_proposal")  # fmt: skip
    async def each(
        door: Door, limit: paging.Limit = 50, cursor: paging.Cursor = None, _: Caller = may("registry.read")
    ) -> Response:
        page, after = paging.page_of(Proposals(door, type).each(), cursor, limit)
        return reply(shape.ProposalPage, {"items": [_body(proposal) for proposal in page], "next": after})

    @router.get("/{id}", response_model=shape.ProposalOut, summary=f"What was proposed for a {type}",
                name=f"get_{type}_proposal")  # fmt: skip
    async def get(id: str, door: Door, _: Caller = may("registry.read")) -> Response:
        return proposed_reply(Proposals(door, type).get(id), status=200)

    @router.post("/{id}/approve", status_code=204, summary="Put what another has proposed in force",
                 name=f"approve_{type}_proposal")  # fmt: skip
    async def approve(id: str, request: Request, door: Door, who: Caller = may("definition.approve")) -> Response:
        proposals = Proposals(door, type)
        _check_seen(request, proposals.get(id))
        proposals.approve(id, who)
        return Response(status_code=204)

    @router.post("/{id}/reject", status_code=204, summary="Reject what was proposed",
                 name=f"reject_{type}_proposal")  # fmt: skip
    async def reject(id: str, request: Request, door: Door, _: Caller = may("definition.approve")) -> Response:
        proposals = Proposals(door, type)
        _check_seen(request, proposals.get(id))
        proposals.drop(id)
        return Response(status_code=204)

    return router


#: the path of each type whose changes wait for a second person where four eyes are asked for
PATHS = {
    "rule_pack": "/rule-pack-proposals", "prompt": "/prompt-proposals", "model": "/model-proposals",
    "template": "/template-proposals",
}  # fmt: skip
routers = [proposal_routes(path, type) for type, path in PATHS.items()]
router = APIRouter(prefix="/proposals", tags=["registry"], route_class=AuditedRoute)


@router.get("", response_model=shape.ProposalSeenPage, summary="Every change that waits for another, the oldest first")
async def each_of_all(
    door: Door, limit: paging.Limit = 50, cursor: paging.Cursor = None, _: Caller = may("registry.read")
) -> Response:
    """With what is in force now, so that both can be compared."""
    paths = {CONFIG: "/config-proposals", **PATHS}
    waiting = [proposal for type in paths for proposal in Proposals(door, type).each()]
    page, after = paging.page_of(sorted(waiting, key=lambda proposal: proposal.at), cursor, limit)
    items = [
        {**_body(proposal), "now": _now(door, proposal), "etag": _etag(proposal),
         "path": f"{paths[proposal.type]}/{quote(proposal.id, safe='')}"}
        for proposal in page
    ]  # fmt: skip
    return reply(shape.ProposalSeenPage, {"items": items, "next": after})


def _now(door: Door, proposal: Proposal) -> Any:
    there = door.registry.get(proposal.type, proposal.id)
    return None if there is None else masked(msgspec.msgpack.decode(there.body))


routers.append(router)
