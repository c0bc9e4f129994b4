"""What is done beside the engine for plans: rows in the commit of each turn, and news of tasks after it."""

from __future__ import annotations

from penstock.dialects.contract import HostServices, LiveRun, OutboxEvent, Runtime
from penstock.dialects.plan.live_tasks import Listener, LiveTasks, TaskChange
from penstock.dialects.plan.words import STATUS_CHANGED
from penstock.kernel.fact import Fact
from penstock.kernel.run import Run
from penstock.store.run_store import Batch


class PlanRuntime(Runtime):
    parks_alone = True

    def __init__(self, services: HostServices) -> None:
        self.tasks = LiveTasks(services)
        #: told of every change of a task's status, once, after its commit, in order
        self.listeners: list[Listener] = []
        self._news: list[TaskChange] = []

    @property
    def wrote(self) -> bool:  # type: ignore[override]  # there is something to tell
        return bool(self._news)

    def write(self, live: LiveRun, run: Run, facts: list[Fact], was: int, now: int, batch: Batch) -> None:
        changes = self.tasks.write(live, facts, run.st.n - len(facts) + 1, now, batch)
        if self.listeners:
            self._news += changes

    def publish(self, live: LiveRun, facts: list[Fact], first: int, now: int, batch: Batch) -> list[OutboxEvent]:
        """T-R.9, T-10.1.4"""
        rows = self.tasks.heard(live, facts, first, now)
        project = rows.fold.project
        return [
            OutboxEvent(
                change.seq,
                STATUS_CHANGED,
                {"taskId": change.task, "from": change.was, "to": change.to, "project": project, "agent": change.agent},
            )
            for change in rows.changes
        ]

    def rolled_back(self, batch: Batch) -> None:
        self.tasks.rolled_back()
        self._news.clear()

    def kick(self) -> None:
        """The turn is committed."""
        news, self._news = self._news, []
        for change in news:
            for listen in self.listeners:
                listen(change)
