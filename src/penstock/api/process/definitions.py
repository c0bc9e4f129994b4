"""Definitions of processes: saved, versioned, imported, extracted, approved (P-X.28)."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Depends, Path, Query
from starlette.responses import Response

from penstock.api import paging
from penstock.api.forwarding import forwarded_when_large
from penstock.api.problems import finding_body
from penstock.api.process import definition_shapes as shape
from penstock.api.process.error_words import InProcessWords, same_tenant
from penstock.api.replies import reply
from penstock.api.server_state import Caller, Door, may
from penstock.app.process.definitions import CONTAINERS, Processes, approval_of, in_force
from penstock.app.process.models import import_discovered
from penstock.app.process.version_writer import Defined, origin_of
from penstock.errors import ProcessScope
from penstock.store.releases import ReleaseRow

router = APIRouter(
    prefix="/processes", tags=["processes"], route_class=InProcessWords, dependencies=[Depends(same_tenant)]
)
Id = Annotated[str, Path(max_length=200)]
Type = Annotated[str | None, Query(pattern="^(mega|major|base|sub|discovered)$")]
_AGAIN: dict[int | str, dict[str, Any]] = {
    200: {"model": shape.DefinitionSaved, "description": "The newest version is the same"}
}


def _document(row: ReleaseRow) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.json.decode(row.document)
    return document


def _line(row: ReleaseRow, rows: list[ReleaseRow]) -> dict[str, Any]:
    document = _document(row)
    return {
        "id": row.name, "uuid": rows[0].id, "name": str(document.get("process_definition_name") or row.name),
        "type": row.kind, "version": row.version, "newest_version": rows[-1].version,
        "approval_status": approval_of(row), "parent_id": document.get("parent_id") or None,
        "startable": row.kind not in CONTAINERS and approval_of(row) == "approved",
        "source_event_log_id": document.get("source_event_log_id") or None, "tenant_id": row.tenant,
        "created_at": rows[0].created_at, "updated_at": row.created_at,
    }  # fmt: skip


def saved_body(done: Defined) -> dict[str, Any]:
    row = done.release
    return {
        "id": row.name, "version": row.version, "uuid": row.id, "type": row.kind, "approval_status": approval_of(row),
        "new": done.new, "diff": done.diff, "confidence": origin_of(row).get("confidence"),
        "warnings": [finding_body(finding) for finding in done.findings if finding.severity != "error"],
    }  # fmt: skip


def _saved(done: Defined, *, status: int | None = None) -> Response:
    where = {"Location": f"/api/v1/processes/definitions/{done.release.name}"}
    return reply(shape.DefinitionSaved, saved_body(done), status=status or (201 if done.new else 200), headers=where)


def _given(asked: shape.DefinitionAsked) -> dict[str, Any] | str:
    """The definition itself, or its text."""
    if asked.document is not None:
        return asked.document
    return dict(asked.model_extra or {})


@router.post(
    "/definitions", response_model=shape.DefinitionSaved, status_code=201, responses=_AGAIN,
    summary="Save a process: a new one, or the next version",
)  # fmt: skip
@forwarded_when_large
async def define(asked: shape.DefinitionAsked, door: Door, who: Caller = may("definition.write")) -> Response:
    """`pending`: it waits for an approval in any case; where four eyes are asked for it always does."""
    done = await Processes(door).define(_given(asked), by=who.user, unsound=asked.unsound, pending=asked.pending)
    return _saved(done)


@router.post(
    "/definitions:import-bpmn", response_model=shape.DefinitionSaved, status_code=201, responses=_AGAIN,
    summary="Save a process from BPMN XML",
)  # fmt: skip
@forwarded_when_large
async def import_bpmn(asked: shape.BpmnAsked, door: Door, who: Caller = may("definition.write")) -> Response:
    done = await Processes(door).define(asked.bpmn_xml, by=who.user, unsound=asked.unsound, pending=asked.pending)
    return _saved(done)


@router.post(
    "/definitions:import-discovered", response_model=shape.DefinitionSaved, status_code=201, responses=_AGAIN,
    summary="Save a model that was mined from a log (P-7.4)",
)  # fmt: skip
async def import_model(asked: shape.DiscoveredAsked, door: Door, who: Caller = may("definition.write")) -> Response:
    if asked.tenant_id not in (None, "", who.tenant):
        raise ProcessScope(why="The model is of another tenant than yours")
    metadata = asked.mining_metadata.model_dump()
    more = {"conformance": asked.conformance, "bottlenecks": asked.bottlenecks}
    done = await import_discovered(
        door, asked.event_log_id, asked.bpmn_xml, metadata, by=who.user, base=asked.base_proc_def_id, more=more
    )
    return _saved(done)


@router.get("/definitions", response_model=shape.ProcessDefinitionPage, summary="Every process, as it is in force")
async def definitions(
    door: Door, type: Type = None, parent_id: Annotated[str | None, Query(max_length=200)] = None,
    limit: paging.Limit = 50, cursor: paging.Cursor = None, _: Caller = may("definition.read"),
) -> Response:  # fmt: skip
    by_name: dict[str, list[ReleaseRow]] = {}
    for row in door.store.releases(door.tenant, kind=type or "*"):
        by_name.setdefault(row.name, []).append(row)
    lines = [_line(in_force(rows), rows) for rows in by_name.values()]
    wanted = [line for line in lines if parent_id in (None, line["parent_id"])]
    page, after = paging.page_of(wanted, cursor, limit)
    return reply(shape.ProcessDefinitionPage, {"items": page, "next": after})


@router.get("/definitions/{id}", response_model=shape.ProcessDefinitionOut, summary="One of them")
async def definition(id: Id, door: Door, version: paging.Nth = None, _: Caller = may("definition.read")) -> Response:
    held = Processes(door)
    rows = held.versions(id)
    row = in_force(rows) if version is None else held.get(id, version)
    document = _document(row)
    children = [child for child in held.each() if _document(child).get("parent_id") in (row.name, rows[0].id)]
    body = {
        **_line(row, rows), "description": str(document.get("description") or ""), "definition": document,
        "children": [
            {"id": child.name, "name": _line(child, [child])["name"], "type": child.kind} for child in children
        ],
        "origin": {name: value for name, value in origin_of(row).items() if name != "extraction"},
        "created_by": row.created_by, "approved_by": row.approved_by,
        "feedback": row.feedback,
    }  # fmt: skip
    return reply(shape.ProcessDefinitionOut, body, headers={"ETag": f'"{row.version}"'})


@router.put(
    "/definitions/{id}", response_model=shape.DefinitionSaved, summary="The next version, with what differs (P-X.8)"
)  # fmt: skip
@forwarded_when_large
async def update(id: Id, asked: shape.DefinitionAsked, door: Door, who: Caller = may("definition.write")) -> Response:
    done = await Processes(door).update(
        id, _given(asked), by=who.user, unsound=asked.unsound, pending=asked.pending
    )  # fmt: skip
    return _saved(done, status=200)


@router.get("/definitions/{id}/versions", response_model=shape.DefinitionVersionPage, summary="The newest first")
async def versions(
    id: Id, door: Door, limit: paging.Limit = 50, cursor: paging.Cursor = None, _: Caller = may("definition.read")
) -> Response:
    page, after = paging.page_of(Processes(door).versions(id)[::-1], cursor, limit)
    items = [
        {"id": row.id, "proc_def_id": row.name, "version": row.version, "status": row.status,
         "approval_status": approval_of(row), "snapshot": _document(row),
         "diff": msgspec.json.decode(row.diff) if row.diff is not None else None,
         "change_summary": row.change_summary, "feedback": row.feedback, "created_by": row.created_by,
         "created_at": row.created_at, "approved_by": row.approved_by, "approved_at": row.approved_at}
        for row in page
    ]  # fmt: skip
    return reply(shape.DefinitionVersionPage, {"items": items, "next": after})


@router.get(
    "/definitions/{id}/bpmn", summary="As BPMN 2.0 XML",
    response_class=Response, responses={200: {"content": {"application/xml": {"schema": {"type": "string"}}}}},
)  # fmt: skip
async def bpmn(id: Id, door: Door, version: paging.Nth = None, _: Caller = may("definition.read")) -> Response:
    row = Processes(door).get(id, version)
    return Response(row.bpmn or b"", media_type="application/xml", headers={"ETag": f'"{row.version}"'})


@router.post("/definitions/{id}:approve", response_model=shape.DefinitionSaved, summary="Let it be begun (P-X.23)")
async def approve(
    id: Id, door: Door, asked: shape.ModelApproveAsked | None = None, who: Caller = may("process.model.approve")
) -> Response:
    """`version`: the one that was looked at; where another waits by now it is refused."""
    into, version = (asked.into, asked.version) if asked is not None else (None, None)
    return _saved(await Processes(door).approve(id, by=who, into=into, version=version), status=200)


@router.post("/definitions/{id}:reject", response_model=shape.DefinitionSaved, summary="Keep it from being begun")
async def reject(
    id: Id, asked: shape.ModelRejectAsked, door: Door, who: Caller = may("process.model.approve")
) -> Response:
    row = Processes(door).reject(id, by=who.user, comment=asked.comment)
    return _saved(Defined(row, False), status=200)
