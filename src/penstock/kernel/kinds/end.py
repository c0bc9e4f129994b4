"""end: takes every token by itself; may end its scope at once, fail it, cancel the run, or tell the scope around it."""

from __future__ import annotations

from penstock.kernel import fact as F
from penstock.kernel.failure import Failure
from penstock.kernel.flow import CANCEL_RUN, ESCALATE, settle
from penstock.kernel.kinds import route
from penstock.kernel.retry import fail
from penstock.kernel.run import Run
from penstock.kernel.state import DONE, Firing
from penstock.kernel.sweep import sweep
from penstock.net.compiled import CNode


def fire(r: Run, node: CNode, firing: Firing) -> None:
    how, _, code = node.spec.ends.partition(":")
    scope = r.st.scopes[firing.scope]
    body = firing.takes[-1].envelope.body if firing.takes else None
    if how == "terminate":
        settle(r, firing, node, DONE, body)
        sweep(r, scope, "terminated", keep=True)
    elif how == "error":
        fail(r, firing, Failure(code, "business", f"the run reached «{node.label}»", node.id, body))
    elif how == "cancel":
        settle(r, firing, node, DONE, body)
        r.deferred.append((CANCEL_RUN, Failure(code, "business", f"the run reached «{node.label}»", node.id, body)))
    elif how == "warn":
        settle(r, firing, node, DONE, body)
        r.record((F.INCIDENT, code, node.spec.origin or node.id, body))
    elif how == "escalate":
        settle(r, firing, node, DONE, body)
        r.deferred.append((ESCALATE, (firing.scope, code, node.id, body)))
    else:
        route.fire(r, node, firing)
