"""Definitions: check, submit, compare, approve, put in force, draw."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from penstock.api import paging
from penstock.api.audited import AuditedRoute
from penstock.api.document_checks import check_document, inspect_document
from penstock.api.drawings import DRAWINGS, AsForm, AsTheme, drawing_reply
from penstock.api.forwarding import forwarded_when_large
from penstock.api.problems import finding_body
from penstock.api.replies import reply
from penstock.api.server_state import Caller, Door, may
from penstock.api.shapes import definitions as shape
from penstock.api.shapes.runs import GraphOut
from penstock.app.access.missing_candidates import held_by_users
from penstock.app.drawing.render import of_definition
from penstock.app.drawing.run_graph import definition_graph
from penstock.app.releases.releases import document_of
from penstock.errors import NotAllowed
from penstock.lifecycle import MACHINES
from penstock.store.releases import ReleaseRow

router = APIRouter(prefix="/definitions", tags=["definitions"], route_class=AuditedRoute)
Number = Annotated[int, Path(ge=1, le=paging.LARGEST)]
_LIFE = MACHINES["release"]


@router.get("", response_model=shape.DefinitionPage, summary="Every definition, with the version in force")
async def each(
    door: Door, limit: paging.Limit = 50, cursor: paging.Cursor = None, _: Caller = may("definition.read")
) -> Response:
    open_runs = _open_runs(door)
    definitions = [_definition(door, rows, open_runs) for rows in door.releases.by_name().values()]
    page, after = paging.page_of(definitions, cursor, limit)
    return reply(shape.DefinitionPage, {"items": page, "next": after})


def _open_runs(door: Door) -> dict[int, int]:
    """By net."""
    counts: dict[int, int] = {}
    for _, net, _, count in door.store.open_counts(door.tenant, door.now()):
        counts[net] = counts.get(net, 0) + count
    return counts


def _definition(door: Door, rows: list[ReleaseRow], open_runs: dict[int, int]) -> dict[str, Any]:
    newest = rows[-1]
    active = next((row for row in rows if row.status == "active"), None)
    shown_row = active or newest
    document = msgspec.json.decode(shown_row.document)
    return {
        "name": newest.name, "title": _title(document) or newest.name,
        "language": door.store.net(shown_row.net).language, "active": active.version if active is not None else None,
        "newest": newest.version, "status": shown_row.status,
        "updated_at": max(row.approved_at or row.created_at for row in rows),
        "open_runs": sum(open_runs.get(net, 0) for net in {row.net for row in rows}),
    }  # fmt: skip


def _title(document: dict[str, Any]) -> str:
    return str(document.get("process_definition_name") or document.get("name") or "")


@router.post("/check", response_model=shape.CheckOut, summary="What is wrong with a document, and where")
@forwarded_when_large
async def check(asked: shape.CheckAsked, door: Door, _: Caller = may("definition.read")) -> Response:
    language, findings = await check_document(asked.document, held_by_users(door))
    ok = language is not None and not any(finding.severity == "error" for finding in findings)
    bodies = [finding_body(finding) for finding in findings]
    return reply(shape.CheckOut, {"ok": ok, "language": language, "findings": bodies})


@router.post(
    "/inspect", response_model=shape.InspectedOut, summary="A document as an editor shows it, with its drawing"
)
@forwarded_when_large
async def inspect(asked: shape.CheckAsked, door: Door, _: Caller = may("definition.read")) -> Response:
    inspection = await inspect_document(asked.document, held_by_users(door))
    ok = inspection.language is not None and not any(finding.severity == "error" for finding in inspection.findings)
    body = {
        **msgspec.structs.asdict(inspection),
        "ok": ok,
        "findings": [finding_body(finding) for finding in inspection.findings],
    }
    return reply(shape.InspectedOut, body)


@router.post(
    "", response_model=shape.SubmittedOut, status_code=201, summary="Submit a version for approval",
    responses={200: {"model": shape.SubmittedOut, "description": "The same version has been submitted before"}},
)  # fmt: skip
@forwarded_when_large
async def submit(asked: shape.SubmitAsked, door: Door, who: Caller = may("definition.write")) -> Response:
    done = door.releases.submit(_bytes(asked.document), by=who, change_summary=asked.change_summary)
    row = done.release
    body = {"version": row, "new": done.new, "findings": [finding_body(finding) for finding in done.findings]}
    where = f"/api/v1/definitions/{row.name}/versions/{row.version}"
    return reply(shape.SubmittedOut, body, status=201 if done.new else 200, headers={"Location": where})


def _bytes(document: dict[str, Any] | str) -> bytes:
    return document.encode() if isinstance(document, str) else msgspec.json.encode(document)


@router.get("/{name}/versions", response_model=shape.VersionPage, summary="Its versions, the newest first")
async def versions(
    name: str, door: Door, limit: paging.Limit = 50, cursor: paging.Cursor = None, _: Caller = may("definition.read")
) -> Response:
    door.releases.get(name)
    page, after = paging.page_of(door.releases.each(name)[::-1], cursor, limit)
    return reply(shape.VersionPage, {"items": page, "next": after})


@router.get("/{name}/versions/{version}", response_model=shape.VersionWhole, summary="One version, with its document")
async def version(name: str, version: Number, door: Door, _: Caller = may("definition.read")) -> Response:
    row = door.releases.get(name, version)
    moves = [event for event in ("approve", "reject", "activate", "deprecate") if _LIFE.allows(row.status, event)]
    body = {**msgspec.structs.asdict(row), "document": document_of(row), "moves": moves}
    return reply(shape.VersionWhole, body, headers={"ETag": f'"{row.hash[:16]}-{row.status}"'})


@router.post("/{name}/versions/{version}/approve", response_model=shape.VersionOut, summary="Approve it")
async def approve(name: str, version: Number, door: Door, who: Caller = may("definition.approve")) -> Response:
    _may_judge(door, name, version, who)
    return reply(shape.VersionOut, door.releases.approve(name, version, by=who))


@router.post("/{name}/versions/{version}/reject", response_model=shape.VersionOut, summary="Send it back")
async def reject(
    name: str, version: Number, asked: shape.RejectAsked, door: Door, who: Caller = may("definition.approve")
) -> Response:
    _may_judge(door, name, version, who)
    return reply(shape.VersionOut, door.releases.reject(name, version, by=who.user, feedback=asked.feedback))


def _may_judge(door: Door, name: str, version: int, who: Caller) -> None:
    """P-7.5.1, P-X.23: a model that nobody has drawn is let in by an analyst only, whichever way it is asked."""
    if door.releases.get(name, version).origin is not None and "process.model.approve" not in who.permissions:
        raise NotAllowed(user=who.user, permission="process.model.approve")


@router.post("/{name}/versions/{version}/activate", response_model=shape.ActivatedOut, summary="Put it in force")
async def activate(name: str, version: Number, door: Door, who: Caller = may("definition.activate")) -> Response:
    await door.nets.prepare(door.releases.get(name, version).net)
    done = door.releases.activate(name, version, by=who)
    return reply(shape.ActivatedOut, {"version": done, "replayed": done.replayed})


@router.post("/{name}/versions/{version}/deprecate", response_model=shape.VersionOut, summary="Take it out of force")
async def deprecate(name: str, version: Number, door: Door, _: Caller = may("definition.activate")) -> Response:
    return reply(shape.VersionOut, door.releases.deprecate(name, version))


@router.get("/{name}/diff", response_model=shape.DiffOut, summary="What changed between two versions")
@forwarded_when_large
async def diff(
    name: str, door: Door, old: Annotated[int, Query(ge=1, le=paging.LARGEST, alias="from")],
    new: Annotated[int, Query(ge=1, le=paging.LARGEST, alias="to")],
    _: Caller = may("definition.read"),
) -> Response:  # fmt: skip
    return reply(shape.DiffOut, {"name": name, "from": old, "to": new, "changes": door.releases.diff(name, old, new)})


@router.get("/{name}/versions/{version}/graph", response_model=GraphOut, summary="Its net")
@forwarded_when_large
async def graph(name: str, version: Number, door: Door, _: Caller = may("definition.read")) -> Response:
    row = door.releases.get(name, version)
    return reply(GraphOut, definition_graph(door.net_of(door.hash_of(row.net))))


@router.get(
    "/{name}/versions/{version}/draw", summary="Its picture", responses=DRAWINGS, response_class=Response,
)  # fmt: skip
@forwarded_when_large
async def draw(
    name: str, version: Number, door: Door, form: AsForm = "svg", theme: AsTheme = "light",
    _: Caller = may("definition.read"),
) -> Response:  # fmt: skip
    return await drawing_reply(of_definition(door, door.releases.get(name, version).net), form, theme)
