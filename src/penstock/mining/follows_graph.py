"""Which activity directly follows which in a log of variants, over numbers, and the graph questions of the miner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from penstock.net.graph import sccs

#: a log: traces of activities' numbers, with how often each was seen
Log = Mapping[tuple[int, ...], int]


class FollowsGraph:
    """`begins` and `ends` count the cases that begin and end with an activity."""

    def __init__(self, log: Log) -> None:
        self.begins: Counter[int] = Counter()
        self.ends: Counter[int] = Counter()
        self.counts: Counter[tuple[int, int]] = Counter()
        self.activities: list[int] = sorted({activity for trace in log for activity in trace})
        for trace, cases in log.items():
            if trace:
                self.begins[trace[0]] += cases
                self.ends[trace[-1]] += cases
            for i in range(len(trace) - 1):
                self.counts[trace[i], trace[i + 1]] += cases

    def without_rare(self, noise: float) -> FollowsGraph:
        """Without what is seldom beside the most frequent of its kind: what follows the same activity, what begins,
        what ends."""
        most: Counter[int] = Counter(self.ends)
        for (source, _), cases in self.counts.items():
            most[source] = max(most[source], cases)
        kept = FollowsGraph({})
        kept.activities = self.activities
        kept.counts = Counter({pair: n for pair, n in self.counts.items() if n >= noise * most[pair[0]]})
        kept.begins = _frequent(self.begins, noise)
        kept.ends = _frequent(self.ends, noise)
        return kept

    def components(self, activities: Iterable[int], pairs: Iterable[tuple[int, int]]) -> list[set[int]]:
        """What hangs together by these pairs, whichever way they lead; in the order of the activities."""
        above = {activity: activity for activity in activities}

        def root(activity: int) -> int:
            while above[activity] != activity:
                above[activity] = activity = above[above[activity]]
            return activity

        for source, target in pairs:
            if source in above and target in above:
                above[root(source)] = root(target)
        parts: dict[int, set[int]] = {}
        for activity in above:
            parts.setdefault(root(activity), set()).add(activity)
        return list(parts.values())

    def ordered_groups(self) -> list[set[int]]:
        """Groups of which every earlier one can be followed by every later one, at whatever distance, and never the
        other way round: as many as there are, in this order."""
        place = {activity: i for i, activity in enumerate(self.activities)}
        follows: list[list[int]] = [[] for _ in place]
        for source, target in self.counts:
            follows[place[source]].append(place[target])
        part_of = sccs(len(place), follows)
        groups: dict[int, set[int]] = {}
        for i, part in enumerate(part_of):
            groups.setdefault(part, set()).add(i)
        members = list(groups.values())
        while True:
            reach = _reachable(members, follows)
            merged = _merged(members, reach)
            if len(merged) == len(members):
                order = sorted(range(len(members)), key=lambda g: reach[g].bit_count(), reverse=True)
                return [{self.activities[i] for i in members[g]} for g in order]
            members = merged


def _frequent(counts: Counter[int], noise: float) -> Counter[int]:
    most = max(counts.values(), default=0)
    return Counter({activity: n for activity, n in counts.items() if n >= noise * most})


def _reachable(members: list[set[int]], follows: list[list[int]]) -> list[int]:
    """The groups that each group can come to, itself included, as bits."""
    group_of = {i: g for g, group in enumerate(members) for i in group}
    succ = [{group_of[j] for i in group for j in follows[i]} for group in members]
    reach = [0] * len(members)
    for g in range(len(members)):
        done, todo = 1 << g, [g]
        while todo:
            for after in succ[todo.pop()]:
                if not done >> after & 1:
                    done |= 1 << after
                    todo.append(after)
        reach[g] = done
    return reach


def _merged(members: list[set[int]], reach: list[int]) -> list[set[int]]:
    """Groups become one where neither comes before the other, or each comes before the other."""
    number = len(members)
    above = list(range(number))

    def root(g: int) -> int:
        while above[g] != g:
            g = above[g]
        return g

    for a in range(number):
        for b in range(a + 1, number):
            if (reach[a] >> b & 1) == (reach[b] >> a & 1):
                above[root(b)] = root(a)
    groups: dict[int, set[int]] = {}
    for g in range(number):
        groups.setdefault(root(g), set()).update(members[g])
    return list(groups.values())
