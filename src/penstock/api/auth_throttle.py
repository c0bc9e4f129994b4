"""Strangers: who is not let in is counted by address, held back when there are too many, and written into the audit."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from typing import Any

from fastapi import Request

from penstock.app.access.audit import AuditLog
from penstock.app.access.keys import RateLimits
from penstock.app.penstock import Penstock
from penstock.errors import BadInput, KeyMissing, PenstockError, StoreError, StrangerTooMany, TooMany

#: calls per minute of one address that are not let in
USUAL = 300
#: entries per minute of all strangers together: who has many addresses must not fill the disk
_WRITTEN = 60
_MINUTE = 60_000
_MOST = 10_000  # of what is remembered of them
_NOBODY = "nobody"


class Strangers:
    """In this process. Whoever has a good key is never held back: one address may be that of many."""

    def __init__(self, door: Penstock, audit: AuditLog, rate: int | None, now: Callable[[], int]) -> None:
        self.door, self.audit, self.rate, self.now = door, audit, rate, now
        self._rates, self._entries = RateLimits(), RateLimits()
        self._seen: dict[tuple[str, str], tuple[int, int]] = {}  # when it was last written, and how many came since

    def patience(self, request: Request) -> None:
        """Before something that can be guessed is compared. Raises StrangerTooMany where no try is left."""
        if self.rate is not None and not self._rates.left(address_of(request), self.rate, self.now()):
            raise StrangerTooMany(rate=self.rate, retry_s=-(-60 // self.rate))

    async def met(self, request: Request, error: PenstockError) -> PenstockError:
        """What a caller hears who was not let in: why, or that there were too many. Other errors are none of ours."""
        if error.http != 401:
            return error
        where = address_of(request)
        if self.rate is not None:
            try:
                self._rates.take(where, where, self.rate, self.now())
            except TooMany as many:
                return StrangerTooMany(**many.facts)
        if not isinstance(error, KeyMissing):
            await self._written(where, error, request)
        return error

    async def _written(self, where: str, error: PenstockError, request: Request) -> None:
        """Once a minute for an address and a key, with how many there were. In the chain of the key's tenant; of a key
        that there is not, in the server's own."""
        id, now = str(error.facts.get("id") or ""), self.now()
        at, missed = self._seen.pop((where, id), (-_MINUTE, 0))
        if now - at < _MINUTE or not self._room(now):
            self._remember((where, id), at, missed + 1)
            return
        self._remember((where, id), now, 0)
        row = self.door.store.key(id) if id else None
        tenant = row.tenant if row is not None else self.door.tenant
        body: dict[str, Any] = {"refused": error.code, "from": where, "earlier": missed}
        try:
            await self.audit.recorded(
                tenant, _NOBODY, f"{request.method} refused", f"keys/{id}" if id else "keys", body
            )
        except StoreError:  # nobody was let in, and is told why all the same
            self._remember((where, id), at, missed + 1)

    def _remember(self, who: tuple[str, str], at: int, missed: int) -> None:
        if len(self._seen) >= _MOST:
            del self._seen[next(iter(self._seen))]
        self._seen[who] = (at, missed)

    def _room(self, now: int) -> bool:
        try:
            self._entries.take("all", "all", _WRITTEN, now)
        except TooMany:
            return False
        return True


def rate_of(settings: Mapping[str, Any]) -> int | None:
    """As `server.strangers` says: so many per minute, or 0 for no limit. Raises BadInput."""
    said = settings.get("server.strangers", USUAL)
    if isinstance(said, bool) or not isinstance(said, int) or said < 0:
        raise BadInput(what="[server] strangers", why="it is a whole number of calls per minute, 0 for no limit")
    return said or None


def address_of(request: Request) -> str:
    """Of whoever calls, as the proxy says it that is trusted. Of IPv6 the network: a host has as many as it likes."""
    said = (request.client.host if request.client is not None else "").partition("%")[0]
    try:
        found = ipaddress.ip_address(said)
    except ValueError:
        return said[:64] or "unknown"
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, 64), strict=False))
