"""Events of a run for subscribers (D-X.22): each tells of one fact, token by token. A language may have its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from penstock.kernel.fact_lines import FactLine, FactReader, firing_of
from penstock.kernel.state import COMPLETED, STATUS
from penstock.net.author import author
from penstock.net.compiled import Compiled

_RUN_MOVED = {
    "WAITING": "run.waiting", "COMPLETED": "run.completed", "FAILED": "run.failed", "TIMEOUT": "run.failed",
    "CANCELLED": "run.cancelled", "COMPENSATED": "run.cancelled",
}  # fmt: skip
_SETTLED = {
    "done": "node.completed", "failed": "node.failed", "skipped": "node.skipped", "interrupted": "node.skipped",
}  # fmt: skip
_ABSORBED = {"late": "token.absorbed", "max_iteration": "token.absorbed", "expired": "token.expired"}


class Event(msgspec.Struct, omit_defaults=True):
    """`seq` counts events, so that a subscriber can go on where it stopped. `node` is who published, took or worked."""

    name: str
    run_id: str
    seq: int
    trace_id: str
    at: int
    node: str
    epoch: int
    edge: str = ""
    sequence_number: int | None = None
    iteration: int | None = None
    data: dict[str, Any] = {}


class TokenEvents:
    def __init__(self, net_of: Callable[[str], Compiled], run_id: str) -> None:
        self.reader = FactReader(net_of)
        self.run_id = run_id
        self.seq = 0
        self.ran: set[str] = set()
        self.reached: set[str] = set()  # the author's nodes that a token has come to
        self.parted: set[str] = set()  # the author's nodes that begin with another part of them
        self.open: dict[str, FactLine] = {}  # firings that have not ended, by their id
        self.visits: dict[tuple[str, int], int] = {}  # node, epoch → its last visit, in the root
        self.before: dict[tuple[str, int], int] = {}  # the same at the last restart: limits count from there

    def turn(self, at: int, facts: list[Any]) -> Iterator[Event]:
        for line in self.reader.turn(at, facts):
            yield from self.tell(line)

    def tell(self, line: FactLine) -> Iterator[Event]:
        data = line.data
        if line.fact in ("run.started", "migrated"):
            self.parted = {n.spec.origin for n in self._net.nodes if n.id != author(n) and not n.scope}
        if line.fact == "run.started":
            yield self._event("run.started", line)
        elif line.fact == "put":
            edge = self._net.edge_by_id[line.edge]
            source = author(edge.src)
            self.reached.add(author(edge.dst))
            yield self._event("token.published", line, node=source, sequence_number=data["token"])
        elif line.fact == "fired":
            yield from self._fired(line)
        elif line.fact == "settled":
            yield from self._settled(line)
        elif line.fact == "absorbed":
            name, target = absorbed_event(data["why"]), author(self._net.edge_by_id[line.edge].dst)
            yield self._event(name, line, node=target, sequence_number=data["token"], data={"why": data["why"]})
        elif line.fact == "swept":
            yield from self._swept(line)
        elif line.fact == "run.moved":
            yield from self._moved(line)
        elif line.fact == "run.reopened" and data["how"] == "restart":
            self.before = dict(self.visits)

    def _fired(self, line: FactLine) -> Iterator[Event]:
        node, visit = self._net.by_id[line.node], line.data["visit"]
        for edge, number in line.data["takes"]:
            yield self._event(
                "token.consumed", line, node=author(node), edge=edge, sequence_number=number, iteration=visit
            )
        drawn = author(node)
        if not node.scope and (node.id != drawn or drawn not in self.parted):
            yield self._event("node.started", line, node=drawn, iteration=visit)
        self.ran.add(drawn)
        self.open[firing_of(line)] = line
        if not line.scope:
            self.visits[line.node, line.epoch] = visit

    def _settled(self, line: FactLine) -> Iterator[Event]:
        data, node = line.data, self._net.by_id[line.node]
        visit, status = data["visit"], data["status"]
        self.open.pop(firing_of(line), None)
        if node.scope or (node.id != author(node) and status == "done"):
            return  # what follows within the author's node tells the end of it
        more: dict[str, Any] = {"failure": data["failure"]} if "failure" in data else {}
        if status in ("skipped", "interrupted"):
            more["skip_reason"] = (data.get("meta") or {}).get("skip_reason", "policy")
        yield self._event(settled_event(status), line, node=author(node), iteration=visit, data=more)
        if status != "done":
            return
        if "port" in data and node.port is not None:
            yield self._event("branch.decided", line, iteration=visit, data={"branch": data["port"]})
        rounds = visit - self.before.get((line.node, line.epoch), 0)
        if node.at_limit(rounds):
            yield self._event("node.maxiter_reached", line, iteration=visit)

    def _swept(self, line: FactLine) -> Iterator[Event]:
        why = {"why": line.data["why"]}
        for edge, epoch, number in line.data.get("tokens", ()):
            target = author(self._net.edge_by_id[edge].dst)
            yield self._event(
                "token.discarded", line, node=target, edge=edge, epoch=epoch, sequence_number=number, data=why
            )
        for firing in line.data.get("firings", ()):
            was = self.open.pop(firing, None)
            node = self._net.by_id[was.node] if was is not None else None
            if was is not None and node is not None and not node.scope:
                more = {**why, "skip_reason": "policy"}
                visit = was.data["visit"]
                yield self._event("node.skipped", line, node=author(node), epoch=was.epoch, iteration=visit, data=more)

    def _moved(self, line: FactLine) -> Iterator[Event]:
        to = line.data["to"]
        name = run_event(to)
        if name is None:
            return
        if STATUS.index(to) >= COMPLETED:
            for node in self._net.nodes:
                if node.id == author(node) and node.id not in self.ran:
                    why = "policy" if node.id in self.reached else "no_token"  # it had some, but its join wants more
                    yield self._event("node.skipped", line, node=node.id, data={"skip_reason": why})
        yield self._event(name, line, data={"failure": line.data["failure"]} if line.data.get("failure") else {})

    def _event(self, name: str, line: FactLine, **more: Any) -> Event:
        self.seq += 1
        where = {"node": line.node, "edge": line.edge, "epoch": max(line.epoch, 0), **more}
        return Event(name, self.run_id, self.seq, self.reader.st.trace, line.at, **where)

    @property
    def _net(self) -> Compiled:
        assert self.reader.net is not None, "a run begins with its net"
        return self.reader.net


def run_event(status: str) -> str | None:
    """The event of a run that has moved to a status of the house; None if subscribers are not told."""
    return _RUN_MOVED.get(status)


def settled_event(status: str) -> str:
    """The event of a firing that has settled."""
    return _SETTLED[status]


def absorbed_event(why: str) -> str:
    """The event of a token that was taken without work; one that was swept with its scope was discarded."""
    return _ABSORBED.get(why, "token.discarded")
