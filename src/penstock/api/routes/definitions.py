"""Definitions: check, submit, compare, approve, put in force, draw."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from penstock.api import paging
from penstock.api.answer import shown
from penstock.api.changing import Changing
from penstock.api.looking import looked_at
from penstock.api.problems import shown_finding
from penstock.api.shapes import definitions as shape
from penstock.api.shapes.runs import GraphOut
from penstock.api.site import Caller, Door, may
from penstock.app.graph import definition_graph
from penstock.app.releases import document_of
from penstock.lifecycle import MACHINES
from penstock.store.contract import ReleaseRow

router = APIRouter(prefix="/definitions", tags=["definitions"], route_class=Changing)
Number = Annotated[int, Path(ge=1, le=paging.LARGEST)]
_LIFE = MACHINES["release"]


@router.get("", response_model=shape.DefinitionPage, summary="Every definition, with the version in force")
async def each(
    door: Door, limit: paging.Limit = 50, cursor: paging.Cursor = None, _: Caller = may("definition.read")
) -> Response:
    by_name: dict[str, list[ReleaseRow]] = {}
    for row in door.releases.each():
        by_name.setdefault(row.name, []).append(row)
    page, after = paging.sliced([_definition(door, rows) for rows in by_name.values()], cursor, limit)
    return shown(shape.DefinitionPage, {"items": page, "next": after})


def _definition(door: Door, rows: list[ReleaseRow]) -> dict[str, Any]:
    newest = rows[-1]
    active = next((row for row in rows if row.status == "active"), None)
    shown_row = active or newest
    document = msgspec.json.decode(shown_row.document)
    return {
        "name": newest.name, "title": str(document.get("name") or newest.name),
        "language": door.store.net(shown_row.net).language, "active": active.version if active is not None else None,
        "newest": newest.version, "status": shown_row.status,
        "updated_at": max(row.approved_at or row.created_at for row in rows),
    }  # fmt: skip


@router.post("/check", response_model=shape.CheckOut, summary="What is wrong with a document, and where")
async def check(asked: shape.CheckAsked, _: Caller = may("definition.read")) -> Response:
    language, findings = await looked_at(asked.document)
    ok = language is not None and not any(one.severity == "error" for one in findings)
    told = [shown_finding(one) for one in findings]
    return shown(shape.CheckOut, {"ok": ok, "language": language, "findings": told})


@router.post("", response_model=shape.SubmittedOut, status_code=201, summary="Submit a version for approval")
async def submit(asked: shape.SubmitAsked, door: Door, who: Caller = may("definition.write")) -> Response:
    done = door.releases.submit(_bytes(asked.document), by=who.user, change_summary=asked.change_summary)
    row = done.release
    told = {"version": row, "new": done.new, "findings": [shown_finding(one) for one in done.findings]}
    where = f"/api/v1/definitions/{row.name}/versions/{row.version}"
    return shown(shape.SubmittedOut, told, status=201 if done.new else 200, headers={"Location": where})


def _bytes(document: dict[str, Any] | str) -> bytes:
    return document.encode() if isinstance(document, str) else msgspec.json.encode(document)


@router.get("/{name}/versions", response_model=shape.VersionPage, summary="Its versions, the newest first")
async def versions(
    name: str, door: Door, limit: paging.Limit = 50, cursor: paging.Cursor = None, _: Caller = may("definition.read")
) -> Response:
    door.releases.get(name)
    page, after = paging.sliced(door.releases.each(name)[::-1], cursor, limit)
    return shown(shape.VersionPage, {"items": page, "next": after})


@router.get("/{name}/versions/{version}", response_model=shape.VersionWhole, summary="One version, with its document")
async def version(name: str, version: Number, door: Door, _: Caller = may("definition.read")) -> Response:
    row = door.releases.get(name, version)
    moves = [event for event in ("approve", "reject", "activate", "deprecate") if _LIFE.allows(row.status, event)]
    told = {**msgspec.structs.asdict(row), "document": document_of(row), "moves": moves}
    return shown(shape.VersionWhole, told, headers={"ETag": f'"{row.hash[:16]}-{row.status}"'})


@router.post("/{name}/versions/{version}/approve", response_model=shape.VersionOut, summary="Approve it")
async def approve(name: str, version: Number, door: Door, who: Caller = may("definition.approve")) -> Response:
    return shown(shape.VersionOut, door.releases.approve(name, version, by=who.user))


@router.post("/{name}/versions/{version}/reject", response_model=shape.VersionOut, summary="Send it back")
async def reject(
    name: str, version: Number, asked: shape.RejectAsked, door: Door, who: Caller = may("definition.approve")
) -> Response:
    return shown(shape.VersionOut, door.releases.reject(name, version, by=who.user, feedback=asked.feedback))


@router.post("/{name}/versions/{version}/activate", response_model=shape.ActivatedOut, summary="Put it in force")
async def activate(name: str, version: Number, door: Door, _: Caller = may("definition.activate")) -> Response:
    done = door.releases.activate(name, version)
    return shown(shape.ActivatedOut, {"version": done, "replayed": done.replayed})


@router.post("/{name}/versions/{version}/deprecate", response_model=shape.VersionOut, summary="Take it out of force")
async def deprecate(name: str, version: Number, door: Door, _: Caller = may("definition.activate")) -> Response:
    return shown(shape.VersionOut, door.releases.deprecate(name, version))


@router.get("/{name}/diff", response_model=shape.DiffOut, summary="What changed between two versions")
async def diff(
    name: str, door: Door, old: Annotated[int, Query(ge=1, le=paging.LARGEST, alias="from")],
    new: Annotated[int, Query(ge=1, le=paging.LARGEST, alias="to")],
    _: Caller = may("definition.read"),
) -> Response:  # fmt: skip
    return shown(shape.DiffOut, {"name": name, "from": old, "to": new, "changes": door.releases.diff(name, old, new)})


@router.get("/{name}/versions/{version}/graph", response_model=GraphOut, summary="Its net")
async def graph(name: str, version: Number, door: Door, _: Caller = may("definition.read")) -> Response:
    row = door.releases.get(name, version)
    return shown(GraphOut, definition_graph(door.net_of(door.hash_of(row.net))))
