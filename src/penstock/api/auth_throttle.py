"""Failed authentication: counted by address, held back when there are too many, and written into the audit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fastapi import Request

from penstock.api.addresses import address_of
from penstock.app.access.audit import AuditLog
from penstock.app.access.keys import RateLimits
from penstock.app.penstock import Penstock
from penstock.errors import BadInput, KeyMissing, PenstockError, StoreError, StrangerTooMany, TooMany

#: failed calls per minute of one address
DEFAULT_RATE = 300
#: audit entries per minute of all addresses together: who has many addresses must not fill the disk
_ENTRIES = 60
_MINUTE = 60_000
_MOST = 10_000  # pairs of address and key that are remembered
_NOBODY = "nobody"


class AuthThrottle:
    """Counts in this process. Whoever has a good key is never held back: one address may be that of many."""

    def __init__(self, door: Penstock, audit: AuditLog, rate: int | None, now: Callable[[], int]) -> None:
        self.door, self.audit, self.rate, self.now = door, audit, rate, now
        self._rates, self._entries = RateLimits(), RateLimits()
        self._seen: dict[tuple[str, str], tuple[int, int]] = {}  # when it was last written, and how many came since

    def check(self, request: Request) -> None:
        """Called before something that can be guessed is compared. Raises StrangerTooMany where no try is left."""
        if self.rate is not None and not self._rates.left(address_of(request), self.rate, self.now()):
            raise StrangerTooMany(rate=self.rate, retry_s=-(-60 // self.rate))

    async def refused(self, request: Request, error: PenstockError) -> PenstockError:
        """The error for a caller whose authentication failed: why, or that there were too many. Other errors pass."""
        if error.http != 401:
            return error
        address = address_of(request)
        if self.rate is not None:
            try:
                self._rates.take(address, address, self.rate, self.now())
            except TooMany as too_many:
                return StrangerTooMany(**too_many.facts)
        if not isinstance(error, KeyMissing):
            await self._record(address, error, request)
        return error

    async def _record(self, address: str, error: PenstockError, request: Request) -> None:
        """An audit entry once a minute per address and key, with how many there were: in the chain of the key's tenant,
        for an unknown key in that of the server's own tenant."""
        id, now = str(error.facts.get("id") or ""), self.now()
        at, missed = self._seen.pop((address, id), (-_MINUTE, 0))
        if now - at < _MINUTE or not self._may_write(now):
            self._remember((address, id), at, missed + 1)
            return
        self._remember((address, id), now, 0)
        row = self.door.store.key(id) if id else None
        tenant = row.tenant if row is not None else self.door.tenant
        body: dict[str, Any] = {"refused": error.code, "from": address, "earlier": missed}
        try:
            await self.audit.recorded(
                tenant, _NOBODY, f"{request.method} refused", f"keys/{id}" if id else "keys", body
            )
        except StoreError:  # the caller is refused and told why all the same
            self._remember((address, id), at, missed + 1)

    def _remember(self, who: tuple[str, str], at: int, missed: int) -> None:
        if len(self._seen) >= _MOST:
            del self._seen[next(iter(self._seen))]
        self._seen[who] = (at, missed)

    def _may_write(self, now: int) -> bool:
        try:
            self._entries.take("all", "all", _ENTRIES, now)
        except TooMany:
            return False
        return True


def rate_of(settings: Mapping[str, Any]) -> int | None:
    """The setting `server.strangers`: calls per minute, 0 for no limit. Raises BadInput."""
    rate = settings.get("server.strangers", DEFAULT_RATE)
    if isinstance(rate, bool) or not isinstance(rate, int) or rate < 0:
        raise BadInput(what="[server] strangers", why="it is a whole number of calls per minute, 0 for no limit")
    return rate or None
