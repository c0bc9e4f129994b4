"""route: hands on what it took, or its own value; gateways, conditions and switches are routes."""

from __future__ import annotations

from penstock.kernel.flow import settle
from penstock.kernel.run import Run
from penstock.kernel.state import DONE, Firing
from penstock.kernel.view import View
from penstock.net.compiled import CNode


def fire(r: Run, node: CNode, firing: Firing) -> None:
    if node.spec.value is not None:
        body = node.value(View(r, r.st.scopes[firing.scope], firing.epoch, node, firing))
        return settle(r, firing, node, DONE, body)
    if not firing.takes:
        return settle(r, firing, node, DONE, None)
    last = firing.takes[-1].envelope
    return settle(r, firing, node, DONE, last.body, content_type=last.content_type, meta=last.meta)
