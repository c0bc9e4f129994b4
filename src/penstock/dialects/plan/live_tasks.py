"""Tasks of the runs that a host drives: what the facts of each turn add to its commit, and who is told of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from penstock.dialects.contract import HostServices, LiveRun, ProjectedRun
from penstock.dialects.plan.task_rows import TaskRows
from penstock.kernel import fact as F
from penstock.kernel.fact import Fact
from penstock.kernel.state import COMPLETED
from penstock.net.compiled import Compiled
from penstock.store.run_store import Batch


class TaskChange(NamedTuple):
    """T-10.1.4: what people hear of a task whose status has moved, once per move."""

    tenant: str
    project: str
    run: str
    task: str
    from_: str
    to: str
    at: int
    agent: str | None


class LiveTasks:
    def __init__(self, services: HostServices) -> None:
        self.services = services
        self.rows: dict[int, TaskRows] = {}  # of runs that have not ended
        self._heard: tuple[int, int] | None = None  # the run, and the last fact that was heard of it

    def heard(self, live: LiveRun, facts: Sequence[Fact], first: int, now: int) -> TaskRows:
        """The rows of a run after a turn. Both who publishes and who writes ask for it; it is heard once."""
        turn = live.no, first + len(facts) - 1
        if turn == self._heard and live.no in self.rows:
            return self.rows[live.no]
        self._heard = None
        rows = self.rows.pop(live.no, None) or self._told(live, first - 1)
        self._hear(rows, facts, first, now)
        self.rows[live.no], self._heard = rows, turn
        return rows

    def write(self, live: LiveRun, facts: Sequence[Fact], first: int, now: int, batch: Batch) -> list[TaskChange]:
        try:
            rows = self.heard(live, facts, first, now)
            rows.write(batch)
        except Exception:
            self.rows.pop(live.no, None)
            raise
        fold = rows.fold
        assert live.run is not None, "it has just taken a turn"
        if live.run.st.status >= COMPLETED:
            self.rows.pop(live.no)
        return [
            TaskChange(live.tenant, fold.project, live.id, change.task, change.was, change.to, now, change.agent)
            for change in rows.changes
        ]

    def rolled_back(self) -> None:
        """What was heard has not happened."""
        self.rows.clear()
        self._heard = None

    def _told(self, live: LiveRun, known: int) -> TaskRows:
        """As the store knows it."""
        assert live.run is not None, "it has just taken a turn"
        rows: TaskRows | None = None
        for turn in self.services.store.journal(live.no) if live.in_store and known else ():
            if turn.seq_from <= known:
                facts = F.decode_facts(turn.body)
                rows = rows or self._new(live, self._first_net(facts) or live.run.net)
                self._hear(rows, facts, turn.seq_from, turn.at)
                rows.write(Batch())
        return rows or self._new(live, live.run.net)

    def _first_net(self, facts: Sequence[Any]) -> Compiled | None:
        """The net that the run began with."""
        return next((self.services.net_of(fact[3]) for fact in facts if fact[0] == F.STARTED), None)

    def _hear(self, rows: TaskRows, facts: Sequence[Any], first: int, at: int) -> None:
        for fact in facts:
            if fact[0] == F.MIGRATED:
                rows.follow(self.services.net_of(fact[1]))
        rows.hear(facts, first, at)

    def _new(self, live: LiveRun, net: Compiled) -> TaskRows:
        resolve = self.services.resolver(live.tenant)
        return TaskRows(ProjectedRun(live.no, live.id, live.tenant, net, resolve))


Listener = Callable[[TaskChange], None]
