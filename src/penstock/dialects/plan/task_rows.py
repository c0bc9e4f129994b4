"""Rows of tasks, agents and executions, and how the project of a run stands, from its facts: live and at a rebuild."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import astuple

from penstock.dialects.contract import ProjectedRun
from penstock.dialects.plan.task_fold import Change, TaskFold
from penstock.kernel.state import Firing
from penstock.net.compiled import Compiled
from penstock.store.run_store import Batch


class TaskRows:
    """Of one run, turn by turn; whoever loads a run again lets them hear the journal first."""

    def __init__(self, of: ProjectedRun) -> None:
        self.fold = TaskFold(of.net, of.tenant, of.id, of.resolve)
        self._status: tuple[str, str | None] | None = None

    @property
    def changes(self) -> list[Change]:
        """Of the last turn."""
        return self.fold.changes

    def follow(self, net: Compiled) -> None:
        """The run goes over to another net, and what was heard of it stays known."""
        self.fold.follow(net)

    def settled(self, fact: Any, firing: Firing, at: int, batch: Batch) -> None:
        """The fact that settles it tells everything."""

    def turn(self, facts: Iterable[Any], first: int, at: int, batch: Batch) -> None:
        self.hear(facts, first, at)
        self.write(batch)

    def hear(self, facts: Iterable[Any], first: int, at: int) -> None:
        self.fold.hear(facts, first, at)

    def write(self, batch: Batch) -> None:
        """What the last turn has touched."""
        fold = self.fold
        batch.task += map(astuple, fold.fresh_tasks.values())
        batch.task_agent += map(astuple, fold.fresh_agents.values())
        batch.task_execution += map(astuple, fold.fresh_executions.values())
        status, why = fold.workflow
        if fold.began:
            batch.project_began.append((fold.run, status, why, fold.tenant, fold.project))
        elif (status, why) != self._status:
            batch.project_moved.append((status, why, fold.tenant, fold.project, fold.run))
        self._status = status, why
