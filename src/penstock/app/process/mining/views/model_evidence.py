"""What whoever decides about a discovered model is shown: what it changes, why, and what becomes of running work."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.app.process.called_definitions import Called, called_by
from penstock.app.process.definitions import Processes, approval_of
from penstock.app.process.mining.change_words import deviation_words
from penstock.app.process.mining.histories.maps import Maps, definition_of, variants_of
from penstock.app.process.mining.model_diff import Change, ModelDiff, model_diff
from penstock.app.process.mining.views.merged_drawing import merged_drawings
from penstock.app.process.mining.views.overview import activity_ids
from penstock.app.process.version_writer import DISCOVERED, origin_of
from penstock.app.runs.commands.migration import Move, planned
from penstock.app.timestamps import moment
from penstock.errors import ProcessNotFound, ProcessState
from penstock.kernel.state import COMPLETED
from penstock.net.author import author
from penstock.store.releases import ReleaseRow
from penstock.store.run_lists import RunFilter
from penstock.store.run_store import RunRow

if TYPE_CHECKING:
    from penstock.app.runs.runs import Runs

PERMISSION = "process.model.approve"
#: instances that are asked whether they can go on in the model, and so many of them before others have their turn
MOST_ASKED, _SLICE = 1000, 20


class Refused(msgspec.Struct, frozen=True):
    reason: str
    count: int


class Resting(msgspec.Struct, frozen=True):
    activity: str
    count: int


class Running(msgspec.Struct, frozen=True):
    """Instances that have not ended. `looked_at` of them were asked."""

    total: int
    looked_at: int
    can_move: int
    cannot: tuple[Refused, ...]
    at: tuple[Resting, ...]


class Approvers(msgspec.Struct, frozen=True):
    permission: str
    mine: bool
    needs_two: bool
    by_author: bool


class Still(msgspec.Struct, frozen=True):
    """A deviation from the model. `rule`: it goes past a control, which is never learned."""

    kind: str
    activity: str
    before: str
    after: str
    cases: int
    rule: bool
    title: str


class Replay(msgspec.Struct, frozen=True):
    cases: int
    base_fit: int
    model_fit: int
    still: tuple[Still, ...]


class Period(msgspec.Struct, frozen=True, rename={"begin": "from", "end": "to"}):
    begin: int | None
    end: int | None


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """`changes` and `replay` are as they were when the model was mined; `running` is now."""

    id: str
    name: str
    base_version: int
    model_id: str
    model_version: int
    approval_status: str
    algorithm: str
    period: Period
    cases: int
    events: int
    precision: float | None
    sound: bool
    base_bpmn: str
    model_bpmn: str
    merged_bpmn: str
    changes: tuple[Change, ...]
    replay: Replay
    saved_ms_per_week: int
    approvers: Approvers
    running: Running


async def evidence_of(door: Runs, id: str, model: str, *, user: str, permissions: Collection[str]) -> Evidence:
    """Of the newest version of a model that was mined for a process. Raises ProcessNotFound, ProcessState."""
    held = Processes(door)
    now, row = held.get(id), held.versions(model)[-1]
    if row.kind != DISCOVERED:
        raise ProcessState(why=f"«{row.name}» was not mined: it is a {row.kind} process", status=approval_of(row))
    origin = origin_of(row)
    if origin.get("base_proc_def_id") != now.name:
        raise ProcessNotFound(what=f"model of «{now.name}»", name=row.name)
    base = next((each for each in held.versions(now.name) if each.version == origin.get("base_version")), now)
    diff = await _diff(door, base, row, origin)
    drawings = await asyncio.to_thread(merged_drawings, definition_of(base), definition_of(row))
    return Evidence(
        id=base.name, name=str(definition_of(base).get("process_definition_name") or base.name),
        base_version=base.version, model_id=row.name, model_version=row.version, approval_status=approval_of(row),
        algorithm=str(origin.get("algorithm") or ""), period=_period(origin), cases=diff.cases,
        events=int(origin.get("event_count") or 0), precision=origin.get("precision"), sound=diff.sound,
        base_bpmn=drawings.base, model_bpmn=drawings.model, merged_bpmn=drawings.merged, changes=diff.changes,
        replay=Replay(diff.cases, diff.base_fit, diff.model_fit, _still(diff)),
        saved_ms_per_week=sum(change.saved_ms_per_week or 0 for change in diff.changes),
        approvers=Approvers(
            PERMISSION, PERMISSION in permissions, held.by_two(definition_of(now)), row.created_by == user
        ),
        running=await running_of(door, now, row),
    )  # fmt: skip


async def _diff(door: Runs, base: ReleaseRow, row: ReleaseRow, origin: dict[str, Any]) -> ModelDiff:
    """As it was kept with the model; of one that others have mined it is made from the history there is."""
    if origin.get("model_diff") is not None and not origin.get("edited"):
        return msgspec.convert(origin["model_diff"], ModelDiff)
    maps = Maps(door)
    found = await maps.map(maps.source(base.name))
    documents = definition_of(base), definition_of(row)
    called = Called(called_by(door, documents[1]))
    return await asyncio.to_thread(model_diff, *documents, variants_of(found), found, called)


def _still(diff: ModelDiff) -> tuple[Still, ...]:
    return tuple(
        Still(each.kind, each.activity, each.before, each.after, each.cases, rule, deviation_words(each))
        for each, rule in zip(diff.still_not, diff.rules, strict=True)
    )


def _period(origin: dict[str, Any]) -> Period:
    given = origin.get("period") or {}
    begin, end = (None if given.get(name) is None else moment(str(given[name]), name) for name in ("from", "to"))
    return Period(begin, end)


# ---- running work ----------------------------------------------------------------------------------------------------


async def running_of(door: Runs, base: ReleaseRow, model: ReleaseRow) -> Running:
    """Which instances could go on in the model, and why others could not: each is planned, and nothing is changed."""
    rows = _open_runs(door, base.name)
    names = {id: name for name, id in activity_ids(base).items()}
    move, can_move = Move(to=door.hash_of(model.net)), 0
    cannot, at = Counter[str](), Counter[str]()
    for number, row in enumerate(rows[:MOST_ASKED], 1):
        reading = await door.reading_ahead(row.id)
        resting = [author(reading.net.nodes[firing.node]) for firing in reading.state.firings.values()]
        at.update({names.get(node, node) for node in resting})
        obstacles = planned(door, reading, move).obstacles
        if obstacles:
            cannot["; ".join(obstacles)] += 1
        else:
            can_move += 1
        if number % _SLICE == 0:
            await asyncio.sleep(0)
    return Running(
        len(rows), min(len(rows), MOST_ASKED), can_move,
        tuple(Refused(reason, count) for reason, count in cannot.most_common()),
        tuple(Resting(activity, count) for activity, count in at.most_common()),
    )  # fmt: skip


def _open_runs(door: Runs, name: str) -> list[RunRow]:
    nets = tuple(row.net for row in Processes(door).versions(name))
    wanted = RunFilter(tenant=door.tenant, below=2**62, status=tuple(range(COMPLETED)), nets=nets)
    return door.store.find_runs(wanted, 10 * MOST_ASKED)
