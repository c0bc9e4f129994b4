"""Who looks at a work item at this moment. It is known only while they look, and only here: nothing of it is stored."""

from __future__ import annotations

import time
from collections.abc import Callable

#: seconds after which somebody who said nothing more is taken to have left; a console says so every ten
GONE_S = 30.0
#: of one item: more are not told apart
MOST = 20


class Presence:
    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._seen: dict[tuple[str, str], dict[str, float]] = {}

    def here(self, tenant: str, item: str, user: str) -> bool:
        """Whether that is news: who looks already only goes on looking."""
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
        return sorted(one for one in self._seen.get((tenant, item), {}) if one != user)

    def _sweep(self) -> None:
        late = self._now() - GONE_S
        for key, seen in list(self._seen.items()):
            for user in [user for user, at in seen.items() if at < late]:
                del seen[user]
            if not seen:
                del self._seen[key]
