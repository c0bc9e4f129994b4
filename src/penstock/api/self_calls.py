"""Requests of a run to its own server (C-28): answered in this process, for the run's tenant, with few rights."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from penstock.api.options import Options
from penstock.app.access.roles import Person
from penstock.app.own_api import CALLER, MAY
from penstock.executors.parts.network.http_call import CallRefused, HttpCall, HttpReply
from penstock.executors.parts.network.self_calls import OWN


class SelfCalls:
    def __init__(self, app: FastAPI, options: Options) -> None:
        self.app = app
        self.host = next((host for host in options.hosts if "*" not in host), "localhost")

    async def send(self, tenant: str, call: HttpCall) -> HttpReply:
        """Raises TimeoutError, CallRefused."""
        url = httpx2.URL(f"http://{self.host}{call.url.removeprefix(OWN)}")
        headers = [(name, value) for name, value in call.headers if name.lower() not in ("authorization", "host")]
        transport = httpx2.ASGITransport(app=self._for(tenant), raise_app_exceptions=False)
        try:
            async with asyncio.timeout(call.timeout_s), httpx2.AsyncClient(transport=transport) as client:
                response = await client.request(
                    call.method, url, params=_params(url, call), headers=headers, content=call.content
                )
        except TimeoutError:
            raise TimeoutError(f"the own app did not answer within {call.timeout_s:g} s") from None
        if len(response.content) > call.max_bytes:
            why = f"the own app answered more than {call.max_bytes} bytes"
            raise CallRefused("HTTP_BODY_TOO_LARGE", "permanent", why)
        headers_out = {name.lower(): value for name, value in response.headers.items()}
        return HttpReply(response.status_code, headers_out, response.content, "the own app")

    def _for(self, tenant: str) -> ASGIApp:
        """The app with the caller set beside the request, where nobody outside can set it."""
        caller = Person(tenant, CALLER, CALLER, (), (), MAY)

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await self.app({**scope, "state": {"caller": caller}}, receive, send)

        return app


def _params(url: httpx2.URL, call: HttpCall) -> Any:
    """The query's parameters, beside those that the path has."""
    return url.params.merge(dict(call.params)) if call.params else None
