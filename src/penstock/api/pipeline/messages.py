"""Messages over HTTP: one that tells of a file, those that nobody could take, and what files have cost (F-X.23)."""

from __future__ import annotations

import uuid
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query
from starlette.responses import Response

from penstock.api.pipeline import message_shapes as shape
from penstock.api.pipeline.executions import Page, Size
from penstock.api.pipeline.pipeline_routes import InPipelineWords, same_organization, same_tenant, whole_tenant
from penstock.api.replies import reply
from penstock.api.server_state import Caller, Door, may
from penstock.api.time_fields import moment
from penstock.app.pipeline.intake.dead_messages import dead_page, redrive
from penstock.app.pipeline.intake.dead_queue import QUEUE
from penstock.app.pipeline.intake.ingest import Ingest
from penstock.app.pipeline.measures.usage import usage
from penstock.errors import MessageInvalid
from penstock.errors.pipeline import PipelineScope
from penstock.lang.pipeline.messages import messages_of

router = APIRouter(prefix="/pipelines", tags=["pipelines"], route_class=InPipelineWords)
Cause = Annotated[str | None, Query(max_length=8000)]


@router.post(
    "/ingest", response_model=shape.IngestAccepted, status_code=202, summary="A file has come: process it (F-X.23)"
)
async def ingest(
    asked: shape.MessageAsked, door: Door,
    queue: Annotated[bool, Query(description="Only put it on the queue, as it is.")] = False,
    who: Caller = may("pipeline.trigger"),
) -> Response:  # fmt: skip
    """When it answers, the executions are in the store. The same message again begins nothing."""
    body, attributes = msgspec.json.encode(asked.root), {"tenantId": who.tenant}
    if who.organization is not None:
        attributes["organizationId"] = str(who.organization)
    _refuse_strangers(asked.root, who)
    if queue:
        id = str(uuid.uuid4())
        door.store.send_messages(QUEUE, [(id, body, msgspec.msgpack.encode(attributes))], door.now())
        return reply(shape.IngestAccepted, {"messageId": id}, status=202)
    receipts = await Ingest(door).take(messages_of(body, attributes))
    for receipt in receipts:
        if receipt.refused is not None:
            raise receipt.refused
    files = [
        {"fileId": receipt.file_id, "executionIds": receipt.started, "duplicateIds": receipt.known}
        for receipt in receipts
    ]
    return reply(shape.IngestAccepted, {"files": files}, status=202)


def _refuse_strangers(body: Any, who: Caller) -> None:
    """A message may name its sender's tenant, and no other."""
    try:
        tenants = {message.tenant_id for message in messages_of(msgspec.json.encode(body))}
    except MessageInvalid:
        named = body.get("tenantId") if isinstance(body, dict) else None
        tenants = {named} if isinstance(named, str) else set()
    if tenants - {who.tenant}:
        raise PipelineScope(why="The message names another tenant than yours")
    named = body.get("organizationId") if isinstance(body, dict) else None
    if named is not None:
        same_organization(who, named)


@router.get("/dlq", response_model=shape.DeadPageOut, summary="Messages that nobody could take, by cause (F-S.6)")
async def dead(
    door: Door, code: Cause = None, why: Cause = None, page: Page = 0, size: Size = 20,
    who: Caller = may("pipeline.read"),
) -> Response:  # fmt: skip
    whole_tenant(who)
    return reply(shape.DeadPageOut, await dead_page(door, code=code, why=why, page=page, size=size))


@router.post("/dlq:redrive", response_model=shape.RedrivenOut, summary="Send them again, as they were (F-S.6)")
async def redrive_dead(asked: shape.RedriveAsked, door: Door, who: Caller = may("pipeline.retry")) -> Response:
    """What had begun an execution before begins no second one."""
    whole_tenant(who)
    redriven = await redrive(door, ids=asked.ids, code=asked.code, why=asked.why, most=asked.limit)
    return reply(shape.RedrivenOut, redriven)


@router.get("/usage", response_model=shape.UsagePage, summary="What executions have used, by day (F-8.3)")
async def used(
    door: Door, since: Annotated[str | None, Query(alias="from", max_length=50)] = None,
    until: Annotated[str | None, Query(alias="to", max_length=50)] = None,
    tenant_id: Annotated[str | None, Query(alias="tenantId", max_length=50)] = None,
    who: Caller = may("pipeline.read"),
) -> Response:  # fmt: skip
    whole_tenant(who)
    same_tenant(who, tenant_id)
    first = moment(since, "from") if since is not None else 0
    return reply(
        shape.UsagePage,
        {"items": usage(door, since=first, until=moment(until, "to") if until is not None else None)},
    )
