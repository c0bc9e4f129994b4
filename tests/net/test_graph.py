"""Graph facts: dominators, back edges, cycles and reachability, against brute force and at size."""

from __future__ import annotations

import random
import time

import pytest

from penstock.net.graph import NOWHERE, ROOT, Dominators, NetGraph, cyclic, dominates, dominators, reachable, sccs
from penstock.net.model import Body, Edge, Net, Node

Adj = list[list[int]]


def adjacency(n: int, edges: list[tuple[int, int]]) -> tuple[Adj, Adj]:
    succ: Adj = [[] for _ in range(n)]
    pred: Adj = [[] for _ in range(n)]
    for a, b in edges:
        succ[a].append(b)
        pred[b].append(a)
    return succ, pred


def without(succ: Adj, gone: int) -> Adj:
    return [[] if v == gone else [w for w in ws if w != gone] for v, ws in enumerate(succ)]


def random_graph(seed: int) -> tuple[int, Adj, Adj, list[int]]:
    rng = random.Random(seed)
    n = rng.randrange(1, 14)
    edges = [(rng.randrange(n), rng.randrange(n)) for _ in range(rng.randrange(0, 3 * n))]
    succ, pred = adjacency(n, edges)
    roots = [v for v in range(n) if not pred[v]] or [0]
    if rng.random() < 0.3:
        roots = sorted({*roots, rng.randrange(n)})  # an entry that has in-edges too
    return n, succ, pred, roots


@pytest.mark.parametrize("seed", range(300))
def test_dominators_equal_brute_force(seed: int) -> None:
    """a dominates b iff b is reachable, and is not once a is taken away."""
    n, succ, pred, roots = random_graph(seed)
    idom = dominators(n, succ, pred, roots)
    alive = reachable(n, succ, roots)
    above = {b: set[int]() for b in range(n)}
    for a in range(n):
        left = reachable(n, without(succ, a), [r for r in roots if r != a])
        for b in range(n):
            expected = alive[b] and (a == b or not left[b])
            assert dominates(idom, a, b) == (expected or a == b), (a, b)
            assert dominates(list(idom), a, b) == (expected or a == b), (a, b)
            if expected:
                above[b].add(a)
    for v in range(n):
        assert (idom[v] == NOWHERE) == (not alive[v])
        strict = above[v] - {v}
        nearest = max(strict, key=lambda a: len(above[a]), default=ROOT)
        assert not alive[v] or idom[v] == nearest


@pytest.mark.parametrize("seed", range(200))
def test_meet_and_toward_equal_a_walk_up_the_tree(seed: int) -> None:
    n, succ, pred, roots = random_graph(seed)
    idom = dominators(n, succ, pred, roots)

    def chain(v: int) -> list[int]:
        found = [v]
        while found[-1] != ROOT:
            found.append(idom[found[-1]])
        return found

    reached = [v for v in range(n) if idom[v] != NOWHERE]
    for a in reached:
        for b in reached:
            meet = next(v for v in chain(a) if v in chain(b))
            assert idom.meet(a, b) == meet
            if meet != b:
                assert idom.toward(meet, b) == chain(b)[chain(b).index(meet) - 1]


@pytest.mark.parametrize("seed", range(200))
def test_components_equal_mutual_reachability(seed: int) -> None:
    n, succ, _, _ = random_graph(seed)
    component = sccs(n, succ)
    reach = [reachable(n, succ, [v]) for v in range(n)]
    for a in range(n):
        for b in range(n):
            assert (component[a] == component[b]) == (reach[a][b] and reach[b][a])
        for b in succ[a]:
            assert component[b] <= component[a], "components are numbered from the sinks up"
    on_cycle = [any(reach[w][v] for w in succ[v]) for v in range(n)]
    assert cyclic(succ, component) == on_cycle


def shapes() -> dict[str, tuple[int, list[tuple[int, int]]]]:
    n = 10_000
    half = n // 2
    chain = [(i, i + 1) for i in range(n - 1)]
    rungs = [(i, i + 1) for i in range(half - 1)] + [(half + i, half + i + 1) for i in range(half - 1)]
    rungs += [(0, half)] + [(i, half + i) for i in range(half)]
    return {
        "chain": (n, chain),
        "chain with every way back": (n, chain + [(i + 1, i) for i in range(n - 1)]),
        "one big loop": (n, [*chain, (n - 1, 1)]),
        "two chains with rungs": (n, rungs),
        "fan": (n, [(0, i) for i in range(1, n - 1)] + [(i, n - 1) for i in range(1, n - 1)]),
        "diamonds": (n, [(i + a, i + b) for i in range(0, n - 4, 3) for a, b in ((0, 1), (0, 2), (1, 3), (2, 3))]),
    }


@pytest.mark.parametrize("shape", shapes())
def test_ten_thousand_nodes_take_well_under_a_second(shape: str) -> None:
    n, edges = shapes()[shape]
    succ, pred = adjacency(n, edges)
    began = time.process_time()
    idom = dominators(n, succ, pred, [0])
    component = sccs(n, succ)
    back = [dominates(idom, b, a) for a, b in edges]
    assert time.process_time() - began < 1.0
    assert len(idom) == len(component) == n
    assert any(back) == (shape in ("chain with every way back", "one big loop"))


def test_a_net_by_numbers() -> None:
    """Back edges lead to a dominator of their source; scope entries are roots although something leads back to them."""
    net = Net(
        name="n",
        nodes=(
            Node(id="s", kind="start"),
            Node(id="a"),
            Node(id="b"),
            Node(id="p", kind="scope", body=Body(entry="i")),
            Node(id="i", scope="p"),
            Node(id="j", scope="p"),
        ),
        edges=(
            Edge(id="sa", src="s", dst="a"),
            Edge(id="ab", src="a", dst="b"),
            Edge(id="ba", src="b", dst="a"),
            Edge(id="bp", src="b", dst="p"),
            Edge(id="ij", src="i", dst="j"),
            Edge(id="ji", src="j", dst="i"),
            Edge(id="lost", src="b", dst="nobody"),
        ),
    )
    graph = NetGraph(net)
    assert [graph.edges[e].id for e in range(len(graph.edges)) if graph.is_back(e)] == ["ba", "ji"]
    assert [net.nodes[v].id for v in graph.roots] == ["s", "i"]
    assert [net.nodes[v].id for v, on in enumerate(graph.cyclic) if on] == ["a", "b", "i", "j"]
    assert isinstance(graph.idom, Dominators)
