"""Learned autonomy: proposals to raise or lower an agent's mode, accepted or dismissed by people (P-X.28, P-X.40)."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Depends, Path, Query
from starlette.responses import Response

from penstock.api import paging
from penstock.api.process import autonomy_shapes as shape
from penstock.api.process.definitions import saved_body
from penstock.api.process.error_words import InProcessWords, same_tenant
from penstock.api.replies import reply
from penstock.api.server_state import Caller, Door, may
from penstock.app.process.autonomy.proposals import Autonomy, Proposal

router = APIRouter(
    prefix="/processes", tags=["processes"], route_class=InProcessWords, dependencies=[Depends(same_tenant)]
)
Id = Annotated[str, Path(max_length=200)]
Status = Annotated[str | None, Query(pattern="^(open|accepted|dismissed|withdrawn)$")]


def proposal_body(proposal: Proposal) -> dict[str, Any]:
    row, found = proposal.row, proposal.found
    raised = proposal.direction == "raise"
    return {
        "id": row.id, "process": row.process, "version": row.version, "activity": row.activity, "name": row.name,
        "agent": row.agent, "mode": row.mode, "proposed": row.proposed, "direction": proposal.direction,
        "status": row.status, "decided": found.decided, "unchanged": found.unchanged, "corrected": found.corrected,
        "rejected": found.rejected, "undone": found.undone, "bound": found.lower if raised else found.upper,
        "once": found.once, "target": found.target, "cost": msgspec.to_builtins(found.cost),
        "cases": msgspec.to_builtins(found.cases), "cases_since": found.since, "since": row.since,
        "ended_at": row.ended_at, "ended_by": row.ended_by,
        "dismissed_why": row.reason if row.status == "dismissed" else None,
        "withdrawn_why": row.reason if row.status == "withdrawn" else None, "made_version": row.made_version,
    }  # fmt: skip


@router.get(
    "/autonomy", response_model=shape.AutonomyProposalPage,
    summary="Proposals to raise or lower the mode of agents, newest first",
)  # fmt: skip
async def proposals(
    door: Door, process: Annotated[str | None, Query(max_length=200)] = None, status: Status = None,
    limit: paging.Limit = 50, cursor: paging.Cursor = None, _: Caller = may("definition.read"),
) -> Response:  # fmt: skip
    page, after = paging.page_of(Autonomy(door).each(process=process, status=status), cursor, limit)
    return reply(shape.AutonomyProposalPage, {"items": [proposal_body(each) for each in page], "next": after})


@router.get("/autonomy/{id}", response_model=shape.AutonomyProposalOut, summary="One of them")
async def proposal(id: Id, door: Door, _: Caller = may("definition.read")) -> Response:
    return reply(shape.AutonomyProposalOut, proposal_body(Autonomy(door).get(id)))


@router.post(
    "/autonomy/{id}:accept", response_model=shape.AutonomyAccepted,
    summary="Save the next version of the process with the proposed mode",
)  # fmt: skip
async def accept_proposal(id: Id, door: Door, who: Caller = may("definition.write")) -> Response:
    """Where four eyes are asked for, that version waits for another person's approval, as every other one."""
    done, saved = await Autonomy(door).accept(id, by=who.user)
    return reply(shape.AutonomyAccepted, {**proposal_body(done), "saved": saved_body(saved)})


@router.post(
    "/autonomy/{id}:dismiss", response_model=shape.AutonomyProposalOut,
    summary="Leave the mode as it is, and say why",
)  # fmt: skip
async def dismiss_proposal(
    id: Id, asked: shape.DismissAsked, door: Door, who: Caller = may("definition.write")
) -> Response:
    done = Autonomy(door).dismiss(id, by=who.user, reason=asked.reason)
    return reply(shape.AutonomyProposalOut, proposal_body(done))
