"""Routes that change something: audited before they are done, and done once per Idempotency-Key."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import msgspec
from fastapi import Depends, Request
from fastapi.exceptions import RequestValidationError
from starlette.responses import Response

from penstock.api.forwarding import LOOP_BYTES
from penstock.api.problems import MEDIA
from penstock.api.server_state import Caller, caller_of, server_of
from penstock.api.strict_routes import SAFE, Handler, StrictRoute, is_json, parse_strict, read_json
from penstock.app.access.idempotency import StoredResponse, Ticket, fingerprint
from penstock.app.penstock import Penstock
from penstock.errors import PenstockError

T = TypeVar("T", bound=Callable[..., Any])
_KEPT = ("content-type", "location", "etag")
#: routes that only read, although their request has a body
READ_ONLY = frozenset({"check", "validate", "validate_diagram", "looking", "try_rule_pack", "evaluate_feel"})
#: workers take jobs and hold them, thousands of times a day: a job says who had it, and its answer is audited
LEASES = frozenset({"activate_jobs", "extend_job"})
#: bytes of a member of a large body that the audit shows
_SHOWN = 1024

#: routes whose response holds a token that is shown once
SHOWN_ONCE = frozenset({"create_key", "create_tenant"})


def has_own_keys(endpoint: T) -> T:
    """Marks a route that looks after its Idempotency-Key itself: what it begins is kept under that key for good."""
    endpoint.has_own_keys = True  # type: ignore[attr-defined]
    return endpoint


class AuditedRoute(StrictRoute):
    """For callers with a key. Public routes (a session is opened, a webhook comes in) are StrictRoute only, and write
    their own entries."""

    def get_route_handler(self) -> Handler:
        plain = super().get_route_handler()
        if self.methods is None or all(method in SAFE for method in self.methods) or self.name in READ_ONLY | LEASES:
            return plain

        async def handle(request: Request) -> Response:
            caller = await caller_of(request)
            if server_of(request).is_reader:
                return await plain(request)
            key = request.headers.get("idempotency-key")
            # who may not is refused, whoever asked before
            own = getattr(self.endpoint, "has_own_keys", False)
            if key is None or own or not self.permissions <= caller.permissions:
                return await self._audited(plain, request, caller)
            body = await request.body()
            target = "?".join(filter(None, (_path(request), request.url.query)))
            same = fingerprint(caller.user, request.method, target, body)
            earlier = server_of(request).idempotency.begin(caller.tenant, key, same)
            if isinstance(earlier, StoredResponse):
                headers = {**earlier.headers, "Idempotency-Replayed": "true"}
                return Response(earlier.body, earlier.status, headers=headers)
            return await self._idempotent(plain, request, caller, earlier)

        return handle

    async def _idempotent(self, plain: Handler, request: Request, caller: Caller, ticket: Ticket) -> Response:
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
        """A secret that is shown once is not kept for those who ask again."""
        if self.name not in SHOWN_ONCE:
            return body
        return msgspec.json.encode({**msgspec.json.decode(body), "token": None})

    async def _audited(self, plain: Handler, request: Request, caller: Caller) -> Response:
        """The entry is written before the change: a crash leaves no change without one. A refusal is a second entry."""
        audit, target = server_of(request).audit, _target(request)
        action = f"{request.method} {self.path_format.removeprefix('/api/v1').removeprefix('/api')}"
        await audit.recorded(caller.tenant, caller.user, action, target, await self._sent(request))
        try:
            answer = await plain(request)
        except Exception as error:
            code = getattr(error, "code", type(error).__name__)
            await audit.recorded(caller.tenant, caller.user, action, target, {"refused": str(code)})
            raise
        if answer.status_code >= 400:
            await audit.recorded(caller.tenant, caller.user, action, target, {"refused": _code_of(answer)})
        return answer

    async def _sent(self, request: Request) -> Any:
        """What is told of a body. Of a large document it is its digest: it is not parsed here."""
        body = await request.body()
        if not self.forwards_large or len(body) <= LOOP_BYTES or not is_json(request):
            return await read_json(request)
        try:
            members = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return await read_json(request)  # which says why
        return {name: _told(bytes(part)) for name, part in members.items()}


def _told(part: bytes) -> Any:
    if len(part) <= _SHOWN:
        return parse_strict(part)
    return {"bytes": len(part), "sha256": hashlib.sha256(part).hexdigest()}


def _code_of(answer: Response) -> str | int:
    """The code of a problem that was answered and not raised."""
    if answer.headers.get("content-type") != MEDIA:
        return answer.status_code
    return str(msgspec.json.decode(answer.body).get("code") or answer.status_code)


def _refused(error: BaseException) -> bool:
    """Whether it was refused before anything was done. After an error of the server it may have been done."""
    status = error.http if isinstance(error, PenstockError) else getattr(error, "status_code", None)
    return isinstance(error, RequestValidationError) or isinstance(status, int) and 400 <= status < 500


async def _run_key(request: Request) -> str | None:
    return getattr(request.state, "run_key", None)


#: the key of the run that a request starts, made of its Idempotency-Key; None where it has none
RunKey = Annotated[str | None, Depends(_run_key)]


def run_started_by(door: Penstock, key: str | None) -> str | None:
    """The run that the same request has started already, whichever version is active by now."""
    row = door.store.run_by_key(door.tenant, key) if key is not None else None
    return row.id if row is not None else None


def _path(request: Request) -> str:
    """The path without the prefix: the API has two."""
    return request.url.path.removeprefix("/api/v1").removeprefix("/api").strip("/")


def _target(request: Request) -> str:
    path = _path(request)
    kind, _, name = path.partition("/")
    return f"secret:{name}" if kind == "secrets" else path
