"""The program itself as a place to call (C-28): a connection with base_url «own:» leads into it and not to a host."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.executors.parts.addresses import Reach
    from penstock.executors.parts.outbound import Call, Reply

    Answer = Callable[[str, Call], Awaitable[Reply]]

OWN = "own:"


class Own:
    """Whoever serves the program says how it answers; a run that is driven without a server finds nobody there. It is
    asked in the name of the run's tenant, and with what a service may do: no token is kept that could be lost."""

    def __init__(self) -> None:
        self.answer: Answer | None = None

    async def send(self, tenant: str, call: Call, reach: Reach) -> Reply:
        """As `outbound.send`, and to the program itself where that is meant."""
        from penstock.executors.parts.outbound import send

        if not call.url.startswith(OWN):
            return await send(call, reach)
        if self.answer is None:
            raise ConnectionError("this program is not served: `penstock dev` or `penstock serve` does that")
        return await self.answer(tenant, call)
