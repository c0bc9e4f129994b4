"""Makes a level smaller without changing whether it is sound. A well-nested level ends as one edge."""

from __future__ import annotations

from collections import deque

from penstock.net.soundness.level import OUTSIDE, SINK, VOID, Level


def reduce(level: Level) -> None:
    """Applies the rules until none fits; a node is asked again only when something beside it changed."""
    todo = deque(range(len(level.join)))
    waiting = set(todo)
    while todo:
        v = todo.popleft()
        waiting.discard(v)
        if v in (SINK, VOID):
            continue
        for w in _apply(level, v):
            if w != OUTSIDE and w not in waiting:
                waiting.add(w)
                todo.append(w)


def _apply(level: Level, v: int) -> list[int]:
    """The nodes to be asked again; none when no rule fits."""
    ins, outs = level.ins[v], level.outs[v]
    if not ins or not outs:
        return []
    if len(ins) == 1 and len(outs) == 1:
        return _sequence(level, v)
    return _self_loop(level, v) or _parallel(level, v) or _same_join(level, v) or _same_split(level, v)


def _sequence(level: Level, v: int) -> list[int]:
    """One way in, one way out: the two edges become one."""
    (i,), (o,) = level.ins[v], level.outs[v]
    before = level.src[i]
    if before == v or v in level.ends_all or v in level.mixed:
        return []
    level.src[o] = before
    if before != OUTSIDE:
        del level.outs[before][i]
        level.outs[before][o] = None
    if level.first[i] != OUTSIDE:
        level.first[o] = level.first[i]
    if level.last[o] == OUTSIDE:
        level.last[o] = level.last[i]
    level.ins[v].clear()
    level.outs[v].clear()
    return [before, level.dst[o]]


def _self_loop(level: Level, v: int) -> list[int]:
    """A choice to do the same again changes nothing."""
    if level.join[v] != "xor" or level.split[v] != "xor":
        return []
    loops = [e for e in level.outs[v] if level.dst[e] == v]
    if not loops or len(loops) == len(level.outs[v]) or len(loops) == len(level.ins[v]):
        return []
    for e in loops:
        _drop(level, e)
    return [v]


def _parallel(level: Level, v: int) -> list[int]:
    """Several edges from a split to a join of the same type are as good as one; for `or` only as a whole block."""
    kind = level.split[v]
    by_target: dict[int, list[int]] = {}
    for e in level.outs[v]:
        by_target.setdefault(level.dst[e], []).append(e)
    for w, edges in by_target.items():
        if w == v or len(edges) < 2 or level.join[w] != kind:
            continue
        if kind == "or" and not len(edges) == len(level.outs[v]) == len(level.ins[w]):
            continue
        for e in edges[1:]:
            _drop(level, e)
        return [v, w]
    return []


def _same_join(level: Level, v: int) -> list[int]:
    """A join that only leads into a join of the same type."""
    if len(level.outs[v]) != 1 or len(level.ins[v]) < 2:
        return []
    (o,) = level.outs[v]
    w = level.dst[o]
    if w == SINK and level.each:  # its work would be done twice
        return []
    if w == v or len(level.ins[w]) < 2 or level.join[v] != level.join[w] or level.join[v] not in ("and", "xor"):
        return []
    _drop(level, o)
    if len(level.ins[v]) > len(level.ins[w]) and w not in (SINK, VOID) and w not in level.ends_all:
        level.split[v], level.origin[v] = level.split[w], level.origin[w]
        _move_outs(level, w, v)
        v, w = w, v  # the fewer are moved, or a long row of merges takes quadratic time
    moved = list(level.ins[v])
    for e in moved:
        del level.ins[v][e]
        level.dst[e] = w
        level.ins[w][e] = None
    return [w, *dict.fromkeys(level.src[e] for e in moved)]


def _same_split(level: Level, v: int) -> list[int]:
    """A split that only comes from a split of the same type."""
    if len(level.ins[v]) != 1 or len(level.outs[v]) < 2:
        return []
    (i,) = level.ins[v]
    u = level.src[i]
    if u in (v, OUTSIDE) or len(level.outs[u]) < 2:
        return []
    if level.split[u] != level.split[v] or level.split[v] not in ("and", "xor") or u in level.ends_all:
        return []
    _drop(level, i)
    if len(level.outs[v]) > len(level.outs[u]):
        level.join[v], level.origin[v] = level.join[u], level.origin[u]
        for e in list(level.ins[u]):
            del level.ins[u][e]
            level.dst[e] = v
            level.ins[v][e] = None
        if u in level.mixed:
            level.mixed[v] = level.mixed.pop(u)
        v, u = u, v
    return [u, *_move_outs(level, v, u)]


def _move_outs(level: Level, src: int, dst: int) -> list[int]:
    """Lets the ways out of one node leave from another; the nodes they lead to."""
    moved = list(level.outs[src])
    for e in moved:
        del level.outs[src][e]
        level.src[e] = dst
        level.outs[dst][e] = None
    return list(dict.fromkeys(level.dst[e] for e in moved))


def _drop(level: Level, e: int) -> None:
    del level.outs[level.src[e]][e]
    del level.ins[level.dst[e]][e]
