"""What is stuck, by cause: ten thousand runs that failed for one reason are one reason with its number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator

import msgspec

from penstock.app.metrics.tiles import DayFigures
from penstock.app.runs.long.read_limits import LOOP_FACTS
from penstock.app.runs.queries import Queries
from penstock.app.runs.reading import RunReading
from penstock.app.runs.summary import RunSummary, load_readings, moment, summary, why_within
from penstock.app.runs.waiting.environment import Environment
from penstock.app.runs.waiting.wait_context import WaitReason
from penstock.app.runs.waiting.why import STUCK, deadline_near, is_stuck, why_listed
from penstock.kernel.state import COMPLETED, FAILED
from penstock.store.run_lists import Cause

#: So many runs that could be stuck are looked at: by their next timer, and by how long nothing was heard of them.
LOOKED_AT = 200
#: So many states are read at once.
STATES = 50


class StuckRuns(msgspec.Struct, kw_only=True):
    """Runs that are stuck for one cause: how many, since when, and one of them with its reason. `query` are the filters
    under which the list of runs shows them."""

    run: RunSummary
    why: WaitReason
    count: int
    since: int
    query: dict[str, str]


class _StuckCause(msgspec.Struct):
    """`of` is the run that stands for them."""

    name: str
    node: str
    code: str
    rank: int
    since: int
    of: int
    count: int = 0
    reading: RunReading | None = None

    @property
    def order(self) -> tuple[int, int, int, int]:
        """The gravest first, of these the most, of these the oldest."""
        return self.rank, -self.count, self.since, self.of


class StuckFigures:
    """Runs of the day that failed and were not replayed, and open ones that do not go on by themselves, or whose time
    is almost over."""

    def __init__(self, door: Queries, environment: Environment, day: DayFigures) -> None:
        self.door, self.environment, self.day = door, environment, day
        self.by_net = Counter[int]()
        self.open = 0
        self._left = LOOP_FACTS  # so many may still be folded
        self.more = False
        self.causes: list[_StuckCause] = []
        self.total = 0

    def read(self) -> Iterator[None]:
        """Some states after the other: whoever reads in slices lets others have their turn in between."""
        failed = self._failed()
        yield
        resting = yield from self._resting()
        self.causes = sorted([*failed, *resting], key=lambda cause: cause.order)
        self.total = sum(cause.count for cause in self.causes)

    def shown(self, most: int) -> list[StuckRuns]:
        first = self.causes[:most]
        loaded = load_readings(self.door, [cause.of for cause in first if cause.reading is None])
        readings = {reading.row.no: reading for reading in loaded}
        return [self._shown(cause, cause.reading or readings[cause.of]) for cause in first]

    def _shown(self, cause: _StuckCause, reading: RunReading) -> StuckRuns:
        """Those that have not ended are folded, so that their times are exact, as long as they are short enough
        together. The reason is the one that makes it stuck."""
        row, environment = reading.row, self.environment
        reasons, folded = why_within(self.door, reading, environment, self._left)
        self._left -= folded
        run = summary(self.door, reading, environment, reasons)
        grave = (reason for reason in reasons if reason.rank <= STUCK or deadline_near(reason, environment.now))
        reason = next(grave, run.why) or WaitReason(rank=1, kind="failed", since=row.updated_at)
        return StuckRuns(
            run=run, why=reason, count=cause.count, since=cause.since, query=self._query(cause, row.status)
        )

    def _query(self, cause: _StuckCause, status: int) -> dict[str, str]:
        if status < COMPLETED:
            return {"name": cause.name} | ({"node": cause.node} if cause.node else {})
        query = {"state": "FAILED", "ended": moment(self.day.since) or "", "name": cause.name}
        return (
            query | ({"code": cause.code} if cause.code else {}) | ({"failed_node": cause.node} if cause.node else {})
        )

    # -- failed --------------------------------------------------------------------------------------------------------

    def _failed(self) -> list[_StuckCause]:
        store, tenant, since = self.door.store, self.door.tenant, self.day.since
        causes: dict[tuple[str, str, str], _StuckCause] = {}
        for cause in store.causes(tenant, FAILED, since):
            self._counted(causes, cause)
        unexplained = self.day.count_ended(FAILED) - store.count_causes(tenant, FAILED, since)
        if unexplained > 0:  # they failed before causes were written down
            row = store.ended_runs(tenant, FAILED, since, 1)[0]
            self._counted(causes, Cause(row.net, "", "", unexplained, row.updated_at, row.updated_at, row.no))
        return list(causes.values())

    def _counted(self, causes: dict[tuple[str, str, str], _StuckCause], cause: Cause) -> None:
        """The versions of a document have their causes together."""
        name = self.door.nets.get(cause.net).net.name
        key = name, cause.node, cause.code
        known = causes.setdefault(key, _StuckCause(*key, rank=1, since=cause.first_at, of=cause.last_run))
        known.count += cause.count
        known.since, known.of = min(known.since, cause.first_at), max(known.of, cause.last_run)
        self.by_net[cause.net] += cause.count

    # -- open ----------------------------------------------------------------------------------------------------------

    def _resting(self) -> Generator[None, None, list[_StuckCause]]:
        store, tenant, now = self.door.store, self.door.tenant, self.environment.now
        looks = [
            store.incident_runs(tenant, "DEADLOCK", LOOKED_AT), store.open_runs(tenant, LOOKED_AT, soonest=True),
            store.open_runs(tenant, LOOKED_AT, soonest=False),
        ]  # fmt: skip
        causes: dict[tuple[str, ...], _StuckCause] = {}
        numbers = list(dict.fromkeys(number for look in looks for number in look))
        for place, number in enumerate(numbers):
            if place % STATES == 0:
                yield
                part = numbers[place : place + STATES]
                loaded = {reading.row.no: reading for reading in load_readings(self.door, part)}
            if number not in loaded:
                continue
            reading = loaded[number]
            reasons = why_listed(reading, self.environment)
            if not is_stuck(reasons, now):
                continue
            first = min(reasons, key=lambda reason: (not deadline_near(reason, now), reason.rank))
            name, since, no = reading.net.net.name, first.since or 0, reading.row.no
            key = name, first.node or "", first.code or "", first.kind
            new = _StuckCause(*key[:3], rank=min(first.rank, 4), since=since, of=no, reading=reading)
            known = causes.setdefault(key, new)
            known.count += 1
            if (since, no) < (known.since, known.of):
                known.since, known.of, known.reading = since, no, reading
            self.open += 1
            self.by_net[reading.row.net] += 1
        stuck_beyond = any(len(look) == LOOKED_AT for look in looks) and len(numbers) < self.day.count_open()
        self.more = stuck_beyond and self.open > 0
        return list(causes.values())
