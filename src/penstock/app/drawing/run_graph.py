"""A run on its author's drawing: tokens, node states and variables after any fact, and what each fact changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from penstock.app.drawing.net_graph import GraphEdge, GraphNode, drawing_of
from penstock.app.drawing.run_overlay import NodeState, RunOverlay, TokenPlace
from penstock.app.runs.queries import Queries
from penstock.app.runs.timeline.timeline import Timeline
from penstock.kernel import fact as F
from penstock.kernel.fact_lines import NetOf
from penstock.net.compiled import Compiled
from penstock.net.model import Net

#: So many facts are told step by step at once.
MOST_STEPS = 400
#: Facts that may change a variable.
_NAMES = frozenset({F.STARTED, F.NAMED, F.SETS, F.MIGRATED, F.FORKED, F.REOPENED, F.PASSED, F.SETTLED})


Turns = Iterable[tuple[int, list[Any]]]  # time and facts


class RunGraph(msgspec.Struct, kw_only=True):
    """`at` of `of` facts are folded; `time` is when the last of them happened. `taken` are edges that a token has gone
    along, `not_taken` those that were decided against."""

    hash: str
    name: str
    language: str
    direction: str = "right"
    at: int = 0
    of: int = 0
    time: int | None = None
    nodes: list[GraphNode]
    edges: list[GraphEdge]
    tokens: list[TokenPlace] = []
    states: dict[str, NodeState] = {}
    taken: list[str] = []
    not_taken: list[str] = []
    variables: dict[str, Any] = {}


class GraphDelta(msgspec.Struct, kw_only=True):
    """What one fact has changed; `tokens` by edge and `resting` by node are the new counts, 0 where none is left.
    After `migrated` the drawing is another one: ask for a graph. `gone` are variables that are no more; `not_taken` is
    the whole list where it is another one."""

    fact: int
    at: int
    kind: str
    node: str | None = None
    tokens: dict[str, int] = {}
    resting: dict[str, int] = {}
    states: dict[str, NodeState] = {}
    variables: dict[str, Any] = {}
    gone: list[str] = []
    taken: list[str] = []
    not_taken: list[str] | None = None


class GraphDeltas(msgspec.Struct, kw_only=True, rename={"from_": "from"}):
    """`snapshot` is the graph after fact `from`; the steps lead from there to fact `to`."""

    from_: int
    to: int
    of: int
    snapshot: RunGraph
    steps: list[GraphDelta]


def definition_graph(net: Net | Compiled) -> RunGraph:
    """The drawing without a run."""
    made = net if isinstance(net, Compiled) else Compiled(net)
    shape = drawing_of(made)
    return RunGraph(
        hash=made.hash, name=made.net.name, language=made.net.language, nodes=shape.nodes, edges=shape.edges
    )


def graph(door: Queries, run: str, at: int | None = None) -> RunGraph:
    """A run's graph after fact `at`, the last one by default. Costs one fold of the journal up to there; where marks
    are kept, from the last one before it."""
    timeline = door.timeline(run)
    if not timeline.count:
        return definition_graph(door.nets.get(timeline.reading.row.net))  # accepted, its first turn is still to come
    return _graph(overlay_at(door, timeline, timeline.checked(at)), timeline.count)


def overlay_at(door: Queries, timeline: Timeline, last: int) -> RunOverlay:
    """A run on its drawing after a fact."""
    kept, run, resolve = door.kept_overlays, timeline.reading.row.no, timeline.reading.resolve
    if kept is None:
        picture = RunOverlay(door.net_of, resolve)
    else:
        picture = kept.nearest(run, last, door.net_of, resolve)
    for time, fact, ends in _facts(timeline.facts(picture.st.n), last - picture.st.n):
        picture.one(time, fact, ends=ends)
        if ends and kept is not None:
            kept.passed(run, picture, timeline.count)
    return picture


def graph_of(net_of: NetOf, turns: Turns, last: int, of: int, resolve: Callable[[Any], Any]) -> RunGraph:
    """From a journal in hand."""
    picture = RunOverlay(net_of, resolve)
    for time, fact, ends in _facts(turns, last):
        picture.one(time, fact, ends=ends)
    return _graph(picture, of)


def deltas(door: Queries, run: str, first: int, last: int) -> GraphDeltas:
    """The graph after fact `first`, and every fact from there to `last`: one fold, in which a step costs what lies and
    works then, not what the net has. At most MOST_STEPS are told."""
    timeline = door.timeline(run)
    begin = timeline.checked(first)
    end = min(max(last, begin), begin + MOST_STEPS, timeline.count)
    ends_turn = max((row.seq_to for row in timeline.rows if row.seq_to < begin), default=0)
    picture = overlay_at(door, timeline, ends_turn) if ends_turn else RunOverlay(door.net_of, timeline.reading.resolve)
    return _steps(picture, timeline.facts(ends_turn), begin, end, timeline.count)


def steps_of(net_of: NetOf, turns: Turns, begin: int, end: int, resolve: Callable[[Any], Any]) -> GraphDeltas:
    """From a journal in hand, whose last fact is `end`."""
    return _steps(RunOverlay(net_of, resolve), turns, begin, end, end)


def _steps(picture: RunOverlay, turns: Turns, begin: int, end: int, of: int) -> GraphDeltas:
    """`turns` are those that the picture has not seen."""
    snapshot: RunGraph | None = None
    steps: list[GraphDelta] = []
    before = _Before({}, {}, {}, {}, [])
    for time, fact, ends in _facts(turns, end - picture.st.n):
        picture.one(time, fact, ends=ends)
        if snapshot is not None:
            steps.append(_delta(picture, time, fact, before))
        elif picture.st.n == begin:
            snapshot = _graph(picture, of)
            before = _Before(*picture.counts(), dict(picture.variables()), dict(snapshot.states), snapshot.not_taken)
    assert snapshot is not None, "its fact was folded"
    return GraphDeltas(from_=begin, to=end, of=of, snapshot=snapshot, steps=steps)


class _Before:
    """What was there before a fact."""

    def __init__(
        self, tokens: dict[str, int], resting: dict[str, int], variables: dict[str, Any], states: dict[str, NodeState],
        not_taken: list[str],
    ) -> None:  # fmt: skip
        self.tokens, self.resting, self.variables, self.states = tokens, resting, variables, states
        self.not_taken = not_taken


def _delta(picture: RunOverlay, time: int, fact: Any, before: _Before) -> GraphDelta:
    tokens, resting = picture.counts()
    states = {node: state for node in picture.touched() if (state := picture.state(node)) != before.states.get(node)}
    before.states.update(states)
    delta = GraphDelta(
        fact=picture.st.n, at=time, kind=F.name_of(fact), node=picture.node,
        tokens=_changed(before.tokens, tokens), resting=_changed(before.resting, resting),
        states=states, taken=picture.newly,
    )  # fmt: skip
    before.tokens, before.resting = tokens, resting
    if (states or picture.newly) and (ways := picture.not_taken()) != before.not_taken:
        delta.not_taken = before.not_taken = ways
    if fact[0] in _NAMES:
        variables = picture.variables()
        delta.variables = {k: v for k, v in variables.items() if k not in before.variables or before.variables[k] != v}
        delta.gone = [name for name in before.variables if name not in variables]
        before.variables = dict(variables)
    return delta


def _changed(old: dict[str, int], new: dict[str, int]) -> dict[str, int]:
    changed = {id: count for id, count in new.items() if old.get(id) != count}
    return changed | dict.fromkeys(old.keys() - new.keys(), 0)


def _graph(picture: RunOverlay, of: int) -> RunGraph:
    st, net = picture.st, picture.net
    return RunGraph(
        hash=net.hash, name=net.net.name, language=net.net.language, at=st.n, of=of, time=st.at,
        nodes=picture.drawn.nodes, edges=picture.drawn.edges, tokens=picture.rests(),
        states={node.id: picture.state(node.id) for node in picture.drawn.nodes}, taken=list(picture.taken),
        not_taken=picture.not_taken(), variables=picture.variables(),
    )  # fmt: skip


def _facts(turns: Turns, last: int) -> Iterator[tuple[int, Any, bool]]:
    """The first facts, each with its time and whether it is the last of its turn."""
    left = last
    for at, facts in turns:
        for i, fact in enumerate(facts[:left], 1):
            yield at, fact, i == len(facts)
        left -= len(facts)
        if left <= 0:
            return
