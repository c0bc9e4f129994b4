"""Columns and rows of a drawing: cycles broken, longest-path layers, rows ordered for few crossings."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.net.graph import Adjacency

Pair = tuple[int, int]

_SWEEPS = 8
_COUNTED = 4_000  # beyond this many segments crossings are not counted, only swept


def backward(n: int, edges: Sequence[Pair]) -> set[int]:
    """The edges that close a cycle, seen from the roots in declaration order."""
    outs: list[list[int]] = [[] for _ in range(n)]
    has_in = [False] * n
    for i, (a, b) in enumerate(edges):
        outs[a].append(i)
        has_in[b] = has_in[b] or a != b
    state = [0] * n  # 1 on the way down, 2 done
    back_edges: set[int] = set()
    for root in sorted(range(n), key=lambda v: has_in[v]):
        stack = [(root, 0)] if not state[root] else []
        while stack:
            v, at = stack.pop()
            state[v] = 1
            for k in range(at, len(outs[v])):
                w = edges[outs[v][k]][1]
                if state[w] == 1:
                    back_edges.add(outs[v][k])
                elif not state[w]:
                    stack += [(v, k + 1), (w, 0)]
                    break
            else:
                state[v] = 2
    return back_edges


def layering(n: int, edges: Sequence[Pair], fixed: Sequence[bool]) -> list[int]:
    """Longest path from the sources; a source that is not `fixed` moves right, next to what it leads to."""
    succ: list[list[int]] = [[] for _ in range(n)]
    missing = [0] * n
    for a, b in edges:
        succ[a].append(b)
        missing[b] += 1
    layer, sources = [0] * n, [v for v in range(n) if not missing[v]]
    todo = list(sources)
    for v in todo:
        for w in succ[v]:
            layer[w] = max(layer[w], layer[v] + 1)
            missing[w] -= 1
            if not missing[w]:
                todo.append(w)
    for v in sources:
        if succ[v] and not fixed[v]:
            layer[v] = min(layer[w] for w in succ[v]) - 1
    return layer


def main_line(n: int, edges: Sequence[Pair]) -> set[int]:
    """The edges of a longest way, which is drawn straight; among equals the first declared."""
    outs: list[list[int]] = [[] for _ in range(n)]
    missing = [0] * n
    for i, (a, b) in enumerate(edges):
        outs[a].append(i)
        missing[b] += 1
    order = [v for v in range(n) if not missing[v]]
    roots = len(order)
    for v in order:
        for i in outs[v]:
            missing[edges[i][1]] -= 1
            if not missing[edges[i][1]]:
                order.append(edges[i][1])
    far, best = [0] * n, [-1] * n
    for v in reversed(order):
        for i in reversed(outs[v]):
            if far[edges[i][1]] + 1 >= far[v]:
                far[v], best[v] = far[edges[i][1]] + 1, i
    if not roots:
        return set()
    at, line = max(order[:roots], key=lambda v: far[v]), set()
    while best[at] >= 0:
        line.add(best[at])
        at = edges[best[at]][1]
    return line


def order_rows(rows: list[list[int]], succ: Adjacency, pred: Adjacency) -> list[list[int]]:
    """Barycentre sweeps to and fro; the best order seen is kept."""
    segments = sum(len(ws) for ws in succ)
    best, fewest = [list(row) for row in rows], _crossings(rows, succ) if segments <= _COUNTED else -1
    for sweep in range(_SWEEPS if segments <= _COUNTED else 2):
        if fewest == 0:
            break
        rows = [list(row) for row in rows]
        down = sweep % 2 == 0
        near = pred if down else succ
        for i in range(1, len(rows)) if down else range(len(rows) - 2, -1, -1):
            place = {v: k for k, v in enumerate(rows[i - 1 if down else i + 1])}
            rows[i] = _by_barycentre(rows[i], near, place)
        if fewest < 0:
            best = rows
        elif (crossings := _crossings(rows, succ)) < fewest:
            best, fewest = rows, crossings
    return best


def _by_barycentre(row: list[int], near: Adjacency, place: dict[int, int]) -> list[int]:
    """Nodes without neighbours keep their row; the others are sorted among the rest."""
    keys = {}
    for v in row:
        at = [place[w] for w in near[v] if w in place]
        if at:
            keys[v] = sum(at) / len(at)
    movable = iter(sorted((v for v in row if v in keys), key=lambda v: keys[v]))
    return [next(movable) if v in keys else v for v in row]


def _crossings(rows: list[list[int]], succ: Adjacency) -> int:
    """Pairs of segments between neighbouring columns that cross."""
    total = 0
    for row, following in zip(rows, rows[1:], strict=False):
        place = {v: k for k, v in enumerate(following)}
        ends = [place[w] for v in row for w in sorted(succ[v], key=lambda w: place.get(w, -1)) if w in place]
        seen = [0] * (len(following) + 1)
        for count, end in enumerate(ends):
            at, before = end + 1, 0
            while at:
                before += seen[at]
                at &= at - 1
            total += count - before
            at = end + 1
            while at <= len(following):
                seen[at] += 1
                at += at & -at
    return total
