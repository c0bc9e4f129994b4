"""Who has a work item open at this moment: kept in memory only, and only while they look."""

from __future__ import annotations

import time
from collections.abc import Callable

#: seconds after which a user who was not reported again has left; a console reports every ten
GONE_S = 30.0
#: users of one item; more are not counted
MOST = 20


class Presence:
    """Users by item, each with the time of the last report."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._seen: dict[tuple[str, str], dict[str, float]] = {}

    def here(self, tenant: str, item: str, user: str) -> bool:
        """Records that the user looks at it; whether they are new."""
        self._sweep()
        seen = self._seen.setdefault((tenant, item), {})
        news = user not in seen
        if news and len(seen) >= MOST:
            return False
        seen[user] = self._now()
        return news

    def left(self, tenant: str, item: str, user: str) -> bool:
        seen = self._seen.get((tenant, item), {})
        return seen.pop(user, None) is not None

    def others(self, tenant: str, item: str, user: str) -> list[str]:
        self._sweep()
        return sorted(other for other in self._seen.get((tenant, item), {}) if other != user)

    def _sweep(self) -> None:
        late = self._now() - GONE_S
        for key, seen in list(self._seen.items()):
            for user in [user for user, at in seen.items() if at < late]:
                del seen[user]
            if not seen:
                del self._seen[key]
