"""Processes while they live: rows of work items, alerts, published events (seed 001)."""

from __future__ import annotations

from penstock.dialects.contract import Dialect, HostServices, ProjectedRun, Runtime
from penstock.dialects.process.words import WORDS
from penstock.store.projection import Projector


class Process(Dialect):
    name = "process"
    words = WORDS
    loads_sample = True
    undo_is_part_of_activity = True

    def runtime(self, services: HostServices) -> Runtime:
        from penstock.dialects.process.runtime import ProcessRuntime

        return ProcessRuntime(services)

    def projector(self, of: ProjectedRun) -> Projector:
        from penstock.dialects.process.work_rows import WorkRows

        return WorkRows(of.no, of.tenant)

    def node_status(
        self, unit: str, *, runs: int, max_iter: int | None, cyclic: bool, ended: bool, item: str | None
    ) -> str:
        return item or self.words.unit.get(unit, unit)


DIALECT = Process()
