"""What the delivery of events has to say: an event of its own, once, such as for a severity that is on no scale."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from penstock.executors.contract import Tenant
from penstock.expr.filters import SCALES, off_scale
from penstock.store.events import EventRow, EventStore

#: The source of warnings.
WARNING = "penstock.warning"
_pack = msgspec.msgpack.Encoder().encode
log = logging.getLogger("penstock")


def scales_of(tenant: Tenant) -> Mapping[str, Mapping[str, float]]:
    """C-30: the usual ranks, and those that the tenant has set under `event_scales`."""
    own = (tenant.find("config", "tenant") or {}).get("event_scales")
    if not isinstance(own, Mapping):
        return SCALES
    return {**SCALES, **{name: scale for name, scale in own.items() if isinstance(scale, Mapping)}}


class EventWarnings:
    def __init__(self, store: EventStore, tenant: Callable[[str], Tenant], now: Callable[[], int]) -> None:
        self.store, self.tenant, self.now = store, tenant, now

    def off_scale(self, event: EventRow, payload: Any, wanted: Any, tenant: str, who: str) -> list[str]:
        fields = off_scale(payload, wanted, scales_of(self.tenant(tenant)))
        if not fields or event.source == WARNING:
            return []
        text = f"event {event.id}: {', '.join(fields)} is on no scale, so it does not match {who}"
        return self.warn(tenant, f"{event.id}:{who}:off_scale", text, {"event": event.id, "fields": fields})

    def warn(self, tenant: str, id: str, text: str, detail: dict[str, Any]) -> list[str]:
        """An event of its own, once: it is kept, listed, and may start what looks after such things."""
        body = _pack({"message": text, **detail})
        if self.store.put_event(EventRow(tenant, f"warning:{id}", WARNING, body, self.now())) is not None:
            log.warning("%s", text)
        return [text]
