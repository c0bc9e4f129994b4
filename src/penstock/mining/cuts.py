"""The four cuts of the inductive miner: how the activities of a log fall into blocks, and what each block's log is.

A cut of the graph that nothing was left out of keeps every trace: a block's log has exactly the parts of the traces
that lie in it. Where rare pairs were left out of the graph, a trace may not follow the cut; what of it does not fit the
block it would have to lie in is left out of the block's log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from penstock.mining.block_tree import Operator
from penstock.mining.follows_graph import FollowsGraph, Log


class Cut(NamedTuple):
    operator: Operator
    logs: list[Counter[tuple[int, ...]]]


def cut_of(log: Log, graph: FollowsGraph) -> Cut | None:
    """The first that there is, in the order exclusive, sequence, parallel, loop."""
    if len(parts := graph.components(graph.activities, graph.counts)) > 1:
        return Cut("xor", _split(log, parts, _into_one))
    if len(parts := graph.ordered_groups()) > 1:
        return Cut("sequence", _split(log, parts, _into_sequence))
    if len(parts := _parallel(graph)) > 1:
        return Cut("parallel", _split(log, parts, _into_each))
    if len(parts := _loop(graph)) > 1:
        return Cut("loop", _split_loop(log, parts[0]))
    return None


# ---- parts of the graph ----------------------------------------------------------------------------------------------


def _parallel(graph: FollowsGraph) -> list[set[int]]:
    """Everything of one part is followed by everything of the others, both ways, and every part can begin and end."""
    ids, counts = graph.activities, graph.counts
    apart = ((a, b) for i, a in enumerate(ids) for b in ids[i + 1 :] if (a, b) not in counts or (b, a) not in counts)
    parts = graph.components(ids, apart)
    whole = [part for part in parts if part & graph.begins.keys() and part & graph.ends.keys()]
    rest = [part for part in parts if part not in whole]
    if not whole:
        return [set(ids)]
    for part in rest:
        whole[0] |= part
    return whole


def _loop(graph: FollowsGraph) -> list[set[int]]:
    """First what is done, with all that begins and ends; then what is done before it is done again."""
    begins, ends, counts = set(graph.begins), set(graph.ends), graph.counts
    body = begins | ends
    others = [activity for activity in graph.activities if activity not in body]
    redo: list[set[int]] = []
    for part in graph.components(others, counts):
        entered = {source for source, target in counts if target in part and source in body}
        left = {target for source, target in counts if source in part and target in body}
        ins = {target for source, target in counts if target in part and source in body}
        outs = {source for source, target in counts if source in part and target in body}
        again = entered <= ends and left <= begins
        every = all((end, a) in counts for a in ins for end in ends)
        every = every and all((a, begin) in counts for a in outs for begin in begins)
        if again and every and entered and left:
            redo.append(part)
        else:
            body |= part
    return [body, *redo]


# ---- the logs of the parts -------------------------------------------------------------------------------------------

_Trace = tuple[int, ...]


def _split(
    log: Log, parts: list[set[int]], into: Callable[[_Trace, dict[int, int], int], list[_Trace | None]]
) -> list[Counter[_Trace]]:
    part_of = {activity: i for i, part in enumerate(parts) for activity in part}
    logs: list[Counter[_Trace]] = [Counter() for _ in parts]
    for trace, cases in log.items():
        for i, piece in enumerate(into(trace, part_of, len(parts))):
            if piece is not None:
                logs[i][piece] += cases
    return logs


def _into_one(trace: _Trace, part_of: dict[int, int], number: int) -> list[_Trace | None]:
    """Into the part that most of it lies in."""
    pieces: list[_Trace | None] = [None] * number
    if trace:
        part = Counter(part_of[activity] for activity in trace).most_common(1)[0][0]
        pieces[part] = tuple(activity for activity in trace if part_of[activity] == part)
    return pieces


def _into_each(trace: _Trace, part_of: dict[int, int], number: int) -> list[_Trace | None]:
    pieces: list[list[int]] = [[] for _ in range(number)]
    for activity in trace:
        pieces[part_of[activity]].append(activity)
    return [tuple(piece) for piece in pieces]


def _into_sequence(trace: _Trace, part_of: dict[int, int], number: int) -> list[_Trace | None]:
    """One piece after the other, placed so that as little as possible lies in another part's piece."""
    parts = [part_of[activity] for activity in trace]
    if all(parts[i] <= parts[i + 1] for i in range(len(parts) - 1)):
        return _into_each(trace, part_of, number)
    best: list[tuple[int, list[int]]] = [(0, []) for _ in range(number)]  # by part: what it keeps, where pieces begin
    for place, part in enumerate(parts):
        for i in range(number):
            if i and best[i - 1][0] > best[i][0]:
                kept, begins = best[i - 1]
                best[i] = (kept, [*begins, *([place] * (i - len(begins)))])
        best[part] = (best[part][0] + 1, best[part][1] + [place] * (part - len(best[part][1])))
    kept, begins = max(best, key=lambda one: one[0])
    begins = [0, *begins, *([len(trace)] * (number - len(begins)))]
    pieces = (trace[begins[i] : begins[i + 1]] for i in range(number))
    return [tuple(activity for activity in piece if part_of[activity] == i) for i, piece in enumerate(pieces)]


def _split_loop(log: Log, body: set[int]) -> list[Counter[_Trace]]:
    """Pieces of the body and of what comes in between, by turns; a trace begins and ends with the body."""
    done: Counter[_Trace] = Counter()
    redone: Counter[_Trace] = Counter()
    for trace, cases in log.items():
        pieces: list[list[int]] = [[]]
        in_body = True
        for activity in trace:
            if (activity in body) != in_body:
                pieces.append([])
                in_body = not in_body
            pieces[-1].append(activity)
        if not in_body:
            pieces.append([])
        for i, piece in enumerate(pieces):
            (redone if i % 2 else done)[tuple(piece)] += cases
    return [done, redone]
