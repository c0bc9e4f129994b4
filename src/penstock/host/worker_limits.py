"""Workers: how many effects may be on their way at once, in all and for one tenant (C-78).

A worker is an effect that somebody performs. A run that waits for a person, a signal, a time or a child holds none, so
whoever waits never keeps out what it waits for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.host.limits import checked_count

#: with the tenant behind it: the queue in which its effects wait for a worker
QUEUE = "workers:"
_OWN = "workers.tenants."


class Workers:
    """Counted and not stored: after a crash nothing is on its way."""

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        known = settings or {}
        self.total = _limit(known, "workers.total")
        self.per_tenant = _limit(known, "workers.per_tenant")
        self.own = {name.removeprefix(_OWN): _limit(known, name) for name in known if name.startswith(_OWN)}
        self.limited = bool(self.total or self.per_tenant or self.own)
        self.all = 0
        self.of: dict[str, int] = {}

    def full(self, tenant: str) -> bool:
        """Must another effect of the tenant wait?"""
        mine = self.own.get(tenant) or self.per_tenant
        if mine is not None and self.of.get(tenant, 0) >= mine:
            return True
        return self.total is not None and self.all >= self.total

    def take(self, tenant: str) -> None:
        if self.limited:
            self.all += 1
            self.of[tenant] = self.of.get(tenant, 0) + 1

    def leave(self, tenant: str) -> None:
        if self.limited:
            self.all -= 1
            self.of[tenant] -= 1


def _limit(settings: Mapping[str, Any], name: str) -> int | None:
    value = settings.get(name)
    return None if value is None else checked_count(name, value)
