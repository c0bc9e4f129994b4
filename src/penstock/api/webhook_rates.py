"""How many requests a webhook takes in a time window (W-3.2.4)."""

from __future__ import annotations

from collections import deque

from penstock.app.releases.triggers import Webhook
from penstock.errors import HookTooMany


class WebhookRates:
    """Counted per tenant and workflow, in this process."""

    def __init__(self) -> None:
        self._taken: dict[str, deque[int]] = {}

    def take(self, tenant: str, hook: Webhook, now: int) -> None:
        """Raises HookTooMany, with the seconds after which one more is taken."""
        rate = hook.rate
        if rate is None:
            return
        taken, window = self._taken.setdefault(f"{tenant}/{hook.name}", deque()), int(rate.window_sec * 1000)
        while taken and taken[0] <= now - window:
            taken.popleft()
        if len(taken) >= rate.requests:
            wait = max(1, -(-(taken[0] + window - now) // 1000))
            raise HookTooMany(name=hook.name, requests=rate.requests, seconds=f"{rate.window_sec:g}", retry_s=wait)
        taken.append(now)
