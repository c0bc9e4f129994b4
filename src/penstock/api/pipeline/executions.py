"""Executions: find them, look at one with its stages and files, cancel it, try it again (F-6)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from penstock.api.pipeline import shapes as shape
from penstock.api.pipeline.pipeline_routes import InPipelineWords, same_organization, same_tenant
from penstock.api.replies import reply
from penstock.api.server_state import Caller, Door, may
from penstock.api.time_fields import moment
from penstock.app.pipeline import executions as view
from penstock.app.pipeline import steering
from penstock.app.pipeline.execution_lists import ExecutionFilter, Order, execution_page
from penstock.dialects.pipeline.words import EXECUTION
from penstock.errors import BadInput
from penstock.errors.pipeline import ExecutionNotFound

router = APIRouter(prefix="/pipelines", tags=["pipelines"], route_class=InPipelineWords)
ExecutionId = Annotated[str, Path(alias="executionId", max_length=200)]
Text = Annotated[str | None, Query(max_length=200)]
Page = Annotated[int, Query(ge=0, le=1_000_000, description="From 0.")]
Size = Annotated[int, Query(ge=1, le=100, description="How many at most.")]


@router.get("/executions", response_model=shape.ExecutionPageOut, summary="Find executions (F-6.1)")
async def executions(
    door: Door,
    status: Annotated[str | None, Query(max_length=200, description="One or more of them, with commas.")] = None,
    since: Annotated[str | None, Query(alias="from", max_length=50, description="Created then or later.")] = None,
    until: Annotated[str | None, Query(alias="to", max_length=50, description="Created before.")] = None,
    tenant_id: Annotated[str | None, Query(alias="tenantId", max_length=50)] = None,
    org_id: Annotated[int | None, Query(alias="orgId", ge=0, lt=2**63)] = None,
    pipeline: Text = None,
    file_id: Annotated[int | None, Query(alias="fileId", ge=0, lt=2**63)] = None,
    text: Annotated[str | None, Query(max_length=200, description="Of its file, its failure or its id.")] = None,
    sort: Annotated[Order, Query(description="The newest first, or as they are picked up.")] = "newest",
    page: Page = 0,
    size: Size = 20,
    who: Caller = may("pipeline.read"),
) -> Response:  # fmt: skip
    same_tenant(who, tenant_id)
    if org_id is not None:
        same_organization(who, org_id)
    wanted = ExecutionFilter(
        status=_statuses(status), pipeline=pipeline, organization=who.organization if org_id is None else org_id,
        file=file_id, text=text or "", order=sort, since=moment(since, "from") if since is not None else None,
        until=moment(until, "to") if until is not None else None,
    )  # fmt: skip
    return reply(shape.ExecutionPageOut, await execution_page(door, wanted, page, size))


def _statuses(text: str | None) -> tuple[str, ...]:
    given = tuple(dict.fromkeys(part for part in (text or "").split(",") if part))
    for status in given:
        if status not in EXECUTION:
            raise BadInput(what="«status»", why=f"«{status}» is none", hint=f"Choose of {', '.join(EXECUTION)}.")
    return given


@router.get("/executions/{executionId}", response_model=shape.ExecutionOut, summary="One of them, live (F-6.2)")
async def execution(id: ExecutionId, door: Door, who: Caller = may("pipeline.read")) -> Response:
    return reply(shape.ExecutionOut, view.execution(door, exact_id(door, id, who)))


@router.get("/executions/{executionId}/logs", response_model=shape.StageLogPage, summary="Its stage logs (F-6.3)")
async def execution_logs(id: ExecutionId, door: Door, who: Caller = may("pipeline.read")) -> Response:
    return reply(shape.StageLogPage, {"items": view.logs(door, exact_id(door, id, who))})


@router.post(
    "/executions/{executionId}:cancel", response_model=shape.Accepted, status_code=202, summary="Cancel it (F-6.4)"
)
async def cancel_execution(id: ExecutionId, door: Door, who: Caller = may("pipeline.cancel")) -> Response:
    """The stage that works may end, and no other begins."""
    await steering.cancel(door, exact_id(door, id, who))
    return reply(shape.Accepted, {}, status=202)


@router.post(
    "/executions/{executionId}:retry", response_model=shape.RetryAccepted, status_code=202,
    summary="Try it again (F-6.5)",
)  # fmt: skip
async def retry_execution(
    id: ExecutionId, door: Door, asked: shape.RetryAsked | None = None, who: Caller = may("pipeline.retry")
) -> Response:
    """`resume` goes on at the stage that failed, `rerun` processes the file anew."""
    made = await steering.retry(door, exact_id(door, id, who), asked.mode if asked is not None else None)
    return reply(shape.RetryAccepted, {"newExecutionId": made}, status=202)


def exact_id(door: Door, id: str, who: Caller) -> str:
    """A beginning of an id, or a key, is no name of an execution here. Raises ExecutionNotFound, PipelineScope."""
    row = view.execution_row(door, id)
    if row.id != id:
        raise ExecutionNotFound(execution=id)
    if who.organization is not None:
        same_organization(who, door.reading(row).state.options.get("organization_id"))
    return row.id
