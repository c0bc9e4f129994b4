"""Holds the ended runs of every tenant's processes against their versions now and then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from penstock.app.process.autonomy.collection import every_turn
from penstock.app.process.mining.live.conformance import LiveConformance
from penstock.app.process.tenant_follower import TenantFollower, seconds_of

if TYPE_CHECKING:
    from penstock.app.penstock import Penstock

#: the setting, and seconds between two looks where it says nothing; 0: never
SETTING, EVERY_S = "conformance.follow_s", 60.0


class ConformanceFollower(TenantFollower):
    subject = "how processes fit"

    def __init__(self, door: Penstock) -> None:
        super().__init__(door, follow_s(door.settings))
        self.live = LiveConformance()

    async def follow(self, tenant: str) -> None:
        await self.live.collect(self.door.of(tenant), every_turn())


def follow_s(settings: Mapping[str, Any]) -> float:
    """Raises BadInput for a setting that is no number of seconds."""
    return seconds_of(settings, SETTING, EVERY_S)
