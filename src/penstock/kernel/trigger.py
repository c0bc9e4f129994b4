"""Triggers: timers, signals and escalations a firing waits for. Wait nodes, boundary events, event gateways and reminders
are one thing."""

from __future__ import annotations

from typing import Any

from penstock.errors import ExprError
from penstock.kernel import fact as F
from penstock.kernel.failure import Failure
from penstock.kernel.flow import Broken, close, expr_failure, put, set_timer, truth
from penstock.kernel.retry import fail
from penstock.kernel.run import Run
from penstock.kernel.state import DONE, EFFECT, INTERRUPTED, SKIPPED, Firing
from penstock.kernel.sweep import stop_effect, sweep_children
from penstock.kernel.token import Envelope
from penstock.kernel.view import View
from penstock.net.compiled import WAIT, CNode


def arm(r: Run, firing: Firing, node: CNode) -> None:
    """Set every trigger of a firing; only afterwards may a kept signal end it, or a timer would be left behind."""
    view = View(r, r.st.scopes[firing.scope], firing.epoch, node, firing)
    for i, trigger in enumerate(node.spec.triggers):
        try:
            if trigger.kind == "timer":
                at = node.trigger_at[i]
                due = r.now + trigger.after_ms if at is None else int(at(view))
                set_timer(r, due, "trigger", firing.no, [i, 1])
            elif trigger.kind == "signal":
                template = node.trigger_name[i]
                name = trigger.name if template is None else str(template(view))
                r.say((F.WAIT_OPENED, r.st.next_wait, firing.no, i, name))
        except (ExprError, TypeError, ValueError) as error:
            raise Broken(firing, _as_failure(error, node)) from error


def _as_failure(error: Exception, node: CNode) -> Failure:
    if isinstance(error, ExprError):
        return expr_failure(error, node)
    return Failure("EXPR_TYPE", "validation", f"a trigger's time is not a number: {error}", node.id)


def use_kept(r: Run, firing: Firing, node: CNode) -> None:
    """Signals that came early, in the order in which they came."""
    for wait_no in list(firing.waits or ()):
        wait = r.st.waits.get(wait_no)
        if wait is None:
            continue
        for sid in list(r.st.signals):
            kept = r.st.signals.get(sid)
            if kept is None or kept[0] != wait.name or not matches(r, firing, node, wait.trigger, kept[1]):
                continue
            r.say((F.SIGNAL_USED, sid, wait_no))
            pull(r, firing, wait.trigger, kept[1])
            if firing.no not in r.st.firings:
                return
            if node.spec.triggers[wait.trigger].interrupting:
                break


def matches(r: Run, firing: Firing, node: CNode, trigger: int, payload: Any) -> bool:
    match = node.match[trigger]
    if match is None:
        return True
    view = View(r, r.st.scopes[firing.scope], firing.epoch, node, firing)
    view["event"] = payload
    try:
        return truth(match(view))
    except ExprError:
        return False


def pull(r: Run, firing: Firing, i: int, payload: Any) -> None:
    """A trigger of an open firing has come true."""
    node = r.net.nodes[firing.node]
    trigger = node.spec.triggers[i]
    scope = r.st.scopes[firing.scope]
    value = payload
    if trigger.action == "value":
        value = node.trigger_value[i](View(r, scope, firing.epoch, node, firing))
    if not trigger.interrupting:
        envelope = Envelope(value, node.no, firing.no, firing.visit, r.now)
        for edge in node.ports.get(trigger.port, ()):
            put(
                r,
                edge,
                scope,
                firing.epoch,
                envelope=envelope,
                path=[*(firing.path or []), [firing.no, -1 - i]],
                passed=firing.passed,
            )
        return
    if firing.kids:
        sweep_children(r, firing, "interrupted")
    if firing.phase == EFFECT:
        stop_effect(r, firing, "interrupted")
    if trigger.action == "fail":
        fail(
            r,
            firing,
            Failure(trigger.code, "timeout", f"nothing came in time for «{node.label}»", node.id),
            again=False,
        )
    elif trigger.action == "skip":
        close(r, firing, SKIPPED, None)
    elif trigger.action == "value":
        close(r, firing, DONE, value)
    else:
        close(r, firing, DONE if node.kind == WAIT else INTERRUPTED, value, port=trigger.port)
