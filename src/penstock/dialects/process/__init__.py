"""Processes while they live: rows of work items, alerts, published events (seed 001)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock.dialects.contract import Dialect, EventStart, HostServices, ProjectedRun, Runtime
from penstock.dialects.process.labels import LABELS
from penstock.dialects.process.words import WORDS
from penstock.net.model import Net
from penstock.store.events import EventRow
from penstock.store.projection import Projector
from penstock.store.releases import ReleaseRow


class Process(Dialect):
    name = "process"
    words = WORDS
    labels = LABELS
    loads_sample = True
    undo_is_part_of_activity = True
    errors_pass_calls = True

    def runtime(self, services: HostServices) -> Runtime:
        from penstock.dialects.process.runtime import ProcessRuntime

        return ProcessRuntime(services)

    def projector(self, of: ProjectedRun) -> Projector:
        from penstock.dialects.process.work_rows import WorkRows

        return WorkRows(of.no, of.tenant)

    def begins(self, net: Net) -> Sequence[Mapping[str, Any]]:
        """P-X.25: the start event's message, signal or timer, or those of all its alternatives."""
        begins = _about(net).get("begins")
        return [begins] if isinstance(begins, Mapping) else begins if isinstance(begins, list | tuple) else ()

    def event_starts(self, event: EventRow, release: ReleaseRow, net: Net) -> list[EventStart]:
        """A process is begun by an event once, whatever version is in force when it is told again; a signal begins it
        once in each way that listens to it."""
        alone = isinstance(_about(net).get("begins"), Mapping)
        starts = []
        for begins in self.begins(net):
            if begins.get("name") == event.source:
                trigger, start = str(begins["trigger"]), "" if alone else str(begins["event"])
                way = f":{start}" if start and trigger == "signal" else ""
                key = f"{trigger}:{event.id}:{release.name}{way}"
                starts.append(EventStart(begins.get("correlation"), trigger == "message", key, start))
        return starts

    def schedule_text(self, timer: Mapping[str, Any], zone: str, now: int) -> str:
        from penstock.lang.process.start_triggers import schedule_text

        return schedule_text(timer, zone, now)

    def started_by(self, user: str) -> dict[str, Any]:
        """P-3.2.1: whoever begins an instance is its initiator."""
        return {"initiator": user}

    def title(self, net: Net, source: Callable[[], bytes | None]) -> str:
        return str(_about(net).get("name") or "")

    def node_status(
        self, unit: str, *, runs: int, max_iter: int | None, cyclic: bool, ended: bool, item: str | None
    ) -> str:
        return item or self.words.unit.get(unit, unit)


def _about(net: Net) -> Mapping[str, Any]:
    """What lowering has kept of the definition in the net."""
    about = net.declares.policies.get("process")
    return about if isinstance(about, Mapping) else {}


DIALECT = Process()
