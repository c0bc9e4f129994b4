"""Board: reads a journal fact by fact and holds it to K5 to K17, without the kernel's index, marks or reach tables."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from penstock.kernel import fact as F
from penstock.kernel.state import OPEN, RUNNING, WAITING, State
from penstock.net.compiled import ALL, DIAGRAM, EPOCH, INCLUSIVE, SPLIT_FIRST, UNDO, CNode, Compiled, K

Where = tuple[int, int, int]  # scope, node or edge, epoch
FIRED_RUNG = "fired"


class Tok(NamedTuple):
    seq: int
    born: int  # number of the fact that put it
    passed: dict[int, int]  # absorbing joins it came through: node key -> visit


class Act(NamedTuple):
    """A firing, as far as the board needs it."""

    no: int
    node: CNode
    scope: int
    epoch: int
    visit: int
    passed: dict[int, int]
    comp: int = -1


class Leaving(NamedTuple):
    """A firing that has just settled: what it puts is counted until the next thing happens."""

    act: Act
    port: str
    edges: list[int]


class Board:
    """`turn` after every turn; it raises AssertionError with the law's name."""

    def __init__(self, net: Compiled) -> None:
        self.net = net
        self.places: dict[Where, list[Tok]] = {}
        self.put_ever: set[tuple[int, int, int, int]] = set()
        self.acts: dict[int, Act] = {}
        self.ended: dict[int, Act] = {}
        self.visits: Counter[Where] = Counter()
        self.since: Counter[Where] = Counter()  # visits before the last restart
        self.seen: set[Where] = set()  # since then
        self.starts: Counter[int] = Counter()
        self.rounds = 1  # how often the start nodes may have fired
        self.owed: dict[Where, dict[int, set[int]]] = {}
        self.spent: set[Where] = set()
        self.timers: dict[int, tuple[int, str, int]] = {}
        self.timers_ever: set[int] = set()
        self.passed: dict[int, int] = {}  # of what is in hand
        self.leaving: Leaving | None = None
        self.late: tuple[int, int] | None = None  # a token that must be absorbed by the next fact
        self.n = 0
        self.now = 0
        self.used: set[str] = set()  # which laws had something to look at
        self._reaches: dict[tuple[int, int], frozenset[int]] = {}

    def turn(self, facts: list[Any], now: int, st: State, ticked: bool = False) -> None:
        assert now >= self.now
        self.now = now
        for fact in facts:
            if self.late is not None and fact[0] != F.FORGOT:
                told = fact[0] == F.ABSORBED and (fact[2], fact[4]) == (self.late[0], [self.late[1]])
                assert told, "K11: a late token of an activation is absorbed"
                self.late = None
            see = SEE.get(fact[0])
            if see is not None:
                see(self, *fact[1:])
            self.n += 1
        self._left()
        self.passed = {}
        self._agrees(st)
        if ticked and not st.paused and st.status <= WAITING:
            assert all(due > now for due, _, _ in self.timers.values()), "K17: what is due has rung"
        if st.status in (RUNNING, WAITING) and not st.paused and not st.draining:
            self._quiet(st)

    # -- facts ---------------------------------------------------------------------------------------------------------

    def put(self, edge: int, scope: int, epoch: int, seq: int, envelope: Any, path: Any, passed: Any) -> None:
        been = self.passed if envelope is None and passed is None else {int(k): v for k, v in (passed or {}).items()}
        self._comes(edge, scope, epoch, seq)
        self.places.setdefault((scope, edge, epoch), []).append(Tok(seq, self.n, been))
        target = self.net.edges[edge].dst
        at = (scope, target.no, epoch)
        mark = target.no + (epoch << EPOCH)
        if any(edge in edges and been.get(mark, 0) < visit for visit, edges in self.owed.get(at, {}).items()):
            self.late = (edge, seq)

    def _comes(self, edge: int, scope: int, epoch: int, seq: int) -> None:
        me = (edge, scope, epoch, seq)
        assert me not in self.put_ever, f"K5, K6: token {me} came into being twice"
        self.put_ever.add(me)
        spec = self.net.edges[edge]
        leaving = self.leaving
        if leaving is not None and leaving.act.node is spec.src and leaving.act.scope == scope:
            leaving.edges.append(edge)
            self.used.add("K7")
            assert epoch == leaving.act.epoch + spec.raises, "K7: only an edge that raises leads into the next epoch"

    def fired(
        self, no: int, node: int, scope: int, epoch: int, visit: int, takes: list[int], owed: list[int], flags: int,
        comp: int, path: Any,
    ) -> None:  # fmt: skip
        self._left()
        one = self.net.nodes[node]
        if comp >= 0:
            self.acts[no] = Act(no, one, scope, epoch, visit, {}, comp)
            return
        self._joins(one, scope, epoch, takes, owed, flags, visit)
        passed = self._takes(one, scope, epoch, takes)
        self._begins(Act(no, one, scope, epoch, visit, self._through(one, epoch, visit, flags, passed)), bool(takes))
        if owed:
            self.owed.setdefault((scope, node, epoch), {})[visit] = set(owed)

    def fired_via(
        self, no: int, node: int, scope: int, epoch: int, visit: int, edge: int, seq: int, flags: int
    ) -> None:
        passed = self._via(node, scope, epoch, edge, seq)
        self._begins(Act(no, self.net.nodes[node], scope, epoch, visit, passed), True)

    def passes(
        self, no: int, node: int, scope: int, epoch: int, visit: int, takes: list[int], via: int, seq: int, body: Any,
        port: Any, flags: int,
    ) -> None:  # fmt: skip
        one = self.net.nodes[node]
        if via >= 0:
            passed = self._via(node, scope, epoch, via, seq)
        else:
            self._left()
            self._joins(one, scope, epoch, takes, [], flags, visit)
            passed = self._takes(one, scope, epoch, takes)
        act = Act(no, one, scope, epoch, visit, self._through(one, epoch, visit, flags, passed))
        self._begins(act, via >= 0 or bool(takes))
        self.settled(no, 0, port)

    def settled(self, no: int, status: int, port: str | None, *_: Any) -> None:
        self._left()
        act = self.acts.pop(no)
        self.ended[no] = act
        self.passed = act.passed
        if act.comp < 0:
            self.leaving = Leaving(act, port or "done", [])

    def absorbed(self, scope: int, edge: int, epoch: int, seqs: list[int], why: str, key: int, visit: int) -> None:
        place = (scope, edge, epoch)
        have = self.places[place]
        assert set(seqs) <= {t.seq for t in have}, "K5: what is absorbed was there"
        self._keep(place, [t for t in have if t.seq not in seqs])
        at = (scope, self.net.edges[edge].dst.no, epoch)
        if why == "late" and visit < 0:
            node = self.net.nodes[at[1]]
            optional = node.join == DIAGRAM and self.net.edges[edge].role == "skip"
            assert optional and self._fired(at), "K8: only a skippable way may come too late for its node"
        elif why == "late":
            self.used.add("K11")
            assert edge in self.owed[at][visit], "K11: only what is owed is absorbed"
            self._pay(at, visit, [edge])
        elif why == "max_iteration":
            self.used.add("K15")
            most = self.net.nodes[at[1]].max_iter
            assert most is not None and self._fired(at) >= most, "K15: absorbed before its limit"

    def rearmed(self, scope: int, key: int, visit: int, edges: list[int]) -> None:
        self._pay((scope, key & ((1 << EPOCH) - 1), key >> EPOCH), visit, edges)

    def forwarded(self, scope: int, key: int, node: int, path: Any, passed: Any) -> None:
        self._left()
        at = (scope, node, key >> EPOCH)
        assert at not in self.spent, "K15: the last output is forwarded once"
        assert self._fired(at) == self.net.nodes[node].max_iter, "K15: forwarded at the limit"
        self.spent.add(at)
        self.passed = {int(k): v for k, v in (passed or {}).items()}

    def timer_set(self, no: int, due: int, why: str, firing: int, data: Any) -> None:
        assert no not in self.timers_ever, "K17: a timer's number is used once"
        self.timers_ever.add(no)
        self.timers[no] = (due, why, firing)

    def timer_gone(self, no: int, why: str) -> None:
        assert no in self.timers, "K17: a timer fires at most once"
        due, kind, _ = self.timers.pop(no)
        if why == FIRED_RUNG and kind != "join_wait":  # such a timer also goes when its node fires
            self._left()
            self.used.add("K17")
            assert self.now >= due, "K17: never before its due time"

    def swept(
        self, scope: int, why: str, firings: list[int], tokens: list[Any], scopes: list[int], status: int,
        effects: list[int], timers: list[int], ids: Any,
    ) -> None:  # fmt: skip
        self._left()
        for no in firings:
            self.ended[no] = self.acts.pop(no)
            for timer in [n for n, t in self.timers.items() if t[2] == no]:
                del self.timers[timer]
        for edge, where, epoch, seqs in tokens:
            have = self.places.pop((where, edge, epoch))
            assert [t.seq for t in have] == list(seqs), "K5: what is swept was there, all of it"
        for timer in timers:
            del self.timers[timer]
        if not effects and why not in ("abandoned", "superseded"):
            self._forget_debts(scope)
        for no in scopes:
            self.scope_closed(no)

    def scope_closed(self, scope: int, *_: Any) -> None:
        assert not [p for p in self.places if p[0] == scope], "K5: a scope is closed with tokens in it"
        assert not [a for a in self.acts.values() if a.scope == scope], "K4: a scope is closed with firings in it"
        self._forget_debts(scope)
        for table in (self.visits, self.since, self.spent, self.seen):
            for at in [a for a in table if a[0] == scope]:
                table.pop(at) if isinstance(table, Counter) else table.discard(at)

    def revived(self, no: int, base: int) -> None:
        self._left()
        self.acts[no] = self.ended[no]

    def reopened(self, how: str, retries: int) -> None:
        if how == "restart":  # K15: limits count anew, and nothing of the life before is owed or spent
            self.rounds += 1
            self.since, self.seen = Counter(self.visits), set()
            self.spent, self.owed = set(), {}

    def signal_used(self, *_: Any) -> None:
        self._left()

    def migrated(self, *_: Any) -> None:
        raise NotImplementedError("the board knows one net")

    # -- what a fact means ---------------------------------------------------------------------------------------------

    def _fired(self, at: Where, visit: int | None = None) -> int:
        """How often since the run was started or restarted."""
        return (self.visits[at] if visit is None else visit) - self.since[at]

    def _begins(self, act: Act, fed: bool) -> None:
        at = (act.scope, act.node.no, act.epoch)
        assert act.visit > self.visits[at], "E2: a visit, hence a key, belongs to one firing"
        if at not in self.seen:
            self.seen.add(at)
            self.since[at] = act.visit - 1
        assert act.visit == self.visits[at] + 1 or self._fired(at, act.visit) == 1, "visits are numbered on"
        self.visits[at] = act.visit
        rounds = self._fired(at)
        assert act.no not in self.acts and act.no not in self.ended, "a firing's number is used once"
        if act.node.max_iter is not None:
            self.used.add("K15")
            assert rounds <= act.node.max_iter, "K15: at most max_iteration firings per node, scope and epoch"
        assert rounds <= self.net.net.max_visits + 1, "K15: beyond max_visits the run fails"
        if act.node in self.net.starts:
            self.starts[act.node.no] += 1
            assert self.starts[act.node.no] <= self.rounds, "K14: START fires once per run attempt"
        elif not act.scope:
            assert fed, "only a start fires without a token"
        self.acts[act.no] = act

    def _via(self, node: int, scope: int, epoch: int, edge: int, seq: int) -> dict[int, int]:
        """A token that is put and taken in one fact: nothing else lies before the node, and it has one way in."""
        self._comes(edge, scope, epoch, seq)
        passed = self.passed
        self._left()
        one = self.net.nodes[node]
        assert self.net.edges[edge].dst is one and one.lone, "a token is eaten at once only by a node with one way in"
        assert (scope, edge, epoch) not in self.places, "older tokens go first"
        return passed

    def _takes(self, node: CNode, scope: int, epoch: int, takes: list[int]) -> dict[int, int]:
        passed: dict[int, int] = {}
        for edge in takes:
            assert self.net.edges[edge].dst is node, "a node takes from its own in-edges"
            have = self.places.get((scope, edge, epoch))
            assert have, "K7: a firing takes only tokens of its own epoch and scope"
            for key, visit in have[0].passed.items():
                passed[key] = max(passed.get(key, 0), visit)
            self._keep((scope, edge, epoch), have[1:])
        return passed

    def _through(self, node: CNode, epoch: int, visit: int, flags: int, passed: dict[int, int]) -> dict[int, int]:
        return {**passed, node.no + (epoch << EPOCH): visit} if flags & F.ABSORBING else passed

    def _joins(
        self, node: CNode, scope: int, epoch: int, takes: list[int], owed: list[int], flags: int, visit: int
    ) -> None:
        """Was the node ready, and did it take what its join says?"""
        if not takes:
            return
        marked = self._marked(node, scope, epoch)
        if node.merge:
            oldest = min(marked, key=lambda e: self.places[scope, e, epoch][0].born)
            assert takes == [oldest], "K10: a merge fires for each token, oldest first"
            self.used.add("K10")
            return
        timed_out = node.spec.join_timeout_ms is not None and not self._is_ready(node, scope, epoch, marked)
        if not timed_out:
            self._one_per_edge(node, scope, epoch, takes, marked)
            self._was_ready(node, scope, epoch, marked, bool(flags & F.RELAXED))
        if node.absorb and not timed_out:
            self.used.add("K11")
            rest = {e.no for e in node.ins} - set(takes)
            assert set(owed) == self._payable(node, scope, epoch, visit, rest), "K11: owed is what can still come"

    def _one_per_edge(self, node: CNode, scope: int, epoch: int, takes: list[int], marked: set[int]) -> None:
        count = Counter(takes)
        assert set(count) == marked, "K9: it takes from every marked edge"
        for edge, n in count.items():
            most = len(self.places[scope, edge, epoch]) if node.take_all else 1
            assert n == most, "K9: one token per edge, or all of them"
            if len(self.places[scope, edge, epoch]) > 1:
                self.used.add("K9")

    def _was_ready(self, node: CNode, scope: int, epoch: int, marked: set[int], relaxed: bool) -> None:
        if len(node.ins) > 1:
            self.used.add({ALL: "K8", K: "K11" if node.absorb else "K10", INCLUSIVE: "K12", DIAGRAM: "K8"}[node.join])
        if relaxed:
            assert node.join in (INCLUSIVE, DIAGRAM), "only these joins are relaxed"
            assert not [a for a in self.acts.values() if a.scope == scope and a.comp < 0], (
                "relaxed while something works"
            )
            resting = [e for e in self._blocking_edges(node, scope, marked) if self.net.edges[e].dst.join != INCLUSIVE]
            assert node.join == DIAGRAM or not resting, "K12: relaxed though a token could still come"
        else:
            assert self._is_ready(node, scope, epoch, marked), f"{self._law(node)}: «{node.id}» fired too early"

    def _law(self, node: CNode) -> str:
        return {ALL: "K8", K: "K11", INCLUSIVE: "K12", DIAGRAM: "K8"}[node.join]

    def _is_ready(self, node: CNode, scope: int, epoch: int, marked: set[int]) -> bool:
        """KERNEL 3.1 to 3.4, by search. Of a diagram's join only what is never left out is asked."""
        if node.lone:
            return bool(marked)
        if node.join == ALL:
            return marked == {e.no for e in node.ins}
        if node.join == K:
            return len(marked) >= node.k
        if node.join == INCLUSIVE:
            return bool(marked) and not self._blocked(node, scope, marked)
        plain = {e.no for e in node.ins if e.role == "plain"}
        return bool(marked) and (node.head or plain <= marked)

    def _blocked(self, node: CNode, scope: int, marked: set[int]) -> bool:
        acts = [a for a in self.acts.values() if a.scope == scope and a.comp < 0]
        return bool(self._blocking_edges(node, scope, marked)) or any(
            self._blocks(self.reaches(a.node, node), marked) for a in acts
        )

    def _blocking_edges(self, node: CNode, scope: int, marked: set[int]) -> list[int]:
        """Edges with a token that can reach an unmarked in-edge and no marked one."""
        live = {e for s, e, _ in self.places if s == scope and self.net.edges[e].dst is not node}
        return sorted(e for e in live if self._blocks(self.reaches(self.net.edges[e].dst, node), marked))

    def _blocks(self, reached: frozenset[int], marked: set[int]) -> bool:
        return bool(reached) and not reached & marked

    def reaches(self, start: CNode, join: CNode) -> frozenset[int]:
        """In-edges of a join to which a walk leads that does not pass the join: brute force."""
        known = self._reaches.get((start.no, join.no))
        if known is None:
            seen, todo, found = {join.no}, [start], set()
            while todo:
                node = todo.pop()
                if node.no in seen:
                    continue
                seen.add(node.no)
                for edge in node.outs:
                    if edge.dst is join:
                        found.add(edge.no)
                    todo.append(edge.dst)
            known = self._reaches[start.no, join.no] = frozenset(found)
        return known

    def _payable(self, node: CNode, scope: int, epoch: int, visit: int, edges: set[int]) -> set[int]:
        """Which of these in-edges can still get a token that has not passed the join since that visit?"""
        key = node.no + (epoch << EPOCH)
        found: set[int] = set()
        for (s, e, _), tokens in self.places.items():
            if s == scope and self.net.edges[e].dst is not node and any(t.passed.get(key, 0) < visit for t in tokens):
                found |= self.reaches(self.net.edges[e].dst, node) & edges
        for act in self.acts.values():
            if act.scope == scope and act.comp < 0 and act.passed.get(key, 0) < visit:
                found |= self.reaches(act.node, node) & edges
        return found

    def _left(self) -> None:
        """K13: which ways did the firing take that settled last?"""
        leaving, self.leaving = self.leaving, None
        if leaving is None or leaving.act.node.spec.triggers:
            return
        node = leaving.act.node
        ways = node.ports.get(leaving.port, ())
        if node.split == SPLIT_FIRST and ways:
            self.used.add("K13")
            least = 0 if node.spec.no_match == "end" else 1
            assert least <= len(leaving.edges) <= 1, "K13: an exclusive choice takes exactly one way"
        elif all(e.guard is None for e in ways) and not node.spec.port:
            assert leaving.edges == [e.no for e in ways], "K13: a parallel split takes every way"

    def _pay(self, at: Where, visit: int, edges: list[int]) -> None:
        debts = self.owed[at]
        debts[visit] -= set(edges)
        if not debts[visit]:
            del debts[visit]

    def _forget_debts(self, scope: int) -> None:
        for at in [a for a in self.owed if a[0] == scope]:
            del self.owed[at]

    def _keep(self, place: Where, left: list[Tok]) -> None:
        if left:
            self.places[place] = left
        else:
            del self.places[place]

    def _marked(self, node: CNode, scope: int, epoch: int) -> set[int]:
        return {e.no for e in node.ins if (scope, e.no, epoch) in self.places}

    # -- after a turn --------------------------------------------------------------------------------------------------

    def _agrees(self, st: State) -> None:
        """K5: what the facts say lies there is what the state holds."""
        held = {
            (s.no, place & ((1 << EPOCH) - 1), place >> EPOCH): [t.seq for t in queue]
            for s in st.scopes.values()
            for place, queue in s.tokens.items()
        }
        assert {p: [t.seq for t in q] for p, q in self.places.items()} == held, "K5: created minus consumed is live"
        assert set(self.acts) == set(st.firings)
        assert set(self.timers) == set(st.timers), "K17: timers of facts and state are the same"

    def _quiet(self, st: State) -> None:
        """The other half of every join: nothing that is ready was left lying."""
        for scope, no, epoch in sorted({(s, self.net.edges[e].dst.no, ep) for s, e, ep in self.places}):
            node = self.net.nodes[no]
            if st.scopes[scope].status != OPEN or self._held(node, scope, epoch, st):
                continue
            limit = node.max_iter
            assert limit is None or self._fired((scope, no, epoch)) < limit, "K15: reaching the limit is not a stall"
            if node.join != DIAGRAM or node.lone:
                ready = self._is_ready(node, scope, epoch, self._marked(node, scope, epoch))
                assert not ready, f"{self._law(node)}: «{node.id}» is ready and does not fire"
        for (scope, no, epoch), debts in self.owed.items():
            for visit, edges in debts.items():
                able = self._payable(self.net.nodes[no], scope, epoch, visit, edges)
                assert able == edges, (
                    "K11: a debt that nobody can pay is released, or the next round loses its first token"
                )

    def _held(self, node: CNode, scope: int, epoch: int, st: State) -> bool:
        """A full group, a full edge, a plan under way, or its own last firing keep a ready node back."""
        at_work = [a for a in self.acts.values() if (a.node, a.scope, a.epoch) == (node, scope, epoch)]
        if node.max_iter is not None and self._fired((scope, node.no, epoch)) >= node.max_iter and at_work:
            return True
        if node.kind == UNDO and st.undo is not None:
            return True
        if node.group:
            limit = {**self.net.limits, **st.options.get("limits", {})}.get(node.group)
            busy = [f for f in st.firings.values() if f.phase <= 3 and self.net.nodes[f.node].group == node.group]
            if limit is not None and len(busy) >= limit:
                return True
        full = [e for e in node.outs if e.capacity is not None]
        return any(len(self.places.get((scope, e.no, epoch + e.raises), ())) >= (e.capacity or 0) for e in full)


SEE: dict[int, Any] = {
    F.PUT: Board.put, F.FIRED: Board.fired, F.FIRED_VIA: Board.fired_via, F.PASSED: Board.passes,
    F.SETTLED: Board.settled, F.ABSORBED: Board.absorbed, F.REARMED: Board.rearmed, F.FORWARDED: Board.forwarded,
    F.TIMER_SET: Board.timer_set, F.TIMER_GONE: Board.timer_gone, F.SWEPT: Board.swept,
    F.SCOPE_CLOSED: Board.scope_closed, F.REVIVED: Board.revived, F.REOPENED: Board.reopened,
    F.SIGNAL_USED: Board.signal_used, F.MIGRATED: Board.migrated,
}  # fmt: skip
