"""What the first look at pipelines tells: the queue, what runs, today's failures, and the ways in (F-7.2, F-9.9)."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import msgspec

from penstock.app.pipeline.definitions import Definition, in_force
from penstock.app.pipeline.intake.dead_messages import DeadCause, dead_page
from penstock.app.pipeline.intake.dead_queue import DEAD_QUEUE, QUEUE
from penstock.app.pipeline.intake.intake_state import WaysInNow, ways_in_now
from penstock.app.pipeline.measures.series import SeriesOfHours, first_piece, series_of
from penstock.app.runs.queries import Queries
from penstock.host.admission import slots_of
from penstock.lang.pipeline.keys import number_of

DAY_MS = 86_400_000
ENDED = ("COMPLETED", "FAILED", "TIMEOUT", "CANCELLED")
#: F-X.32, unless the settings say otherwise
_OLDEST_S, _SUCCESS = 300, 0.95


class FailedWith(msgspec.Struct, rename="camel"):
    code: str
    count: int


class WayIn(msgspec.Struct, rename="camel"):
    trigger: str
    count: int


class QueueState(msgspec.Struct, rename="camel"):
    """Messages that wait on the built-in queue; of the dead ones, why most of them are."""

    name: str
    size: int
    oldest_at: int | None = None
    code: str | None = None
    why: str | None = None


class NextSchedule(msgspec.Struct, rename="camel"):
    name: str
    pipeline_code: str
    next_at: int
    zone: str


class PipelineName(msgspec.Struct, rename="camel"):
    code: str
    name: str


class Overview(msgspec.Struct, rename="camel", kw_only=True):
    """Of the caller's tenant; what ended, since the day began (UTC). `counts`: by status, those that wait or run now
    and those that ended today. `duplicates`: executions that today's messages asked for and that were there already."""

    pending: int
    oldest_pending_at: int | None
    oldest_limit_s: int
    running: int
    slots: int
    dwell_p95_ms: int | None
    ended: int
    completed: int
    success_limit: float
    counts: dict[str, int]
    failures: list[FailedWith]
    ways_in: list[WayIn]
    queue: QueueState
    dead: QueueState
    pipelines: list[PipelineName]
    duplicates: int
    now: WaysInNow
    next_schedule: NextSchedule | None
    lately: SeriesOfHours


async def overview(door: Queries) -> Overview:
    """Costs the rows of executions that are open, began or ended today, and the dead messages."""
    store, tenant, now = door.store, door.tenant, door.now()
    start = now - now % DAY_MS
    day = _moment(start)
    counts, failures = Counter(store.open_by_status(tenant)), Counter[str]()
    for status, code, count in store.ended_by_code(tenant, day):
        counts[status] += count
        if status in ("FAILED", "TIMEOUT"):
            failures[code or status] += count
    waiting, oldest = store.executions_pending(tenant, _moment(now))
    dead = await dead_page(door, size=1)
    ended = sum(counts[status] for status in ENDED)
    pipelines = [_named(each) for each in in_force(door, tenant)]
    return Overview(
        pending=counts["PENDING"], oldest_pending_at=_ms(oldest) if waiting and oldest else None,
        oldest_limit_s=_OLDEST_S, running=counts["RUNNING"], slots=slots_of(door.settings),
        dwell_p95_ms=_p95([_ms(begun) - _ms(asked) for asked, begun in store.executions_begun(tenant, day)]),
        ended=ended, completed=counts["COMPLETED"], success_limit=_SUCCESS, counts=dict(counts),
        failures=[FailedWith(code, count) for code, count in failures.most_common()],
        ways_in=[WayIn(trigger, count) for trigger, count in store.begun_by_trigger(tenant, store.first_run_at(start))],
        queue=_waiting(door), dead=_dead(dead.total, dead.causes),
        pipelines=pipelines,
        duplicates=sum(row.duplicates for row in store.ingest_days(tenant, day[:10])),
        now=ways_in_now(door), next_schedule=_next(door), lately=_lately(door, now, pipelines),
    )  # fmt: skip


def _lately(door: Queries, now: int, pipelines: list[PipelineName]) -> SeriesOfHours:
    since = first_piece(now)
    pieces = door.store.execution_pieces(door.tenant, _moment(since))
    return series_of(pieces, {number_of(each.code): each.code for each in pipelines}, since)


def _moment(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _ms(moment: str) -> int:
    return round(datetime.fromisoformat(moment).timestamp() * 1000)


def _p95(waited: list[int]) -> int | None:
    return sorted(waited)[(len(waited) * 95 - 1) // 100] if waited else None


def _named(definition: Definition) -> PipelineName:
    return PipelineName(definition.code, str(definition.about.get("pipeline_name") or definition.code))


def _next(door: Queries) -> NextSchedule | None:
    coming = [(row.next_at, row) for row in door.store.file_schedules(door.tenant) if row.next_at is not None]
    if not coming:
        return None
    at, row = min(coming, key=lambda each: each[0])
    return NextSchedule(row.name, row.code, at, row.zone)


def _waiting(door: Queries) -> QueueState:
    count, oldest = door.store.queue_head(QUEUE, door.now(), 1)
    return QueueState(QUEUE, door.store.queue_size(QUEUE), oldest if count else None)


def _dead(size: int, causes: list[DeadCause]) -> QueueState:
    most = causes[0] if causes else None
    return QueueState(DEAD_QUEUE, size, None, most.code if most else None, most.why if most else None)
