"""Routes that read a request strictly: known parameters, JSON that everybody reads alike, and 304 for what is known."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
from fastapi import Request, params
from fastapi.dependencies.utils import get_flat_params
from fastapi.routing import APIRoute
from starlette.responses import Response

from penstock.errors import BodyUnreadable, MediaWrong, QueryUnknown
from penstock.host.blobs import REF

SAFE = ("GET", "HEAD", "OPTIONS")
#: how deep a value may be nested
DEEPEST = 100
#: bytes of a body that is read a second time, for names that are there twice
_SMALL = 256 * 1024
_LARGE = re.compile(rb"\d{19}")
_JSON = re.compile(r"\Aapplication/(?:json|[\w.-]+\+json)\s*(?:;.*)?\Z", re.IGNORECASE)

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class Checked(APIRoute):
    """What looks like a slip of the pen is refused, and never taken for a default."""

    def get_route_handler(self) -> Handler:
        plain = super().get_route_handler()
        if self.methods is not None and all(method in SAFE for method in self.methods):

            async def looked(request: Request) -> Response:
                self._known(request)
                return _unless_known(request, await plain(request))

            return looked

        async def asked(request: Request) -> Response:
            self._known(request)
            await read_json(request)
            return await plain(request)

        return asked

    @functools.cached_property
    def _names(self) -> list[str]:
        return [str(one.alias) for one in get_flat_params(self.dependant) if isinstance(one.field_info, params.Query)]

    def _known(self, request: Request) -> None:
        if not request.query_params:
            return
        known = self._names
        for name in request.query_params:
            if name not in known:
                hint = f"Known are {', '.join(known)}." if known else "Nothing is asked for in the query."
                raise QueryUnknown(name=name, hint=hint)


async def read_json(request: Request) -> Any:
    """The body, read once, as every later reader of the request gets it. None where there is none."""
    body = await request.body()
    if not body:
        return None
    given = request.headers.get("content-type") or "nothing"
    if not _JSON.match(given):
        raise MediaWrong(given=given)
    found = strict(body)
    request._json = found
    return found


def strict(body: bytes) -> Any:
    """JSON without what some reader or database would take for something else. Raises BodyUnreadable."""
    try:
        found = msgspec.json.decode(body)
    except RecursionError as error:
        raise BodyUnreadable(why=f"it is nested more than {DEEPEST} deep") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BodyUnreadable(why=f"it is not JSON ({error})") from error
    if b"\\u0000" in body:
        raise BodyUnreadable(why="a text holds the character NUL")
    if b"blob" in body and _refers(found):
        raise BodyUnreadable(why=f"a member is called «{REF}», which is the engine's own word")
    if _LARGE.search(body) or body.count(b"[") + body.count(b"{") > DEEPEST:
        _look_into(found)
    if len(body) <= _SMALL and body.count(b":") > 1:
        json.loads(body, object_pairs_hook=_once_each, parse_int=str, parse_float=str)
    return found


def _refers(value: Any) -> bool:
    """Is there anywhere what the engine would take for a reference to a large value?"""
    level = [value]
    while level:
        one = level.pop()
        if isinstance(one, dict):
            if REF in one:
                return True
            level += one.values()
        elif isinstance(one, list):
            level += one
    return False


def _once_each(members: list[tuple[str, Any]]) -> None:
    """One reader takes the first of two, another the last."""
    if len(members) > 1 and len({name for name, _ in members}) < len(members):
        names = [name for name, _ in members]
        twice = next(name for name in names if names.count(name) > 1)
        raise BodyUnreadable(why=f"«{twice[:100]}» is there twice in one object")


def _look_into(value: Any) -> None:
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > DEEPEST:
            raise BodyUnreadable(why=f"it is nested more than {DEEPEST} deep")
        below: list[Any] = []
        for one in level:
            if type(one) is int and not -(2**63) <= one < 2**63:
                raise BodyUnreadable(why="a whole number has more than 64 bits")
            below += one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
        level = below


def _unless_known(request: Request, answer: Response) -> Response:
    """What the caller has already is not sent again."""
    body = getattr(answer, "body", None)
    if answer.status_code != 200 or not body:
        return answer
    if "etag" not in answer.headers:
        answer.headers["ETag"] = f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
    tag, seen = answer.headers["etag"], request.headers.get("if-none-match")
    if seen is None or seen.strip() != "*" and tag not in [one.strip().removeprefix("W/") for one in seen.split(",")]:
        return answer
    kept = {name: value for name, value in answer.headers.items() if name in ("etag", "cache-control", "location")}
    return Response(status_code=304, headers=kept)
