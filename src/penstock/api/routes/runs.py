"""Runs: start, find, look at any moment of them, steer them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response, StreamingResponse

from penstock.api import paging
from penstock.api.audited import AuditedRoute, RunKey, run_started_by
from penstock.api.drawings import DRAWINGS, AsForm, AsTheme, drawing_reply
from penstock.api.forwarding import Long
from penstock.api.replies import reply
from penstock.api.run_body import exact_run_id, run_body
from penstock.api.run_history import Number, checkpoint_body, checkpoints_body, history_body, trace_reply
from penstock.api.server_state import Caller, Door, Who, may, server_of
from penstock.api.shapes import runs as shape
from penstock.api.shapes.run_history import CheckpointPage, CheckpointWhole, HistoryOut
from penstock.api.stream import EVENTS, run_events
from penstock.api.time_fields import moment
from penstock.app.drawing.render import of_run
from penstock.app.drawing.run_graph import deltas, graph
from penstock.app.releases import start_release
from penstock.app.runs.detail import firing_page
from penstock.app.runs.search import SORTS, Filters, count_runs, find_runs_soon
from penstock.app.runs.timeline.fact_pages import fact_page, fact_times
from penstock.errors import BadInput

router = APIRouter(prefix="/runs", tags=["runs"], route_class=AuditedRoute)
#: how many facts one answer tells the steps of
MOST_STEPS = 400
Text = Annotated[str | None, Query(max_length=200)]
Sort = Annotated[
    str | None,
    Query(
        max_length=20, description=f"{', '.join(SORTS)}; with a «-» before it the largest first. `updated_at` is here "
        "when its status, its next timer or its checkpoint changed last.",
    ),
]  # fmt: skip


@router.get("", response_model=shape.RunPage, summary="Find runs, newest first", dependencies=[may("run.read")])
async def each(
    door: Door, q: Text = None, state: Text = None, status: Text = None, name: Text = None,
    version: paging.Nth = None, language: Text = None, node: Text = None, code: Text = None,
    var: Text = None, since: Text = None, until: Text = None, parent: Text = None, failed_node: Text = None,
    ended: Text = None, node_failed: Text = None, letter: bool = False, sort: Sort = None, limit: paging.Limit = 50,
    cursor: paging.Cursor = None, total: bool = False,
) -> Response:  # fmt: skip
    filters = Filters(
        text=q or "", states=[part for part in f"{state or ''},{status or ''}".split(",") if part], name=name,
        version=version, language=language, node=node, code=code, var=variable(var),
        since=moment(since, "since") if since else None, until=moment(until, "until") if until else None, parent=parent,
        failed_node=failed_node, ended=moment(ended, "ended") if ended else None,
        node_failed=moment(node_failed, "node_failed") if node_failed else None, letter=letter, sort=sort or "",
    )  # fmt: skip
    items, after = await find_runs_soon(door, filters, cursor, limit)
    count = count_runs(door, filters) if total else None
    return reply(shape.RunPage, {"items": items, "next": after, "total": count})


def variable(text: str | None) -> tuple[str, str] | None:
    """NAME:VALUE, where the name may have dots."""
    if text is None:
        return None
    name, colon, value = text.partition(":")
    if not colon or not name:
        raise BadInput(what="«var»", why="it is not NAME:VALUE", hint="Write var=judgment_result.decision:critical.")
    return name, value


@router.post("", response_model=shape.Started, status_code=201, summary="Start a run")
async def start(asked: shape.StartAsked, door: Door, run_key: RunKey, who: Caller = may("run.start")) -> Response:
    trigger = {"type": "manual", "source": f"user:{who.user}"}
    run = run_started_by(door, run_key) if asked.key is None else None
    run = run or await start_release.start(
        door, asked.definition, asked.input, version=asked.version, key=run_key if asked.key is None else asked.key,
        trigger=trigger, priority=asked.priority, by=who, environment=asked.environment,
    )  # fmt: skip
    body = {"id": run, "status": door.status(run).status}
    return reply(shape.Started, body, status=201, headers={"Location": f"/api/v1/runs/{run}"})


@router.get("/{run}", response_model=shape.RunOut, summary="One run, as it stands")
async def get(run: str, door: Door, who: Caller = may("run.read")) -> Response:
    return reply(shape.RunOut, run_body(door, run, who.permissions))


@router.get("/{run}/graph", response_model=shape.GraphOut, summary="Its net with the tokens after a fact")
async def picture(run: str, door: Door, at: paging.Nth = None, _: Caller = may("run.read")) -> Response:
    return reply(shape.GraphOut, graph(door, run, at))


@router.get(
    "/{run}/draw", summary="Its picture with the tokens after a fact", responses=DRAWINGS, response_class=Response,
)  # fmt: skip
async def draw(
    run: str, door: Door, form: AsForm = "svg", at: paging.Nth = None, theme: AsTheme = "light",
    _: Caller = may("run.read"),
) -> Response:  # fmt: skip
    return await drawing_reply(of_run(door, run, at), form, theme)


@router.get("/{run}/deltas", response_model=shape.DeltasOut, summary="What changed from fact to fact")
async def steps(
    run: str, door: Door, first: Annotated[int, Query(ge=1, le=paging.LARGEST, alias="from")] = 1,
    last: Annotated[int | None, Query(ge=1, le=paging.LARGEST, alias="to")] = None, _: Caller = may("run.read"),
) -> Response:  # fmt: skip
    until = first + MOST_STEPS - 1 if last is None else min(last, first + MOST_STEPS - 1)
    return reply(shape.DeltasOut, deltas(door, run, first, until))


@router.get("/{run}/facts", response_model=shape.FactPage, summary="What happened, fact by fact")
async def facts(
    run: str, door: Door, after: Annotated[int, Query(ge=0, le=paging.LARGEST)] = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 200, _: Caller = may("run.read"),
) -> Response:  # fmt: skip
    page, following, of = fact_page(door, run, after, limit)
    return reply(shape.FactPage, {"items": page, "next": following, "of": of})


@router.get("/{run}/moments", response_model=shape.MomentPage, summary="When facts happened, from first to last")
async def moments(
    run: str, door: Door, limit: Annotated[int, Query(ge=2, le=500)] = 400, _: Caller = may("run.read")
) -> Response:
    times, of = fact_times(door, run, limit)
    return reply(shape.MomentPage, {"items": times, "of": of})


@router.get("/{run}/firings", response_model=shape.FiringPage, summary="What its nodes did, the newest first")
async def firings(
    run: str, door: Door, limit: paging.Limit = 50, cursor: paging.Cursor = None, _: Caller = may("run.read")
) -> Response:
    page, below = firing_page(door, run, paging.read_cursor(cursor, int), limit)
    return reply(shape.FiringPage, {"items": page, "next": paging.cursor_of(below) if below is not None else None})


@router.get("/{run}/trace", response_model=shape.TraceOut, summary="The execution trace (W-10.2.1)")
async def execution(
    run: str, door: Door, limit: paging.LongLimit = 1000, cursor: paging.Cursor = None, _: Caller = may("run.read")
) -> Response:
    return trace_reply(door, run, cursor, limit)


@router.get("/{run}/history", response_model=HistoryOut, summary="Every transition of it (W-2.2.5)")
async def history(
    run: str, door: Door, limit: paging.LongLimit = 1000, cursor: paging.Cursor = None, _: Caller = may("run.read")
) -> Response:
    return reply(HistoryOut, history_body(door, door.row(run), cursor, limit))


@router.get("/{run}/checkpoints", response_model=CheckpointPage, summary="Its checkpoints (W-8.2.1)")
async def checkpoints(
    run: str, door: Door, limit: paging.LongLimit = 1000, cursor: paging.Cursor = None, _: Caller = may("run.read")
) -> Response:
    return reply(CheckpointPage, checkpoints_body(door, door.row(run), cursor, limit))


@router.get("/{run}/checkpoints/{number}", response_model=CheckpointWhole, summary="What one of them holds (W-8.1.2)")
async def checkpoint(run: str, number: Number, door: Door, _: Caller = may("run.read")) -> Response:
    return reply(CheckpointWhole, await checkpoint_body(door, door.row(run), number))


@router.get(
    "/{run}/events", summary="Its events as they happen (SSE)", dependencies=[may("run.read")], responses=EVENTS,
    response_class=StreamingResponse,
)  # fmt: skip
async def events(run: str, door: Door, request: Request, who: Who, long: Long) -> StreamingResponse:
    row = door.row(run)
    last = request.headers.get("last-event-id") or "0"
    after = int(last) if last.isdecimal() and len(last) < 16 else 0
    server = server_of(request)
    allowed = server.identity.still_allowed(request, who)
    messages = run_events(server.hub, door, row.id, after, allowed, long.pages(row.id))
    return StreamingResponse(messages, media_type="text/event-stream")


# -- steering ----------------------------------------------------------------------------------------------------------


async def _run_reply(door: Door, run: str, who: Caller, long: Long) -> Response:
    return await long.changed(run, "runs") or reply(shape.RunOut, run_body(door, run, who.permissions))


@router.post("/{run}/cancel", response_model=shape.RunOut, summary="End it")
async def cancel(
    run: str, asked: shape.CancelAsked, door: Door, long: Long, who: Caller = may("run.steer")
) -> Response:
    await door.cancel(exact_run_id(door, run), mode=asked.mode)
    return await _run_reply(door, run, who, long)


@router.post("/{run}/pause", response_model=shape.RunOut, summary="Let it start nothing new")
async def pause(run: str, door: Door, long: Long, who: Caller = may("run.steer")) -> Response:
    await door.pause(exact_run_id(door, run))
    return await _run_reply(door, run, who, long)


@router.post("/{run}/resume", response_model=shape.RunOut, summary="Let it go on")
async def resume(run: str, door: Door, long: Long, who: Caller = may("run.steer")) -> Response:
    await door.resume(exact_run_id(door, run))
    return await _run_reply(door, run, who, long)


@router.post("/{run}/retry", response_model=shape.RunOut, summary="Try again where it failed, or from the start")
async def retry(run: str, asked: shape.RetryAsked, door: Door, long: Long, who: Caller = may("run.steer")) -> Response:
    await door.retry(exact_run_id(door, run), how=asked.how)
    return await _run_reply(door, run, who, long)


@router.post("/{run}/compensate", response_model=shape.RunOut, summary="Undo what it has done")
async def compensate(
    run: str, asked: shape.CompensateAsked, door: Door, long: Long, who: Caller = may("run.steer")
) -> Response:
    await door.compensate(exact_run_id(door, run), only=asked.only)
    return await _run_reply(door, run, who, long)


@router.post("/{run}/fork", response_model=shape.Started, status_code=201, summary="A new run from a fact of this one")
async def fork(
    run: str, asked: shape.ForkAsked, door: Door, run_key: RunKey, who: Caller = may("run.steer")
) -> Response:
    made = run_started_by(door, run_key) or door.fork(exact_run_id(door, run), asked.fact, key=run_key, by=who)
    return reply(
        shape.Started, {"id": made, "status": "PENDING"}, status=201, headers={"Location": f"/api/v1/runs/{made}"}
    )


@router.post("/{run}/signal", response_model=shape.RunOut, summary="Send it news")
async def signal(
    run: str, asked: shape.SignalAsked, door: Door, run_key: RunKey, long: Long, who: Caller = may("run.steer")
) -> Response:
    await door.signal(exact_run_id(door, run), asked.name, asked.payload, id=asked.id or run_key or "")
    return await _run_reply(door, run, who, long)


@router.post("/{run}/resolve", response_model=shape.RunOut, summary="Give a node its result by hand")
async def resolve(
    run: str, asked: shape.ResolveAsked, door: Door, long: Long, who: Caller = may("run.edit")
) -> Response:
    await door.resolve(exact_run_id(door, run), asked.node, asked.value)
    return await _run_reply(door, run, who, long)


@router.post("/{run}/skip", response_model=shape.RunOut, summary="Go on without what a node would give")
async def skip(run: str, asked: shape.SkipAsked, door: Door, long: Long, who: Caller = may("run.edit")) -> Response:
    await door.resolve(exact_run_id(door, run), asked.node, None)
    return await _run_reply(door, run, who, long)


@router.patch("/{run}/variables", response_model=shape.RunOut, summary="Change variables; the reason is kept")
async def edit(
    run: str, asked: shape.VariablesAsked, door: Door, long: Long, who: Caller = may("run.edit")
) -> Response:
    await door.edit(exact_run_id(door, run), asked.set)
    return await _run_reply(door, run, who, long)
