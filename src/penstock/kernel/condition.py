"""Conditional triggers: they come true with the data of the run, by themselves.

All are asked when nothing else can happen, and only after something has. What held when it was asked last is a fact, so
that a condition fires once, and again only when it has not held meanwhile.
"""

from __future__ import annotations

from penstock.errors import ExprError
from penstock.kernel import fact as F
from penstock.kernel.flow import truth
from penstock.kernel.quiet import depth_of
from penstock.kernel.run import Run
from penstock.kernel.state import Firing
from penstock.kernel.trigger import pull
from penstock.kernel.view import View
from penstock.net.compiled import CNode


def conditions_changed(r: Run) -> bool:
    """Ask every condition that is waited for, those of inner scopes first. True: one has come true."""
    st = r.st
    if r.judged == st.n:
        return False
    fired = False
    for no in sorted(r.conditions, key=lambda no: _order(r, no)):
        firing = st.firings.get(no)
        if firing is None:
            r.conditions.pop(no, None)
        elif ask_conditions(r, firing, r.net.nodes[firing.node]):
            fired = True
    r.judged = -1 if fired else st.n  # what has come true may have changed the data that others ask for
    return fired


def _order(r: Run, no: int) -> tuple[int, int]:
    firing = r.st.firings.get(no)
    return (0 if firing is None else -depth_of(r, firing.scope), no)


def ask_conditions(r: Run, firing: Firing, node: CNode) -> bool:
    """The conditions of one firing; what has just come true fires. True: one did."""
    fired = False
    for i in node.conditions:
        holds, held = _holds(r, firing, node, i), i in (firing.holds or ())
        if holds != held:
            r.record((F.CONDITION, firing.no, i, holds))
        if holds and not held:
            fired = True
            pull(r, firing, i, None)
            if firing.no not in r.st.firings:
                break
    return fired


def _holds(r: Run, firing: Firing, node: CNode, i: int) -> bool:
    """A condition over data that is not there yet does not hold."""
    match = node.match[i]
    assert match is not None, "a condition has an expression"
    try:
        return truth(match(View(r, r.st.scopes[firing.scope], firing.epoch, node, firing)))
    except ExprError:
        return False
