"""Who I am, and the console's session."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

import penstock
from penstock.api.auth_throttle import address_of
from penstock.api.replies import shown
from penstock.api.server_state import Door, TheSite, Who, site_of
from penstock.api.sessions import COOKIE, LASTS_S
from penstock.api.shapes.people import DevSessionAsked, Me, SessionAsked, Users
from penstock.api.strict_routes import Checked
from penstock.app.access.roles import each_user, locale_of, zone_of
from penstock.errors import PenstockError, RouteMissing

router = APIRouter(tags=["people"], route_class=Checked)
FIRST_USER = "manager@example.com"


@router.get("/me", response_model=Me, summary="Who the caller is, and what they may do")
async def me(who: Who, door: Door) -> Response:
    told = {
        "user": who.user, "name": who.name, "tenant": who.tenant, "roles": list(who.roles), "groups": list(who.groups),
        "permissions": sorted(who.permissions), "locale": locale_of(door, who.user), "zone": zone_of(door),
        "profile": door.profile, "version": penstock.__version__,
    }  # fmt: skip
    return shown(Me, told)


@router.post("/session", status_code=204, summary="Open a session of the console with an API key or a JWT")
async def open_session(asked: SessionAsked, request: Request, site: TheSite) -> Response:
    identity, given = site.identity, asked.token
    try:
        cookie = await identity.opened_with(given) if given is not None else identity.opened(asked.key or "")
    except PenstockError as error:
        raise await site.strangers.met(request, error) from error
    await _told(request, site, cookie)
    return _with_cookie(site, cookie)


@router.delete("/session", status_code=204, summary="End the session")
async def end_session(request: Request, site: TheSite) -> Response:
    await _told(request, site, request.cookies.get(COOKIE) or "")
    answer = Response(status_code=204)
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict", secure=site.options.secure)
    return answer


@router.get("/dev/users", response_model=Users, summary="Whom one can be in dev")
async def dev_users(site: TheSite) -> Response:
    _only_in_dev(site)
    site.door.load_sample()
    return shown(Users, {"items": each_user(site.door)})


@router.post("/dev/session", status_code=204, summary="Be one of the demo users, in dev")
async def dev_session(asked: DevSessionAsked, site: TheSite) -> Response:
    _only_in_dev(site)
    return _with_cookie(site, site.identity.opened_for(site.door.tenant, asked.user))


def somebody(request: Request, answer: Response) -> None:
    """In dev whoever opens the console is somebody at once: the one for whom the demo waits."""
    site = site_of(request)
    if site.options.dev and COOKIE not in request.cookies:
        _set_cookie(site, answer, site.identity.opened_for(site.door.tenant, FIRST_USER))


async def _told(request: Request, site: TheSite, cookie: str) -> None:
    """Into the audit: who comes, and who goes. A cookie that is not good is nobody's."""
    session = site.identity.sessions.read(cookie, site.door.now())
    if session is None:
        return
    how = {"from": address_of(request), "with": "a token" if session.token else session.key or "nothing"}
    await site.audit.recorded(session.tenant, session.user, f"{request.method} /session", "session", how)


def _only_in_dev(site: TheSite) -> None:
    if not site.options.dev:
        raise RouteMissing


def _with_cookie(site: TheSite, cookie: str) -> Response:
    answer = Response(status_code=204)
    _set_cookie(site, answer, cookie)
    return answer


def _set_cookie(site: TheSite, answer: Response, cookie: str) -> None:
    answer.set_cookie(
        COOKIE, cookie, max_age=LASTS_S, httponly=True, samesite="strict", secure=site.options.secure, path="/"
    )
