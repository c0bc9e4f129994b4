"""What the engine remembers of verdicts: judgments and reviews."""

from __future__ import annotations

from typing import Any

import msgspec

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
    listed = []
    for row in store.judgments(tenant, since=since, reviews=reviews, limit=limit if name is None else 1_000_000):
        if name is not None and row.name != name:
            continue
        body = _unpack(row.body)
        listed.append(
            Judgment(
                run=row.run, node=row.node, document=row.name, decision=row.decision,
                needs_review=bool(row.needs_review), at=row.at, input=body.get("input"), output=body.get("output"),
                proposed=body.get("proposed"), firing=row.firing,
            )
        )  # fmt: skip
        if len(listed) == limit:
            break
    return listed
