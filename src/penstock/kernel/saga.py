"""Compensation: undoes what was done in reverse order of completion, one step after another (KERNEL.md 6).

The order is decided once, at the trigger. A crash anywhere goes on at the step the state names.
"""

from __future__ import annotations

from penstock.errors import ExprError
from penstock.kernel import fact as F
from penstock.kernel.failure import Failure
from penstock.kernel.flow import UNDO_NEXT, close
from penstock.kernel.retry import fail
from penstock.kernel.run import Run
from penstock.kernel.state import DONE, SKIPPED, Entry, Undo
from penstock.kernel.sweep import sweep
from penstock.kernel.token import Path
from penstock.kernel.view import View, failure_view
from penstock.net.compiled import CNode

_BROKEN = "COMPENSATION_FAILED"


def plan(
    r: Run,
    why: str,
    then: str,
    *,
    firing: int = 0,
    scope: int | None = None,
    failure: Failure | None = None,
    only: tuple[str, ...] = (),
) -> bool:
    """Decide what is to be undone. False: there is nothing."""
    steps = [n for n in range(len(r.st.ledger) - 1, -1, -1) if applies(r, r.st.ledger[n], why, scope, failure, only)]
    if not steps:
        return False
    r.record((F.UNDO_PLANNED, steps, why, then, firing, failure))
    if then != "firing":
        r.record((F.MOVED, "COMPENSATING", "compensate" if why == "manual" else "compensation_triggered", failure))
    r.deferred.append((UNDO_NEXT, None))
    return True


def applies(
    r: Run,
    entry: Entry,
    why: str,
    scope: int | None,
    failure: Failure | None,
    only: tuple[str, ...],
    in_flight: bool = False,
) -> bool:
    """May this entry be undone now? A draft that waits for its approval, or work that a retry does again, is not
    undone under its feet, unless it is about to be swept (`in_flight`)."""
    node = r.net.nodes[entry.node]
    if entry.status not in ("open", "FAILED") or not node.undo or why not in node.spec.undo_on:
        return False
    if not in_flight:
        if entry.firing in r.st.firings:
            return False
        if r.st.reopened and any(r.firing_id(f) == entry.id for f in r.st.firings.values()):
            return False
    if only and node.id not in only:
        return False
    if scope is not None and r.scope_id(scope) not in entry.lineage:
        return False
    if node.undo_if is None:
        return True
    view = View(r, r.st.scopes[0], 0, node)
    view["failure"] = None if failure is None else failure_view(failure)
    view["undone"] = r.resolve_blob(entry.output)
    try:
        return node.undo_if(view) is True
    except ExprError:
        return False


def next_step(r: Run) -> tuple[CNode, int] | None:
    """The undo node that comes next and the ledger entry it undoes; None when the plan has ended."""
    undo = r.st.undo
    while undo is not None and undo.at < len(undo.steps):
        number = undo.steps[undo.at]
        entry = r.st.ledger[number]
        node = r.net.nodes[entry.node]
        if undo.part == 0 and r.net.undo_policy == "group" and _before_failed_group(r, number):
            r.record((F.UNDO_AT, undo.at + 1, 0))
            continue
        if undo.part == 0:
            r.record((F.UNDO_STEP, number, "RUNNING"))
        return node.undo[undo.part], number
    if undo is not None:
        _end(r)
    return None


def _before_failed_group(r: Run, number: int) -> bool:
    """Policy group: what lies before a fork stays open when a step inside that fork's branches has failed."""
    undo = r.st.undo
    assert undo is not None
    ledger = r.st.ledger
    mine = ledger[number].path or []
    failed = [ledger[n].path or [] for n in undo.steps if n > number and ledger[n].status == "FAILED"]
    return any(_lies_before(mine, path) for path in failed)


def _lies_before(mine: Path, other: Path) -> bool:
    """Of two finished works, mine the older: did a fork lie between them? Another branch of one fork does not."""
    n = 0
    while n < len(mine) and n < len(other) and mine[n] == other[n]:
        n += 1
    if n == len(other):
        return False
    return n == len(mine) or mine[n][0] != other[n][0]


