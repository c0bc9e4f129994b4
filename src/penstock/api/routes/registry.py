"""What a tenant has registered: rule packs, templates, connections, calendars …; secrets by name only."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
from fastapi import APIRouter, Body, Request
from starlette.responses import Response

from penstock.api import paging
from penstock.api.audited import AuditedRoute
from penstock.api.problems import finding_body
from penstock.api.replies import reply
from penstock.api.routes.admin import given_by, no_more_than
from penstock.api.routes.proposals import proposed_reply
from penstock.api.server_state import Caller, Door, may
from penstock.api.shapes import operations as shape
from penstock.api.shapes.proposals import ProposalOut
from penstock.api.unmasking import unmasked
from penstock.app.access.keys import ApiKeys
from penstock.app.access.roles import ROLES, roles_of
from penstock.app.registry.proposals import Proposals
from penstock.app.registry.registry import GOVERNED
from penstock.app.registry.registry import shown as shown_thing
from penstock.errors import ChangedMeanwhile, ThingNotFound
from penstock.store.artifacts import ArtifactRow

#: the path of each kind, and what the registry calls it
KINDS = {
    "rule-packs": "rule_pack", "templates": "template", "connections": "connection", "calendars": "calendar",
    "prompts": "prompt", "models": "model", "channels": "channel", "mcp-servers": "mcp_server",
    "collections": "collection", "users": "user", "roles": "role", "aas-shells": "aas", "robots": "robot",
    "agents": "agent", "tools": "tool", "bi-metrics": "metric",
}  # fmt: skip
WRITES = {"users": "user.write", "roles": "user.write"}


def artifact_body(row: ArtifactRow, findings: list[Any] | None = None) -> dict[str, Any]:
    return {
        "id": row.id, "type": row.type, "version": row.version, "status": row.status, "at": row.at,
        "body": shown_thing(row), "findings": [finding_body(finding) for finding in findings or ()],
    }  # fmt: skip


def etag_of(row: ArtifactRow) -> str:
    """Of what is shown: a hash of the whole would let whoever reads it try what a masked secret might be."""
    seen = msgspec.json.encode(shown_thing(row), order="deterministic")
    return f'"{row.at}-{hashlib.blake2b(seen, digest_size=8).hexdigest()}"'


def find_artifact(door: Door, type: str, id: str) -> ArtifactRow:
    row = door.registry.get(type, id)
    if row is None and type == "role" and id in ROLES:
        return _built_in(door, id)
    if row is None:
        raise ThingNotFound(type=type, id=id)
    return row


def _rows(door: Door, type: str) -> list[ArtifactRow]:
    """Of roles also those that every tenant has, unless it has registered them otherwise."""
    rows = door.registry.each(type)
    if type != "role":
        return rows
    own = {row.id for row in rows}
    return [*rows, *(_built_in(door, name) for name in ROLES if name not in own)]


def _built_in(door: Door, role: str) -> ArtifactRow:
    body = msgspec.msgpack.encode({"permissions": sorted(ROLES[role])})
    return ArtifactRow(door.tenant, "role", role, "", "built-in", body, 0)


def _held(door: Door, type: str, id: str) -> frozenset[str]:
    """What a user or a role that is there may do: nobody changes or takes away one that may do more than they may."""
    if type == "role":
        return roles_of(door).get(id, frozenset())
    row = door.registry.get(type, id)
    return given_by(door, type, msgspec.msgpack.decode(row.body)) if row is not None else frozenset()


def _router(path: str, type: str) -> APIRouter:
    router = APIRouter(prefix=f"/{path}", tags=["registry"], route_class=AuditedRoute)
    read, write = "registry.read", WRITES.get(path, "registry.write")
    waits: dict[int | str, dict[str, Any]] = {
        202: {"model": ProposalOut, "description": "Four eyes are asked for: it waits for another person"}
    }
    waiting = waits if type in GOVERNED else {}

    @router.get("", response_model=shape.ThingPage, summary=f"Every {type}", name=f"each_{type}")
    async def each(
        door: Door, limit: paging.Limit = 50, cursor: paging.Cursor = None, _: Caller = may(read)
    ) -> Response:
        page, after = paging.page_of(_rows(door, type), cursor, limit)
        return reply(shape.ThingPage, {"items": [artifact_body(row) for row in page], "next": after})

    @router.get("/{id}", response_model=shape.ThingOut, summary=f"One {type}", name=f"get_{type}")
    async def get(id: str, door: Door, _: Caller = may(read)) -> Response:
        row = find_artifact(door, type, id)
        return reply(shape.ThingOut, artifact_body(row), headers={"ETag": etag_of(row)})

    @router.put(
        "/{id}", response_model=shape.ThingOut, summary=f"Register a {type}, or replace it", name=f"put_{type}",
        responses=waiting,
    )  # fmt: skip
    async def put(
        id: str,
        request: Request,
        door: Door,
        body: dict[str, Any] = Body(),
        who: Caller = may(write),
    ) -> Response:
        if type in ("user", "role"):
            no_more_than(who, given_by(door, type, body) | _held(door, type, id))
        unchanged(request, door, type, id)
        there = door.registry.get(type, id)
        if there is not None:
            body = unmasked(f"{type} «{id}»", body, msgspec.msgpack.decode(there.body))
        if door.registry.by_two(type):
            return proposed_reply(Proposals(door, type).put(id, body, who.user))
        findings = door.registry.put(type, id, body)
        row = find_artifact(door, type, id)
        return reply(shape.ThingOut, artifact_body(row, findings), headers={"ETag": etag_of(row)})

    @router.delete(
        "/{id}", status_code=204, summary=f"Take a {type} away", name=f"drop_{type}", responses=waiting
    )  # fmt: skip
    async def drop(id: str, request: Request, door: Door, who: Caller = may(write)) -> Response:
        if door.registry.get(type, id) is None:
            raise ThingNotFound(type=type, id=id)
        if type in ("user", "role"):
            no_more_than(who, _held(door, type, id) | (ROLES.get(id, frozenset()) if type == "role" else frozenset()))
        unchanged(request, door, type, id)
        if type == "user":
            ApiKeys(door).revoke_of(id)  # first: whoever is gone must not come in with one that was left
        if door.registry.by_two(type):
            return proposed_reply(Proposals(door, type).put(id, None, who.user))
        door.registry.remove(type, id)
        return Response(status_code=204)

    return router


def unchanged(request: Request, door: Door, type: str, id: str) -> None:
    """Who edits what another has changed meanwhile is told so, and nothing is overwritten."""
    wanted = request.headers.get("if-match")
    row = door.registry.get(type, id)
    if wanted is not None and (row is None or wanted.strip() not in (etag_of(row), "*")):
        raise ChangedMeanwhile(what=f"{type} «{id}»", now=etag_of(row) if row is not None else "nothing")


routers = [_router(path, type) for path, type in KINDS.items()]
secrets = APIRouter(prefix="/secrets", tags=["registry"], route_class=AuditedRoute)


@secrets.get("", response_model=shape.SecretPage, summary="The names of the tenant's secrets")
async def each_secret(
    door: Door, limit: paging.Limit = 50, cursor: paging.Cursor = None, _: Caller = may("registry.read")
) -> Response:
    page, after = paging.page_of(door.registry.each("secret"), cursor, limit)
    return reply(shape.SecretPage, {"items": [{"name": row.id, "at": row.at} for row in page], "next": after})


@secrets.put("/{name}", status_code=204, summary="Give the tenant a secret, or change it")
async def put_secret(name: str, asked: shape.SecretAsked, door: Door, _: Caller = may("secret.write")) -> Response:
    door.registry.put("secret", name, {"value": asked.value})
    return Response(status_code=204)


@secrets.delete("/{name}", status_code=204, summary="Take a secret away")
async def drop_secret(name: str, door: Door, _: Caller = may("secret.write")) -> Response:
    find_artifact(door, "secret", name)
    door.registry.remove("secret", name)
    return Response(status_code=204)


routers.append(secrets)
