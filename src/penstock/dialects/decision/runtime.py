"""What is done beside the engine for workflows: judgments, notifications, dead letters, checkpoints."""

from __future__ import annotations

from collections.abc import Awaitable

from penstock.dialects.contract import DocumentCheckpoint, HostServices, LiveRun, ProjectedRun, Runtime
from penstock.dialects.decision.checkpoints import Checkpoints
from penstock.dialects.decision.dead_letters import DeadLetterWriter
from penstock.dialects.decision.judgments import Judgments, judges
from penstock.dialects.decision.notifications import NotificationWriter
from penstock.kernel.fact import SETTLED, Fact
from penstock.kernel.run import Run
from penstock.net.compiled import Compiled
from penstock.store.run_store import Batch


class DecisionRuntime(Runtime):
    parks_alone = True

    def __init__(self, services: HostServices) -> None:
        self.store = services.store
        self.notifications = NotificationWriter(services.tenant, services.notify)
        self.dead_letters = DeadLetterWriter(services.store, services.tenant, services.notify)
        self.checkpoints = Checkpoints(
            services.store, services.now, services.tenant, services.settings, services.operator_secret
        )

    def check(self, net: Compiled, tenant: str) -> None:
        self.checkpoints.check(net, tenant)

    def write(self, live: LiveRun, run: Run, facts: list[Fact], was: int, now: int, batch: Batch) -> None:
        if run.ended and judges(run.net):
            firings = {firing.no: firing for firing, _ in run.ended}
            of = ProjectedRun(live.no, live.id, live.tenant, run.net, run.resolve_blob, self.store)
            judgments = Judgments(of)
            for fact in facts:
                if fact[0] == SETTLED and fact[1] in firings:
                    judgments.settled(fact, firings[fact[1]], now, batch)
        self.notifications.write(live, run, facts, batch)
        self.dead_letters.write(live, run, facts, was, now, batch)
        self.checkpoints.write(live, run, facts, was, now, batch)

    def rolled_back(self, batch: Batch) -> None:
        self.checkpoints.rolled_back(batch)

    @property
    def wrote(self) -> bool:  # type: ignore[override]
        return self.checkpoints.wrote

    def kick(self) -> None:
        self.checkpoints.kick()

    def tidy(self) -> None:
        self.checkpoints.wrote = self.checkpoints.wrote or self.checkpoints.elsewhere

    def checkpoint(self, tenant: str, run: str, number: int | None) -> Awaitable[DocumentCheckpoint | None]:
        return self.checkpoints.read(tenant, run, number)

    async def close(self) -> None:
        await self.checkpoints.close()
