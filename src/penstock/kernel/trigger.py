"""Triggers: timers, signals and escalations; waits, boundary events, event gateways and reminders are one thing."""

from __future__ import annotations

from typing import Any

from penstock.errors import ExprError
from penstock.kernel import fact as F
from penstock.kernel.failure import Failure
from penstock.kernel.flow import ExpressionFailed, close, expr_failure, put, set_timer, truth
from penstock.kernel.retry import fail
from penstock.kernel.run import Run
from penstock.kernel.state import DONE, EFFECT, INTERRUPTED, SKIPPED, Firing, Wait
from penstock.kernel.sweep import disarm, stop_effect, sweep_children
from penstock.kernel.token import Envelope
from penstock.kernel.view import View
from penstock.kernel.work_item import approvals, decision, escalate
from penstock.net.compiled import WAIT, CNode


def arm(r: Run, firing: Firing, node: CNode) -> None:
    """Set every trigger of a firing; only afterwards may a kept signal end it, or a timer would be left behind."""
    if node.conditions:
        r.conditions[firing.no] = None
    for i, trigger in enumerate(node.spec.triggers):
        try:
            view = View(r, r.st.scopes[firing.scope], firing.epoch, node, firing)
            if trigger.kind == "timer":
                at = node.trigger_at[i]
                due = r.now + trigger.after_ms if at is None else int(at(view))
                set_timer(r, due, "trigger", firing.no, [i, 1])
            elif trigger.kind == "signal":
                template = node.trigger_name[i]
                name = trigger.name if template is None else str(template(view))
                wanted = node.trigger_filter[i](view)
                if trigger.filter is not None and _has_null(wanted):
                    raise ExpressionFailed(firing, _filter_failure(node, wanted))
                r.record((F.WAIT_OPENED, r.st.next_wait, firing.no, i, name, wanted))
        except (ExprError, TypeError, ValueError) as error:
            raise ExpressionFailed(firing, _as_failure(error, node)) from error


def _has_null(wanted: Any) -> bool:
    if type(wanted) is dict:
        return any(_has_null(v) for v in wanted.values())
    if type(wanted) in (list, tuple):
        return any(_has_null(v) for v in wanted)
    return wanted is None


def _filter_failure(node: CNode, wanted: Any) -> Failure:
    """C-37: no event may match by accident."""
    message = f"«{node.label}» would wait for a value that is not there"
    return Failure("FILTER_VALUE_NULL", "validation", message, node.id, wanted)


def _as_failure(error: Exception, node: CNode) -> Failure:
    if isinstance(error, ExprError):
        return expr_failure(error, node)
    return Failure("EXPR_TYPE", "validation", f"a trigger's time is not a number: {error}", node.id)


def pull_opened(r: Run, firing: Firing, node: CNode) -> None:
    """Triggers that say: it waits now, or it waits for others now. They never interrupt."""
    for i, trigger in enumerate(node.spec.triggers):
        if trigger.kind == "opened":
            _beside(r, firing, node, i, _value(r, firing, node, i))


def use_kept(r: Run, firing: Firing, node: CNode) -> None:
    """Signals that came early, in the order in which they came."""
    for wait_no in list(firing.waits or ()):
        wait = r.st.waits.get(wait_no)
        if wait is None:
            continue
        for sid in list(r.st.signals):
            kept = r.st.signals.get(sid)
            if kept is None or kept[0] != wait.name or not matches(r, firing, node, wait, kept[1]):
                continue
            r.record((F.SIGNAL_USED, sid, wait_no))
            pull(r, firing, wait.trigger, kept[1])
            if firing.no not in r.st.firings:
                return
            if node.spec.triggers[wait.trigger].interrupting:
                break


def matches(r: Run, firing: Firing, node: CNode, wait: Wait, payload: Any) -> bool:
    match = node.match[wait.trigger]
    if match is None:
        return True
    view = View(r, r.st.scopes[firing.scope], firing.epoch, node, firing)
    view["event"], view["filter"] = r.resolve_blob(payload), wait.filter
    try:
        return truth(match(view))
    except ExprError:
        return False


