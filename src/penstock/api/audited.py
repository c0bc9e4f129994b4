"""Requests that change something: written into the audit before they are done, and done once per Idempotency-Key."""

from __future__ import annotations

import functools
from typing import Annotated

import msgspec
from fastapi import Depends, Request
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from starlette.responses import Response

from penstock.api.server_state import Caller, caller_of, site_of
from penstock.api.strict_routes import SAFE, Checked, Handler, read_json
from penstock.app.access.idempotency import StoredResponse, Ticket, fingerprint
from penstock.app.penstock import Penstock
from penstock.errors import PenstockError

_KEPT = ("content-type", "location", "etag")
#: routes that look only, although their question has a body
LOOKING = frozenset({"check", "validate", "validate_diagram", "looking"})

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
            if key is None or not self._needed <= caller.permissions:  # who may not is told so, whoever asked before
                return await self._audited(plain, request, caller)
            body = await request.body()
            asked = "?".join(filter(None, (_path(request), request.url.query)))
            print = fingerprint(caller.user, request.method, asked, body)
            begun = site_of(request).once.begin(caller.tenant, key, print)
            if isinstance(begun, StoredResponse):
                return Response(begun.body, begun.status, headers={**begun.headers, "Idempotency-Replayed": "true"})
            return await self._once(plain, request, caller, begun)

        return changed

    @functools.cached_property
    def _needed(self) -> frozenset[str]:
        return frozenset(_permissions(self.dependant))

    async def _once(self, plain: Handler, request: Request, caller: Caller, ticket: Ticket) -> Response:
        request.state.run_key = ticket.run_key
        try:
            answer = await self._audited(plain, request, caller)
        except BaseException as error:
            if _refused(error):
                ticket.dropped()
            else:
                ticket.left()
            raise
        if answer.status_code < 400:
            kept = {name: value for name, value in answer.headers.items() if name in _KEPT}
            ticket.done(StoredResponse(answer.status_code, kept, self._without_token(bytes(answer.body))))
        elif answer.status_code < 500:
            ticket.dropped()
        else:
            ticket.left()
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


def _refused(error: BaseException) -> bool:
    """Was it said before anything was done? Whatever the server had trouble with may have been done all the same."""
    status = error.http if isinstance(error, PenstockError) else getattr(error, "status_code", None)
    return isinstance(error, RequestValidationError) or isinstance(status, int) and 400 <= status < 500


def _permissions(dependant: Dependant) -> list[str]:
    found = [one for part in dependant.dependencies for one in _permissions(part)]
    mine = getattr(dependant.call, "permission", None)
    return found if mine is None else [*found, str(mine)]


async def _run_key(request: Request) -> str | None:
    return getattr(request.state, "run_key", None)


#: the key of what a request starts, made of its Idempotency-Key; None where it has none
RunKey = Annotated[str | None, Depends(_run_key)]


def begun(door: Penstock, key: str | None) -> str | None:
    """The run that the same request has started already: whatever is in force by now, it is that one."""
    row = door.store.run_by_key(door.tenant, key) if key is not None else None
    return row.id if row is not None else None


def _path(request: Request) -> str:
    """The same under both of the API's prefixes."""
    return request.url.path.removeprefix("/api/v1").removeprefix("/api").strip("/")


def _target(request: Request) -> str:
    path = _path(request)
    kind, _, name = path.partition("/")
    return f"secret:{name}" if kind == "secrets" else path
