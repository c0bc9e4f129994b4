"""Process instances and work items: begun, looked at, moved on (P-X.28)."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Depends, Path, Query
from starlette.responses import Response

from penstock.api import paging
from penstock.api.audited import RunKey, run_started_by
from penstock.api.forwarding import Long
from penstock.api.process import work_item_shapes as shape
from penstock.api.process.error_words import IfMatch, InProcessWords, same_tenant, seen_version
from penstock.api.replies import reply
from penstock.api.server_state import Caller, Door, Server, may
from penstock.app.process.events import each_event, first_run
from penstock.app.process.reevaluation import reevaluation
from penstock.app.process.work_items import (
    LocatedItem,
    WorkItems,
    fold_ahead,
    instance_body,
    status_of,
    version_of,
)
from penstock.dialects.process.words import ITEMS
from penstock.errors import BadInput, ProcessScope
from penstock.store.work_items import WorkRow

router = APIRouter(
    prefix="/processes", tags=["processes"], route_class=InProcessWords, dependencies=[Depends(same_tenant)]
)
Id = Annotated[str, Path(max_length=200)]
Text = Annotated[str | None, Query(max_length=200)]


def _own(given: str | None, who: Caller) -> None:
    """Nobody submits or approves in another's name."""
    if given not in (None, who.user):
        raise ProcessScope(why=f"You are {who.user}, and not {given}")


# ---- instances -------------------------------------------------------------------------------------------------------


@router.post(
    "/definitions/{id}/instances",
    response_model=shape.ProcessInstanceStarted,
    status_code=201,
    summary="Begin an instance",
)
async def initiate(
    id: Id, asked: shape.InitiateAsked, door: Door, run_key: RunKey, who: Caller = may("run.start")
) -> Response:
    work_items = WorkItems(door)
    run = run_started_by(door, run_key) or await work_items.initiate(
        id, by=who, initiator=asked.initiator_id, input=asked.input_data, modes=asked.mode_overrides,
        version=asked.version, key=run_key, start_event=asked.start_event,
    )  # fmt: skip
    row = work_items.run(run)
    net = door.net_of(door.hash_of(row.net))
    body = {
        "proc_inst_id": row.id, "proc_def_id": net.net.name, "proc_def_version": version_of(net),
        "status": status_of(row),
    }  # fmt: skip
    where = {"Location": f"/api/v1/processes/instances/{row.id}"}
    return reply(shape.ProcessInstanceStarted, body, status=201, headers=where)


@router.get("/instances/{id}", response_model=shape.ProcessInstanceOut, summary="One instance, with its work items")
async def instance(id: Id, door: Door, _: Caller = may("run.read")) -> Response:
    row, process = WorkItems(door).instance(id)
    return reply(shape.ProcessInstanceOut, instance_body(row, process))


@router.post(
    "/instances/{id}:compensate", response_model=shape.InstanceTold, status_code=202, summary="Undo what it has done"
)
async def compensate_instance(id: Id, door: Door, _: Caller = may("run.steer")) -> Response:
    work_items = WorkItems(door)
    await work_items.compensate(id)
    return await _instance_reply(work_items, id)


@router.post("/instances/{id}:terminate", response_model=shape.InstanceTold, status_code=202, summary="End it now")
async def terminate_instance(id: Id, door: Door, _: Caller = may("run.steer")) -> Response:
    work_items = WorkItems(door)
    await work_items.terminate(id)
    return await _instance_reply(work_items, id)


async def _instance_reply(work_items: WorkItems, id: str) -> Response:
    await fold_ahead(work_items.door, id)
    row, process = work_items.instance(id)
    body = {
        "proc_inst_id": row.id, "status": process.status, "compensation_status": process.compensation_status,
        "compensation_steps": process.compensation_results(),
    }  # fmt: skip
    return reply(shape.InstanceTold, body, status=202)


# ---- work items ------------------------------------------------------------------------------------------------------


