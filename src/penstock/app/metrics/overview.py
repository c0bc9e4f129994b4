"""Home: what is stuck and why, what waits for somebody, what flows. Rows and counts; only what is shown is folded."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.app.access.candidates import Who, targets_of
from penstock.app.inbox.item_filter import ItemFilter
from penstock.app.inbox.open_items import ItemHeader, id_in, key_of
from penstock.app.metrics.tiles import DAY_MS, DayFigures, Hour, SlowNode, Tile
from penstock.app.runs.queries import Queries
from penstock.app.runs.reading import RunReading
from penstock.app.runs.summary import RunSummary, load_readings, states_of, summary, title_of
from penstock.app.runs.waiting.environment import Environment, read_environment
from penstock.app.runs.waiting.wait_context import WaitContext, WaitReason
from penstock.app.runs.waiting.wait_reasons import deadline
from penstock.app.runs.waiting.why import STUCK, deadline_near, is_stuck, why, why_listed
from penstock.kernel.state import COMPENSATING, COMPLETED, FAILED, PENDING, RUNNING, WAITING, State
from penstock.net.author import author
from penstock.store.address import driver_of
from penstock.store.run_store import RunRow
from penstock.store.work_items import ItemRow

#: So many runs that could be stuck are looked at: by their next timer, and by how long nothing was heard of them.
LOOKED_AT = 200
#: So many failed runs of the day.
FAILED_MOST = 100
SHOWN, NEXT = 20, 5
_unpack = msgspec.msgpack.decode


class Headline(msgspec.Struct, kw_only=True):
    stuck: int
    waiting: int
    flowing: int
    ended_24h: int
    completed_24h: int


class StuckRun(msgspec.Struct, kw_only=True):
    run: RunSummary
    why: WaitReason


class ItemSummary(ItemHeader, kw_only=True):
    """A work item in a line. `due_then` is what happens by itself when nobody answers."""

    priority: str
    opened_at: int
    candidates: list[str]
    due_at: int | None = None
    due_then: str | None = None


class Worker(msgspec.Struct, kw_only=True):
    """Who drives the store, and the queues of this process."""

    name: str
    state: str
    detail: dict[str, Any] = {}


class LanguageCounts(msgspec.Struct, kw_only=True):
    language: str
    running: int = 0
    waiting: int = 0
    stuck: int = 0
    undoing: int = 0


class NextSchedule(msgspec.Struct, kw_only=True):
    name: str
    next_at: int
    title: str


class Home(msgspec.Struct, kw_only=True):
    at: int
    headline: Headline
    stuck: list[StuckRun]
    waiting: list[ItemSummary]
    tiles: list[Tile]
    workers: list[Worker]
    hours: list[Hour]
    slowest: list[SlowNode]
    by_language: list[LanguageCounts]
    schedules: list[NextSchedule]


def home(door: Queries, who: Who | None = None) -> Home:
    """Of a tenant; with a user, only what waits for that person, also because it was passed on.

    Costs: a count over the open runs and one over those that ended in a day, inside an index; one over the open work
    items; at most 20,000 rows of firings, and the SHOWN work items; the states (checkpoint and what came after) of at
    most 2 x LOOKED_AT open runs, FAILED_MOST failed ones and SHOWN items; and a fold of the SHOWN stuck runs. Nothing
    grows with the runs that the store has had."""
    environment = read_environment(door)
    day = DayFigures(door, environment.now)
    stuck_runs = _stuck(door, environment)
    mine = ItemFilter(door, day.items, who)
    open_stuck = sum(reading.row.status < COMPLETED for reading in stuck_runs)
    headline = Headline(
        stuck=len(stuck_runs), waiting=mine.total, flowing=max(day.count_open() - open_stuck, 0),
        ended_24h=day.count_ended(), completed_24h=day.count_ended(COMPLETED),
    )  # fmt: skip
    return Home(
        at=environment.now, headline=headline,
        stuck=[_shown(door, reading, environment) for reading in stuck_runs[:SHOWN]],
        waiting=_short(door, mine.rows(0, SHOWN), environment), tiles=day.tiles(list(environment.breakers)),
        workers=_workers(door), hours=day.hours(), slowest=day.slowest(),
        by_language=_by_language(door, day, stuck_runs),
        schedules=_schedules(door),
    )  # fmt: skip


# ---- stuck -----------------------------------------------------------------------------------------------------------


def _stuck(door: Queries, environment: Environment) -> list[RunReading]:
    """Runs of the day that failed and were not replayed, and open ones that do not go on by themselves, or whose time
    is almost over; the gravest first, the oldest first."""
    store, tenant = door.store, door.tenant
    numbers = dict.fromkeys(store.incident_runs(tenant, "DEADLOCK", LOOKED_AT))
    numbers |= dict.fromkeys(store.open_runs(tenant, LOOKED_AT, soonest=True))
    numbers |= dict.fromkeys(store.open_runs(tenant, LOOKED_AT, soonest=False))
    failed = {row.no: row for row in _failed(door, environment.now)}
    stuck_runs = []
    for reading in load_readings(door, [*failed, *numbers]):
        row, reasons = reading.row, why_listed(reading, environment)
        if row.no in failed or is_stuck(reasons, environment.now):
            first = min(
                reasons, key=lambda reason: (not deadline_near(reason, environment.now), reason.rank), default=None
            )
            rank = 0 if first is None else min(first.rank, 4)
            stuck_runs.append((rank, first.since or 0 if first is not None else 0, row.no, reading))
    stuck_runs.sort(key=lambda ranked: ranked[:3])
    return [reading for *_, reading in stuck_runs]


def _failed(door: Queries, now: int) -> list[RunRow]:
    store = door.store
    rows = store.ended_runs(door.tenant, FAILED, now - DAY_MS, FAILED_MOST)
    replayed = {letter.run for letter in store.letters(door.tenant, since=now - DAY_MS, limit=1000) if letter.replays}
    return [row for row in rows if row.id not in replayed]


def _shown(door: Queries, reading: RunReading, environment: Environment) -> StuckRun:
    """One that has not ended is folded, so that its times are exact. The reason is the one that makes it stuck."""
    row = reading.row
    if row.status >= COMPLETED:
        reasons = why_listed(reading, environment)
    else:
        reading = door.reading(row)
        reasons = why(door, reading, environment)
    run = summary(door, reading, environment, reasons)
    grave = (reason for reason in reasons if reason.rank <= STUCK or deadline_near(reason, environment.now))
    return StuckRun(run=run, why=next(grave, run.why) or WaitReason(rank=1, kind="failed", since=row.updated_at))


# ---- waiting ---------------------------------------------------------------------------------------------------------


def _candidates(item: ItemRow) -> Any:
    return None if item.candidates is None else _unpack(item.candidates)


def _short(door: Queries, items: list[ItemRow], environment: Environment) -> list[ItemSummary]:
    """By their time, those without one last."""
    states = states_of(door, {item.run for item in items})
    summaries = [_item(door, item, states.get(item.run), environment) for item in items]
    return sorted(summaries, key=lambda summary: (summary.due_at is None, summary.due_at or summary.opened_at))


def _item(door: Queries, item: ItemRow, st: State | None, environment: Environment) -> ItemSummary:
    net = door.nets.get(item.net)
    node, asked = net.nodes[item.node], _unpack(item.prompt)
    prompt = asked if isinstance(asked, dict) else {"title": asked}
    firing = st.firings.get(item.firing) if st is not None else None
    due, then = (
        (None, None)
        if st is None or firing is None
        else deadline(WaitContext(st, net, item.run, environment), firing, node)
    )
    known = st is not None and firing is not None and item.firing in st.items
    id = id_in(st, net, item.run_id, item.firing) if st is not None and known else key_of(door, item)
    return ItemSummary(
        id=id, run=item.run_id, run_title=title_of(door, item.net, net), node=author(node),
        kind=str(prompt.get("kind", "work")), title=str(prompt.get("title") or node.label),
        priority=str(prompt.get("priority") or "normal"), opened_at=item.opened_at,
        candidates=targets_of(_candidates(item)), due_at=due, due_then=None if then is None else then.kind,
    )  # fmt: skip


# ---- the rest --------------------------------------------------------------------------------------------------------


def _workers(door: Queries) -> list[Worker]:
    path, host = getattr(door.store, "path", None), door.host_here
    driver = driver_of(path) if path is not None else None
    if host is None:
        return [Worker(name=driver or "", state="driving" if driver is not None else "none")]
    workers = [Worker(name=driver or "", state="driving", detail={"here": True})]
    for name, queue in host.dispatch.queues.items():
        busy = len(queue.tasks) - len(queue.idle)
        state = "queued" if queue.queue else "working" if busy > 0 else "idle"
        workers.append(Worker(name=name, state=state, detail={"queued": len(queue.queue), "working": max(busy, 0)}))
    return workers


def _by_language(door: Queries, day: DayFigures, stuck_runs: list[RunReading]) -> list[LanguageCounts]:
    languages = {no: language for no, _, _, language in door.store.nets()}
    counts: dict[str, LanguageCounts] = {}

    def of(net: int) -> LanguageCounts:
        language = languages.get(net, "")
        return counts.setdefault(language, LanguageCounts(language=language))

    for status, net, _, count in day.open:
        language_counts = of(net)
        language_counts.running += count if status in (PENDING, RUNNING) else 0
        language_counts.waiting += count if status == WAITING else 0
        language_counts.undoing += count if status == COMPENSATING else 0
    for reading in stuck_runs:
        of(reading.row.net).stuck += 1
    return sorted(counts.values(), key=lambda language_counts: language_counts.language)


def _schedules(door: Queries) -> list[NextSchedule]:
    rows = [
        (row.next_at, row) for row in door.store.schedules(door.tenant) if row.next_at is not None and not row.paused
    ]
    schedules = []
    for at, row in sorted(rows, key=lambda row: row[0])[:NEXT]:
        release = door.store.release(row.tenant, row.name, row.version)
        title = title_of(door, release.net, door.nets.get(release.net)) if release is not None else row.name
        schedules.append(NextSchedule(name=row.name, next_at=at, title=title))
    return schedules
