"""What is done beside the engine for pipelines: what follows an execution is written in the commit of its turn."""

from __future__ import annotations

from penstock.dialects.contract import HostServices, LiveRun, Runtime
from penstock.dialects.pipeline.follow_ups import FollowUps
from penstock.kernel.fact import Fact
from penstock.kernel.run import Run
from penstock.store.run_store import Batch


class PipelineRuntime(Runtime):
    def __init__(self, services: HostServices) -> None:
        self.services = services
        self.follow_ups = FollowUps(services)

    def write(self, live: LiveRun, run: Run, facts: list[Fact], was: int, now: int, batch: Batch) -> None:
        self.follow_ups.write(live, run, facts, was, now, batch)