@router.get("/workitems", response_model=shape.WorkitemPage, summary="Work items, by status and assignee")
async def workitems(
    door: Door, status: Text = None, assignee: Text = None, limit: paging.Limit = 50, cursor: paging.Cursor = None,
    _: Caller = may("inbox.read"),
) -> Response:  # fmt: skip
    wanted = [part for part in (status or "").split(",") if part]
    if any(part not in ITEMS for part in wanted):
        raise BadInput(what="«status»", why="it is no status of a work item", hint=f"They are {', '.join(ITEMS)}.")
    after = paging.read_cursor(cursor, tuple[int, int]) or (0, 0)
    rows = WorkItems(door).each(status=wanted, assignee=assignee, after=after, limit=limit + 1)
    page = rows[:limit]
    more = paging.cursor_of((page[-1].run, page[-1].firing)) if len(rows) > limit else None
    return reply(shape.WorkitemPage, {"items": [_line(door, part) for part in page], "next": more})


def _line(door: Door, row: WorkRow) -> dict[str, Any]:
    asked = msgspec.msgpack.decode(row.prompt)
    net = door.net_of(door.hash_of(row.net))
    return {
        "id": f"{row.run_id}~{row.firing}", "proc_inst_id": row.run_id, "proc_def_id": net.net.name,
        "activity_id": asked.get("activity_id") or "", "activity_name": asked.get("title") or "",
        "activity_type": asked.get("activity_type") or "", "agent_mode": row.mode or "", "status": row.status,
        "assignee": row.assignee, "role": asked.get("role") or None, "priority": asked.get("priority"),
        "due_at": asked.get("due"), "version": row.version, "created_at": row.opened_at, "updated_at": row.moved_at,
    }  # fmt: skip


@router.get("/workitems/{id}", response_model=shape.WorkitemWhole, summary="One of them, whole")
async def workitem(id: Id, door: Door, _: Caller = may("inbox.read")) -> Response:
    return _item(WorkItems(door), id)


def _item(work_items: WorkItems, id: str) -> Response:
    item, comments, history = work_items.get(id)
    body = {**msgspec.to_builtins(item), "comments": comments, "history": history}
    return reply(shape.WorkitemWhole, body, headers={"ETag": f'"{item.version}"'})


class ItemTarget:
    """The work item that somebody does something with, and how it stands when they have."""

    def __init__(self, id: Id, door: Door, server: Server, if_match: IfMatch = None) -> None:
        self.id, self.server, self.if_match = id, server, if_match
        self.work_items = WorkItems(door)

    def seen(self, asked: shape.Seen | None) -> int | None:
        return seen_version(self.if_match, asked.version if asked is not None else None)

    async def whole(self) -> Response:
        self._publish()
        await fold_ahead(self.work_items.door, self.id)
        return _item(self.work_items, self.id)

    def next(self, reached: list[str]) -> Response:
        item = self._publish()
        body = {
            "next_nodes": reached, "workitem_id": item.id, "status": item.row.status, "version": item.row.version,
            "instance_status": status_of(item.run),
        }  # fmt: skip
        return reply(shape.WorkItemSubmittedOut, body, headers={"ETag": f'"{item.row.version}"'})

    def _publish(self) -> LocatedItem:
        item = self.work_items.find(self.id)
        self.server.hub.publish(item.run.tenant, "inbox", {"item": f"{item.row.run_id}/{item.node}"})
        return item


At = Annotated[ItemTarget, Depends()]


@router.post("/workitems/{id}:start", response_model=shape.WorkitemWhole, summary="Begin with it: I have it")
async def start_workitem(
    at: At, asked: shape.WorkItemStartAsked | None = None, who: Caller = may("process.work")
) -> Response:
    await at.work_items.start(at.id, by=who, version=at.seen(asked))
    return await at.whole()


@router.post("/workitems/{id}:submit", response_model=shape.WorkItemSubmittedOut, summary="Hand in its result")
async def submit_workitem(at: At, asked: shape.WorkItemSubmitAsked, who: Caller = may("process.work")) -> Response:
    _own(asked.submitter_id, who)
    return at.next(await at.work_items.submit(at.id, asked.result_data, by=who, version=at.seen(asked)))


