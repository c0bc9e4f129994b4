"""Plans while they live: the statuses of tasks, agents, executions and workflows (seed 002)."""

from __future__ import annotations

from collections.abc import Callable

from penstock.dialects.contract import Dialect, HostServices, ProjectedRun, Runtime
from penstock.dialects.plan.known_plan import about
from penstock.dialects.plan.labels import LABELS
from penstock.dialects.plan.words import WORDS
from penstock.errors import TaskTransition
from penstock.net.model import Net
from penstock.store.projection import Projector


class Plan(Dialect):
    name = "plan"
    words = WORDS
    labels = LABELS
    synthetic_types = frozenset({"start", "merge"})
    companion_types = frozenset({"merge"})

    #: T-9.2.5, T-X.25: without an answer it stays paused
    rests_after_restart = True
    conflict = TaskTransition

    def runtime(self, services: HostServices) -> Runtime:
        from penstock.dialects.plan.runtime import PlanRuntime

        return PlanRuntime(services)

    def projector(self, of: ProjectedRun) -> Projector:
        from penstock.dialects.plan.task_rows import TaskRows

        return TaskRows(of)

    def title(self, net: Net, source: Callable[[], bytes | None]) -> str:
        known = about(net)
        settings = known.get("settings") or {}
        return str(settings.get("title") or known.get("name") or "")

    def node_state(
        self, unit: str | None, *, runs: int = 0, max_iter: int | None = None, cyclic: bool = True, ended: bool = False
    ) -> str:
        """A task that was never begun is pending, also when nothing else is to come."""
        return unit or "PENDING"


DIALECT = Plan()

__all__ = ["DIALECT", "Plan"]
