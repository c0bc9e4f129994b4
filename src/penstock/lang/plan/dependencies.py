"""Dependencies of tasks: who waits for whom, circles and their weakest links, their order (T-8.3, T-X.28, T-X.29)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

#: a task that is over, in one of these, never runs again by itself
OVER = ("completed", "cancelled", "failed")


class Dependency(msgspec.Struct, frozen=True):
    """One entry of `depends_on`."""

    id: str
    optional: bool = False
    weight: int = 1


class Removed(msgspec.Struct, frozen=True):
    """An optional dependency that was taken out of a circle: `task` does not wait for `on` any more."""

    task: str
    on: str
    weight: int = 1


class Cycle(msgspec.Struct, frozen=True):
    """Tasks that wait for each other, each for the next and the last for the first. `members` are all that are tied
    together; `optional`: the weakest of its dependencies can be removed."""

    tasks: list[str]
    members: list[str]
    optional: bool = False
    suggestions: list[str] = []


class Blocked(msgspec.Struct, frozen=True):
    """T-5.2.3: can a task be executed; if not, why, and which tasks are in its way."""

    can_execute: bool
    reason: str = ""
    blocking_tasks: list[str] = []


def dependencies_of(entries: Any) -> list[Dependency]:
    """The entries of `depends_on`, as far as they can be understood; each task once."""
    found: dict[str, Dependency] = {}
    for entry in entries if isinstance(entries, list | tuple) else ():
        if isinstance(entry, str):
            found.setdefault(entry, Dependency(entry))
        elif isinstance(entry, dict) and isinstance(entry.get("id"), str):
            weight = entry.get("weight", 1)
            number = weight if isinstance(weight, int) and not isinstance(weight, bool) else 1
            found.setdefault(entry["id"], Dependency(entry["id"], entry.get("optional") is True, number))
    return list(found.values())


def order_key(priority: int | None, created: Any, id: str) -> tuple[Any, ...]:
    """T-X.28: a priority before none, the smaller one first; then what was created first; then the id. `created` is a
    comparable moment or None."""
    return (priority is None, priority or 0, created is None, created or 0, id)


def blocked(
    id: str, statuses: Mapping[str, str], depends_on: Mapping[str, Sequence[Dependency]], *, review: bool = False
) -> Blocked:
    """T-5.2.3, T-X.29: `statuses` of all tasks; what is not there is unknown. A task in a circle is named so."""
    status = statuses.get(id, "pending")
    if status != "pending":
        return Blocked(False, "review_required" if review else f"task_{status}")
    waiting: dict[str, list[str]] = {}
    for other in depends_on.get(id, ()):
        there = statuses.get(other.id, "unknown")
        if there == "completed" or other.optional and there in OVER:
            continue
        reason = f"dependency_{there}" if there in ("failed", "cancelled", "unknown") else "dependencies_not_met"
        waiting.setdefault(reason, []).append(other.id)
    if not waiting:
        return Blocked(True)
    reason = next(r for r in (*_HOPELESS, "dependencies_not_met") if r in waiting)
    return Blocked(False, reason, [other for entries in waiting.values() for other in entries])


_HOPELESS = ("dependency_failed", "dependency_cancelled", "dependency_unknown")


def executable(
    statuses: Mapping[str, str], depends_on: Mapping[str, Sequence[Dependency]], keys: Mapping[str, tuple[Any, ...]]
) -> list[str]:
    """T-7.1.5: the tasks that could start now, the first one first. `keys` are of `order_key`."""
    found = [
        id for id, status in statuses.items() if status == "pending" and blocked(id, statuses, depends_on).can_execute
    ]
    return sorted(found, key=lambda task: keys.get(task) or order_key(None, None, task))


def cycles(depends_on: Mapping[str, Sequence[Dependency]]) -> list[Cycle]:
    """T-8.3.1: every group of tasks that wait for each other, with one circle of it to show."""
    graph = _graph(depends_on)
    return [_cycle(members, depends_on, graph) for members in components(graph)]


def removable(
    depends_on: Mapping[str, Sequence[Dependency]], age: Mapping[str, float | None] | None = None
) -> list[Removed]:
    """T-8.3.3, T-X.29: the optional dependencies to remove so that no circle is left that can be broken: in each, the
    one of the smallest weight, then the newest (`age`: the larger, the newer, by task).

    Taking the weakest edge out of every circle, again and again, removes an edge exactly when it closes a circle of
    edges that are at least as strong. So edges are put in, the strongest first, and one is removed when its ends are
    tied together by then; required ones are all there before. Those whose ends are tied by required ones alone stay:
    without them the circle is still there.
    """
    groups = components(_graph(depends_on))
    if not groups:
        return []
    tied = {id: number for number, group in enumerate(groups) for id in group}
    inner = [
        (id, other)
        for id, others in depends_on.items()
        for other in others
        if id in tied and tied.get(other.id) == tied[id]
    ]
    ages = age or {}
    weak = [(id, other) for id, other in inner if other.optional]
    weak.sort(key=lambda edge: (edge[1].weight, _newest_first(ages.get(edge[0])), edge[0], edge[1].id))
    times = {(id, other.id): len(weak) - rank for rank, (id, other) in enumerate(weak)}
    edges = [(times.get((id, other.id), 0), id, other.id) for id, other in inner]
    tied_at = _tied_at(edges, len(weak))
    hard = {id: number for number, group in enumerate(components(_graph(depends_on, optional=False))) for id in group}
    return [
        Removed(id, other.id, other.weight)
        for id, other in weak
        if tied_at.get((id, other.id)) == times[id, other.id] and (id not in hard or hard.get(other.id) != hard[id])
    ]


def _newest_first(age: float | None) -> float:
    """What has no age is the newest."""
    return float("-inf") if age is None else -age


def _tied_at(edges: list[tuple[int, str, str]], last: int) -> dict[tuple[str, str], int]:
    """When each edge has come and its ends lie in one component, as edges are added in the order of their times: by
    halving the time, with the components of the first half taken as one node in the second."""
    leader: dict[str, str] = {}
    found: dict[tuple[str, str], int] = {}

    def find(node: str) -> str:
        while (above := leader.get(node, node)) != node:
            leader[node] = leader.get(above, above)
            node = above
        return node

    def solve(low: int, high: int, some: list[tuple[int, str, str]]) -> None:
        if not some or low > last:
            return
        if low == high:
            for _, a, b in some:
                found[a, b] = low
                leader[find(a)] = find(b)
            return
        middle = (low + high) // 2
        graph: dict[str, list[str]] = {}
        for time, a, b in some:
            if time <= middle:
                graph.setdefault(find(a), []).append(find(b))
        group = {node: number for number, nodes in enumerate(components(graph)) for node in nodes}
        early: list[tuple[int, str, str]] = []
        late: list[tuple[int, str, str]] = []
        for edge in some:
            time, a, b = edge[0], find(edge[1]), find(edge[2])
            together = time <= middle and (a == b or a in group and group.get(b) == group[a])
            (early if together else late).append(edge)
        solve(low, middle, early)
        solve(middle + 1, high, late)

    solve(0, last + 1, edges)
    return found


def components(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """The strongly connected components with more than one node, each sorted; by Tarjan, without recursion."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    on_stack: set[str] = set()
    stack: list[str] = []
    out: list[list[str]] = []
    for root in graph:
        if root in index:
            continue
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        work = [(root, iter(graph[root]))]
        while work:
            node, others = work[-1]
            for other in others:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, iter(graph.get(other, ()))))
                    break
                if other in on_stack:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    group = [stack.pop()]
                    while group[-1] != node:
                        group.append(stack.pop())
                    on_stack.difference_update(group)
                    if len(group) > 1:
                        out.append(sorted(group))
    return sorted(out)


