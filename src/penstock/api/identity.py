"""Who calls: an API key, a token of the company's own sign-in, or the console's session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from fastapi import Request

from penstock.api.server_state import Caller, Options
from penstock.api.sessions import COOKIE, HEADER, LASTS_S, Session, Sessions, signing_key
from penstock.app.access.keys import ApiKey, ApiKeys
from penstock.app.access.roles import person, tenant_closed, tenant_known, user_of
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

if TYPE_CHECKING:
    from penstock.api.jwt import Tokens

_SAFE = ("GET", "HEAD", "OPTIONS")
_COOKIE = 3800  # browsers keep about 4,096 bytes, with its name


class Identity:
    def __init__(self, door: Penstock, options: Options, jwt: Tokens | None = None) -> None:
        self.door, self.options, self.jwt = door, options, jwt
        self.keys = ApiKeys(door)
        path = door.path
        self.sessions = Sessions(signing_key(path.with_name(f"{path.name}.session-key")))

    # -- finding out ---------------------------------------------------------------------------------------------------

    async def caller(self, request: Request) -> Caller:
        bearer = request.headers.get("authorization")
        if bearer is not None:
            kind, _, token = bearer.partition(" ")
            if kind.lower() != "bearer" or not token.strip():
                raise KeyInvalid(why="the Authorization header is not «Bearer …»")
            return await self.bearer(token.strip())
        cookie = request.cookies.get(COOKIE)
        if cookie is None:
            raise KeyMissing
        if request.method not in _SAFE and request.headers.get(HEADER) is None:
            raise NotOurPage
        session = self.sessions.read(cookie, self.door.now())
        if session is None:
            raise KeyInvalid(why="the session is over")
        return self._session(session)

    def still(self, request: Request, who: Caller) -> Callable[[], Awaitable[bool]]:
        """Is the caller of a stream let in as before? Trouble of ours and a used up rate do not end it."""

        async def asked() -> bool:
            try:
                now = await self.caller(request)
            except PenstockError as error:
                return error.http not in (401, 403)
            return (now.tenant, now.user) == (who.tenant, who.user) and "run.read" in now.permissions

        return asked

    async def bearer(self, token: str) -> Caller:
        if token.startswith("ps_"):
            return self._of_key(self.keys.verified(token))
        if self.jwt is None:
            raise KeyInvalid(why="it is no key of this server")
        claims = await self.jwt.verified_soon(token)
        return self._of_token(claims.tenant, claims.user, claims.roles, claims.permissions)

    def _session(self, session: Session) -> Caller:
        if session.key:
            return self._of_key(self.keys.still(session.key))
        if session.token and self.jwt is not None:
            scopes = None if session.scopes is None else frozenset(session.scopes)
            return self._of_token(session.tenant, session.user, session.roles, scopes)
        if not self.options.dev or session.token:
            raise KeyInvalid(why="the session is over")
        return self._made(session.tenant, session.user)

    def _of_key(self, key: ApiKey) -> Caller:
        return self._made(key.tenant, key.user, roles=key.roles, scopes=key.scopes, key=key.id)

    def _of_token(self, tenant: str, user: str, roles: tuple[str, ...], scopes: frozenset[str] | None) -> Caller:
        """The issuer knows people; which tenants there are is told here, or by the setting that names one for all."""
        named = self.jwt is not None and self.jwt.settings.tenant == tenant
        if not named and tenant != self.door.tenant and not tenant_known(self.door.of(tenant)):
            raise TenantUnknown(tenant=tenant)
        return self._made(tenant, user, roles=roles, scopes=scopes)

    def _made(
        self, tenant: str, user: str, *, roles: tuple[str, ...] = (), scopes: frozenset[str] | None = None,
        key: str = "",
    ) -> Caller:  # fmt: skip
        door = self.door.of(tenant)
        if tenant != self.door.tenant and tenant_closed(door):  # the server's own cannot be closed by itself
            raise TenantUnknown(tenant=tenant)
        who = person(door, user, roles=roles, scopes=scopes)
        return Caller(who.tenant, who.user, who.name, who.roles, who.groups, who.permissions, key)

    # -- sessions ------------------------------------------------------------------------------------------------------

    def opened(self, token: str) -> str:
        """The cookie of a session that lasts as long as the key, at most half a day."""
        key = self.keys.verified(token)
        self._of_key(key)  # whose user is not active any more gets none
        return self.sessions.written(Session(key.tenant, key.user, key.id, self._until()))

    async def opened_with(self, token: str) -> str:
        """The same with a token of the company's sign-in: it lasts as long as that, and has its roles."""
        if self.jwt is None:
            raise KeyInvalid(why="tokens are not taken here: the settings have no [jwt]")
        claims = await self.jwt.verified_soon(token)
        self._of_token(claims.tenant, claims.user, claims.roles, claims.permissions)
        scopes = None if claims.permissions is None else tuple(sorted(claims.permissions))
        until = min(self._until(), claims.until)
        made = self.sessions.written(Session(claims.tenant, claims.user, "", until, True, claims.roles, scopes))
        if len(made) > _COOKIE:
            raise TokenInvalid(why="it names too many roles for a session")
        return made

    def opened_for(self, tenant: str, user: str) -> str:
        """In dev: whoever one wants to be."""
        if user_of(self.door.of(tenant), user) is None:
            raise UserNotFound(user=user)
        return self.sessions.written(Session(tenant, user, "", self._until()))

    def _until(self) -> int:
        return self.door.now() + LASTS_S * 1000
