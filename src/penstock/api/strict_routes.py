"""Routes that read a request strictly: known parameters, unambiguous JSON, and 304 for what the caller has."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import json
import re
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
from fastapi import Request, params
from fastapi.dependencies.models import Dependant
from fastapi.dependencies.utils import get_flat_params
from fastapi.routing import APIRoute
from starlette.responses import Response, StreamingResponse

from penstock.api.forwarding import forwarding_of
from penstock.api.server_state import needs_server, server_of
from penstock.errors import BodyUnreadable, MediaWrong, QueryUnknown
from penstock.host.blobs import REF
from penstock.net.garbage import uncollected
from penstock.net.soundness import TooManyMarkings, limited_markings

SAFE = ("GET", "HEAD", "OPTIONS")
#: how deep a value may be nested
DEEPEST = 100
#: bytes of a body that is parsed a second time, for repeated names
_SMALL = 256 * 1024
#: markings that are looked at here to say whether every run of a document can end: some 30 ms
LOOP_MARKINGS = 300
#: bytes of a body that is parsed on the loop
_AT_ONCE = 64 * 1024
_LARGE = re.compile(rb"\d{19}")
_JSON = re.compile(r"\Aapplication/(?:json|[\w.-]+\+json)\s*(?:;.*)?\Z", re.IGNORECASE)

#: parameters whose value may be the id of a run
RUN_NAMES = ("run", "id", "proc_inst_id")

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class StrictRoute(APIRoute):
    """Unknown parameters are refused: a typing error is never taken for a default."""

    def get_route_handler(self) -> Handler:
        plain = super().get_route_handler()
        if self.methods is not None and all(method in SAFE for method in self.methods):

            async def read(request: Request) -> Response:
                self._refuse_unknown(request)
                forwarded = await self._of_long_run(request) or await self._of_large_definition(request)
                return _not_modified(request, forwarded or await plain(request))

            return read

        async def change(request: Request) -> Response:
            self._refuse_unknown(request)
            forwarded = await self._with_document(request)
            if forwarded is not None:
                return forwarded
            await read_json(request)
            if not self.forwards_large or server_of(request).large_documents is None:
                return await plain(request)
            try:
                with limited_markings(LOOP_MARKINGS):
                    return await plain(request)
            except TooManyMarkings:  # nothing is kept before it is compiled
                return await (await forwarding_of(request)).definition(await request.body())

        return change

    @functools.cached_property
    def _names(self) -> list[str]:
        fields = get_flat_params(self.dependant)
        return [str(field.alias) for field in fields if isinstance(field.field_info, params.Query)]

    async def _with_document(self, request: Request) -> Response | None:
        """The response of the process that compiles large documents, where one is sent by somebody who may."""
        if not self.forwards_large and not self.is_trial:
            return None
        body, forwarding = await request.body(), await forwarding_of(request)
        if not is_json(request) or not self.permissions <= forwarding.caller.permissions:
            return None
        return await (forwarding.trial(body) if self.is_trial else forwarding.document(body))

    async def _of_large_definition(self, request: Request) -> Response | None:
        name = request.path_params.get("name")
        if name is None or not self.forwards_large:
            return None
        given = [request.path_params.get("version"), *(request.query_params.get(of) for of in ("from", "to"))]
        versions = [int(text) for text in given if text is not None and text.isdecimal() and len(text) < 10]
        forwarding = await forwarding_of(request)
        if not self.permissions <= forwarding.caller.permissions or not forwarding.large_definition(name, versions):
            return None
        return await forwarding.definition()

    @property
    def forwards_large(self) -> bool:
        return getattr(self.endpoint, "forwarded_when_large", False)

    @property
    def is_trial(self) -> bool:
        return getattr(self.endpoint, "answered_beside", False)

    @functools.cached_property
    def permissions(self) -> frozenset[str]:
        return frozenset(_required(self.dependant))

    async def _of_long_run(self, request: Request) -> Response | None:
        """The response of the process that reads long runs, where one of these is asked for."""
        for name in self._of_runs:
            run = request.path_params.get(name) or request.query_params.get(name)
            if run is not None:
                forwarding = await forwarding_of(request)
                if forwarding.long_run(str(run)) is not None:
                    return await forwarding.same()
        return None

    @functools.cached_property
    def _of_runs(self) -> list[str]:
        """Parameters that may name a run. None where the route has more to do than to read from its door."""
        of = self.dependant
        if of.request_param_name or needs_server(of) or issubclass(self.response_class_here, StreamingResponse):
            return []
        fields = get_flat_params(of)
        return [name for name in RUN_NAMES if name in (str(field.alias) for field in fields)]

    @property
    def response_class_here(self) -> type[Response]:
        given = self.response_class
        return given if isinstance(given, type) else given.value

    def _refuse_unknown(self, request: Request) -> None:
        if not request.query_params:
            return
        known = self._names
        for name in request.query_params:
            if name not in known:
                hint = f"Known are {', '.join(known)}." if known else "Nothing is asked for in the query."
                raise QueryUnknown(name=name, hint=hint)


async def read_json(request: Request) -> Any:
    """The body, parsed once, as every later reader of the request gets it. None where there is none."""
    body = await request.body()
    if not body:
        return None
    if not is_json(request):
        raise MediaWrong(given=request.headers.get("content-type") or "nothing")
    if getattr(request.state, "parsed", None) is not body:
        # a thread gives way every few milliseconds
        request._json = parse_strict(body) if len(body) <= _AT_ONCE else await asyncio.to_thread(parse_strict, body)
        request.state.parsed = body
    return request._json


def is_json(request: Request) -> bool:
    return _JSON.match(request.headers.get("content-type") or "") is not None


def parse_strict(body: bytes) -> Any:
    """JSON without what some reader or database would take for something else. Raises BodyUnreadable."""
    try:
        with uncollected():
            value = msgspec.json.decode(body)
    except RecursionError as error:
        raise BodyUnreadable(why=f"it is nested more than {DEEPEST} deep") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BodyUnreadable(why=f"it is not JSON ({error})") from error
    if b"\\u0000" in body:
        raise BodyUnreadable(why="a text holds the character NUL")
    if b"blob" in body and _has_reference(value):
        raise BodyUnreadable(why=f"a member is called «{REF}», which is the engine's own word")
    if _LARGE.search(body) or body.count(b"[") + body.count(b"{") > DEEPEST:
        _check_depth(value)
    if len(body) <= _SMALL and body.count(b":") > 1:
        json.loads(body, object_pairs_hook=_refuse_repeated, parse_int=str, parse_float=str)
    return value


def _has_reference(value: Any) -> bool:
    """Whether the engine would take some part of it for a reference to a large value."""
    level = [value]
    while level:
        part = level.pop()
        if isinstance(part, dict):
            if REF in part:
                return True
            level += part.values()
        elif isinstance(part, list):
            level += part
    return False


def _refuse_repeated(members: list[tuple[str, Any]]) -> None:
    """Of two members with one name some readers take the first, others the last."""
    if len(members) > 1 and len({name for name, _ in members}) < len(members):
        names = [name for name, _ in members]
        twice = next(name for name in names if names.count(name) > 1)
        raise BodyUnreadable(why=f"«{twice[:100]}» is there twice in one object")


def _check_depth(value: Any) -> None:
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > DEEPEST:
            raise BodyUnreadable(why=f"it is nested more than {DEEPEST} deep")
        below: list[Any] = []
        for part in level:
            if type(part) is int and not -(2**63) <= part < 2**63:
                raise BodyUnreadable(why="a whole number has more than 64 bits")
            below += part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
        level = below


def _required(dependant: Dependant) -> list[str]:
    inner = [name for part in dependant.dependencies for name in _required(part)]
    permission = getattr(dependant.call, "permission", None)
    return inner if permission is None else [*inner, str(permission)]


def _not_modified(request: Request, response: Response) -> Response:
    """304 when the caller has this body already."""
    body = getattr(response, "body", None)
    if response.status_code != 200 or not body:
        return response
    if "etag" not in response.headers:
        response.headers["ETag"] = f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
    tag, seen = response.headers["etag"], request.headers.get("if-none-match")
    if seen is None or seen.strip() != "*" and tag not in [part.strip().removeprefix("W/") for part in seen.split(",")]:
        return response
    kept = {name: value for name, value in response.headers.items() if name in ("etag", "cache-control", "location")}
    return Response(status_code=304, headers=kept)
