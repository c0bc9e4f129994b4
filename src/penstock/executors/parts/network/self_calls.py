"""Calls to the program's own API (C-28): a connection with base_url «own:» leads into it and not to a host."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from penstock.executors.parts.network.egress_policy import EgressPolicy
from penstock.executors.parts.network.http_call import HttpCall, HttpReply

SelfCallHandler = Callable[[str, HttpCall], Awaitable[HttpReply]]
OWN = "own:"


class SelfCalls:
    """Whoever serves the program says how it answers; a run that is driven without a server finds nobody there. It is
    asked in the name of the run's tenant, and with what a service may do: no token is kept that could be lost."""

    def __init__(self) -> None:
        self.answer: SelfCallHandler | None = None

    async def send(self, tenant: str, call: HttpCall, egress: EgressPolicy) -> HttpReply:
        """As `http_client.send`, and to the program itself where that is meant."""
        from penstock.executors.parts.network.http_client import send  # slow to import

        if not call.url.startswith(OWN):
            return await send(call, egress)
        if self.answer is None:
            raise ConnectionError("this program is not served: `penstock dev` or `penstock serve` does that")
        return await self.answer(tenant, call)
