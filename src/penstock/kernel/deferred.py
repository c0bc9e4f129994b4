"""Deferred work: what must happen after the present fact and before the next candidate, first in, first out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.kernel import fact as F
from penstock.kernel.condition import ask_conditions
from penstock.kernel.decide import revive
from penstock.kernel.failure import Failure
from penstock.kernel.firing import fire_entry, fire_undo, work
from penstock.kernel.flow import (
    BEGIN,
    CANCEL_RUN,
    ESCALATE,
    FIRE_ENTRY,
    JUDGE,
    PLAN_UNDO,
    REVIVE,
    ROOT_FAILED,
    UNDO_ANSWERED,
    UNDO_NEXT,
    close,
)
from penstock.kernel.region import judge
from penstock.kernel.run import Run
from penstock.kernel.saga import answered, finish_cancel, finish_failed, next_step, plan
from penstock.kernel.state import DONE, OPEN, RUNNING, WAITING
from penstock.kernel.trigger import arm, pull, pull_opened, use_kept


def _judge(r: Run, scope_no: int) -> None:
    scope = r.st.scopes.get(scope_no)
    if scope is not None:
        judge(r, scope)


def _root_failed(r: Run, what: Any) -> None:
    """A tuple means: at once, whatever the net says about draining. Of two failures in one turn the first counts."""
    if r.st.status not in (RUNNING, WAITING):
        return
    if isinstance(what, tuple):
        finish_failed(r, what[0])
    elif r.net.on_fail == "drain" and not r.st.draining:
        r.record((F.DRAINING, "fail", what))
        return
    elif r.st.draining:
        return
    else:
        finish_failed(r, what)


def _cancel_run(r: Run, failure: Failure) -> None:
    """An end that cancels: the run goes as if a person had cancelled it, and says why."""
    if r.st.status in (RUNNING, WAITING) and not r.st.draining:
        finish_cancel(r, "now", failure)


def _undo_next(r: Run, _: Any) -> None:
    if r.st.undo is None:
        return
    step_ = next_step(r)
    if step_ is not None:
        fire_undo(r, *step_)


def _undo_answered(r: Run, what: Any) -> None:
    if answered(r, *what):
        r.deferred.append((UNDO_NEXT, None))


def _begin(r: Run, no: int) -> None:
    firing = r.st.firings.get(no)
    if firing is None:
        return
    node = r.net.nodes[firing.node]
    if r.st.signals and firing.waits:
        use_kept(r, firing, node)
    if node.conditions and no in r.st.firings:  # what holds already comes before the work
        ask_conditions(r, firing, node)
    if no in r.st.firings:
        work(r, node, firing)
    if no in r.st.firings:
        pull_opened(r, firing, node)


def _fire_entry(r: Run, what: Any) -> None:
    node, scope_no, path = what
    scope = r.st.scopes.get(scope_no)
    if scope is not None and scope.status == OPEN:
        fire_entry(r, node, scope, path)


def _plan_undo(r: Run, no: int) -> None:
    firing = r.st.firings.get(no)
    if firing is None:
        return
    node = r.net.nodes[firing.node]
    if not plan(r, "manual", "firing", firing=no, scope=firing.scope, only=node.spec.only):
        close(r, firing, DONE, None)


def _escalate(r: Run, what: Any) -> None:
    """Tell the nearest scope around that listens for this code."""
    scope_no, code, node_id, body = what
    at = scope_no
    while at > 0:
        firing = r.st.firings.get(r.st.scopes[at].firing)
        if firing is None:
            return None
        for i, trigger in enumerate(r.net.nodes[firing.node].spec.triggers):
            if trigger.kind == "escalation" and trigger.name in (code, ""):
                return pull(r, firing, i, {"code": code, "node": node_id, "output": body})
        at = r.st.scopes[at].parent
    r.record((F.INCIDENT, "ESCALATION", node_id, {"code": code}))
    return None


def _revive(r: Run, no: int) -> None:
    firing = r.st.firings.get(no)
    if firing is None:
        return
    node = r.net.nodes[firing.node]
    if node.spec.triggers:
        arm(r, firing, node)
        if r.st.signals and firing.waits:
            use_kept(r, firing, node)
        if no not in r.st.firings:
            return
    if node.effect is not None or node.spec.body is not None or node.spec.work is not None:
        revive(r, firing, node)
    else:
        work(r, node, firing)


DEFERRED: dict[int, Callable[[Run, Any], None]] = {
    JUDGE: _judge, ROOT_FAILED: _root_failed, UNDO_NEXT: _undo_next, UNDO_ANSWERED: _undo_answered, BEGIN: _begin,
    FIRE_ENTRY: _fire_entry, PLAN_UNDO: _plan_undo, ESCALATE: _escalate, REVIVE: _revive,
    CANCEL_RUN: _cancel_run,
}  # fmt: skip
