"""The limits of a tenant with what it uses of them, for the doctor, the API and the console."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from penstock.host.limits import LIMITS, Limits
from penstock.host.start_limits import CountingStore

#: from this share of a limit on somebody should look
NEARLY = 0.8


class LimitUse(msgspec.Struct, frozen=True, kw_only=True):
    """One limit of a tenant. `used` is None where it holds for each run and not for all of them together."""

    name: str
    limit: int
    default: int
    used: int | None
    beyond: str  # refused, fails, waits, pauses, warns
    code: str
    what: str


def limit_uses(store: CountingStore, settings: Mapping[str, Any], tenant: str) -> list[LimitUse]:
    own = Limits(settings).of(tenant)
    used = {
        "open_runs": store.count_open_runs(tenant, own["open_runs"]),
        "open_work_items": store.count_open_items(tenant, own["open_work_items"]),
    }
    return [
        LimitUse(
            name=limit.name, limit=own[limit.name], default=limit.default, used=used.get(limit.name),
            beyond=limit.beyond, code=limit.code, what=limit.what,
        )
        for limit in LIMITS
    ]  # fmt: skip


def nearly_full(uses: list[LimitUse]) -> Iterator[LimitUse]:
    return (use for use in uses if use.used is not None and use.used >= NEARLY * use.limit)
