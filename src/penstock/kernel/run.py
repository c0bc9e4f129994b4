"""One run in memory: its net, its state, and indexes over both that a turn works with.

The state is the truth and is folded from facts. Everything else here can be thrown away and worked out again
(`Run.load`); a law holds both equal. Functions of the kernel take the run first; `record` is the only way a fact comes
into being.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

import msgspec

from penstock.kernel.evolve import EVOLVE
from penstock.kernel.fact import PHASE, Fact
from penstock.kernel.state import EFFECT, OPEN, Firing, Scope, State, key, new_state
from penstock.kernel.token import Path
from penstock.net.compiled import EPOCH, MOST, CNode, Compiled

#: priority of the node, best priority of its marked edges, node, scope, epoch
Candidate = tuple[int, int, int, int, int]
#: under this name undo nodes wait until the plan that runs has ended
UNDOING = "$undo"
#: forks a token remembers, outermost first
DEEPEST = 64


UNCAPPED = (1 << 63) - 1


class Caps(msgspec.Struct):
    """How much a run may do, as its host says; nothing is capped where nobody says. `slice` is how many facts a turn
    may make before the rest waits for the next one."""

    slice: int = UNCAPPED
    fan_items: int = UNCAPPED
    facts_warning: int = UNCAPPED
    facts: int = UNCAPPED


NO_CAPS = Caps()


class Run:
    __slots__ = (
        "asks", "by_scope", "due", "ended", "facts", "full", "groups", "heap", "held", "idle", "deferred", "limits",
        "marks", "net", "now", "owing", "queued", "resting", "st", "strict", "stops", "ttl", "unsure", "via", "watch",
        "resolve_blob", "holding", "loaded", "blockers", "refuse", "fans", "caps", "more", "decided", "starting",
        "places", "queueing", "tells", "net_of", "conditions", "judged",
    )  # fmt: skip

    def __init__(self, net: Compiled, st: State) -> None:
        self.net: Compiled = net
        self.st: State = st
        self.now: int = st.at
        # per turn
        self.facts: list[Fact] = []
        self.asks: list[int] = []  # firings whose effect was asked
        self.ended: list[tuple[Firing, int]] = []  # firings that settled, and how
        self.stops: list[int] = []  # firings whose effect was dropped
        self.tells: list[int] = []  # firings whose executor is to be told to end it
        self.deferred: list[tuple[int, Any]] = []  # what must happen before the next candidate is looked at
        self.via: tuple[Any, Scope, int] | None = None  # a token to be born and eaten in one fact
        self.starting = False  # other starts are still to fire, in the first epoch
        self.strict = False  # a person waits: no branch means refused
        self.refuse: dict[int, str] = {}  # nodes that have made what cannot be stored: this turn is done again
        self.caps = NO_CAPS
        self.more = False  # the turn's slice is full, and the run is not quiet: what it has to do goes on next turn
        self.decided = 0  # commands of the turn that were decided; the others wait for the next one
        # worked out
        self.heap: list[Candidate] = []  # nodes to be asked whether they are ready
        self.queued: dict[Candidate, None] = {}  # a set; but an empty dict is smaller, and the collector skips it
        self.marks: dict[tuple[int, int, int], int] = {}  # scope, node, epoch → bitset of marked in-edges
        self.by_scope: dict[int, dict[int, Firing]] = {}
        self.groups: dict[str, int] = {}  # firings in flight per group
        self.held: dict[str, list[Candidate]] = {}  # candidates that wait for room in their group
        self.holding: dict[Candidate, None] = {}
        self.places: dict[str, dict[str, int]] = {}  # pool → place → the firing that has it
        self.queueing: dict[tuple[int, int, int], int] = {}  # node, scope, epoch → the firing that waits for a place
        self.loaded = False
        self.blockers: dict[tuple[int, int, int], Any] = {}  # scope, node, epoch → what an inclusive join waits for
        self.full: dict[
            tuple[int, int], list[Candidate]
        ] = {}  # scope, place at capacity → candidates that wait for room
        self.watch: dict[Any, list[Candidate]] = {}  # blocker → joins that wait until it has moved
        self.owing: dict[Any, list[tuple[int, int, int, int]]] = {}  # blocker → debts it may still pay
        self.unsure: list[tuple[int, int, int, int]] = []  # scope, node key, visit, edge: debts to be looked at again
        self.idle: set[int] = set()  # open scopes without a firing
        self.fans: set[int] = set()  # firings that have children to open
        self.due: list[tuple[int, int]] = []  # timers, lazily cleaned
        self.conditions: dict[int, None] = {}  # firings that wait for a condition, lazily cleaned
        self.judged = -1  # how many facts there were when their conditions were last asked
        self.resting: set[tuple[int, int, int]] = set()  # scope, node, epoch: joins whose timer may have to be set
        self.ttl: dict[tuple[int, int, int], int] = {}  # scope, place, seq → timer
        self.net_of: Callable[[str], Compiled | None] = _unknown  # a released net by its hash
        self.resolve_blob: Callable[[Any], Any] = _same  # gives the value of a body that is stored by reference
        self.limits = {**net.limits, **st.options.get("limits", {})} if st.options else net.limits

    @classmethod
    def fresh(cls, net: Compiled) -> Run:
        return cls(net, new_state())

    @classmethod
    def load(cls, net: Compiled, st: State) -> Run:
        run = cls(net, st)
        run.loaded = True
        edges, nodes = net.edges, net.nodes
        for no, timer in st.timers.items():
            heappush(run.due, (timer.due, no))
            if timer.why == "token":
                scope, edge, epoch, seq = timer.data
                run.ttl[scope, key(edge, epoch), seq] = no
        for scope in st.scopes.values():
            if scope.status == OPEN and scope.no and not scope.busy:
                run.idle.add(scope.no)
            for place in scope.tokens:
                edge = edges[place & (MOST - 1)]
                run.mark(edge, scope, place >> EPOCH)
                if edge.dst.spec.join_timeout_ms is not None:
                    run.resting.add((scope.no, edge.dst.no, place >> EPOCH))
            for at_key, visits in scope.owed.items():
                run.unsure += [(scope.no, at_key, visit, edge) for visit, owed in visits.items() for edge in owed]
        for firing in st.firings.values():
            run.by_scope.setdefault(firing.scope, {})[firing.no] = firing
            group = nodes[firing.node].group
            if group and _counts(firing):
                run.groups[group] = run.groups.get(group, 0) + 1
            if firing.fan is not None:
                run.fans.add(firing.no)
            if nodes[firing.node].conditions:
                run.conditions[firing.no] = None
            if firing.place and firing.phase == EFFECT:  # the others have given it back
                run.places.setdefault(nodes[firing.node].pool, {})[firing.place] = firing.no
        return run

    def record(self, fact: Fact) -> None:
        self.facts.append(fact)
        st = self.st
        EVOLVE[fact[0]](st, fact)
        st.n += 1

    # -- marks and candidates ------------------------------------------------------------------------------------------

    def mark(self, edge: Any, scope: Scope, epoch: int) -> None:
        node: CNode = edge.dst
        if not node.lone:
            at = (scope.no, node.no, epoch)
            self.marks[at] = self.marks.get(at, 0) | edge.bit
        self.ask(node, scope, epoch)

    def unmark(self, edge: Any, scope: Scope, epoch: int) -> None:
        """The last token has left this place."""
        node: CNode = edge.dst
        if not node.lone:
            at = (scope.no, node.no, epoch)
            left = self.marks.get(at, 0) & ~edge.bit
            if left:
                self.marks[at] = left
            else:
                self.marks.pop(at, None)
        if self.watch or self.owing:
            self.moved((scope.no, edge.no))

    def moved(self, blocker: Any) -> None:
        for candidate in self.watch.pop(blocker, ()):
            self.queue(candidate)
        if self.owing:
            self.unsure += self.owing.pop(blocker, ())

    def queue(self, candidate: Candidate) -> None:
        if candidate not in self.queued:
            self.queued[candidate] = None
            heappush(self.heap, candidate)

    def ask(self, node: CNode, scope: Scope, epoch: int) -> None:
        first = self.edge_priority(node, scope, epoch) if node.ranked else 1000
        candidate = (node.priority, first, node.no, scope.no, epoch)
        if candidate not in self.queued:
            self.queued[candidate] = None
            heappush(self.heap, candidate)

    def edge_priority(self, node: CNode, scope: Scope, epoch: int) -> int:
        if not node.ranked:
            return 1000
        return min((e.priority for e in node.ins if key(e.no, epoch) in scope.tokens), default=1000)

    def next(self) -> Candidate | None:
        if not self.heap:
            return None
        candidate = heappop(self.heap)
        self.queued.pop(candidate, None)
        return candidate

    def ask_everything(self) -> None:
        """After a pause: whoever has a token is asked again."""
        edges = self.net.edges
        for scope in self.st.scopes.values():
            for place in scope.tokens:
                self.ask(edges[place & (MOST - 1)].dst, scope, place >> EPOCH)

    # -- firings -------------------------------------------------------------------------------------------------------

    def opened(self, firing: Firing, group: str) -> None:
        mine = self.by_scope.get(firing.scope)
        if mine is None:
            self.by_scope[firing.scope] = {firing.no: firing}
        else:
            mine[firing.no] = firing
        if group:
            self.groups[group] = self.groups.get(group, 0) + 1
        if firing.scope:
            self.idle.discard(firing.scope)

    def closed(self, firing: Firing, group: str) -> None:
        mine = self.by_scope[firing.scope]
        del mine[firing.no]
        if not mine:
            del self.by_scope[firing.scope]
            if firing.scope:
                self.idle.add(firing.scope)
        if group:
            self.leave(group)
        if self.watch or self.owing:
            self.moved(firing.no)

    def hold(self, firing: Firing, phase: str) -> None:
        """A firing that waits for what it holds takes no room in its group."""
        group = self.net.nodes[firing.node].group
        counted = _counts(firing)
        self.record((PHASE, firing.no, phase))
        if group and counted:
            self.leave(group)

    def leave(self, group: str) -> None:
        self.groups[group] -= 1
        self.admit(group)

    def admit(self, group: str) -> None:
        """There is room in the group: the first that waits for it is asked again."""
        waiting = self.held.get(group)
        if waiting and self.room(group):
            candidate = heappop(waiting)
            self.holding.pop(candidate, None)
            self.queue(candidate)
            if not waiting:
                del self.held[group]

    def hold_back(self, group: str, candidate: Candidate) -> None:
        """Until there is room in the group, in the order of candidates."""
        if candidate not in self.holding:
            self.holding[candidate] = None
            heappush(self.held.setdefault(group, []), candidate)

    def rests(self, scope_no: int) -> None:
        """A node of this scope was asked and did not fire: if nothing works there, the scope may be at its end."""
        scope = self.st.scopes.get(scope_no)
        if scope is not None and scope.status == OPEN and not scope.busy:
            self.idle.add(scope_no)

    def undone(self) -> None:
        """A plan has ended: undo nodes that waited for it are asked again."""
        for candidate in self.held.pop(UNDOING, ()):
            self.holding.pop(candidate, None)
            self.queue(candidate)

    def room(self, group: str) -> bool:
        limit = self.limits.get(group)
        return limit is None or self.groups.get(group, 0) < limit

    def forked(self, path: Path | None, fork: str, branch: int) -> Path | None:
        """The lineage of a token behind a fork, by the fork's id: a retry that fires it again opens no other group.
        Only a saga in groups asks for it, and a loop must not make it grow for ever."""
        if not self.net.grouped or path is not None and len(path) >= DEEPEST:
            return path
        return [*(path or ()), [fork, branch]]

    # -- timers --------------------------------------------------------------------------------------------------------

    def wake_at(self) -> int | None:
        """When the next timer is due."""
        due, timers = self.due, self.st.timers
        while due:
            when, no = due[0]
            timer = timers.get(no)
            if timer is not None and timer.due == when:
                return when
            heappop(due)
        return None

    # -- ids as shown and sent -----------------------------------------------------------------------------------------

    def scope_id(self, no: int) -> str:
        if not no:
            return ""
        scope = self.st.scopes[no]
        owner = self.st.firings.get(scope.firing)
        return f"{self.firing_id(owner) if owner is not None else scope.firing}/{scope.key}"

    def place_id(self, node: CNode, scope_no: int, epoch: int) -> str:
        return f"{node.id}@{self.scope_id(scope_no)}~{epoch}"

    def firing_id(self, firing: Firing) -> str:
        if firing.name:
            return firing.name
        stem = f"{self.place_id(self.net.nodes[firing.node], firing.scope, firing.epoch)}#{firing.visit}"
        return f"{stem}!{firing.comp}" if firing.comp >= 0 else stem

    def effect_key(self, firing: Firing) -> str:
        if not firing.scope and not firing.name and firing.comp < 0:  # as below, and it is asked for every effect
            st, node = self.st, self.net.nodes[firing.node]
            return f"{st.tenant}/{st.run}/{node.id}@~{firing.epoch}#{firing.visit}"
        return f"{self.st.tenant}/{self.st.run}/{self.firing_id(firing)}"


def _unknown(hash: str) -> None:
    return None


def _same(body: Any) -> Any:
    return body


def _counts(firing: Firing) -> bool:
    return firing.phase <= 3
