"""What is done beside the engine for pipelines: rows and what follows an end, written in the commit of each turn."""

from __future__ import annotations

from penstock.dialects.contract import HostServices, LiveRun, Runtime
from penstock.dialects.pipeline.follow_ups import FollowUps
from penstock.dialects.pipeline.live_executions import LiveExecutions
from penstock.kernel.fact import Fact
from penstock.kernel.run import Run
from penstock.store.run_store import Batch


class PipelineRuntime(Runtime):
    parks_alone = True

    def __init__(self, services: HostServices) -> None:
        self.services = services
        self.follow_ups = FollowUps(services)
        self.executions = LiveExecutions(services)

    def write(self, live: LiveRun, run: Run, facts: list[Fact], was: int, now: int, batch: Batch) -> None:
        self.follow_ups.write(live, run, facts, was, now, batch)
        self.executions.write(live, run, facts, now, batch)

    def rolled_back(self, batch: Batch) -> None:
        self.executions.rolled_back()
