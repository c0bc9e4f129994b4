"""The compensation ledger: which finished work has an entry, and when an entry is made, moved or withdrawn."""

from __future__ import annotations

from typing import Any

from penstock.kernel import fact as F
from penstock.kernel.run import Run
from penstock.kernel.state import Firing
from penstock.kernel.sweep import open_entry
from penstock.net.compiled import CNode


def book(r: Run, firing: Firing, node: CNode, output: Any) -> None:
    """The ledger entry of a firing that settled done; a draft may have made it already."""
    if node.spec.undo_whole and node.undo:
        inside = {f"{r.firing_id(firing)}/{r.st.scopes[no].key}" for no in firing.kids or ()}
        for n, entry in enumerate(r.st.ledger):
            if entry.status == "open" and not inside.isdisjoint(entry.lineage):
                r.record((F.LEDGER_MOVED, n, "withdrawn", None, 0, None))
    draft = open_entry(r, firing.no) if node.spec.work is not None else -1
    if draft < 0 and r.st.reopened:
        draft = _entry_of_same_key(r, firing)
    if draft < 0:
        if node.undo:
            add_to_ledger(r, firing, node, output)
    elif node.undo:
        r.record((F.LEDGER_MOVED, draft, "open", output, firing.no, firing.path))
    else:
        r.record((F.LEDGER_MOVED, draft, "withdrawn", None, 0, None))


def book_draft(r: Run, firing: Firing, node: CNode, output: Any) -> None:
    """A draft is work done. One of an earlier try goes; work finished in an earlier try is the key's entry already."""
    before = _entry_of_same_key(r, firing) if r.st.reopened else -1
    if before < 0:
        add_to_ledger(r, firing, node, output)
    elif r.st.ledger[before].draft:
        r.record((F.LEDGER_MOVED, before, "withdrawn", None, 0, None))
        add_to_ledger(r, firing, node, output)


def _entry_of_same_key(r: Run, firing: Firing) -> int:
    """The same key is the same effect: what a retry does again is undone once."""
    me = r.firing_id(firing)
    for n in range(len(r.st.ledger) - 1, -1, -1):
        if r.st.ledger[n].id == me:
            return n if r.st.ledger[n].status == "open" else -1
    return -1


def add_to_ledger(r: Run, firing: Firing, node: CNode, output: Any) -> None:
    r.record(
        (
            F.LEDGER_ADDED,
            firing.no,
            node.no,
            firing.scope,
            firing.path,
            output,
            lineage_of(r, firing.scope),
            r.firing_id(firing),
        )
    )


def lineage_of(r: Run, scope_no: int) -> list[str]:
    """The ids of the scope and of those around it, innermost first: one that a retry opens again is the same. Of a
    scope that is gone already only the root is known."""
    lineage = []
    while scope_no in r.st.scopes and scope_no:
        lineage.append(r.scope_id(scope_no))
        scope_no = r.st.scopes[scope_no].parent
    return [*lineage, ""]
