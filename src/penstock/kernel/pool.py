"""Pools: named places that attempts take while their effects are under way; who waits for one, and who is next.

A node of a pool never begins by itself: when it is ready it is held back, and when nothing else is to be done the
first of those that wait and can have a place begins. So the order is that of candidates, whoever came first, and what
a place that is given back costs does not grow with those who wait. A pool with no room is stopped: then only what
somebody wants done begins.
"""

from __future__ import annotations

from heapq import heappop

from penstock.kernel import fact as F
from penstock.kernel.ready import ready
from penstock.kernel.run import Candidate, Run
from penstock.kernel.state import EFFECT, IN_QUEUE, Firing
from penstock.net.compiled import CNode


def limit_of(r: Run, pool: str) -> int:
    """How many places may be taken at once."""
    given = r.st.pool_limits.get(pool)
    return r.net.pools[pool].most if given is None else given


def taken_places(r: Run, pool: str) -> dict[str, int]:
    """Place → firing. Who has been answered or dropped has given it back."""
    places = r.places.setdefault(pool, {})
    gone = []
    for place, no in places.items():
        firing = r.st.firings.get(no)
        if firing is None or firing.phase != EFFECT or firing.place != place:
            gone.append(place)
    for place in gone:
        del places[place]
    return places


def free_place(r: Run, node: CNode, *, wanted: bool = False) -> str | None:
    """The place that an attempt of the node may have now; what is wanted may have it in a stopped pool, too."""
    pool, taken = r.net.pools[node.pool], taken_places(r, node.pool)
    most = limit_of(r, node.pool) or (pool.most if wanted or node.no in r.st.wanted else 0)
    if len(taken) >= most:
        return None
    if node.spec.place:
        return None if node.spec.place in taken else node.spec.place
    return next((place for place in pool.places if place not in taken), None)


def take_place(r: Run, node: CNode, firing: Firing, place: str) -> None:
    r.places.setdefault(node.pool, {})[place] = firing.no


def queue_firing(r: Run, firing: Firing, attempt: int, base: int, why: str) -> None:
    """A firing waits for a place, to be asked for the attempt given."""
    r.record((F.QUEUED, firing.no, attempt, base, why))
    hold_firing(r, firing)


def hold_firing(r: Run, firing: Firing) -> None:
    node = r.net.nodes[firing.node]
    r.queueing[node.no, firing.scope, firing.epoch] = firing.no
    hold_candidate(r, node, (node.priority, 1000, node.no, firing.scope, firing.epoch))


def hold_candidate(r: Run, node: CNode, candidate: Candidate) -> None:
    r.hold_back(waiting_for(node), candidate)


def waiting_for(node: CNode) -> str:
    """Under which name candidates are held back: those for one place wait apart from those for any."""
    return f"{node.pool}\0{node.spec.place}"


def next_for_place(r: Run) -> Candidate | None:
    """The first of those who wait for a place of a pool and can have it now; it is held back no longer."""
    for pool in r.net.pools:
        if r.st.wanted and (wanted := _wanted(r, pool)) is not None:
            return wanted
        best = _first(r, pool)
        if best is not None:
            candidate = heappop(r.held[best])
            if not r.held[best]:
                del r.held[best]
            r.holding.pop(candidate, None)
            return candidate
    return None


def _first(r: Run, pool: str) -> str | None:
    taken = taken_places(r, pool)
    if len(taken) >= limit_of(r, pool):
        return None
    free = [place for place in r.net.pools[pool].places if place not in taken]
    best: str | None = None
    for place in ("", *free) if free else ():
        name = f"{pool}\0{place}"
        waiting = r.held.get(name)
        if waiting and (best is None or waiting[0] < r.held[best][0]):
            best = name
    return best


def _wanted(r: Run, pool: str) -> Candidate | None:
    """Of a stopped pool: what somebody wants done and can have its place. It may be held back, too, and is then found
    to have begun."""
    if limit_of(r, pool):
        return None
    root = r.st.scopes[0]
    for no in r.st.wanted:
        node = r.net.nodes[no]
        if node.pool != pool or free_place(r, node) is None:
            continue
        if (no, 0, 0) in r.queueing or not root.rounds(no) and ready(r, node, root, 0) is not None:
            return (node.priority, 1000, no, 0, 0)
    return None


def queued_firing(r: Run, candidate: Candidate) -> Firing | None:
    """The firing of a candidate that waits for a place with an attempt to come, if it still does."""
    no = r.queueing.pop(candidate[2:], None)
    firing = None if no is None else r.st.firings.get(no)
    return firing if firing is not None and firing.phase == IN_QUEUE else None


def is_stopped(r: Run) -> bool:
    """Nobody begins anything in one of its pools."""
    return any(limit_of(r, pool) == 0 for pool in r.net.pools)


def stop_pools(r: Run, why: str) -> None:
    for pool in r.net.pools:
        if limit_of(r, pool):
            r.record((F.LIMITED, pool, 0, why))
