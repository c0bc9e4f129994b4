"""Events for subscribers (D-X.22), derived from the journal: each has the number of the fact it tells of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from penstock.kernel import fact as F
from penstock.kernel.reading import Line, Reader
from penstock.kernel.state import STATUS
from penstock.lang.diagram import words
from penstock.net.compiled import Compiled
from penstock.store.contract import JournalRow


class Event(msgspec.Struct, omit_defaults=True):
    name: str
    run_id: str
    seq: int
    trace_id: str
    at: int
    node: str = ""
    edge: str = ""
    epoch: int = 0
    sequence_number: int | None = None
    iteration: int | None = None
    data: dict[str, Any] = {}


def events_of(net_of: Callable[[str], Compiled], run_id: str, journal: Iterable[JournalRow]) -> Iterator[Event]:
    """`seq` counts events, so that a subscriber can go on where it stopped."""
    reader = Reader(net_of)
    seq = 0
    for row in journal:
        for line in reader.turn(row.at, F.decode_facts(row.body)):
            for name, event in _tell(line, reader):
                seq += 1
                event.name, event.run_id, event.seq, event.trace_id, event.at = name, run_id, seq, reader.st.trace, row.at
                yield event


def _tell(line: Line, reader: Reader) -> Iterator[tuple[str, Event]]:
    epoch = max(line.epoch, 0)
    data = line.data

    def event(**more: Any) -> Event:
        return Event("", "", 0, "", 0, node=line.node, edge=line.edge, epoch=epoch, **more)

    if line.fact == "run.started":
        yield "run.started", event()
    elif line.fact == "put":
        yield "token.published", event(sequence_number=data["token"])
    elif line.fact == "fired":
        for edge, number in data["takes"]:
            yield "token.consumed", Event("", "", 0, "", 0, line.node, edge, epoch, number, data["visit"])
        yield "node.started", event(iteration=data["visit"])
    elif line.fact == "settled":
        yield from _settled(line, reader, event)
    elif line.fact == "absorbed":
        yield words.absorbed_event(data["why"]), event(sequence_number=data["token"], data={"why": data["why"]})
    elif line.fact == "swept":
        for edge, at_epoch, number in data.get("tokens", ()):
            yield "token.discarded", Event("", "", 0, "", 0, "", edge, at_epoch, number, data={"why": data["why"]})
    elif line.fact == "run.moved":
        name = words.run_event(data["to"])
        if name is not None:
            if data["to"] in STATUS[5:]:
                for node in _never_ran(reader):
                    yield "node.skipped", Event("", "", 0, "", 0, node, data={"skip_reason": "no_token"})
            yield name, event(data={"failure": data["failure"]} if data.get("failure") else {})


def _settled(line: Line, reader: Reader, event: Callable[..., Event]) -> Iterator[tuple[str, Event]]:
    data = line.data
    visit = data["visit"]
    more: dict[str, Any] = {"failure": data["failure"]} if "failure" in data else {}
    yield words.settled_event(data["status"]), event(iteration=visit, data=more)
    net = reader.net
    assert net is not None
    node = net.by_id[line.node]
    if "port" in data and node.port is not None:
        yield "branch.decided", event(iteration=visit, data={"branch": data["port"]})
    if node.max_iter is not None and visit >= node.max_iter and (node.cyclic or node.max_iter > 1):
        yield "node.maxiter_reached", event(iteration=visit)


def _never_ran(reader: Reader) -> list[str]:
    net = reader.net
    assert net is not None
    ran = {k & 0xFFFFF for scope in reader.st.scopes.values() for k in scope.visits}
    return [n.id for n in net.nodes if n.no not in ran and not (n.spec.origin and n.spec.origin != n.id)]
