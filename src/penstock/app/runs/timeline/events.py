"""Events for subscribers (D-X.22), derived from the journal, in the words of the run's language.

Of a diagram each tells of one fact; of a workflow each tells of a move of the instance or of a node (W-2.2, W-2.3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from penstock.app.runs.timeline import history
from penstock.app.runs.timeline.transitions import Transition
from penstock.dialects.decision.words import EVENTS
from penstock.dialects.diagram import words
from penstock.kernel import fact as F
from penstock.kernel.reading import FactLine, Reader, failure_dict, firing_of
from penstock.kernel.state import COMPLETED, STATUS, State
from penstock.net.author import author, beside, nobodys
from penstock.net.compiled import Compiled
from penstock.store.contract import JournalRow


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


class Teller:
    """Tells a run's journal turn by turn, so that a long run is not told again from its beginning."""

    def __init__(self, net_of: Callable[[str], Compiled], run_id: str) -> None:
        self.net_of, self.run_id = net_of, run_id
        self.told: _Diagram | _Workflow | None = None

    def turn(self, row: JournalRow) -> Iterator[Event]:
        facts = F.decode_facts(row.body)
        if self.told is None:
            first = self.net_of(facts[0][3]).net  # a run begins with its net
            kind = _Workflow if first.language == "decision" else _Diagram
            self.told = kind(self.net_of, self.run_id)
        yield from self.told.turn(row.at, facts)


class _Diagram:
    def __init__(self, net_of: Callable[[str], Compiled], run_id: str) -> None:
        self.reader = Reader(net_of)
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
            name, target = words.absorbed_event(data["why"]), author(self._net.edge_by_id[line.edge].dst)
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
        yield self._event(words.settled_event(status), line, node=author(node), iteration=visit, data=more)
        if status != "done":
            return
        if "port" in data and node.port is not None:
            yield self._event("branch.decided", line, iteration=visit, data={"branch": data["port"]})
        rounds = visit - self.before.get((line.node, line.epoch), 0)
        if node.max_iter is not None and rounds >= node.max_iter and (node.cyclic or node.max_iter > 1):
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
        name = words.run_event(to)
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


_ENDS = ("succeeded", "failed", "skipped")
_ENDED = ("completed", "failed", "cancelled", "compensated")


class _Workflow:
    """An execution of an author's node is told when somebody has begun it, and once when it has ended."""

    def __init__(self, net_of: Callable[[str], Compiled], run_id: str) -> None:
        self.net_of, self.run_id = net_of, run_id
        self.history: history.Teller | None = None
        self.seq = 0
        self.told: set[str] = set()  # the author's nodes that something was told of

    def turn(self, at: int, facts: list[Any]) -> Iterator[Event]:
        if self.history is None:
            self.history = history.Teller(self.net_of, at)
        self.history.turn(at, facts)
        moves = list(self.history.book.found)
        self.history.book.forget()
        failures = self._failures(facts)
        for i, move in enumerate(moves):
            if move.of == "node":
                yield from self._node(at, move, moves[i + 1 :], failures)
            elif move.of == "instance" and move.event != "node_complete":
                yield from self._instance(at, move)

    def _node(
        self, at: int, move: Transition, later: list[Transition], failures: dict[str, dict[str, Any]]
    ) -> Iterator[Event]:
        node = move.node_id or ""
        more: dict[str, Any] = {}
        if move.from_ == "queued" and move.to == "running":
            name = "node.started"
        elif move.to in _ENDS and move.from_ != "compensating" and not _ends_later(move, later):
            name = f"node.{move.to}"
            if move.to == "failed" and node in failures:
                more["failure"] = failures[node]
            elif move.to == "skipped":
                more["skip_reason"] = move.event
        else:
            return
        self.told.add(node)
        visit = (move.execution or "").rpartition("#")[2].partition("!")[0]
        yield self._event(name, at, node, int(visit) if visit.isdecimal() else None, more)

    def _instance(self, at: int, move: Transition) -> Iterator[Event]:
        """What was never begun was skipped, when the end has come."""
        name = f"instance.{move.to}"
        more: dict[str, Any] = {}
        if name not in EVENTS:
            return
        if move.to in _ENDED:
            for node in self._authored():
                if node not in self.told:
                    self.told.add(node)
                    yield self._event("node.skipped", at, node, None, {"skip_reason": "no_token"})
            if move.to != "completed" and (failure := self._st.failure) is not None:
                more["failure"] = self._shown(failure)
        for said in ("node_id", "reason", "by"):
            if getattr(move, said) is not None:
                more[said] = getattr(move, said)
        yield self._event(name, at, "", None, more)

    def _authored(self) -> dict[str, None]:
        return dict.fromkeys(author(node) for node in self._net.nodes if not beside(node) and not nobodys(node))

    def _failures(self, facts: list[Any]) -> dict[str, dict[str, Any]]:
        nodes = self._net.nodes
        failed = [f for f in facts if f[0] == F.SETTLED and f[10] is not None and f[4] < len(nodes)]
        return {author(nodes[f[4]]): self._shown(f[10]) for f in failed}

    def _shown(self, failure: Any) -> dict[str, Any]:
        told = failure_dict(failure) or {}
        found = self._net.by_id.get(told.get("node") or "")
        return told if found is None else {**told, "node": author(found)}

    def _event(self, name: str, at: int, node: str, visit: int | None, data: dict[str, Any]) -> Event:
        self.seq += 1
        return Event(name, self.run_id, self.seq, self._st.trace, at, node, 0, iteration=visit, data=data)

    @property
    def _st(self) -> State:
        assert self.history is not None
        return self.history.reader.st

    @property
    def _net(self) -> Compiled:
        assert self.history is not None and self.history.reader.net is not None, "a run begins with its net"
        return self.history.reader.net


def _ends_later(move: Transition, later: list[Transition]) -> bool:
    """W-2.3.2: what failed and is skipped for it has one end."""
    return any(one.execution == move.execution and one.to == "skipped" for one in later if one.of == "node")
