"""Explores the markings of a level through all choices, within a budget.

An edge has exactly one consumer, so different nodes never compete: a ready node that does not look at tokens elsewhere
may be fired alone, with all its outcomes, and the rest left for later. Only where nothing but such onlookers is ready,
or a marking was seen before, are all of them tried. Covering an ancestor proves that tokens pile up only where no join
looks elsewhere: those are not monotone, and a sound loop may cover its own past.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations

from penstock.net.graph import cyclic, sccs
from penstock.net.soundness.level import OUTSIDE, SINK, VOID, Level
from penstock.net.soundness.verdict import Verdict, WitnessStep

Marking = tuple[int, ...]  # edges that hold a token, sorted, once per token
Action = tuple[int, Marking]  # a node, and what it takes

_PILE = 6  # tokens on one edge; beyond that a level with onlookers is given up as undecided
_PAST = 1000  # ancestors compared with a new marking
_WIDE = 10  # ways of an inclusive split: more have too many subsets
_LOOKS = 20  # tokens looked at per marking of the budget: a few markings of ten thousand tokens each cost as much


def explore(level: Level, budget: int) -> Verdict:
    """The verdict on a level as it stands, reduced or not."""
    live = [v for v in range(len(level.join)) if level.ins[v] or level.outs[v]]
    if live == [SINK]:
        return Verdict("sound", "reduced")
    if any(level.split[v] == "or" and len(level.outs[v]) > _WIDE for v in live):
        return Verdict("undecided", "an inclusive split has too many ways")
    return _Exploration(level, live, budget).play()


class _Exploration:
    def __init__(self, level: Level, live: list[int], budget: int) -> None:
        self.level, self.live, self.budget = level, live, budget
        self.onlookers = {v for v in live if level.join[v] in ("or", "mixed") and len(level.ins[v]) > 1}
        self.reach = {v: {e: self._reach(v, e) for e in level.ins[v]} for v in self.onlookers}
        self.parent: dict[Marking, tuple[Marking, int, Marking] | None] = {}
        self.after: dict[Marking, list[Marking]] = {}
        self.fired: set[int] = set()
        self.looks = budget * _LOOKS
        self.rounds = level.each and self._has_cycle()  # a loop may send a token to an end in every round

    def play(self) -> Verdict:
        level = self.level
        start = tuple(e for e, src in enumerate(level.src) if src == OUTSIDE and e in level.ins[level.dst[e]])
        self.parent[start] = None
        stack = [start]
        while stack:
            m = stack.pop()
            if m in self.after:
                continue
            self.looks -= len(m)
            if len(self.after) >= self.budget or self.looks < 0:
                return Verdict("undecided", "budget", states=len(self.after))
            actions = self._actions(m)
            if not actions:
                self.after[m] = []
                if not self._is_end(m):
                    at_end = (all if level.each else any)(level.dst[e] == SINK for e in m)
                    return self._unsound("improper end" if at_end else "deadlock", m)
                continue
            steps = self._expand(m, actions)
            self.after[m] = [x for x, _, _ in steps]
            for x, v, put in reversed(steps):  # so that the first choice is followed first
                if x not in self.parent:
                    self.parent[x] = (m, v, put)
                    self.looks -= len(x)
                    if grows := self._grows(x, m):
                        return grows
                if x not in self.after:
                    stack.append(x)
        return self._settle()

    def _actions(self, m: Marking) -> list[Action]:
        level = self.level
        actions: list[Action] = []
        marked: dict[int, list[int]] = {}
        for e in dict.fromkeys(m):
            marked.setdefault(level.dst[e], []).append(e)
        for v in sorted(marked):
            held = marked[v]
            if v == SINK:
                continue
            if level.join[v] == "xor" or (len(level.ins[v]) == 1 and v not in level.mixed):
                actions += [(v, (e,)) for e in held]
            elif level.join[v] == "and":
                if len(held) == len(level.ins[v]):
                    actions.append((v, tuple(held)))
            elif self._may_fire(v, held, m):
                actions.append((v, tuple(held)))
        return actions

    def _may_fire(self, v: int, held: list[int], m: Marking) -> bool:
        """The inclusive rule: nothing live can reach an unmarked way without also reaching a marked one."""
        mixed = self.level.mixed.get(v)
        if mixed is not None and (not mixed.must <= set(held) or len(held) < mixed.least):
            return False
        if v not in self.reach:
            return True
        reach, blocked = self.reach[v], 0
        for e in self.level.ins[v]:
            if e not in held and (mixed is None or e in mixed.wait):
                blocked |= reach[e]
        for e in held:
            blocked &= ~reach[e]
        for e in self.level.ins[v]:
            blocked &= ~(1 << e)
        return not any(blocked >> e & 1 for e in m)

    def _reach(self, join: int, edge: int) -> int:
        """The edges from which `edge` can be reached without passing the join, as bits."""
        level, reached = self.level, 0
        seen, todo = {join, OUTSIDE}, [level.src[edge]]
        while todo:
            v = todo.pop()
            if v in seen:
                continue
            seen.add(v)
            for e in level.ins[v]:
                reached |= 1 << e
                todo.append(level.src[e])
        return reached

    def _expand(self, m: Marking, actions: list[Action]) -> list[tuple[Marking, int, Marking]]:
        local = [a for a in actions if a[0] not in self.onlookers]
        use = local[:1] or actions
        steps = self._fire(m, use)
        if len(use) < len(actions) and any(x in self.after or x == m for x, _, _ in steps):
            steps = self._fire(m, actions)
        return steps

    def _fire(self, m: Marking, actions: list[Action]) -> list[tuple[Marking, int, Marking]]:
        level = self.level
        markings: list[tuple[Marking, int, Marking]] = []
        for v, takes in actions:
            self.fired.add(v)
            if v in level.ends_all:
                markings.append(((), v, ()))
                continue
            left = list(m)
            for e in takes:
                left.remove(e)
            for put in self._puts(v):
                kept = level.strict and not self.rounds
                stay = [e for e in put if level.dst[e] != VOID and (kept or level.dst[e] != SINK)]
                markings.append((tuple(sorted([*left, *stay])), v, put))
        return markings

    def _puts(self, v: int) -> list[Marking]:
        outs = tuple(self.level.outs[v])
        match self.level.split[v]:
            case "xor":
                return [(e,) for e in outs]
            case "or":
                return [c for k in range(1, len(outs) + 1) for c in combinations(outs, k)]
        return [outs]

    def _is_end(self, m: Marking) -> bool:
        ended = self.level.strict and all(self.level.dst[e] == SINK for e in m)
        return not m or ended and (len(m) == 1 or self.level.each and len(set(m)) == len(m))

    def _has_cycle(self) -> bool:
        succ = [[self.level.dst[e] for e in outs] for outs in self.level.outs]
        return any(cyclic(succ, sccs(len(succ), succ)))

    def _grows(self, x: Marking, m: Marking) -> Verdict | None:
        if not self.onlookers:
            more = Counter(x)
            at = m
            for _ in range(_PAST):
                if len(at) < len(x):
                    self.looks -= len(at)
                    if not Counter(at) - more:
                        return self._unsound("unbounded", x)
                if self.looks < 0:
                    break
                link = self.parent[at]
                if link is None:
                    break
                at = link[0]
        elif x and max(Counter(x).values()) > _PILE:
            return Verdict("undecided", "tokens may pile up", states=len(self.after))
        return None

    def _settle(self) -> Verdict:
        """Everything was seen, nothing was stuck: can the end be reached from everywhere, and does every node fire?"""
        back: dict[Marking, list[Marking]] = {}
        for m, nexts in self.after.items():
            for x in nexts:
                back.setdefault(x, []).append(m)
        good: set[Marking] = set()
        todo = [m for m in self.after if self._is_end(m)]
        while todo:
            m = todo.pop()
            if m not in good:
                good.add(m)
                todo += back.get(m, [])
        for m in self.after:
            if m not in good:
                return self._unsound("livelock", m)
        if self.level.strict:
            idle = [self.level.origin[v] for v in self.live if v not in (SINK, VOID) and v not in self.fired]
            dead = dict.fromkeys(self.level.graph.net.nodes[o].id for o in idle if o != OUTSIDE)
            if dead:
                return Verdict("unsound", "dead nodes", nodes=tuple(dead), states=len(self.after))
        return Verdict("sound", "explored", states=len(self.after))

    def _unsound(self, why: str, m: Marking) -> Verdict:
        level, net = self.level, self.level.graph.net
        edges = self.level.graph.edges
        trace: list[WitnessStep] = []
        at: Marking = m
        while link := self.parent[at]:
            at, v, put = link
            shown = tuple(edges[level.first[e]].id for e in put if level.first[e] != OUTSIDE)
            if level.origin[v] != OUTSIDE and (shown or not put):
                trace.append(WitnessStep(net.nodes[level.origin[v]].id, shown))
        stuck = [e for e in m if level.dst[e] != SINK] if level.each and why == "deadlock" else m
        held = tuple(dict.fromkeys(edges[level.last[e]].id for e in stuck if level.last[e] != OUTSIDE))
        return Verdict("unsound", why, tuple(reversed(trace)), held, states=len(self.after))
