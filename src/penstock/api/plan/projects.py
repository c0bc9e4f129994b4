"""Projects: registered folders with a plan, their health, their files (T-X.39, T-4)."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from penstock.api.audited import AuditedRoute
from penstock.api.plan import asked as body
from penstock.api.plan import shapes as shape
from penstock.api.plan.plan_routes import TAG, Planned, ProjectId
from penstock.api.replies import reply
from penstock.api.server_state import Caller, Door, may
from penstock.app.plan.allowed_folders import admit_folder, admit_trust

router = APIRouter(prefix="/projects", tags=[TAG], route_class=AuditedRoute)


@router.get("", response_model=shape.ProjectList, summary="Every project of the tenant")
async def list_projects(plans: Planned, _: Caller = may("plan.read")) -> Response:
    return reply(shape.ProjectList, {"items": plans.projects()})


@router.post("", response_model=shape.ProjectOut, status_code=201, summary="Register a folder with a plan in it")
async def register_project(
    asked: body.ProjectAsked, door: Door, plans: Planned, who: Caller = may("plan.admin")
) -> Response:
    """Where tenants share the machine only what lies below `plans.roots` is taken."""
    folder = admit_folder(door, asked.path)
    admit_trust(door, asked.trusted)
    said = asked.model_dump(include=asked.model_fields_set & {"name", "trusted", "enabled"})
    done = await plans.register(folder, **said, by=who.user)
    return reply(shape.ProjectOut, done, status=201, headers={"Location": f"/api/v1/projects/{done.id}"})


@router.get("/{id}", response_model=shape.ProjectOut, summary="One of them")
async def get_project(id: ProjectId, plans: Planned, _: Caller = may("plan.read")) -> Response:
    return reply(shape.ProjectOut, plans.project(id))


@router.patch("/{id}", response_model=shape.ProjectOut, summary="Switch it on or off, trust it or not")
async def change_project(
    id: ProjectId, asked: body.ProjectChange, door: Door, plans: Planned, _: Caller = may("plan.admin")
) -> Response:
    plans.project(id)
    admit_trust(door, asked.trusted)
    return reply(shape.ProjectOut, await plans.change(id, enabled=asked.enabled, trusted=asked.trusted))


@router.get("/{id}/health", response_model=shape.HealthOut, summary="Its health, as the last check has left it (T-4)")
async def health(id: ProjectId, plans: Planned, _: Caller = may("plan.read")) -> Response:
    return reply(shape.HealthOut, plans.health(id))


@router.post("/{id}:check", response_model=shape.HealthOut, summary="Check its health now (T-4.2)")
async def check_health(id: ProjectId, plans: Planned, _: Caller = may("plan.write")) -> Response:
    return reply(shape.HealthOut, await plans.check(id))


@router.get("/{id}/sync", response_model=shape.SyncOut, summary="What its files say and its run does not (T-X.8)")
async def planned_sync(id: ProjectId, plans: Planned, _: Caller = may("plan.read")) -> Response:
    return reply(shape.SyncOut, await plans.plan_sync(id))


@router.post("/{id}:sync", response_model=shape.SyncOut, summary="Take over what its files say (T-X.8)")
async def sync_project(id: ProjectId, plans: Planned, who: Caller = may("plan.write")) -> Response:
    return reply(shape.SyncOut, await plans.sync(id, by=who.user))
