"""work: opens a work item for a person; an agent begins at once."""

from __future__ import annotations

from penstock.errors import ExprError
from penstock.kernel import fact as F
from penstock.kernel.flow import Broken, ask, expr_failure
from penstock.kernel.run import Run
from penstock.kernel.state import Firing
from penstock.kernel.view import View
from penstock.net.compiled import CNode


def fire(r: Run, node: CNode, firing: Firing) -> None:
    open_item(r, node, firing, 1)


def open_item(r: Run, node: CNode, firing: Firing, attempt: int) -> None:
    spec = node.spec.work
    view = View(r, r.st.scopes[firing.scope], firing.epoch, node, firing)
    try:
        prompt = node.prompt(view)
    except ExprError as error:
        raise Broken(firing, expr_failure(error, node)) from error
    r.say((F.WORK_OPENED, firing.no, node.no, prompt, spec.candidates if spec is not None else None))
    r.say((F.PHASE, firing.no, "suspended"))
    if spec is not None and spec.agent:
        r.say((F.WORK_MOVED, firing.no, "IN_PROGRESS", "start", "agent", None, None))
        ask(r, firing, attempt)
