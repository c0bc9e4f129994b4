"""The server as its own runs call it (C-28): in this process, for the run's tenant, with what a service may do."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from penstock.api.server_state import Caller, Options
from penstock.executors.parts.network.http_call import CallRefused, HttpCall, HttpReply
from penstock.executors.parts.network.self_calls import OWN

#: what a document may do over HTTP that it could not do by a node of its own: little. Whoever writes documents decides
#: what is called, so this must be nothing that they may not do themselves.
MAY = frozenset({"run.read", "run.start", "definition.read", "registry.read", "events.send"})
USER = "own app"


class OwnApp:
    def __init__(self, app: FastAPI, options: Options) -> None:
        self.app = app
        self.host = options.hosts[0] if options.hosts else "localhost"

    async def answer(self, tenant: str, call: HttpCall) -> HttpReply:
        """Raises TimeoutError, Refused."""
        url = httpx2.URL(f"http://{self.host}{call.url.removeprefix(OWN)}")
        headers = [(name, value) for name, value in call.headers if name.lower() not in ("authorization", "host")]
        transport = httpx2.ASGITransport(app=self._for(tenant), raise_app_exceptions=False)
        try:
            async with asyncio.timeout(call.timeout_s), httpx2.AsyncClient(transport=transport) as client:
                said = await client.request(
                    call.method, url, params=_params(url, call), headers=headers, content=call.content
                )
        except TimeoutError:
            raise TimeoutError(f"the own app did not answer within {call.timeout_s:g} s") from None
        if len(said.content) > call.max_bytes:
            raise CallRefused(
                "HTTP_BODY_TOO_LARGE", "permanent", f"the own app answered more than {call.max_bytes} bytes"
            )
        found = {name.lower(): value for name, value in said.headers.items()}
        return HttpReply(said.status_code, found, said.content, "the own app")

    def _for(self, tenant: str) -> ASGIApp:
        """Nobody outside can say who calls this way: it is not in the request but beside it."""
        caller = Caller(tenant, USER, USER, (), (), MAY)

        async def asked(scope: Scope, receive: Receive, send: Send) -> None:
            await self.app({**scope, "state": {"caller": caller}}, receive, send)

        return asked


def _params(url: httpx2.URL, call: HttpCall) -> Any:
    """Beside those that the path has."""
    return url.params.merge(dict(call.params)) if call.params else None
