"""A run's state on its drawing, folded fact by fact: node states, edges taken, and where tokens are."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import msgspec

from penstock.app.drawing.net_graph import NetDrawing, drawing_of, undo_edge
from penstock.app.drawing.tone import node_tone
from penstock.app.runs.run_view import FiringView, RunFold, words_of
from penstock.dialects import dialect_of
from penstock.dialects.net_nodes import inner_names, is_companion
from penstock.kernel.fact_lines import FactLine
from penstock.kernel.state import COMPLETED, IN_SCOPE, IN_UNDO, PHASE, Firing, State
from penstock.lifecycle.firing import UNIT_WORDS
from penstock.net.author import author
from penstock.net.compiled import EPOCH, MOST, Compiled

_inner = lru_cache(256)(inner_names)
_UNDONE = {"RUNNING": "COMPENSATING", "EXECUTED": "COMPENSATED", "FAILED": "FAILED"}


class NodeState(msgspec.Struct, kw_only=True):
    """`state` is the house's word, `status` the language's. `count` is how often it has fired, `attempt`, `ms` and
    `note` are about the last time: `note` is a code, a port or a reason."""

    state: str
    status: str
    tone: str
    count: int = 0
    attempt: int = 0
    ms: int | None = None
    note: str | None = None


class TokenPlace(msgspec.Struct, kw_only=True):
    """Tokens on an edge, or in a node that works or waits."""

    edge: str | None = None
    node: str | None = None
    count: int = 0
    epochs: list[int] = []


class RunOverlay:
    def __init__(self, net_of: Callable[[str], Compiled], resolve: Callable[[Any], Any]) -> None:
        self.fold = RunFold(net_of, resolve)
        self.last: dict[str, int] = {}  # author's node → its last firing
        self.fired: dict[str, int] = {}  # how often
        self.notes: dict[str, str] = {}
        self.undone: dict[str, str] = {}
        self.taken: dict[str, None] = {}
        self.newly: list[str] = []  # edges that the last fact has made taken
        self.node: str | None = None  # that the last fact is about
        self.settled = ""  # the author's node that settled last, while its tokens are still to be put
        self._touched: set[str] = set()
        self._known = 0  # firings of the fold that are counted

    @property
    def st(self) -> State:
        return self.fold.reader.st

    @property
    def net(self) -> Compiled:
        assert self.fold.reader.net is not None, "a run begins with its net"
        return self.fold.reader.net

    @property
    def drawn(self) -> NetDrawing:
        return drawing_of(self.net)

    # -- folding -------------------------------------------------------------------------------------------------------

    def one(self, at: int, fact: Any, *, ends: bool) -> None:
        """Fold one fact; `ends`: it is the last of its turn."""
        self._touched, self.newly, self.node = set(), [], None
        was = self.st.status
        lines = self.fold.one(at, fact)
        for line in lines:
            self._tell(line)
        for number in range(self._known, len(self.fold.firings)):
            self._count(number, self.fold.firings[number])
        self.count_known()
        if ends:
            self.st.hand = None
        if (was >= COMPLETED) != (self.st.status >= COMPLETED):
            self._touched |= {node.id for node in self.drawn.nodes}

    def count_known(self) -> None:
        """The firings that are there are counted already."""
        self._known = len(self.fold.firings)

    def _count(self, number: int, firing: FiringView) -> None:
        if number not in self.fold.items:
            self.last[firing.node] = number
            self.fired[firing.node] = self.fired.get(firing.node, 0) + 1
            self._touched.add(firing.node)

    def _tell(self, line: FactLine) -> None:
        compiled = self.net.by_id.get(line.node)
        if compiled is not None and not is_companion(compiled):
            self.node = self.node or author(compiled)
            self._touched.add(author(compiled))
        if line.fact == "put":
            self._took(self.drawn.ways[self.net.edge_by_id[line.edge].no])
        elif line.fact == "fired" and "undoes" in line.data and compiled is not None:
            entry = self.st.ledger[line.data["undoes"]]
            self._took(undo_edge(author(self.net.nodes[entry.node]), author(compiled)))
        elif line.fact == "settled" and compiled is not None and not is_companion(compiled):
            self._settled(line, author(compiled))
        elif line.fact == "undo.step":
            node = author(self.net.nodes[self.st.ledger[line.data["entry"]].node])
            self.undone[node] = _UNDONE.get(line.data["status"], "")
            self._touched.add(node)
        elif line.fact == "swept":
            looks = (self.fold.by_id.get(id) for id in line.data.get("firings", ()))
            self._touched |= {look.node for look in looks if look is not None}
        elif line.fact == "run.reopened" and line.data["how"] == "restart":
            self.notes, self.undone = {}, {}

    def _took(self, edge: str | None) -> None:
        if edge is not None and edge not in self.taken:
            self.taken[edge] = None
            self.newly.append(edge)

    def _settled(self, line: FactLine, node: str) -> None:
        data, spoken = line.data, self.drawn.first.get(node)
        self.settled = node
        note = (data.get("failure") or {}).get("code") or (data.get("meta") or {}).get("skip_reason")
        if note is None and spoken is not None and spoken.port is not None:
            note = data.get("port")
        if note is not None:
            self.notes[node] = str(note)
        elif line.node == node:
            self.notes.pop(node, None)

    # -- looking -------------------------------------------------------------------------------------------------------

    def touched(self) -> list[str]:
        """Drawn nodes that the last fact may have changed."""
        known = self.drawn.first
        return [id for id in sorted(self._touched) if id in known]

    def state(self, node: str) -> NodeState:
        ended, net, words = self.st.status >= COMPLETED, self.net, words_of(self.net.net.language)
        number = self.last.get(node)
        if number is None:
            unit = "SKIPPED" if ended else "PENDING"
            word = words.unit.get("SKIPPED" if ended else "QUEUED", unit)
            return NodeState(state=unit, status=word, tone=node_tone(unit))
        was, firing = self.fold.firings[number], self._live(self.fold.ids[number])
        unit = UNIT_WORDS[PHASE[firing.phase]] if firing is not None else was.status
        spoken = self.drawn.first[node]
        item = self.st.items.get(firing.no) if firing is not None else None
        status = dialect_of(net.net.language).node_status(
            unit, runs=was.iteration, max_iter=spoken.max_iter, cyclic=spoken.cyclic, ended=ended,
            item=item.status if item is not None else None,
        )  # fmt: skip
        if (undone := self.undone.get(node)) and firing is None:
            unit, status = undone, words.unit.get(undone) or words.run.get(undone, undone)
        return NodeState(
            state=unit, status=status, tone=node_tone(unit), count=self.fired.get(node, 0),
            attempt=firing.attempt if firing is not None else was.attempt,
            ms=was.ended_at - was.started_at if was.ended_at is not None else None, note=self.notes.get(node),
        )  # fmt: skip

    def _live(self, id: str) -> Firing | None:
        reader = self.fold.reader
        return next((f for f in self.st.firings.values() if reader.firing_id(f) == id), None)

    def counts(self) -> tuple[dict[str, int], dict[str, int]]:
        """How many tokens lie on each edge, and in each node."""
        edges: dict[str, int] = {}
        nodes: dict[str, int] = {}
        for rest in self.rests():
            if rest.edge is not None:
                edges[rest.edge] = rest.count
            elif rest.node is not None:
                nodes[rest.node] = rest.count
        return edges, nodes

    def rests(self) -> list[TokenPlace]:
        """Where tokens are: on edges, and in nodes. What a region works on lies in its branches."""
        shape, places = self.drawn, dict[tuple[str | None, str | None], TokenPlace]()
        for scope in self.st.scopes.values():
            for place, queue in scope.tokens.items():
                no, epoch = place & (MOST - 1), place >> EPOCH
                if shape.ways[no] is not None or shape.inside[no] is not None:
                    _add(places, shape.ways[no], None if shape.ways[no] else shape.inside[no], len(queue), epoch)
        for firing in self.st.firings.values():
            node = self.net.nodes[firing.node]
            if firing.phase not in (IN_SCOPE, IN_UNDO) and not is_companion(node) and author(node) in shape.first:
                _add(places, None, author(node), 1, firing.epoch)
        return list(places.values())

    def not_taken(self) -> list[str]:
        """Edges that were decided against: their node has ended, and no token went along them."""
        ways = []
        for node, number in self.last.items():
            ended = self.fold.firings[number].ended_at is not None
            if ended and not (self.st.hand is not None and node == self.settled):
                ways += [id for id in self.drawn.outs.get(node, ()) if id not in self.taken]
        return ways + self._behind(set(ways))

    def _behind(self, dead: set[str]) -> list[str]:
        """Edges out of nodes that no token can reach any more, since every edge to them was decided against."""
        ways = [edge for edge in self.drawn.edges if not edge.back]
        behind: list[str] = []
        more = bool(dead)
        while more:
            into: dict[str, bool] = {}
            for edge in ways:
                into[edge.to] = into.get(edge.to, True) and edge.id in dead
            new = [way.id for way in ways if into.get(way.from_) and way.from_ not in self.last and way.id not in dead]
            dead.update(new)
            behind += new
            more = bool(new)
        return behind

    def variables(self) -> dict[str, Any]:
        st, inner = self.st, _inner(self.net)
        return {name: value for name, value in {**st.vars, **st.names}.items() if name not in inner}


def _add(
    places: dict[tuple[str | None, str | None], TokenPlace], edge: str | None, node: str | None, count: int, epoch: int
) -> None:
    place = places.setdefault((edge, node), TokenPlace(edge=edge, node=node))
    place.count += count
    if epoch not in place.epochs:
        place.epochs = sorted([*place.epochs, epoch])
