"""Commands about pools of places: how many may work at once, and which node is to begin next."""

from __future__ import annotations

from penstock.errors import NodeNotFound, Refused, StatusConflict
from penstock.kernel import command as C
from penstock.kernel import fact as F
from penstock.kernel.pool import free_place, queue_firing
from penstock.kernel.ready import ready
from penstock.kernel.run import Run
from penstock.kernel.state import BACKOFF, IN_QUEUE, PHASE, Firing


def limit(r: Run, c: C.Command) -> None:
    _, pool, most, why = c
    if pool not in r.net.pools:
        raise NodeNotFound(node=pool, what="that is a pool of this net")
    if type(most) is not int or most < 0:
        raise Refused(why="a limit is a number from 0 on")
    if most == r.st.pool_limits.get(pool) and r.st.stopped.get(pool, "") == ("" if most else why):
        r.record((F.IGNORED, "limit", "already", pool))
        return
    r.record((F.LIMITED, pool, most, why))


def execute(r: Run, c: C.Command) -> None:
    """Refused unless it can begin, or will when it has a place."""
    _, id, queue = c
    node = r.net.by_id.get(id)
    if node is None or not node.pool:
        raise NodeNotFound(node=id, what="that works in a place of a pool")
    firing = next((f for f in r.st.firings.values() if f.node == node.no), None)
    if firing is None:
        if ready(r, node, r.st.scopes[0], 0) is None or r.st.scopes[0].rounds(node.no):
            raise Refused(why=f"«{node.label}» cannot begin: what it waits for is not there")
    elif firing.phase not in (BACKOFF, IN_QUEUE):
        raise StatusConflict(
            what=f"«{node.label}»", status=PHASE[firing.phase], verb="execute", allowed="queue, backoff"
        )
    if free_place(r, node, wanted=True) is None and not queue:
        raise Refused(why=f"every place that «{node.label}» could work in is taken", hint="Wait, or let it queue.")
    r.record((F.WANTED, node.no, True))
    if firing is not None and firing.phase == BACKOFF:
        attempt_now(r, firing)


def attempt_now(r: Run, firing: Firing) -> None:
    """The next attempt of a firing is due now."""
    for no in [t for t in firing.timers or () if r.st.timers[t].why == "retry"]:
        attempt = r.st.timers[no].data
        r.record((F.TIMER_GONE, no, "disarmed"))
        queue_firing(r, firing, attempt, firing.base, "wanted")
