"""What is done beside the engine for processes: rows of work items, alerts, events for the world."""

from __future__ import annotations

from penstock.dialects.contract import HostServices, LiveRun, OutboxEvent, Runtime
from penstock.dialects.process.alerts import write_alerts
from penstock.dialects.process.events import ProcessEvents
from penstock.dialects.process.work_rows import WorkRows
from penstock.kernel.fact import Fact
from penstock.kernel.run import Run
from penstock.store.run_store import Batch


class ProcessRuntime(Runtime):
    def __init__(self, services: HostServices) -> None:
        self.services = services
        self.events = ProcessEvents(services.store, services.net_of, services.resolver)

    def write(self, live: LiveRun, run: Run, facts: list[Fact], was: int, now: int, batch: Batch) -> None:
        write_alerts(self.services, live, run, facts, batch)
        WorkRows(live.no, live.tenant).turn(facts, run.st.n - len(facts) + 1, now, batch)

    def publish(self, live: LiveRun, facts: list[Fact], first: int, now: int, batch: Batch) -> list[OutboxEvent]:
        return self.events.turn(live.no, live.tenant, now, first, facts, batch)