def answered(r: Run, number: int, status: int, failure: Failure | None) -> bool:
    """An undo node has settled. False: the plan has ended here."""
    undo = r.st.undo
    assert undo is not None, "an undo firing belongs to a plan"
    entry = r.st.ledger[number]
    node = r.net.nodes[entry.node]
    if status in (DONE, SKIPPED):
        if undo.part + 1 < len(node.undo):
            r.record((F.UNDO_AT, undo.at, undo.part + 1))
        else:
            r.record((F.UNDO_STEP, number, "EXECUTED"))
            r.record((F.UNDO_AT, undo.at + 1, 0))
            if node.spec.work is not None and r.st.closed_items.get(entry.firing, "DONE") == "DONE":
                r.record((F.WORK_MOVED, entry.firing, "COMPENSATED", "compensate", None, None, None))
        return True
    r.record((F.UNDO_STEP, number, "FAILED"))
    r.record((F.INCIDENT, "COMPENSATION_STEP_FAILED", node.id, None if failure is None else failure_view(failure)))
    if r.net.undo_policy == "stop":
        _end(r)
        return False
    r.record((F.UNDO_AT, undo.at + 1, 0))
    return True


def _end(r: Run) -> None:
    undo = r.st.undo
    assert undo is not None
    left = any(r.st.ledger[n].status == "open" for n in undo.steps)
    r.record((F.UNDO_ENDED, "PARTIAL" if undo.failed or left else "COMPLETE"))
    r.undone()
    broken = _broken(undo)
    if undo.then == "firing":
        firing = r.st.firings[undo.firing]
        if undo.failed:
            fail(r, firing, broken)
        else:
            close(r, firing, DONE, None)
        return
    if undo.then == "CANCELLED":
        r.record((F.MOVED, "CANCELLED", "cancel_done", undo.failure))
    elif undo.failed:
        r.record((F.MOVED, "FAILED", "compensation_failed", broken))
    else:
        r.record((F.MOVED, "COMPENSATED", "compensation_done", undo.failure))


def _broken(undo: Undo) -> Failure:
    """C-45: what the run had failed with before is kept."""
    cause = undo.failure
    detail = None if cause is None else {"cause": {**failure_view(cause), "detail": cause.detail}}
    return Failure(_BROKEN, "permanent", "a compensation step failed", detail=detail)


def first_failure(failure: Failure | None) -> Failure | None:
    """What set off the compensation, also when an earlier one has failed since."""
    if failure is None or failure.code != _BROKEN or not failure.detail:
        return failure
    return Failure(**failure.detail["cause"])


def finish_failed(r: Run, failure: Failure) -> None:
    """The root has failed: sweep, then the run's own retry, then compensation, then FAILED."""
    st = r.st
    sweep(r, st.scopes[0], "failed", keep=True)
    drop_run_timers(r)
    retry = r.net.net.run_retry
    if st.reopen is not None and st.retries < retry.max:
        r.record((F.MOVED, "PENDING", "run_retry", failure))
        no = st.next_timer
        r.record((F.TIMER_SET, no, r.now + retry.delay_ms, "run_retry", 0, None))
        r.due.append((r.now + retry.delay_ms, no))
        r.due.sort()
        return
    if not plan(r, "failure", "COMPENSATED", failure=failure):
        r.record((F.MOVED, "FAILED", "unrecoverable_error", failure))


def finish_cancel(r: Run, how: str, failure: Failure | None = None) -> None:
    """`failure` says why, when it was not a person who cancelled."""
    sweep(r, r.st.scopes[0], "cancelled", keep=True)
    drop_run_timers(r)
    then = "CANCELLED" if how == "boundary" else "COMPENSATED"
    if not plan(r, "cancel", then, failure=failure or Failure("CANCELLED", "business", "the run was cancelled")):
        r.record((F.MOVED, "CANCELLED", "cancel_requested", failure))


def drop_run_timers(r: Run) -> None:
    for no in [n for n, t in r.st.timers.items() if t.why in ("run_retry", "active")]:
        r.record((F.TIMER_GONE, no, "ended"))
