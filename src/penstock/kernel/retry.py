"""The failure path: retry, then the on_error rows of the node, then its failed port, then the scope, then the run."""

from __future__ import annotations

import hashlib
from typing import Any

from penstock.errors import ExprError
from penstock.kernel import fact as F
from penstock.kernel.failure import Failure, kept_output, with_output
from penstock.kernel.flow import JUDGE, ROOT_FAILED, ExpressionFailed, close, expr_failure, set_timer
from penstock.kernel.pool import stop_pools
from penstock.kernel.run import Run
from penstock.kernel.state import CLOSED_FAILED, DONE, EFFECT, FAILURE, OPEN, RUN, SKIPPED, Firing, Scope
from penstock.kernel.sweep import sweep
from penstock.kernel.view import View, failure_view
from penstock.net.compiled import CALL, SCOPE, TASK, WAIT, WORK, CNode
from penstock.net.model import Retry

#: C-19: asking again at once would find the breaker as open as it was
NEVER_AGAIN = frozenset({"CIRCUIT_OPEN"})


def fail(r: Run, firing: Firing, failure: Failure, *, again: bool = True, body: Any = None) -> None:
    """A firing has failed. `again` False: it may not be tried again (a trigger has ended it). `body`: it has an output
    nevertheless (C-34: a vote whose time is over; C-57: a deployment that was taken back)."""
    node = r.net.nodes[firing.node]
    if not failure.node:
        failure = Failure(failure.code, failure.category, failure.message, node.id, failure.detail)
    if again and _may_retry(firing, node, failure):
        _retry_later(r, firing, failure, node.spec.retry)
        return
    if firing.comp >= 0:
        close(r, firing, FAILURE, None, failure=failure)
        return
    if node.kind == SCOPE and node.spec.keeps_output and failure.category == "business":
        body, failure = kept_output(failure)
    if _by_table(r, firing, node, failure, body):
        return
    if "failed" in node.ports:
        close(r, firing, FAILURE, body, failure=failure, port="failed")
        return
    fail_scope(r, firing, failure, body)


def fail_scope(r: Run, firing: Firing, failure: Failure, body: Any = None) -> None:
    """Nothing at the node handles it: the scope around it fails, and may handle it with what it has brought."""
    scope = r.st.scopes[firing.scope]
    close(r, firing, FAILURE, body, failure=failure, port="-", flags=0 if scope.no else F.REOPENABLE)
    scope_failed(r, scope, failure if body is None or not scope.no else with_output(failure, body))


def _may_retry(firing: Firing, node: CNode, failure: Failure) -> bool:
    policy = node.spec.retry
    return (
        policy.max > 0
        and firing.phase in (RUN, EFFECT)
        and node.kind in (TASK, CALL, WORK, WAIT)
        and firing.attempt - firing.base <= policy.max
        and failure.category in policy.on
        and failure.code not in NEVER_AGAIN
    )


def _retry_later(r: Run, firing: Firing, failure: Failure, policy: Retry) -> None:
    delay = delay_ms(policy, firing.attempt - firing.base, f"{r.st.seed}/{r.firing_id(firing)}/{firing.attempt}")
    r.record((F.ATTEMPT_FAILED, firing.no, firing.attempt, failure, r.now + delay))
    set_timer(r, r.now + delay, "retry", firing.no, firing.attempt + 1)


def delay_ms(policy: Retry, attempt: int, salt: str) -> int:
    """Back-off before the next attempt; jitter is drawn from the run's seed, so a replay waits the same time."""
    delay = _backoff(policy, attempt)
    if policy.jitter:
        drawn = int.from_bytes(hashlib.sha256(salt.encode()).digest()[:4], "big")
        delay = delay * (500 + drawn % 501) // 1000
    return delay


def _backoff(policy: Retry, attempt: int) -> int:
    if policy.delays_ms:
        return policy.delays_ms[min(attempt, len(policy.delays_ms)) - 1]
    if policy.kind == "linear":
        delay = policy.base_ms * attempt
    elif policy.kind == "exponential":
        delay = int(policy.base_ms * min(min(policy.multiplier, 1e4) ** min(attempt - 1, 64), 1e12))
    else:
        delay = policy.base_ms
    return min(delay, policy.cap_ms)


def _by_table(r: Run, firing: Firing, node: CNode, failure: Failure, body: Any) -> bool:
    """The first row of `on_error` that matches."""
    for row in node.spec.on_error:
        if row.match not in ("*", failure.code, failure.category):
            continue
        action = row.action
        if action == "skip":
            close(r, firing, SKIPPED, None, failure=failure)
        elif action == "continue":
            before = firing.takes[-1].envelope.body if firing.takes else None
            close(r, firing, FAILURE, before, failure=failure)
        elif action == "error_env":
            close(r, firing, FAILURE, {"error": failure_view(failure)}, failure=failure, content_type="error")
        elif action == "value":
            close(r, firing, DONE, _instead(r, firing, node), failure=failure, meta={"fallback": True})
        elif action.startswith(("port:", "park:", "halt:")):
            flags = 0 if action.startswith("port:") else F.PARKED
            close(r, firing, FAILURE, body, failure=failure, port=action[5:], flags=flags)
            if action.startswith("halt:"):
                r.record((F.INCIDENT, failure.code, node.id, {"message": failure.message}))
                stop_pools(r, "fatal")
        else:
            return False
        return True
    return False


def _instead(r: Run, firing: Firing, node: CNode) -> Any:
    try:
        return node.value(View(r, r.st.scopes[firing.scope], firing.epoch, node, firing))
    except ExprError as error:
        raise ExpressionFailed(firing, expr_failure(error, node)) from error


def scope_failed(r: Run, scope: Scope, failure: Failure) -> None:
    if scope.no == 0:
        r.deferred.append((ROOT_FAILED, failure))
        return
    if scope.status != OPEN:
        return
    sweep(r, scope, "failed", keep=True)
    r.record((F.SCOPE_CLOSED, scope.no, CLOSED_FAILED, failure))
    r.idle.discard(scope.no)
    r.deferred.append((JUDGE, scope.no))
