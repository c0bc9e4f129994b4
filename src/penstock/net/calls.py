"""Which net a call means: one by its hash; or, where a document calls itself, the one of its own family.

A net that calls itself cannot hold its own hash. Its document has a mark instead, which the call names: the nearest
caller that bears it is meant, else one that somebody of the family calls by its hash.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from penstock.net.model import Net

#: Policy of a net that is called by the mark of its document.
DOCUMENT = "document"
#: Member of a call's arguments: the mark of the document that it calls.
AGAIN = "again"


def called_hashes(net: Net) -> Iterator[str]:
    """The nets that a net calls by their hashes; a rollout is none."""
    for node in net.nodes:
        args: Any = node.effect.args if node.effect is not None and node.effect.executor == "call" else None
        if isinstance(args, dict) and isinstance(args.get("net"), str) and args["net"] and not args.get("detached"):
            yield args["net"]


def again(args: Mapping[str, Any], family: Iterable[Net], find: Callable[[str], Net | None]) -> Net | None:
    """The net of a call that names a mark. `family`: the net that calls, the one that has called it, and so on."""
    wanted, last = args.get(AGAIN), None
    for net in family:
        if net.declares.policies.get(DOCUMENT) == wanted:
            return net
        last = net
    return None if last is None else _below(last, wanted, find)


def _below(net: Net, wanted: Any, find: Callable[[str], Net | None]) -> Net | None:
    known: set[str] = set()
    pending = list(called_hashes(net))
    while pending:
        if (hash := pending.pop()) in known:
            continue
        known.add(hash)
        called = find(hash)
        if called is not None and called.declares.policies.get(DOCUMENT) == wanted:
            return called
        pending += called_hashes(called) if called is not None else ()
    return None
