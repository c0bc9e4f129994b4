"""Requests that change something: written into the audit before they are done, and done once per Idempotency-Key."""

from __future__ import annotations

import msgspec
from fastapi import Request
from starlette.responses import Response

from penstock.api.checked import SAFE, Checked, Handler, read_json
from penstock.api.site import Caller, caller_of, site_of
from penstock.app.once import Answer, Ticket, fingerprint

_KEPT = ("content-type", "location", "etag")
#: routes that look only, although their question has a body
LOOKING = frozenset({"check", "validate", "validate_diagram"})

#: routes whose answer has a token
SHOWN_ONCE = frozenset({"create_key", "create_tenant"})


class Changing(Checked):
    """What is public (a session is opened, a webhook comes in) is Checked only, and writes its own entry."""

    def get_route_handler(self) -> Handler:
        plain = super().get_route_handler()
        if self.methods is None or all(method in SAFE for method in self.methods) or self.name in LOOKING:
            return plain

        async def changed(request: Request) -> Response:
            caller = await caller_of(request)
            key = request.headers.get("idempotency-key")
            if key is None:
                return await self._audited(plain, request, caller)
            body = await request.body()
            print = fingerprint(caller.user, request.method, request.url.path, body)
            begun = site_of(request).once.begin(caller.tenant, key, print)
            if isinstance(begun, Answer):
                return Response(begun.body, begun.status, headers={**begun.headers, "Idempotency-Replayed": "true"})
            return await self._once(plain, request, caller, begun)

        return changed

    async def _once(self, plain: Handler, request: Request, caller: Caller, ticket: Ticket) -> Response:
        try:
            answer = await self._audited(plain, request, caller)
        except BaseException:
            ticket.dropped()
            raise
        if answer.status_code < 400:
            kept = {name: value for name, value in answer.headers.items() if name in _KEPT}
            ticket.done(Answer(answer.status_code, kept, self._without_token(bytes(answer.body))))
        else:
            ticket.dropped()
        return answer

    def _without_token(self, body: bytes) -> bytes:
        """A secret that is shown once is not written down for those who ask again."""
        if self.name not in SHOWN_ONCE:
            return body
        return msgspec.json.encode({**msgspec.json.decode(body), "token": None})

    async def _audited(self, plain: Handler, request: Request, caller: Caller) -> Response:
        """The entry is there before the change is: a crash leaves no change without one. What came of one that was
        refused is a second entry."""
        audit, target = site_of(request).audit, _target(request)
        action = f"{request.method} {self.path_format.removeprefix('/api/v1').removeprefix('/api')}"
        await audit.recorded(caller.tenant, caller.user, action, target, await read_json(request))
        try:
            answer = await plain(request)
        except Exception as error:
            code = getattr(error, "code", type(error).__name__)
            await audit.recorded(caller.tenant, caller.user, action, target, {"refused": str(code)})
            raise
        if answer.status_code >= 400:
            await audit.recorded(caller.tenant, caller.user, action, target, {"refused": answer.status_code})
        return answer


def _target(request: Request) -> str:
    path = request.url.path.removeprefix("/api/v1").removeprefix("/api").strip("/")
    kind, _, name = path.partition("/")
    return f"secret:{name}" if kind == "secrets" else path
