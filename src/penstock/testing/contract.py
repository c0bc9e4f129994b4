"""What a run and the people of a test ask of the test that they belong to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from penstock.app.penstock import Penstock
from penstock.testing.messages import SentMessage

if TYPE_CHECKING:
    from penstock.testing.tested_run import TestedRun


class Scene(Protocol):
    """A test in virtual time: `began_at` and `now` in milliseconds; `facts` counts what was committed."""

    began_at: int
    facts: int
    door: Penstock
    runs: list[TestedRun]

    @property
    def now(self) -> int: ...

    @property
    def messages(self) -> list[SentMessage]: ...

    def run(self, id: str) -> TestedRun: ...

    async def rest(self) -> None:
        """Until nothing is to be done at this moment."""
        ...

    async def advance_until(self, condition: Callable[[], bool], *, within: str) -> bool:
        """Let time pass from moment to moment until a condition holds."""
        ...