@router.post(
    "/workitems/{id}:approve", response_model=shape.WorkItemSubmittedOut, summary="Take the draft as its result"
)
async def approve_workitem(
    at: At, asked: shape.ApproveAsked | None = None, who: Caller = may("process.approve")
) -> Response:
    given = asked or shape.ApproveAsked()
    _own(given.approver_id, who)
    changed, version = given.result_overrides, at.seen(given)
    return at.next(
        await at.work_items.approve(at.id, by=who, comment=given.comment, overrides=changed, version=version)
    )


@router.post("/workitems/{id}:reject", response_model=shape.WorkitemWhole, summary="Send the draft back")
async def reject_workitem(at: At, asked: shape.WorkItemRejectAsked, who: Caller = may("process.approve")) -> Response:
    _own(asked.approver_id, who)
    await at.work_items.reject(at.id, by=who, comment=asked.comment, version=at.seen(asked))
    return await at.whole()


@router.post("/workitems/{id}:rework", response_model=shape.WorkitemWhole, summary="Have it done again (P-X.15)")
async def rework_workitem(
    at: At, asked: shape.ReworkAsked | None = None, who: Caller = may("process.approve")
) -> Response:
    await at.work_items.rework(at.id, by=who, comment=asked.comment if asked else None, version=at.seen(asked))
    return await at.whole()


@router.post("/workitems/{id}:set-mode", response_model=shape.WorkitemWhole, summary="Say who does it (P-X.40)")
async def set_workitem_mode(at: At, asked: shape.SetModeAsked, who: Caller = may("process.work")) -> Response:
    await at.work_items.set_mode(at.id, asked.mode, by=who, version=at.seen(asked))
    return await at.whole()


@router.post("/workitems/{id}:take-over", response_model=shape.WorkitemWhole, summary="Do it instead of the agent")
async def take_over_workitem(
    at: At, asked: shape.TakeOverAsked | None = None, who: Caller = may("process.work")
) -> Response:
    await at.work_items.take_over(at.id, by=who, comment=asked.comment if asked else None, version=at.seen(asked))
    return await at.whole()


@router.post("/workitems/{id}:delegate", response_model=shape.WorkitemWhole, summary="Let somebody else do it")
async def delegate_workitem(at: At, asked: shape.DelegateToAsked, who: Caller = may("process.work")) -> Response:
    await at.work_items.delegate(at.id, asked.to, by=who, comment=asked.comment, version=at.seen(asked))
    return await at.whole()


@router.post("/workitems/{id}:comment", response_model=shape.WorkitemWhole, summary="Say something about it")
async def comment_workitem(
    id: Id, asked: shape.RemarkAsked, door: Door, server: Server, who: Caller = may("process.work")
) -> Response:
    target = ItemTarget(id, door, server)
    target.work_items.comment(id, asked.text, by=who)
    return await target.whole()


# ---- beside ----------------------------------------------------------------------------------------------------------


@router.get(
    "/events", response_model=shape.ProcessEventPage, summary="What was told, in order per instance (P-E, P-X.38)"
)
async def events(
    door: Door, long: Long, proc_inst_id: Text = None, event: Text = None, limit: paging.Limit = 50,
    cursor: paging.Cursor = None, _: Caller = may("run.read"),
) -> Response:  # fmt: skip
    after = paging.read_cursor(cursor, tuple[int, int])
    first = first_run(door, after) if proc_inst_id is None else None
    if first is not None and long.long_run(first) is not None:
        return await long.same()
    page, place = each_event(door, run=proc_inst_id, topic=event, after=after, limit=limit)
    following = paging.cursor_of(place) if place is not None else None
    return reply(shape.ProcessEventPage, {"items": page, "next": following})


@router.get("/reevaluation", response_model=shape.ReevaluationOut, summary="Thresholds, and which are exceeded (P-8)")
async def thresholds(door: Door, _: Caller = may("ops.read")) -> Response:
    return reply(shape.ReevaluationOut, {"items": reevaluation(door)})
