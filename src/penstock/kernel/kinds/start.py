"""start: hands over what the run, or the child scope, was given."""

from __future__ import annotations

from penstock.kernel.flow import settle
from penstock.kernel.region import item_of
from penstock.kernel.run import Run
from penstock.kernel.state import DONE, Firing
from penstock.kernel.view import View
from penstock.net.compiled import CNode


def fire(r: Run, node: CNode, firing: Firing) -> None:
    settle(r, firing, node, DONE, body(r, node, firing))


def body(r: Run, node: CNode, firing: Firing) -> object:
    if node.spec.value is not None:
        return node.value(View(r, r.st.scopes[firing.scope], firing.epoch, node, firing))
    if firing.scope:
        owner = r.st.firings[r.st.scopes[firing.scope].firing]
        item = item_of(r.net.nodes[owner.node], r.st.scopes[firing.scope])
        return item if item is not None else owner.takes[-1].envelope.body if owner.takes else None
    return r.st.input
