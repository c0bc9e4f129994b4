"""Laws of pools on random plans: with crashes, retries, stops, wishes and rejections at random moments."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from penstock.errors import PenstockError
from penstock.kernel import command as C
from penstock.kernel.failure import Failure
from penstock.kernel.state import EFFECT, IN_QUEUE, SUSPENDED, encode_state
from penstock.net.model import MERGE, Edge, Net, Node
from tests.kernel.harness import Sim
from tests.kernel.test_pool import pooled, worker

PLACES = ("a", "b", "c")


def random_plan(rng: random.Random) -> Net:
    """Tasks with dependencies on earlier ones, some optional, some for one agent; rarely a cycle."""
    count = rng.randint(1, 9)
    ids = [f"t{n}" for n in range(count)]
    nodes = [
        worker(id, place=rng.choice(("", "", "", *PLACES)), priority=rng.randint(1, 3), max=rng.randint(0, 2))
        for id in ids
    ]
    made = pooled(nodes, places=" ".join(PLACES), most=rng.randint(1, 4))
    edges, routes = list(made.edges), []
    for n, id in enumerate(ids):
        for other in rng.sample(ids[:n], min(n, rng.choice((0, 0, 1, 2)))):
            if rng.random() < 0.3:
                route = f"m.{other}.{id}"
                routes.append(Node(id=route, kind="route", join=MERGE, max_iter=1, at_max="absorb"))
                edges += [
                    Edge(id=f"{other}:{port}>{route}", src=other, dst=route, port=port)
                    for port in ("done", "failed", "cancelled")
                ]
                edges.append(Edge(id=f"{route}>{id}", src=route, dst=id))
            else:
                edges.append(Edge(id=f"{other}>{id}", src=other, dst=id))
    if count > 2 and rng.random() < 0.1:
        edges.append(Edge(id=f"{ids[-1]}>{ids[0]}!", src=ids[-1], dst=ids[0]))
    return msgspec.structs.replace(made, nodes=(*made.nodes, *routes), edges=tuple(edges))


def step(m: Sim, rng: random.Random) -> None:
    """One thing that happens."""
    tasks = [node.id for node in m.net.nodes if node.pool]
    dice, effects = rng.random(), m.effects()
    if effects and dice < 0.6:
        firing = rng.choice(effects)
        outcomes: list[Any] = [
            C.done(firing.no, firing.attempt, 0, {"confidence": rng.choice((100, 80, 79))}),
            C.done(firing.no, firing.attempt, 0, {"confidence": 100}),
            C.failed(firing.no, firing.attempt, Failure("X", rng.choice(("transient", "permanent", "fatal")), "no")),
            C.returned(firing.no, firing.attempt, "lost"),
        ]
        m.do(rng.choice(outcomes))
    elif dice < 0.7:
        m.do(C.limit("p", rng.choice((0, 1, 2, 4)), "stop"))
    elif dice < 0.75:
        m.do(C.execute(rng.choice(tasks), rng.random() < 0.5))
    elif dice < 0.8:
        m.do(C.stop(rng.choice(tasks), rng.choice(("cancel", "put_back"))))
    elif dice < 0.83:
        m.do(C.resolve(rng.choice(tasks), {"confidence": 100}))
    elif dice < 0.87 and m.st.parked:
        m.do(C.retry("here", rng.choice(list(m.st.parked))))
    elif dice < 0.95 and (drafts := [f for f in m.st.firings.values() if f.phase == SUSPENDED]):
        m.do(C.work(rng.choice(drafts).no, rng.choice(("approve", "reject")), "ann", None, "so"))
    else:
        m.tick()


def check_places(m: Sim) -> None:
    at_work = [(m.net.nodes[f.node], f.place) for f in m.effects()]
    places = [place for _, place in at_work]
    assert len(set(places)) == len(places), "one task per agent"
    assert len(places) <= m.net.net.pools["p"].most or m.st.pool_limits, "never more than the limit"
    assert all(node.spec.place in ("", place) for node, place in at_work), "a task for one agent is done by that one"
    limit = m.st.pool_limits.get("p", m.net.net.pools["p"].most)
    room = limit - len(places)
    waiting = [f for f in m.st.firings.values() if f.phase == IN_QUEUE]
    free = {*PLACES} - {*places}
    if room > 0 and m.st.status in (2, 3):
        assert not any((m.net.nodes[f.node].spec.place or next(iter(free), "-")) in free for f in waiting), (
            "who waits for a place that is free has it"
        )


@pytest.mark.parametrize("seed", range(200))
def test_laws_of_places(seed: int) -> None:
    """T-7.2.1, T-7.2.3, T-2.3.1, T-9.2.3: at every moment, whatever happens and wherever it crashes; and every plan
    ends, or says what keeps it."""
    rng = random.Random(seed)
    m, twin = (Sim(random_plan(random.Random(seed))) for _ in range(2))
    for _ in range(rng.randint(5, 60)):
        before = rng.getstate()
        try:
            step(m, rng)
        except PenstockError:
            continue
        rng.setstate(before)
        step(twin, rng)
        if rng.random() < 0.3:
            m.crash()
        check_places(m)
        assert encode_state(m.st) == encode_state(twin.st), "a crash changes nothing"
        if m.status == "COMPLETED":
            return
    m.do(C.limit("p", 3))
    for _ in range(200):
        if m.status == "COMPLETED" or m.st.stopped and not m.effects() and not _drafts(m):
            break
        for firing in m.effects():
            m.do(C.done(firing.no, firing.attempt, 0, {"confidence": 100}))
        for no in _drafts(m):
            m.do(C.work(no, "approve", "ann"))
        if m.run.wake_at() is not None:
            m.tick()
        if m.st.stopped.get("p") == "stop":
            m.do(C.limit("p", 3))
    assert m.status == "COMPLETED" or m.st.stopped["p"] == "deadlock", (m.status, m.st.stopped)
    assert not any(f.phase == EFFECT for f in m.st.firings.values())


def _drafts(m: Sim) -> list[int]:
    return [f.no for f in m.st.firings.values() if f.phase == SUSPENDED]
