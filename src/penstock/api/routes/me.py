"""Who I am, and the console's session."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

import penstock
from penstock.api.addresses import address_of
from penstock.api.replies import reply
from penstock.api.server_state import Door, Server, Who, server_of
from penstock.api.sessions import COOKIE, DEVICE_COOKIE, DEVICE_LASTS_S, LASTS_S
from penstock.api.shapes.people import DevSessionAsked, Me, SessionAsked, Users
from penstock.api.strict_routes import StrictRoute
from penstock.app.access.keys import account_of
from penstock.app.access.roles import each_user, locale_of, zone_of
from penstock.errors import PenstockError, RouteMissing

router = APIRouter(tags=["people"], route_class=StrictRoute)
FIRST_USER = "manager@example.com"


@router.get("/me", response_model=Me, summary="Who the caller is, and what they may do")
async def me(who: Who, door: Door) -> Response:
    body = {
        "user": who.user, "name": who.name, "tenant": who.tenant, "roles": list(who.roles), "groups": list(who.groups),
        "permissions": sorted(who.permissions), "locale": locale_of(door, who.user), "zone": zone_of(door),
        "profile": door.profile, "version": penstock.__version__, "organization_id": who.organization,
    }  # fmt: skip
    return reply(Me, body)


@router.post("/session", status_code=204, summary="Open a session of the console with an API key or a JWT")
async def open_session(asked: SessionAsked, request: Request, server: Server) -> Response:
    identity, token = server.identity, asked.token
    try:
        if token is not None:
            cookie = await identity.session_for_token(token)
        else:
            device = request.cookies.get(DEVICE_COOKIE) or ""
            cookie = identity.session_for_key(asked.key or "", address_of(request), device)
    except PenstockError as error:
        raise await server.auth_throttle.refused(request, error) from error
    await _audit(request, server, cookie)
    answer = _with_cookie(server, cookie)
    if asked.key is not None:
        mark = identity.sessions.device(account_of(asked.key))
        answer.set_cookie(
            DEVICE_COOKIE, mark, max_age=DEVICE_LASTS_S, httponly=True, samesite="strict",
            secure=server.options.secure, path="/",
        )  # fmt: skip
    return answer


@router.delete("/session", status_code=204, summary="End the session, for every copy of its cookie")
async def end_session(request: Request, server: Server) -> Response:
    cookie = request.cookies.get(COOKIE) or ""
    await _audit(request, server, cookie)
    server.identity.end_session(cookie)
    answer = Response(status_code=204)
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict", secure=server.options.secure)
    return answer


@router.get("/dev/users", response_model=Users, summary="Whom one can be in dev")
async def dev_users(server: Server) -> Response:
    _only_in_dev(server)
    server.door.load_sample()
    return reply(Users, {"items": each_user(server.door)})


@router.post("/dev/session", status_code=204, summary="Be one of the demo users, in dev")
async def dev_session(asked: DevSessionAsked, server: Server) -> Response:
    _only_in_dev(server)
    return _with_cookie(server, server.identity.session_for_user(server.door.tenant, asked.user))


def somebody(request: Request, answer: Response) -> None:
    """In dev whoever opens the console is somebody at once: the one for whom the demo waits."""
    server = server_of(request)
    if server.options.dev and COOKIE not in request.cookies:
        _set_cookie(server, answer, server.identity.session_for_user(server.door.tenant, FIRST_USER))


async def _audit(request: Request, server: Server, cookie: str) -> None:
    """Into the audit: who comes, and who goes. A cookie that is not good is nobody's."""
    session = server.identity.sessions.read(cookie, server.door.now())
    if session is None:
        return
    how = {"from": address_of(request), "with": "a token" if session.token else session.key or "nothing"}
    await server.audit.recorded(session.tenant, session.user, f"{request.method} /session", "session", how)


def _only_in_dev(server: Server) -> None:
    if not server.options.dev:
        raise RouteMissing


def _with_cookie(server: Server, cookie: str) -> Response:
    answer = Response(status_code=204)
    _set_cookie(server, answer, cookie)
    return answer


def _set_cookie(server: Server, answer: Response, cookie: str) -> None:
    answer.set_cookie(
        COOKIE, cookie, max_age=LASTS_S, httponly=True, samesite="strict", secure=server.options.secure, path="/"
    )
