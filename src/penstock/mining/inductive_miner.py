"""The inductive miner: a process tree out of the variants of a log.

It splits the log by a cut until single activities are left, and where there is no cut it falls back on weaker shapes,
the last of which allows anything. So the tree is sound, and without `noise` it replays every trace it was made of. With
`noise` (between 0 and 1) pairs that are seldom beside what else follows the same activity are left out where there is
no cut otherwise: the tree is simpler, and says less about what happens seldom.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from penstock.errors import BadInput, LogTooLarge
from penstock.mining.block_tree import SILENT, ProcessTree, block, leaf
from penstock.mining.cuts import Cut, cut_of
from penstock.mining.follows_graph import FollowsGraph, Log

#: More is refused: a model of so many activities can be read by nobody.
MOST_ACTIVITIES = 300
#: Events that are read, over and over; some twenty seconds.
MOST_READ = 100_000_000
#: Blocks inside each other; below anything is allowed.
_DEEPEST = 120
#: A block of so many activities is not tried again without each of them.
_TRIED = 40


def discover_tree(variants: Mapping[tuple[str, ...], int], noise: float = 0.0) -> ProcessTree:
    """`variants`: the activities of a case in their order, with how many cases had them. Raises LogTooLarge."""
    if not 0 <= noise < 1:
        raise BadInput(what="«noise»", why="it lies between 0 and 1, without 1")
    names = sorted({activity for trace in variants for activity in trace})
    if len(names) > MOST_ACTIVITIES:
        raise LogTooLarge(count=len(names), what="activities", limit=MOST_ACTIVITIES)
    number = {name: i for i, name in enumerate(names)}
    log = {tuple(number[activity] for activity in trace): cases for trace, cases in variants.items() if cases > 0}
    return _Miner(names, noise).tree(log, 0) if log else SILENT


class _Miner:
    def __init__(self, names: list[str], noise: float) -> None:
        self.names, self.noise, self.read = names, noise, 0

    def tree(self, log: Log, depth: int) -> ProcessTree:
        """Of a log with at least one trace."""
        self._count(log)
        if log.get(()):
            return self._with_empty(log, depth)
        graph = FollowsGraph(log)
        if len(graph.activities) == 1:
            only = leaf(self.names[graph.activities[0]])
            return only if all(len(trace) == 1 for trace in log) else block("loop", only, SILENT)
        if depth >= _DEEPEST:
            return self._anything(graph)
        cut = cut_of(log, graph)
        if cut is None and self.noise:
            cut = self._checked(cut_of(log, graph.without_rare(self.noise)), log)
        if cut is not None:
            return block(cut.operator, *(self._part(part, depth) for part in cut.logs))
        return self._without_cut(log, graph, depth)

    def _part(self, log: Log, depth: int) -> ProcessTree:
        return self.tree(log, depth + 1) if log else SILENT

    def _checked(self, cut: Cut | None, log: Log) -> Cut | None:
        """One that makes the log no smaller would be found again for ever."""
        if cut is None or any(part == log for part in cut.logs):
            return None
        return cut

    def _count(self, log: Log) -> None:
        self.read += sum(map(len, log)) + len(log)
        if self.read > MOST_READ:
            raise LogTooLarge(count=self.read, what="events, read over and over,", limit=MOST_READ)

    def _with_empty(self, log: Log, depth: int) -> ProcessTree:
        rest = {trace: cases for trace, cases in log.items() if trace}
        if not rest:
            return SILENT
        seldom = log[()] < self.noise * sum(log.values())
        below = self.tree(rest, depth + 1)
        return below if seldom else block("xor", SILENT, below)

    # -- no cut --------------------------------------------------------------------------------------------------------

    def _without_cut(self, log: Log, graph: FollowsGraph, depth: int) -> ProcessTree:
        for activity in self._set_apart(log, graph):
            rest = _without(log, activity)
            own = _only(log, activity)
            return block("parallel", self.tree(own, depth + 1), self.tree(rest, depth + 1))
        for split in (_after_ends(log, graph), _before_begins(log, graph)):
            if sum(split.values()) > sum(log.values()):
                return block("loop", self.tree(split, depth + 1), SILENT)
        return self._anything(graph)

    def _set_apart(self, log: Log, graph: FollowsGraph) -> Iterator[int]:
        """An activity that happens beside all the others: once in every trace, or such that the others have a cut."""
        once = set(graph.activities)
        for trace in log:
            counted = Counter(trace)
            once = {activity for activity in once if counted[activity] == 1}
        yield from sorted(once)[:1]
        if len(graph.activities) > _TRIED:
            return
        for activity in graph.activities:
            rest = _without(log, activity)
            self._count(rest)
            rest.pop((), None)
            if rest and cut_of(rest, FollowsGraph(rest)) is not None:
                yield activity
                return

    def _anything(self, graph: FollowsGraph) -> ProcessTree:
        """The flower: whatever, as often as one likes, at least once."""
        return block("loop", block("xor", *(leaf(self.names[activity]) for activity in graph.activities)), SILENT)


def _without(log: Log, activity: int) -> Counter[tuple[int, ...]]:
    kept: Counter[tuple[int, ...]] = Counter()
    for trace, cases in log.items():
        kept[tuple([other for other in trace if other != activity])] += cases
    return kept


def _only(log: Log, activity: int) -> Counter[tuple[int, ...]]:
    kept: Counter[tuple[int, ...]] = Counter()
    for trace, cases in log.items():
        kept[(activity,) * trace.count(activity)] += cases
    return kept


def _after_ends(log: Log, graph: FollowsGraph) -> Counter[tuple[int, ...]]:
    """Traces parted wherever something that can end is followed by something that can begin."""
    return _parted(log, lambda last, first: last in graph.ends and first in graph.begins)


def _before_begins(log: Log, graph: FollowsGraph) -> Counter[tuple[int, ...]]:
    return _parted(log, lambda last, first: first in graph.begins)


def _parted(log: Log, between: Callable[[int, int], bool]) -> Counter[tuple[int, ...]]:
    parted: Counter[tuple[int, ...]] = Counter()
    for trace, cases in log.items():
        begin = 0
        for i in range(1, len(trace)):
            if between(trace[i - 1], trace[i]):
                parted[trace[begin:i]] += cases
                begin = i
        parted[trace[begin:]] += cases
    return parted