def _graph(depends_on: Mapping[str, Sequence[Dependency]], *, optional: bool = True) -> dict[str, list[str]]:
    return {
        id: [other.id for other in others if other.id in depends_on and (optional or not other.optional)]
        for id, others in depends_on.items()
    }


def _cycle(members: list[str], depends_on: Mapping[str, Sequence[Dependency]], graph: Mapping[str, list[str]]) -> Cycle:
    inside, first = {*members}, members[0]
    before: dict[str, str] = {}
    todo = [first]
    for node in todo:  # breadth first: the shortest circle through the first of them
        for other in graph[node]:
            if other == first:
                path = [node]
                while path[-1] != first:
                    path.append(before[path[-1]])
                path.reverse()
                optional = any(d.optional and d.id in inside for id in members for d in depends_on[id])
                return Cycle(path, members, optional, _suggestions(path))
            if other in inside and other not in before:
                before[other] = node
                todo.append(other)
    raise AssertionError("every node of a component lies on a circle")


def _suggestions(path: list[str]) -> list[str]:
    """T-8.3.5: what a person can do."""
    first, second = path[0], path[1]
    return [
        f"Remove «{second}» from `depends_on` of «{first}», or make it optional.",
        f"Complete «{first}» by hand: force-complete.",
        f"Cancel «{first}», if nothing else needs it.",
    ]
