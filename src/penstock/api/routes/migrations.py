"""Migrations: move a run that goes on to another version of its document, and take that back."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from penstock.api.audited import AuditedRoute
from penstock.api.replies import reply
from penstock.api.run_body import exact_run_id
from penstock.api.server_state import Door, may
from penstock.api.shapes import migrations as shape
from penstock.app.runs.commands.migration import Move, approved_release

router = APIRouter(prefix="/runs", tags=["runs"], route_class=AuditedRoute)


@router.post(
    "/{run}/migrate", response_model=shape.MigrationOut, summary="Move it to another version, or see what it would do",
    dependencies=[may("run.edit")],
)  # fmt: skip
async def migrate(run: str, asked: shape.MigrateAsked, door: Door) -> Response:
    """With `dry_run` nothing is changed, and `obstacles` are told; else they refuse it."""
    id = exact_run_id(door, run)
    row = approved_release(door, asked.name, asked.version)
    move = Move(to=door.hash_of(row.net), nodes=asked.nodes)
    return reply(shape.MigrationOut, door.plan_migration(id, move) if asked.dry_run else await door.migrate(id, move))


@router.post(
    "/{run}/undo-migration", response_model=shape.MigrationOut, summary="Take its newest move to another version back",
    dependencies=[may("run.edit")],
)  # fmt: skip
async def undo_migration(run: str, door: Door) -> Response:
    return reply(shape.MigrationOut, await door.undo_migration(exact_run_id(door, run)))
