"""Instances of workflows, in the words of the decision language (C-66)."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from penstock.api import paging
from penstock.api.audited import AuditedRoute, RunKey, run_started_by
from penstock.api.decision import shapes as shape
from penstock.api.forwarding import Long
from penstock.api.replies import reply
from penstock.api.run_body import exact_run_id
from penstock.api.run_history import Number, checkpoint_body, checkpoints_body, history_body, trace_reply
from penstock.api.server_state import Caller, Door, may
from penstock.api.shapes.run_history import CheckpointPage, CheckpointWhole, HistoryOut
from penstock.api.shapes.runs import TraceOut
from penstock.api.time_fields import moment
from penstock.app.releases import start_release
from penstock.app.runs.detail import detail
from penstock.app.runs.search import Filters, find_runs_soon
from penstock.app.runs.summary import RunSummary
from penstock.errors import NodeNotFound, NotWaiting, ReleaseNotFound, RunNotFound
from penstock.store.run_store import RunRow

router = APIRouter(prefix="/instances", tags=["instances"], route_class=AuditedRoute)
Id = Annotated[str, Path(max_length=200)]
Text = Annotated[str | None, Query(max_length=200)]


def _row(door: Door, id: str) -> RunRow:
    """A run of another language is no instance."""
    row = door.row(id)
    if door.store.net(row.net).language != "decision":
        raise RunNotFound(run=id)
    return row


def _summary(run: RunSummary) -> dict[str, Any]:
    return {
        "instance_id": run.id, "workflow_id": run.name, "version": run.version, "tenant_id": run.tenant,
        "status": run.status, "active_ms": run.active_ms, "parent_instance_id": run.parent,
        "started_at": run.started_at, "updated_at": run.updated_at, "completed_at": run.ended_at,
    }  # fmt: skip


def _instance_reply(door: Door, id: str, *, status: int = 200) -> Response:
    run = detail(door, id, (), newest=paging.LARGEST)
    nodes = [
        {"node_id": f.node, "type": f.type, "status": f.status, "attempt": f.attempt, "started_at": f.started_at,
         "completed_at": f.ended_at}
        for f in run.firings
    ]  # fmt: skip
    failure = run.failure
    error = None
    if failure is not None:
        error = {name: failure.get(name) for name in ("code", "category", "message")}
        error["node_id"] = failure.get("node")
    body = {
        **_summary(run.run), "trigger": run.trigger, "input": run.input, "output": run.output, "context": run.variables,
        "error": error, "nodes": nodes,
    }  # fmt: skip
    return reply(shape.WorkflowInstanceOut, body, status=status)


@router.get("", response_model=shape.InstancePage, summary="Find instances, newest first")
async def each(
    door: Door, workflow_id: Text = None, status: Text = None, version: paging.Nth = None,
    since: Text = None, until: Text = None, limit: paging.Limit = 50, cursor: paging.Cursor = None,
    _: Caller = may("run.read"),
) -> Response:  # fmt: skip
    wanted = Filters(
        states=[part for part in (status or "").split(",") if part], name=workflow_id, version=version,
        language="decision", since=moment(since, "since") if since else None,
        until=moment(until, "until") if until else None,
    )  # fmt: skip
    items, after = await find_runs_soon(door, wanted, cursor, limit)
    return reply(shape.InstancePage, {"items": [_summary(item) for item in items], "next": after})


@router.post("", response_model=shape.WorkflowInstanceStarted, status_code=201, summary="Start a workflow by hand")
async def start(asked: shape.InstanceAsked, door: Door, run_key: RunKey, who: Caller = may("run.start")) -> Response:
    row = door.releases.get(asked.workflow_id, asked.version)
    if door.store.net(row.net).language != "decision":
        raise ReleaseNotFound(name=asked.workflow_id)
    parent = _row(door, asked.parent_instance_id).id if asked.parent_instance_id else ""
    run = run_started_by(door, run_key) or await start_release.start(
        door, asked.workflow_id, asked.input, version=asked.version, parent=parent, key=run_key,
        trigger={"type": "manual", "source": f"user:{who.user}"}, by=who, environment=asked.environment,
    )  # fmt: skip
    body = {"instance_id": run, "status": door.status(run).status}
    return reply(shape.WorkflowInstanceStarted, body, status=201, headers={"Location": f"/api/v1/instances/{run}"})


@router.get("/{id}", response_model=shape.WorkflowInstanceOut, summary="One instance")
async def get(id: Id, door: Door, _: Caller = may("run.read")) -> Response:
    return _instance_reply(door, _row(door, id).id)


@router.get("/{id}/trace", response_model=TraceOut, summary="Its execution trace (W-10.2.1)")
async def execution(
    id: Id, door: Door, limit: paging.LongLimit = 1000, cursor: paging.Cursor = None, _: Caller = may("run.read")
) -> Response:
    return trace_reply(door, _row(door, id).id, cursor, limit)


@router.get("/{id}/history", response_model=HistoryOut, summary="Every transition (W-2.2.5)")
async def history(
    id: Id, door: Door, limit: paging.LongLimit = 1000, cursor: paging.Cursor = None, _: Caller = may("run.read")
) -> Response:
    return reply(HistoryOut, history_body(door, _row(door, id), cursor, limit))


@router.get("/{id}/checkpoints", response_model=CheckpointPage, summary="Its checkpoints (W-8.2.1)")
async def checkpoints(
    id: Id, door: Door, limit: paging.LongLimit = 1000, cursor: paging.Cursor = None, _: Caller = may("run.read")
) -> Response:
    return reply(CheckpointPage, checkpoints_body(door, _row(door, id), cursor, limit))


@router.get("/{id}/checkpoints/{number}", response_model=CheckpointWhole, summary="What one of them holds (W-8.1.2)")
async def checkpoint(id: Id, number: Number, door: Door, _: Caller = may("run.read")) -> Response:
    return reply(CheckpointWhole, await checkpoint_body(door, _row(door, id), number))


@router.post("/{id}/cancel", response_model=shape.WorkflowInstanceOut, summary="Cancel it")
async def cancel(
    id: Id, door: Door, long: Long, _asked: shape.InstanceCancelAsked | None = None, _: Caller = may("run.steer")
) -> Response:
    run = _row(door, exact_run_id(door, id)).id
    await door.cancel(run)
    return await long.changed(run, "instances") or _instance_reply(door, run)


@router.post("/{id}/resume", response_model=shape.WorkflowInstanceOut, summary="Let it go on")
async def resume(id: Id, door: Door, long: Long, _: Caller = may("run.steer")) -> Response:
    run = _row(door, exact_run_id(door, id)).id
    await door.resume(run)
    return await long.changed(run, "instances") or _instance_reply(door, run)


@router.post("/{id}/retry", response_model=shape.WorkflowInstanceOut, summary="Try again where it failed")
async def retry(id: Id, door: Door, long: Long, _: Caller = may("run.steer")) -> Response:
    run = _row(door, exact_run_id(door, id)).id
    await door.retry(run)
    return await long.changed(run, "instances") or _instance_reply(door, run)


@router.post("/{id}/compensate", response_model=shape.WorkflowInstanceOut, summary="Undo what it has done")
async def compensate(
    id: Id, door: Door, long: Long, asked: shape.InstanceCompensateAsked | None = None, _: Caller = may("run.steer")
) -> Response:
    run = _row(door, exact_run_id(door, id)).id
    await door.compensate(run, only=asked.node_ids if asked is not None else ())
    return await long.changed(run, "instances") or _instance_reply(door, run)


@router.post(
    "/{id}/nodes/{node_id}/signal", response_model=shape.WorkflowInstanceOut, summary="Let a waiting node go on"
)
async def signal(
    id: Id, node_id: Id, door: Door, long: Long, run_key: RunKey, asked: shape.NodeSignalAsked | None = None,
    _: Caller = may("run.steer"),
) -> Response:  # fmt: skip
    row, given = _row(door, exact_run_id(door, id)), asked or shape.NodeSignalAsked(payload=None, id="")
    waits = next((waiting for waiting in door.view(row.id).waiting if waiting.node == node_id and waiting.name), None)
    if waits is None:
        if node_id not in door.net_of(door.hash_of(row.net)).by_id:
            raise NodeNotFound(node=node_id)
        raise NotWaiting(why=f"«{node_id}» of {row.id} does not wait for a signal")
    await door.signal(row.id, waits.name, given.payload, id=given.id or run_key or "")
    return await long.changed(row.id, "instances") or _instance_reply(door, row.id)
