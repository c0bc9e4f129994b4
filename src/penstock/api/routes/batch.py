"""One verb for many runs, with a dry run first (class C of the console)."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from penstock.api.audited import AuditedRoute
from penstock.api.replies import reply
from penstock.api.routes.runs import variable
from penstock.api.run_body import exact_run_id
from penstock.api.server_state import Caller, Door, may
from penstock.api.shapes import admin as shape
from penstock.api.time_fields import moment
from penstock.app.runs.commands.bulk import command_many, matching_runs
from penstock.app.runs.search import Filters
from penstock.errors import BadInput, RunAmbiguous, RunNotFound

router = APIRouter(tags=["runs"], route_class=AuditedRoute)


@router.post("/runs:batch", response_model=shape.BatchOut, summary="One verb for many; a dry run by default")
async def steer(asked: shape.BatchAsked, door: Door, who: Caller = may("run.steer")) -> Response:
    if (asked.ids is None) == (asked.filter is None):
        raise BadInput(what="the request", why="it has either «ids» or a «filter»")
    if asked.verb == "signal" and not asked.name:
        raise BadInput(what="the signal", why="it has no «name»")
    runs, more = [_run_id(door, run) for run in asked.ids or ()], False
    if asked.filter is not None:
        runs, more = matching_runs(door, _filters(asked.filter))
    done = await command_many(
        door, asked.verb, runs, more=more, dry_run=asked.dry_run, mode=asked.mode, how=asked.how, name=asked.name,
        payload=asked.payload, user=who.user, permissions=who.permissions,
    )  # fmt: skip
    return reply(shape.BatchOut, done)


def _run_id(door: Door, run: str) -> str:
    """One that nobody knows is told with the others; a beginning of an id is refused."""
    try:
        door.row(run)
    except (RunNotFound, RunAmbiguous):
        return run
    return exact_run_id(door, run)


def _filters(asked: shape.BatchFilter) -> Filters:
    if not any(asked.model_dump().values()):
        raise BadInput(what="the filter", why="it is empty, so it would mean every run", hint="Say which runs.")
    return Filters(
        text=asked.q, states=asked.state, name=asked.name, version=asked.version, language=asked.language,
        node=asked.node, code=asked.code, var=variable(asked.var), parent=asked.parent,
        since=moment(asked.since, "since") if asked.since else None,
        until=moment(asked.until, "until") if asked.until else None, failed_node=asked.failed_node,
        ended=moment(asked.ended, "ended") if asked.ended else None, letter=asked.letter,
        node_failed=moment(asked.node_failed, "node_failed") if asked.node_failed else None,
    )  # fmt: skip
