"""Drafts of drawings: brought, answered, released (P-X.25, P-X.28)."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Depends, Path, Query
from starlette.responses import Response

from penstock.api import paging
from penstock.api.forwarding import Long, forwarded_when_large
from penstock.api.problems import finding_body
from penstock.api.process import draft_shapes as shape
from penstock.api.process.definitions import saved_body
from penstock.api.process.error_words import InProcessWords, same_tenant
from penstock.api.replies import reply
from penstock.api.server_state import Caller, Door, may
from penstock.app.process.drafts.answers import DraftReply
from penstock.app.process.drafts.drafts import Drafts
from penstock.app.process.drafts.views import Draft

router = APIRouter(
    prefix="/processes", tags=["processes"], route_class=InProcessWords, dependencies=[Depends(same_tenant)]
)
Id = Annotated[str, Path(max_length=200, description="Its id, a beginning of it, or the id of its process.")]
_AGAIN: dict[int | str, dict[str, Any]] = {
    200: {"model": shape.ProcessDraftOut, "description": "It was there already, with this text or an older one"}
}


def _answer(draft: Draft, *, status: int = 200) -> Response:
    where = {"Location": f"/api/v1/processes/drafts/{draft.id}"} if status == 201 else None
    return reply(shape.ProcessDraftOut, _body(draft), status=status, headers=where)


def _body(draft: Draft) -> dict[str, Any]:
    """With its findings in the reader's language."""
    body: dict[str, Any] = msgspec.to_builtins(draft)
    body["findings"] = [finding_body(finding) for finding in draft.findings]
    body["soundness"]["findings"] = [finding_body(finding) for finding in draft.soundness.findings]
    return body


@router.post(
    "/drafts", response_model=shape.ProcessDraftOut, status_code=201, responses=_AGAIN,
    summary="Bring a drawing, complete or not",
)  # fmt: skip
@forwarded_when_large
async def bring_draft(asked: shape.DraftBrought, door: Door, who: Caller = may("definition.write")) -> Response:
    """The same text again is the same draft; a changed file of the same process takes its place, with the answers whose
    to-dos are still there."""
    brought = await Drafts(door).bring(asked.text, file=asked.name, by=who.user, accept=asked.accept)
    return _answer(brought.draft, status=201 if brought.new else 200)


@router.get("/drafts", response_model=shape.DraftPage, summary="Every draft, those touched last first")
async def drafts(
    door: Door, limit: paging.Limit = 50, cursor: paging.Cursor = None, _: Caller = may("definition.read")
) -> Response:
    page, after = paging.page_of(Drafts(door).each(), cursor, limit)
    return reply(shape.DraftPage, {"items": page, "next": after})


@router.get(
    "/drafts/{id}", response_model=shape.ProcessDraftOut, summary="What is missing in a drawing, and what was answered"
)  # fmt: skip
async def draft(id: Id, door: Door, beside: Long, _: Caller = may("definition.read")) -> Response:
    held = Drafts(door)
    return await beside.about(held.size(id)) or _answer(await held.get(id))


@router.get(
    "/drafts/{id}/bpmn", summary="The file as it is now, byte for byte where nothing was answered",
    response_class=Response, responses={200: {"content": {"application/xml": {"schema": {"type": "string"}}}}},
)  # fmt: skip
async def draft_bpmn(
    id: Id, door: Door, beside: Long,
    accepted: Annotated[bool, Query(description="With all proposals taken.")] = False,
    _: Caller = may("definition.read"),
) -> Response:  # fmt: skip
    held = Drafts(door)
    forwarded = await beside.about(held.size(id))
    if forwarded is not None:
        return forwarded
    text = await held.text(id, accepted=accepted)
    return Response(text.encode(), media_type="application/xml")


@router.get(
    "/drafts/{id}/definitions", response_model=shape.DraftDocuments, summary="The definitions that a draft becomes"
)  # fmt: skip
async def process_draft_definitions(
    id: Id, door: Door, beside: Long,
    accepted: Annotated[bool, Query(description="With all proposals taken.")] = False,
    _: Caller = may("definition.read"),
) -> Response:  # fmt: skip
    """As they are now: one that is not finished does not run yet."""
    held = Drafts(door)
    forwarded = await beside.about(held.size(id))
    if forwarded is not None:
        return forwarded
    return reply(shape.DraftDocuments, {"definitions": await held.definitions(id, accepted=accepted)})


@router.put("/drafts/{id}", response_model=shape.ProcessDraftOut, summary="Another text in the place of a draft's")
@forwarded_when_large
async def replace_draft(
    id: Id, asked: shape.DraftReplaced, door: Door, who: Caller = may("definition.write")
) -> Response:
    return _answer(await Drafts(door).replace(id, asked.text, number=asked.number, file=asked.name, by=who.user))


@router.post(
    "/drafts/{id}:answer", response_model=shape.ProcessDraftOut, summary="Answer to-dos: all of these, or none"
)  # fmt: skip
@forwarded_when_large
async def answer_draft(
    id: Id, asked: shape.AnswersAsked, door: Door, beside: Long, who: Caller = may("definition.write")
) -> Response:
    """What was answered before is answered anew."""
    held = Drafts(door)
    replies = [DraftReply(given.key, given.proposal, given.answer) for given in asked.answers]
    return await beside.about(held.size(id)) or _answer(
        await held.answer(id, replies, number=asked.number, by=who.user)
    )  # fmt: skip


@router.post(
    "/drafts/{id}:accept", response_model=shape.ProcessDraftOut,
    summary="Take all proposals, or see what would come",
)  # fmt: skip
@forwarded_when_large
async def accept_draft(
    id: Id, asked: shape.AcceptAsked, door: Door, beside: Long, who: Caller = may("definition.write")
) -> Response:
    held = Drafts(door)
    return await beside.about(held.size(id)) or _answer(
        await held.accept(id, number=asked.number, by=who.user, dry_run=asked.dry_run)
    )  # fmt: skip


@router.post("/drafts/{id}:undo", response_model=shape.ProcessDraftOut, summary="Take an answer back")
@forwarded_when_large
async def undo_draft(
    id: Id, asked: shape.UndoAsked, door: Door, beside: Long, who: Caller = may("definition.write")
) -> Response:
    """With it the answers to what only it has brought to light."""
    held = Drafts(door)
    return await beside.about(held.size(id)) or _answer(
        await held.undo(id, asked.key, number=asked.number, by=who.user)
    )  # fmt: skip


@router.post(
    "/drafts/{id}:release", response_model=shape.DraftReleased,
    summary="Release all processes of a finished drawing, in one commit",
)  # fmt: skip
@forwarded_when_large
async def release_draft(
    id: Id, asked: shape.ReleaseAsked, door: Door, beside: Long, who: Caller = may("definition.write")
) -> Response:
    """Where four eyes are asked for one of them, all wait for an approval."""
    held = Drafts(door)
    forwarded = await beside.about(held.size(id))
    if forwarded is not None:
        return forwarded
    done = await held.release(
        id, number=asked.number, by=who.user, pending=asked.pending, unsound=asked.unsound
    )  # fmt: skip
    body = {"draft": _body(done.draft), "definitions": [saved_body(saved) for saved in done.definitions]}
    return reply(shape.DraftReleased, body)


@router.delete("/drafts/{id}", status_code=204, summary="Throw a draft away; what was released of it stays")
async def discard_draft(id: Id, door: Door, number: paging.Nth = None, _: Caller = may("definition.write")) -> Response:
    Drafts(door).discard(id, number=number)
    return Response(status_code=204)
