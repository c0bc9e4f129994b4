"""What the engine remembers of verdicts, and of those it calls: judgments, reviews, breakers."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.host.gate import BreakerState
from penstock.store.contract import Store

_unpack = msgspec.msgpack.decode


class Judgment(msgspec.Struct, kw_only=True):
    """A verdict, and what it was made from where the document lets that be written down. `proposed` is what a person
    was asked about, where a person has decided."""

    run: str
    node: str
    document: str
    decision: str
    needs_review: bool
    at: int
    input: Any = None
    output: Any = None
    proposed: Any = None
    firing: int = 0


def judgments(
    store: Store, tenant: str, *, since: int = 0, reviews: bool = False, name: str | None = None, limit: int = 100
) -> list[Judgment]:
    """Newest first."""
    found = []
    for row in store.judgments(tenant, since=since, reviews=reviews, limit=limit if name is None else 1_000_000):
        if name is not None and row.name != name:
            continue
        body = _unpack(row.body)
        found.append(
            Judgment(
                run=row.run, node=row.node, document=row.name, decision=row.decision,
                needs_review=bool(row.needs_review), at=row.at, input=body.get("input"), output=body.get("output"),
                proposed=body.get("proposed"), firing=row.firing,
            )
        )  # fmt: skip
        if len(found) == limit:
            break
    return found


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
