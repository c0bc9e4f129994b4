"""A run begins, or begins again: its start nodes fire, or what has failed is brought back."""

from __future__ import annotations

from penstock.errors import Refused, StatusConflict
from penstock.kernel import command as C
from penstock.kernel import fact as F
from penstock.kernel.failure import Failure
from penstock.kernel.firing import fire_entry
from penstock.kernel.flow import REVIVE
from penstock.kernel.run import Run
from penstock.kernel.state import PENDING, STATUS, Reopen
from penstock.net.compiled import CNode


def fire_starts(r: Run) -> None:
    """Only one start alone may hand its token on at once: what the next start makes would take its place in hand."""
    root, starts = r.st.scopes[0], r.net.starts
    for no, node in enumerate(starts, 1):
        r.starting = no < len(starts)
        fire_entry(r, node, root, None, fuse=len(starts) == 1)


def admit(r: Run, c: C.Command) -> None:
    """The run has waited for room: it begins, or is tried again. Before its delay is over it is not."""
    st = r.st
    if st.status != PENDING or not r.net.queued:
        raise StatusConflict(what="run", status=STATUS[st.status], verb="admit", allowed="PENDING, of a queued net")
    if st.paused:
        raise Refused(why="it is paused")
    if any(timer.why == "run_retry" for timer in st.timers.values()):
        raise Refused(why="its next attempt is not due yet")
    if st.reopen is not None and st.failure is not None:
        try_again(r)
        return
    r.record((F.MOVED, "RUNNING", "start", None))
    _begin_again(r, st.reopen)


def try_again(r: Run) -> None:
    """The run's own retry, when its delay is over."""
    was = r.st.reopen
    assert was is not None, "only a run that has failed is tried again"
    reopen(r, r.st.retries + 1, _on_final(r, was))


def _on_final(r: Run, was: Reopen) -> str:
    """How the run is tried again. In a group its failed members say it; one that wants the whole again decides."""
    how = r.net.nodes[was.node].spec.on_final
    if how != "member":
        return how
    failures = [r.st.scopes[no].failure for no in was.kids or ()]
    members = [_blamed(r, f) for f in failures if f is not None and f.node in r.net.by_id]
    return "restart" if any(member.spec.on_final == "restart" for member in members) else "here"


def _blamed(r: Run, failure: Failure) -> CNode:
    """Where tokens are stuck, nobody has failed but the scope that they are in."""
    node = r.net.by_id[failure.node]
    return r.net.by_id[node.scope] if failure.code == "DEADLOCK" and node.scope else node


def reopen(r: Run, retries: int, how: str) -> None:
    """The same firing, hence the same idempotency key, and the next attempt; or the start nodes again."""
    st = r.st
    assert st.reopen is not None
    by_hand = st.status != PENDING
    r.record((F.REOPENED, how, retries, True) if r.net.queued else (F.REOPENED, how, retries))
    if how == "restart":
        r.by_scope.clear()
    if by_hand and r.net.queued:  # it waits for room like any other (F-S.5); `admit` goes on
        r.record((F.MOVED, "PENDING", "retry_queued", None))
        return
    r.record((F.MOVED, "RUNNING", "operator_retry" if by_hand else "retry_allowed", None))
    _begin_again(r, st.reopen)


def _begin_again(r: Run, was: Reopen | None) -> None:
    """At what has failed; or, when nothing is left to be revived, at the start nodes."""
    if was is None:
        fire_starts(r)
    else:
        bring_back(r, was.firing, was.attempt)


def bring_back(r: Run, no: int, attempt: int) -> None:
    r.record((F.REVIVED, no, attempt))
    firing = r.st.firings[no]
    r.opened(firing, r.net.nodes[firing.node].group)
    r.deferred.append((REVIVE, no))
