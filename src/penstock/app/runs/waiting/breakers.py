"""The circuit breakers of a tenant, as the store has them (W-7.3)."""

from __future__ import annotations

import msgspec

from penstock.host.gate import BreakerState
from penstock.store.contract import Store


class Breaker(msgspec.Struct, kw_only=True):
    """A circuit breaker (W-7.3): its name is WORKFLOW/NODE. `recent` are its last calls, 1 = failed."""

    name: str
    status: str
    failures_in_a_row: int
    recent: list[int]
    opened_at: int | None = None


def breakers(store: Store, tenant: str) -> list[Breaker]:
    found = []
    for key, body in store.gates():
        kind, _, name = key.partition(":")
        if kind != "breaker" or not name.startswith(f"{tenant}/"):
            continue
        state = msgspec.msgpack.decode(body, type=BreakerState)
        found.append(
            Breaker(
                name=name.removeprefix(f"{tenant}/"), status=state.status,
                failures_in_a_row=state.in_a_row if state.status == "closed" else 0, recent=state.window,
                opened_at=state.opened_at if state.status != "closed" else None,
            )
        )  # fmt: skip
    return found
