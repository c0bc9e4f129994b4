"""Who calls: an API key, a token of the company's own sign-in, or the console's session."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from fastapi import Request
from msgspec.structs import replace

from penstock.api.account_tries import AccountTries, tries_of
from penstock.api.addresses import address_of
from penstock.api.options import Options
from penstock.api.sessions import COOKIE, HEADER, LASTS_S, Session, Sessions, session_id, signing_key
from penstock.app.access.keys import ApiKey, ApiKeys, account_of
from penstock.app.access.roles import Person, person, tenant_closed, tenant_known, user_of
from penstock.app.penstock import Penstock
from penstock.errors import (
    KeyInvalid,
    KeyMissing,
    NotOurPage,
    PenstockError,
    TenantUnknown,
    TokenInvalid,
    UserNotFound,
)
from penstock.host.clock import SystemClock

if TYPE_CHECKING:
    from penstock.api.jwt import Tokens

_SAFE = ("GET", "HEAD", "OPTIONS")
_COOKIE = 3800  # browsers keep about 4,096 bytes, with its name


class Identity:
    def __init__(self, door: Penstock, options: Options, jwt: Tokens | None = None) -> None:
        self.door, self.options, self.jwt = door, options, jwt
        self.keys = ApiKeys(door)
        path = door.path
        key = signing_key(path.with_name(f"{path.name}.session-key"))
        self._now = SystemClock().now  # the people's time, also where that of the runs goes faster
        self.sessions = Sessions(key, door.store.ended_sessions(self._now()))
        self.accounts = AccountTries(None if options.dev else tries_of(door.settings), self._now)

    # -- the caller of a request ---------------------------------------------------------------------------------------

    async def caller(self, request: Request) -> Person:
        bearer = request.headers.get("authorization")
        if bearer is not None:
            kind, _, token = bearer.partition(" ")
            if kind.lower() != "bearer" or not token.strip():
                raise KeyInvalid(why="the Authorization header is not «Bearer …»")
            return await self.bearer(token.strip(), address_of(request))
        cookie = request.cookies.get(COOKIE)
        if cookie is None:
            raise KeyMissing
        if request.method not in _SAFE and request.headers.get(HEADER) is None:
            raise NotOurPage
        session = self.sessions.read(cookie, self._now())
        if session is None:
            raise KeyInvalid(why="the session is over")
        return self._of_session(session)

    def still_allowed(self, request: Request, who: Person) -> Callable[[], Awaitable[bool]]:
        """Whether the caller of a stream may still read it. Errors of the server and a used up rate do not end it."""

        async def check() -> bool:
            try:
                now = await self.caller(request)
            except PenstockError as error:
                return error.http not in (401, 403)
            return (now.tenant, now.user) == (who.tenant, who.user) and "run.read" in now.permissions

        return check

    async def bearer(self, token: str, address: str) -> Person:
        if token.startswith("ps_"):
            return self._of_key(self._verified(token, address))
        if self.jwt is None:
            raise KeyInvalid(why="it is no key of this server")
        claims = await self.jwt.verified_soon(token)
        return self._of_token(
            claims.tenant, claims.user, claims.roles, claims.permissions, organization=claims.organization
        )

    def _verified(self, token: str, address: str) -> ApiKey:
        """The key of a token. Whether it was right is counted for its account."""
        try:
            key = self.keys.verified(token)
        except KeyInvalid as error:
            account = str(error.facts.get("id") or "")
            if account and type(error) is KeyInvalid:
                self.accounts.failed(account, address)
            raise
        self.accounts.let_in(key.id, address)
        return key

    def _of_session(self, session: Session) -> Person:
        if session.key:
            return self._of_key(self.keys.still(session.key))
        if session.token and self.jwt is not None:
            scopes = None if session.scopes is None else frozenset(session.scopes)
            return self._of_token(
                session.tenant, session.user, session.roles, scopes, organization=session.organization
            )
        if not self.options.dev or session.token:
            raise KeyInvalid(why="the session is over")
        return self._person(session.tenant, session.user)

    def _of_key(self, key: ApiKey) -> Person:
        return self._person(key.tenant, key.user, roles=key.roles, scopes=key.scopes, approves=key.approves)

    def _of_token(
        self, tenant: str, user: str, roles: tuple[str, ...], scopes: frozenset[str] | None,
        *, organization: int | None = None,
    ) -> Person:  # fmt: skip
        """The issuer knows people; which tenants exist is known here, or said by the setting that names one for all."""
        named = self.jwt is not None and self.jwt.settings.tenant == tenant
        if not named and tenant != self.door.tenant and not tenant_known(self.door.of(tenant)):
            raise TenantUnknown(tenant=tenant)
        return self._person(tenant, user, roles=roles, scopes=scopes, organization=organization)

    def _person(
        self, tenant: str, user: str, *, roles: tuple[str, ...] = (), scopes: frozenset[str] | None = None,
        approves: bool = True, organization: int | None = None,
    ) -> Person:  # fmt: skip
        door = self.door.of(tenant)
        if tenant != self.door.tenant and tenant_closed(door):  # the server's own cannot be closed by itself
            raise TenantUnknown(tenant=tenant)
        return person(door, user, roles=roles, scopes=scopes, approves=approves, organization=organization)

    # -- sessions ------------------------------------------------------------------------------------------------------

    def session_for_key(self, token: str, address: str, device: str = "") -> str:
        """The cookie of a session that lasts as long as the key, at most half a day. Raises AccountTooMany."""
        account = account_of(token)
        self.accounts.check(account, address, self.sessions.is_device(device, account))
        key = self._verified(token, address)
        self._of_key(key)  # refused when its user is not active any more
        return self._encoded(Session(key.tenant, key.user, key.id, self._until()))

    async def session_for_token(self, token: str) -> str:
        """The same with a token of the company's sign-in: it lasts as long as that, and has its roles."""
        if self.jwt is None:
            raise KeyInvalid(why="tokens are not taken here: the settings have no [jwt]")
        claims = await self.jwt.verified_soon(token)
        self._of_token(claims.tenant, claims.user, claims.roles, claims.permissions)
        scopes = None if claims.permissions is None else tuple(sorted(claims.permissions))
        until = min(self._until(), claims.until)
        session = Session(
            claims.tenant, claims.user, "", until, True, claims.roles, scopes, organization=claims.organization
        )
        cookie = self._encoded(session)
        if len(cookie) > _COOKIE:
            raise TokenInvalid(why="it names too many roles for a session")
        return cookie

    def session_for_user(self, tenant: str, user: str) -> str:
        """In dev: the session of any user."""
        if user_of(self.door.of(tenant), user) is None:
            raise UserNotFound(user=user)
        return self._encoded(Session(tenant, user, "", self._until()))

    def end_session(self, cookie: str) -> None:
        """In the store, too: a copy of the cookie is good for nothing, also after a restart."""
        session = self.sessions.read(cookie, self._now())
        if session is not None:
            self.door.store.end_session(session_id(cookie), session.until)
            self.sessions.ended(cookie, session.until, self._now())

    def _encoded(self, session: Session) -> str:
        return self.sessions.encode(replace(session, nonce=secrets.token_hex(8)))

    def _until(self) -> int:
        return self._now() + LASTS_S * 1000
