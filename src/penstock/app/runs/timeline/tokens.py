"""Every token of a run with its envelope (D-2.1, D-X.20): where it was put, what it carried, and what became of it."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from penstock.dialects.token_events import absorbed_event
from penstock.executors.handler import Envelope, metadata_of
from penstock.kernel.fact_lines import FactLine
from penstock.kernel.token import Envelope as Carried
from penstock.kernel.token import content_type_of
from penstock.net.compiled import Compiled

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


def tokens_of(
    turns: Iterable[tuple[list[FactLine], list[Carried], Compiled]], trace: str, resolve: Resolve
) -> list[TokenRecord]:
    """In the order in which they were put; a turn is its lines, what the tokens carry that it has put, and its net."""
    tokens: dict[Where, TokenRecord] = {}
    for lines, envelopes, net in turns:
        carried = iter(envelopes)
        for line in lines:
            if line.fact == "put":
                at = (line.edge, line.scope, line.epoch, line.data["token"])
                tokens[at] = _token(line, next(carried), net, trace, resolve)
            for token, fate in _gone(line, tokens):
                token.fate, token.by = fate, line.node
    return list(tokens.values())


def _gone(line: FactLine, tokens: dict[Where, TokenRecord]) -> Iterator[tuple[TokenRecord, str]]:
    """Tokens that this fact has taken, and what became of them."""
    if line.fact == "fired":
        for edge, number in line.data["takes"]:
            yield tokens[edge, line.scope, line.epoch, number], "consumed"
    elif line.fact == "absorbed":
        fate = absorbed_event(line.data["why"]).removeprefix("token.")
        yield tokens[line.edge, line.scope, line.epoch, line.data["token"]], fate
    elif line.fact == "swept":
        for edge, epoch, number in line.data.get("tokens", ()):
            yield (
                next(
                    token
                    for (e, scope, *at), token in tokens.items()
                    if not token.fate and e == edge and at == [epoch, number] and scope.startswith(line.scope)
                ),
                "discarded",
            )


def _token(line: FactLine, carried: Carried, net: Compiled, trace: str, resolve: Resolve) -> TokenRecord:
    source = net.edge_by_id[line.edge].src
    body = resolve(carried.body)
    envelope = Envelope(
        id=f"{line.edge}/{line.epoch}/{line.data['token']}",
        body=body,
        content_type=carried.content_type or content_type_of(body),
        metadata=metadata_of(carried.meta or {}, carried.visit),
        produced_by=source.spec.origin or source.id,
        trace_id=trace,
        created_at=datetime.datetime.fromtimestamp(carried.at / 1000, datetime.UTC).isoformat(timespec="milliseconds"),
    )
    return TokenRecord(
        edge=line.edge,
        epoch=line.epoch,
        sequence_number=line.data["token"],
        scope=line.scope,
        envelope=envelope,
    )
