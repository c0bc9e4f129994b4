"""Evaluates the autonomy of every tenant's agents now and then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.app.process.autonomy.collection import agent_nets
from penstock.app.process.autonomy.proposals import Autonomy
from penstock.app.process.tenant_follower import TenantFollower, seconds_of

if TYPE_CHECKING:
    from penstock.app.penstock import Penstock

#: the setting, and seconds between two evaluations where it says nothing; 0: never
SETTING, EVERY_S = "autonomy.evaluate_s", 600.0


class AutonomyFollower(TenantFollower):
    subject = "the autonomy of agents"

    def __init__(self, door: Penstock) -> None:
        super().__init__(door, seconds_of(door.settings, SETTING, EVERY_S))

    async def follow(self, tenant: str) -> None:
        door = self.door.of(tenant)
        if agent_nets(door):
            await Autonomy(door).evaluate()
