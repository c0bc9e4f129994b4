"""The limits of a tenant with what it uses of them, for the doctor, the API and the console."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import msgspec

from penstock.app.runs.long.read_limits import LOOP_FACTS, loop_facts_of
from penstock.host.limits import LIMITS, Limits
from penstock.host.sizes import Sizes, sizes_of
from penstock.host.start_limits import CountingStore
from penstock.store.event_logs import EventLogStore


class LimitedStore(CountingStore, EventLogStore, Protocol):
    """What counts what is limited."""


#: from this share of a limit on somebody should look
NEARLY = 0.8


class LimitUse(msgspec.Struct, frozen=True, kw_only=True):
    """One limit of a tenant. `used` is None where it holds for each run and not for all of them together; one of the
    whole house has the name of its setting."""

    name: str
    limit: int
    default: int
    used: int | None
    beyond: str  # refused, fails, waits, pauses, warns, aside
    code: str
    what: str


def limit_uses(store: LimitedStore, settings: Mapping[str, Any], tenant: str) -> list[LimitUse]:
    own = Limits(settings).of(tenant)
    used = {
        "open_runs": store.count_open_runs(tenant, own["open_runs"]),
        "open_work_items": store.count_open_items(tenant, own["open_work_items"]),
        "event_logs": store.count_event_logs(tenant),
    }
    return [
        LimitUse(
            name=limit.name, limit=own[limit.name], default=limit.default, used=used.get(limit.name),
            beyond=limit.beyond, code=limit.code, what=limit.what,
        )
        for limit in LIMITS
    ]  # fmt: skip


#: of the whole house: what it is, what happens beyond it, and what a refusal says
_HOUSE = {
    "sizes.body_bytes": ("bytes of a request's body", "refused", "PS-413-BODY"),
    "sizes.document_bytes": ("bytes of a document", "refused", "PS-413-DOCUMENT"),
    "sizes.inline_bytes": ("bytes of a value in a row; larger ones are kept beside it", "aside", ""),
    "reads.loop_facts": ("facts of a run that is read where the engine runs; longer ones beside it", "aside", ""),
}


def house_limits(settings: Mapping[str, Any]) -> list[LimitUse]:
    """Those that hold for all tenants alike. Raises BadInput for a setting that is none."""
    sizes, plain = sizes_of(settings), Sizes()
    known = {f"sizes.{name}": (getattr(sizes, name), getattr(plain, name)) for name in Sizes.__struct_fields__}
    known["reads.loop_facts"] = (loop_facts_of(settings), LOOP_FACTS)
    return [
        LimitUse(
            name=name, limit=known[name][0], default=known[name][1], used=None, beyond=beyond, code=code, what=what
        )
        for name, (what, beyond, code) in _HOUSE.items()
    ]


def nearly_full(uses: list[LimitUse]) -> Iterator[LimitUse]:
    return (use for use in uses if use.used is not None and use.used >= NEARLY * use.limit)
