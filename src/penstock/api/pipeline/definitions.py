"""Definitions of pipelines: kept, put in force, switched off, and begun by hand (F-X.23).

They are documents like all others: the same checks, versions and second pair of eyes, whichever way they come.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Header, Path, Query
from starlette.responses import Response

from penstock.api.audited import has_own_keys
from penstock.api.pipeline import definition_shapes as shape
from penstock.api.pipeline.executions import Page, Size
from penstock.api.pipeline.pipeline_routes import InPipelineWords, same_organization
from penstock.api.problems import finding_body
from penstock.api.replies import reply
from penstock.api.server_state import Caller, Door, may
from penstock.app.pipeline import manual_starts
from penstock.app.pipeline.definitions import (
    LANGUAGE,
    define,
    definition_of,
    in_force,
    same_definition,
    switch_off,
    versions_of,
)
from penstock.app.releases.releases import Submission
from penstock.dialects.pipeline import definition_snapshot
from penstock.errors import BadInput, ReleaseNotFound, VersionConflict
from penstock.store.releases import ReleaseRow

router = APIRouter(prefix="/pipelines", tags=["pipelines"], route_class=InPipelineWords)
Code = Annotated[str, Path(max_length=50)]
Key = Annotated[
    str | None,
    Header(alias="Idempotency-Key", min_length=1, max_length=200, pattern="^[ -~]+$",
           description="The same request again is begun once, and gets the same id (F-X.19)."),
]  # fmt: skip
_SAVED: dict[int | str, dict[str, Any]] = {200: {"model": shape.PipelineSaved, "description": "It was so already"}}
_BEGUN: dict[int | str, dict[str, Any]] = {
    200: {"model": shape.ExecutionAccepted, "description": "It was begun before, or is done"}
}


@router.get("/definitions", response_model=shape.PipelinePage, summary="Every pipeline that is in force")
async def definitions(
    door: Door, inactive: Annotated[bool, Query(description="Those that are switched off, too.")] = False,
    page: Page = 0, size: Size = 20, _: Caller = may("pipeline.read"),
) -> Response:  # fmt: skip
    rows = {definition.code: definition.release for definition in in_force(door, door.tenant)}
    if inactive:
        rows = {**_newest(door), **rows}
    lines = [_line(door, rows[code]) for code in sorted(rows)[page * size : (page + 1) * size]]
    return reply(shape.PipelinePage, {"items": lines, "page": page, "size": size, "total": len(rows)})


def _newest(door: Door) -> dict[str, ReleaseRow]:
    rows = {row.name: row for row in door.store.releases(door.tenant)}
    return {name: row for name, row in rows.items() if door.store.net(row.net).language == LANGUAGE}


def _line(door: Door, row: ReleaseRow) -> dict[str, Any]:
    known = definition_snapshot(door.nets.get(row.net).net)
    names = ("pipeline_name", "description", "file_type", "pipeline_type", "priority")
    return {
        **{name: known[name] for name in names}, "pipeline_code": row.name, "version": row.version,
        "description": known.get("description") or "", "status": row.status,
        "is_active": row.status == "active" and bool(known.get("is_active", True)), "stages": len(known["stages"]),
        "created_at": row.created_at, "created_by": row.created_by,
    }  # fmt: skip


@router.post(
    "/definitions", response_model=shape.PipelineSaved, status_code=201, responses=_SAVED,
    summary="Save a new pipeline, and put it in force",
)  # fmt: skip
async def define_pipeline(asked: shape.PipelineAsked, door: Door, who: Caller = may("pipeline.admin")) -> Response:
    document = dict(asked.model_extra or {})
    code = document.get("pipeline_code")
    active = [row for row in door.store.releases(door.tenant, str(code)) if row.status == "active"]
    done = _saved(door, document, who, other=active[-1] if active else None)
    where = {"Location": f"/api/v1/pipelines/definitions/{done.release.name}"}
    return reply(shape.PipelineSaved, _body(done), status=201 if done.new else 200, headers=where)


def _saved(door: Door, document: dict[str, Any], who: Caller, other: ReleaseRow | None = None) -> Submission:
    """`other`: one that is in force, which only a PUT replaces."""
    if other is not None and not same_definition(other, document):
        hint = f"PUT /pipelines/definitions/{other.name} makes the next version."
        why = "a pipeline with this code is in force"
        raise VersionConflict(name=other.name, version=other.version + 1, why=why, hint=hint)
    return define(door, document, by=who.user)


@router.put("/definitions/{code}", response_model=shape.PipelineSaved, summary="The next version of a pipeline (F-X.4)")
async def update_pipeline(
    code: Code, asked: shape.PipelineAsked, door: Door, who: Caller = may("pipeline.admin")
) -> Response:
    versions_of(door, code)
    document = {"pipeline_code": code, **(asked.model_extra or {})}
    if document["pipeline_code"] != code:
        raise BadInput(what="«pipeline_code»", why=f"the address says «{code}»", hint="A code is never changed.")
    return reply(shape.PipelineSaved, _body(_saved(door, document, who)))


def _body(done: Submission) -> dict[str, Any]:
    row = done.release
    return {
        "pipeline_code": row.name, "version": row.version, "status": row.status, "new": done.new,
        "warnings": [finding_body(finding) for finding in done.findings],
    }  # fmt: skip


@router.get("/definitions/{code}", response_model=shape.PipelineOut, summary="One of them, with its stages")
async def definition(
    code: Code, door: Door, version: Annotated[int | None, Query(ge=1, le=2_000_000_000)] = None,
    _: Caller = may("pipeline.read"),
) -> Response:  # fmt: skip
    """Without a version: the one in force, else the newest."""
    row = _version(door, code, version)
    body = {**_line(door, row), "definition": msgspec.json.decode(row.document)}
    return reply(shape.PipelineOut, body, headers={"ETag": f'"{row.version}"'})


def _version(door: Door, code: str, version: int | None) -> ReleaseRow:
    if version is None:
        try:
            return definition_of(door, code).release
        except ReleaseNotFound:
            return versions_of(door, code)[-1]
    row = next((row for row in versions_of(door, code) if row.version == version), None)
    if row is None:
        raise ReleaseNotFound(name=code, version=version)
    return row


@router.delete("/definitions/{code}", status_code=204, summary="Switch it off: it begins nothing more (F-X.2)")
async def drop_pipeline(code: Code, door: Door, _: Caller = may("pipeline.admin")) -> Response:
    switch_off(door, code)
    return Response(status_code=204)


@router.post(
    "/definitions/{code}/executions", response_model=shape.ExecutionAccepted, status_code=202, responses=_BEGUN,
    summary="Begin it by hand for a file (F-X.23)",
)  # fmt: skip
@has_own_keys
async def trigger_pipeline(
    code: Code, asked: shape.ExecutionAsked, door: Door, key: Key = None, who: Caller = may("pipeline.trigger")
) -> Response:
    """A pipeline that is SYNC is waited for, as long as it may take (F-X.15)."""
    if asked.organization_id is not None:
        same_organization(who, asked.organization_id)
    begun = await manual_starts.begin(door, code, _start(asked), by=who.user, key=key, organization=who.organization)
    known, done = definition_of(door, code).about, None
    if known.get("pipeline_type") == "SYNC":
        done = await manual_starts.ended(door, begun.id, float(known["timeout_seconds"]))
    body = {"executionId": begun.id, "execution": done}
    where = {"Location": f"/api/v1/pipelines/executions/{begun.id}"}
    status = 202 if begun.new and done is None else 200
    return reply(shape.ExecutionAccepted, body, status=status, headers=where)


def _start(asked: shape.ExecutionAsked) -> manual_starts.ManualStart:
    told = asked.model_dump(by_alias=True, exclude_none=True, exclude={"file_id", "params"})
    return manual_starts.ManualStart(file_id=asked.file_id, message=told or None, params=asked.params)
