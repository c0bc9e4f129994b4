"""What goes on beside the engine for processes: each follower by itself, opened and closed together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.app.language import Background
from penstock.app.process.autonomy.follower import AutonomyFollower
from penstock.app.process.mining.live.follower import ConformanceFollower

if TYPE_CHECKING:
    from penstock.app.penstock import Penstock


class Followers:
    def __init__(self, door: Penstock) -> None:
        self.each: tuple[Background, ...] = (AutonomyFollower(door), ConformanceFollower(door))

    @property
    def idle(self) -> bool:
        return all(follower.idle for follower in self.each)

    def open(self) -> None:
        for follower in self.each:
            follower.open()

    async def close(self) -> None:
        for follower in self.each:
            await follower.close()