def pull(r: Run, firing: Firing, i: int, payload: Any) -> None:
    """A trigger of an open firing has come true."""
    node = r.net.nodes[firing.node]
    trigger = node.spec.triggers[i]
    value = _value(r, firing, node, i) if trigger.action == "value" else payload
    if not trigger.interrupting:
        return _beside(r, firing, node, i, value)
    if firing.kids:
        sweep_children(r, firing, "interrupted")
    if firing.phase == EFFECT:
        stop_effect(r, firing, "interrupted")
    item = r.st.items.get(firing.no)
    if trigger.action == "reopen" and item is not None and item.level < trigger.times:
        _reopen(r, firing, node, i)
    elif trigger.action == "reopen" and item is not None and trigger.port in node.ports and trigger.port != "done":
        close(r, firing, DONE, decision(r, firing, item, "timeout"), port=trigger.port)
    elif trigger.action in ("fail", "reopen"):
        failure = _too_late(r, firing, node, trigger.code)
        if trigger.again:
            disarm(r, firing)
            r.record((F.PHASE, firing.no, "run"))
        fail(r, firing, failure, again=trigger.again, body=failure.detail if trigger.action == "reopen" else None)
    elif trigger.action == "skip":
        close(r, firing, SKIPPED, None)
    elif trigger.action == "value":
        close(r, firing, DONE, value, port=None if trigger.port == "done" else trigger.port)
    else:
        close(r, firing, DONE if node.kind == WAIT else INTERRUPTED, value, port=trigger.port)
    return None


def _value(r: Run, firing: Firing, node: CNode, i: int) -> Any:
    """What the net gives instead of an answer. On a work item it sees what was decided so far."""
    item = r.st.items.get(firing.no)
    try:
        view = View(r, r.st.scopes[firing.scope], firing.epoch, node, firing)
        if item is not None:
            view["approvals"], view["escalation_level"] = approvals(item), item.level
            view["request_id"] = f"{r.st.run}/{r.firing_id(firing)}"
        return node.trigger_value[i](view)
    except ExprError as error:
        raise ExpressionFailed(firing, expr_failure(error, node)) from error


def _beside(r: Run, firing: Firing, node: CNode, i: int, value: Any) -> None:
    """A trigger that does not interrupt puts a token beside the firing, which goes on."""
    envelope = Envelope(value, node.no, firing.no, firing.visit, r.now)
    path = r.forked(firing.path, r.firing_id(firing), -1 - i)
    scope = r.st.scopes[firing.scope]
    for edge in node.ports.get(node.spec.triggers[i].port, ()):
        put(r, edge, scope, firing.epoch, envelope=envelope, path=path, passed=firing.passed)


def rearm(r: Run, firing: Firing, node: CNode, attempt: int) -> None:
    """C-75: a firing whose time was over waits anew, as long as it has retries left."""
    if node.kind == WAIT:
        r.record((F.PHASE, firing.no, "suspended", attempt))
    arm(r, firing, node)
    if r.st.signals and firing.waits:
        use_kept(r, firing, node)


def _reopen(r: Run, firing: Firing, node: CNode, i: int) -> None:
    """Others have the full time: every trigger begins anew."""
    disarm(r, firing)
    escalate(r, node, firing, i)
    arm(r, firing, node)
    if r.st.signals and firing.waits:
        use_kept(r, firing, node)
    if firing.no in r.st.firings:
        pull_opened(r, firing, node)


def _too_late(r: Run, firing: Firing, node: CNode, code: str) -> Failure:
    """C-34: of a vote that nobody ended it is told how far it had come."""
    item, work = r.st.items.get(firing.no), node.spec.work
    voted = item is not None and work is not None and (work.quorum or work.all_of or item.votes)
    detail = decision(r, firing, item, "timeout") if voted and item is not None else None
    return Failure(code, "timeout", f"nothing came in time for «{node.label}»", node.id, detail)
