"""Limits: how much a tenant may have at once, so that no tenant can stop the house.

Each has a default, a setting for everybody (`limits.NAME`) and one for a single tenant (`tenants.TENANT.limits.NAME`).
What lies beyond a limit is refused with the limit's own code, paced, or paused; the table says which.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from penstock.errors import BadInput
from penstock.kernel.run import Caps

#: facts that one run may make in a turn before others have theirs
SLICE = 500
#: the same while somebody waits for an answer on the loop
SHORT_SLICE = 40
#: so many are counted whenever it matters
CHEAP = 1000


class Limit(msgspec.Struct, frozen=True):
    """One limit. `code` is what its refusal says, and `beyond` what happens to what lies beyond it."""

    name: str
    default: int
    code: str
    beyond: Literal["refused", "fails", "waits", "pauses", "warns"]
    what: str


LIMITS: tuple[Limit, ...] = (
    Limit("fan_items", 10_000, "FAN_LIMIT", "fails", "items of one fan or multi-instance"),
    Limit("children_per_run", 10_000, "CHILDREN_LIMIT", "fails", "called runs of one run that have not ended"),
    Limit("call_depth", 32, "CALL_DEPTH_LIMIT", "fails", "runs that call each other, one below the other"),
    Limit("starts_per_minute", 600, "STARTS_LIMIT", "waits", "runs that one run starts in a minute"),
    Limit("admitted_runs", 1000, "ADMITTED_LIMIT", "waits", "runs under way of those that wait for room"),
    Limit("open_runs", 200_000, "PS-429-RUNS", "refused", "runs that have not ended"),
    Limit("open_work_items", 200_000, "PS-429-WORK", "refused", "work items that nobody has done yet"),
    Limit("event_logs", 100, "PROC-429-LOGS", "refused", "event logs that were brought for process mining"),
    Limit("event_log_events", 2_000_000, "PS-413-EVENT_LOG", "refused", "events of one event log, or of one history"),
    Limit("event_log_bytes", 512 * 1024**2, "PS-413-EVENT_LOG", "refused", "bytes of one event log, unpacked"),
    Limit("facts_warning", 100_000, "FACTS_WARNING", "warns", "facts of one run before it is warned of"),
    Limit("facts_per_run", 2_000_000, "FACTS_LIMIT", "pauses", "facts of one run"),
)
_BY_NAME = {limit.name: limit for limit in LIMITS}
SHARE = "share"


class TenantLimits(msgspec.Struct, frozen=True):
    """What holds for one tenant."""

    values: dict[str, int]
    caps: Caps
    share: float

    def __getitem__(self, name: str) -> int:
        return self.values[name]


class Limits:
    """The limits of every tenant, worked out once each."""

    def __init__(self, settings: Mapping[str, Any] | None = None, *, slice: int = SLICE) -> None:
        self.settings, self.slice, self.short = settings or {}, slice, False
        self.known: dict[str, TenantLimits] = {}
        for name in self.settings:
            _check(name, self.settings[name])

    def of(self, tenant: str) -> TenantLimits:
        limits = self.known.get(tenant)
        if limits is None:
            values = {limit.name: self._value(tenant, limit) for limit in LIMITS}
            caps = Caps(self._slice(), values["fan_items"], values["facts_warning"], values["facts_per_run"])
            share = float(self.settings.get(f"tenants.{tenant}.{SHARE}") or 1)
            limits = self.known[tenant] = TenantLimits(values, caps, share)
        return limits

    def shorten(self, short: bool) -> None:
        """Turns of every run end sooner, or as late as before."""
        self.short = short
        for limits in self.known.values():
            limits.caps.slice = self._slice()

    def _slice(self) -> int:
        return min(self.slice, SHORT_SLICE) if self.short else self.slice

    def caps(self, tenant: str) -> Caps:
        return self.of(tenant).caps

    def share(self, tenant: str) -> float:
        return self.of(tenant).share

    def _value(self, tenant: str, limit: Limit) -> int:
        own = self.settings.get(f"tenants.{tenant}.limits.{limit.name}")
        everybody = self.settings.get(f"limits.{limit.name}")
        return int(own if own is not None else everybody if everybody is not None else limit.default)


def _check(name: str, value: Any) -> None:
    """A setting that is none, or that no limit can be, is said when the store is opened and not when it is needed."""
    begin, _, last = name.rpartition(".")
    of_tenant = begin.startswith("tenants.")
    if of_tenant and last == SHARE and not begin.endswith(".limits"):
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0.01 <= value <= 100:
            raise BadInput(what=f"the setting «{name}»", why="a share is a number from 0.01 to 100")
    elif begin == "limits" or of_tenant and begin.endswith(".limits"):
        if last not in _BY_NAME:
            raise BadInput(what=f"the setting «{name}»", why=f"the limits are {', '.join(_BY_NAME)}")
        checked_count(name, value)


def checked_count(name: str, value: Any) -> int:
    """The value of a setting that says how many. Raises BadInput."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise BadInput(what=f"the setting «{name}»", why="it is a whole number of at least 1")
    return value


class OpenCount:
    """How many a tenant has open, against a limit, without counting them each time.

    What was counted, and what has been added since, is the most there can be: only when that reaches the limit is it
    counted again, and where that is much to count at most once per `pause_ms`. `pending` are not in the store yet."""

    def __init__(
        self, count: Callable[[str, int], int], now: Callable[[], int], pause_ms: int = 1000,
        pending: Callable[[str], int] = lambda tenant: 0,
    ) -> None:  # fmt: skip
        self.count, self.now, self.pause_ms, self.pending = count, now, pause_ms, pending
        self.most: dict[str, int] = {}
        self.counted_at: dict[str, int] = {}

    def added(self, tenant: str, number: int = 1) -> None:
        if tenant in self.most:
            self.most[tenant] += number

    def full(self, tenant: str, limit: int) -> bool:
        known = self.most.get(tenant)
        if known is not None and known < limit:
            return False
        now = self.now()
        if known is not None and limit > CHEAP and 0 <= now - self.counted_at[tenant] < self.pause_ms:
            return True
        self.most[tenant], self.counted_at[tenant] = self.count(tenant, limit) + self.pending(tenant), now
        return self.most[tenant] >= limit
