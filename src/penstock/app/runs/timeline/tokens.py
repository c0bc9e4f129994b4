"""Every token of a run with its envelope (D-2.1, D-X.20): where it was put, what it carried, and what became of it."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from penstock.dialects.token_events import absorbed_event
from penstock.executors.handler import Envelope, metadata_of
from penstock.kernel import fact as F
from penstock.kernel.fact_lines import FactLine, FactReader
from penstock.kernel.token import Envelope as Carried
from penstock.kernel.token import content_type_of
from penstock.net.compiled import Compiled
from penstock.store.run_store import JournalRow

Resolve = Callable[[Any], Any]
Where = tuple[str, str, int, int]  # edge, scope, epoch, sequence number


class TokenRecord(msgspec.Struct, kw_only=True):
    """`fate` is empty while it lies there; then consumed (by `by`), absorbed, expired or discarded."""

    edge: str
    epoch: int
    sequence_number: int
    scope: str = ""
    envelope: Envelope
    fate: str = ""
    by: str = ""


def tokens_of(net_of: Callable[[str], Compiled], journal: Iterable[JournalRow], resolve: Resolve) -> list[TokenRecord]:
    """In the order in which they were put."""
    reader = FactReader(net_of)
    found: dict[Where, TokenRecord] = {}
    for row in journal:
        lines = reader.turn(row.at, F.decode_facts(row.body))
        carried = iter(reader.carried)
        for line in lines:
            if line.fact == "put":
                at = (line.edge, line.scope, line.epoch, line.data["token"])
                found[at] = _token(line, next(carried), reader, resolve)
            for token, fate in _gone(line, found):
                token.fate, token.by = fate, line.node
    return list(found.values())


def _gone(line: FactLine, found: dict[Where, TokenRecord]) -> Iterator[tuple[TokenRecord, str]]:
    """Tokens that this fact has taken, and what became of them."""
    if line.fact == "fired":
        for edge, number in line.data["takes"]:
            yield found[edge, line.scope, line.epoch, number], "consumed"
    elif line.fact == "absorbed":
        fate = absorbed_event(line.data["why"]).removeprefix("token.")
        yield found[line.edge, line.scope, line.epoch, line.data["token"]], fate
    elif line.fact == "swept":
        for edge, epoch, number in line.data.get("tokens", ()):
            yield (
                next(
                    token
                    for (e, scope, *at), token in found.items()
                    if not token.fate and e == edge and at == [epoch, number] and scope.startswith(line.scope)
                ),
                "discarded",
            )


def _token(line: FactLine, carried: Carried, reader: FactReader, resolve: Resolve) -> TokenRecord:
    net = reader.net
    assert net is not None
    source = net.edge_by_id[line.edge].src
    body = resolve(carried.body)
    envelope = Envelope(
        id=f"{line.edge}/{line.epoch}/{line.data['token']}",
        body=body,
        content_type=carried.content_type or content_type_of(body),
        metadata=metadata_of(carried.meta or {}, carried.visit),
        produced_by=source.spec.origin or source.id,
        trace_id=reader.st.trace,
        created_at=datetime.datetime.fromtimestamp(carried.at / 1000, datetime.UTC).isoformat(timespec="milliseconds"),
    )
    return TokenRecord(
        edge=line.edge,
        epoch=line.epoch,
        sequence_number=line.data["token"],
        scope=line.scope,
        envelope=envelope,
    )
