"""Which finished work items can be reworked, in a run that tracks origins (P-X.15)."""

from __future__ import annotations

from typing import Any

from penstock.kernel.evolve.waiting import CLOSED_CAP
from penstock.kernel.state import Firing, Item, Redo, Reopen, State
from penstock.kernel.token import SOLE, Passed


def sealed(st: State, firing: Firing) -> Passed | None:
    """Something came of what this firing was made of, and of what the scopes around it were: that stays as it is."""
    at: Firing | None = firing
    while at is not None:
        for key in at.passed or ():
            if key < 0:
                st.redoable.pop(-key, None)
        at = st.firings.get(st.scopes[at.scope].firing) if at.scope else None
    return {key: visit for key, visit in (firing.passed or {}).items() if key >= 0} or None


def finished(st: State, firing: Firing, item: Item, attempt: int, body: Any) -> Passed | None:
    """A work item was closed. Done, it is the work that all that follows is made of."""
    been = sealed(st, firing)
    if item.status != "DONE" or firing.comp >= 0:  # what undoes is not undone by a rework
        return been
    was = Reopen(
        firing.no, firing.node, firing.scope, firing.epoch, firing.visit, attempt, firing.takes, firing.path,
        firing.passed, firing.kids,
    )  # fmt: skip
    item.draft, item.entry = body, -1
    st.redoable[firing.no] = Redo(was, item)
    if len(st.redoable) > CLOSED_CAP:
        del st.redoable[next(iter(st.redoable))]
    return {**(been or {}), -firing.no: SOLE}
