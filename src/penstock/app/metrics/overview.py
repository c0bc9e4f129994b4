"""Home: what is stuck and why, what waits for somebody, what flows. Rows and counts; only what is shown is folded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from penstock.app.access.candidates import Who, targets_of
from penstock.app.inbox.item_filter import ItemFilter
from penstock.app.inbox.open_items import ItemHeader, id_in, key_of
from penstock.app.metrics.stuck import StuckFigures, StuckRuns
from penstock.app.metrics.tiles import DayFigures, Hour, SlowNode, Tile
from penstock.app.runs.queries import Queries
from penstock.app.runs.summary import states_of, title_of
from penstock.app.runs.waiting.environment import Environment, read_environment
from penstock.app.runs.waiting.wait_context import WaitContext
from penstock.app.runs.waiting.wait_reasons import deadline
from penstock.kernel.state import COMPENSATING, COMPLETED, PENDING, RUNNING, WAITING, State
from penstock.net.author import author
from penstock.store.address import driver_of
from penstock.store.work_items import ItemRow

SHOWN, NEXT = 20, 5
_unpack = msgspec.msgpack.decode


class Headline(msgspec.Struct, kw_only=True):
    """`stuck` is how many runs are, for `causes` reasons; every other place that says it says this number. `more`: of
    the open ones so many could be stuck that not all were looked at."""

    stuck: int
    causes: int
    more: bool
    waiting: int
    flowing: int
    ended_24h: int
    completed_24h: int


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
    """`since` is when the day began that figures of 24 hours are about."""

    at: int
    since: int
    headline: Headline
    stuck: list[StuckRuns]
    waiting: list[ItemSummary]
    tiles: list[Tile]
    workers: list[Worker]
    hours: list[Hour]
    slowest: list[SlowNode]
    by_language: list[LanguageCounts]
    schedules: list[NextSchedule]


def home(door: Queries, who: Who | None = None) -> Home:
    """Of a tenant; with a user, only what waits for that person, also because it was passed on.

    Costs: counts over the open runs, over those that ended in a day and over why they failed, inside indexes; one over
    the open work items; at most 20,000 rows of firings, and the SHOWN work items; the states (checkpoint and what came
    after) of at most 2 x LOOKED_AT open runs, of one failed run per cause that is shown and of SHOWN items; and a fold
    of the SHOWN stuck runs. Nothing grows with the runs that the store has had."""
    figures = HomeFigures(door)
    for _ in figures.read():
        pass
    return home_of(door, figures, who)


class HomeFigures:
    """What is the same for everybody of a tenant."""

    def __init__(self, door: Queries) -> None:
        self.door, self.environment = door, read_environment(door)
        self.day = DayFigures(door, self.environment.now)
        self.stuck = StuckFigures(door, self.environment, self.day)
        self.shown: list[StuckRuns] = []

    def read(self) -> Iterator[None]:
        """In slices, between which others may have their turn."""
        yield from self.day.read()
        yield from self.stuck.read()
        self.shown = self.stuck.shown(SHOWN)


def home_of(door: Queries, figures: HomeFigures, who: Who | None) -> Home:
    environment, day, stuck = figures.environment, figures.day, figures.stuck
    mine = ItemFilter(door, day.items, who)
    headline = Headline(
        stuck=stuck.total, causes=len(stuck.causes), more=stuck.more, waiting=mine.total,
        flowing=max(day.count_open() - stuck.open, 0), ended_24h=day.count_ended(),
        completed_24h=day.count_ended(COMPLETED),
    )  # fmt: skip
    return Home(
        at=environment.now, since=day.since, headline=headline, stuck=figures.shown,
        waiting=_short(door, mine.rows(0, SHOWN), environment), tiles=day.tiles(list(environment.breakers)),
        workers=_workers(door), hours=day.hours(), slowest=day.slowest(), by_language=_by_language(door, day, stuck),
        schedules=_schedules(door),
    )  # fmt: skip


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


def _by_language(door: Queries, day: DayFigures, stuck: StuckFigures) -> list[LanguageCounts]:
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
    for net, count in stuck.by_net.items():
        of(net).stuck += count
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
