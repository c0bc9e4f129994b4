"""The own API where nobody serves it (C-28, C-66): what a run asks of the program that drives it, answered here.

Only what documents name is there: a rule pack, the status of a deployment, and taking one back. The answers are those
of the routes, word for word; everything else needs a server."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import msgspec

from penstock.errors import BadInput, PenstockError, ThingNotFound
from penstock.executors.parts.network.http_call import HttpCall, HttpReply
from penstock.executors.parts.network.self_calls import OWN

if TYPE_CHECKING:
    from penstock.app.runs.runs import Runs
    from penstock.executors.parts.network.self_calls import SelfCallHandler

#: the name under which a run's own calls are done
CALLER = "own app"
#: the permissions of such a call: nothing that whoever writes documents may not do themselves; what is taken back must
#: have been deployed by a run
MAY = frozenset(
    {
        "run.read", "run.start", "definition.read", "registry.read", "events.send", "deploy.read", "deploy.rollback",
    }
)  # fmt: skip
_PREFIX = re.compile(r"/api(?:/v1)?/")
_HOST = "the own app"


def answerer(door: Runs) -> SelfCallHandler:
    """For the runs of every tenant that this door's engine drives."""

    async def answer(tenant: str, call: HttpCall) -> HttpReply:
        """Raises ConnectionError for what only a server answers."""
        for method, path, handle in _ROUTES:
            matched = path.fullmatch(_path(call))
            if matched is not None and call.method == method:
                return await _answered(handle, door.of(tenant), unquote(matched[1]), call)
        raise ConnectionError("this program is not served: `penstock dev` or `penstock serve` does that")

    return answer


def _path(call: HttpCall) -> str:
    """Without the prefix, of which there are two; "" where it is none of the API's."""
    path = urlsplit(call.url.removeprefix(OWN)).path
    matched = _PREFIX.match(path)
    return path[matched.end() :] if matched is not None else ""


async def _answered(handle: _Handler, door: Runs, id: str, call: HttpCall) -> HttpReply:
    try:
        return _reply(200, "application/json", await handle(door, id, _body(call)))
    except PenstockError as error:
        hint = str(error.facts.get("hint") or error.hint)
        problem = {"type": "about:blank", "status": error.http, "code": error.code, "detail": error.message}
        return _reply(error.http, "application/problem+json", problem | ({"hint": hint} if hint else {}))


def _reply(status: int, media: str, body: Mapping[str, Any]) -> HttpReply:
    return HttpReply(status, {"content-type": media}, msgspec.json.encode(body), _HOST)


def _body(call: HttpCall) -> dict[str, Any]:
    if not call.content.strip():
        return {}
    try:
        return msgspec.json.decode(call.content, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(what="the body", why=f"it is no JSON object: {error}") from error


async def _rule_pack(door: Runs, id: str, _: dict[str, Any]) -> Mapping[str, Any]:
    from penstock.app.registry.registry import shown
    from penstock.app.timestamps import iso

    row = door.registry.get("rule_pack", id)
    if row is None:
        raise ThingNotFound(type="rule_pack", id=id)
    return {
        "id": row.id, "type": row.type, "version": row.version, "status": row.status, "at": iso(row.at),
        "body": shown(row), "findings": [],
    }  # fmt: skip


async def _status(door: Runs, id: str, _: dict[str, Any]) -> Mapping[str, Any]:
    from penstock.app.deployments.deployments import Deployments

    body: dict[str, Any] = msgspec.to_builtins(Deployments(door).status(id))
    return body


async def _rollback(door: Runs, id: str, body: dict[str, Any]) -> Mapping[str, Any]:
    from penstock.app.deployments.deployments import Deployments

    deployments, reason = Deployments(door), body.get("reason")
    await deployments.take_back_own(id, by=CALLER, reason=reason if isinstance(reason, str) else "")
    told: dict[str, Any] = _as_sent(msgspec.to_builtins(deployments.get(id, MAY)))
    return told


def _as_sent(value: Any, name: str = "") -> Any:
    """Times are texts outside."""
    from penstock.app.timestamps import iso

    if isinstance(value, dict):
        return {key: _as_sent(part, key) for key, part in value.items()}
    if isinstance(value, list):
        return [_as_sent(part) for part in value]
    return iso(value) if type(value) is int and (name == "at" or name.endswith("_at")) else value


_Handler = Callable[["Runs", str, dict[str, Any]], Awaitable[Mapping[str, Any]]]
_ROUTES: tuple[tuple[str, re.Pattern[str], _Handler], ...] = (
    ("GET", re.compile(r"rule-packs/([^/]+)"), _rule_pack),
    ("GET", re.compile(r"deploy/([^/]+)/status"), _status),
    ("POST", re.compile(r"deploy/([^/]+)/rollback"), _rollback),
)
