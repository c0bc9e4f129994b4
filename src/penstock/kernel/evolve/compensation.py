"""The ledger, and a compensation that is under way."""

from __future__ import annotations

from penstock.kernel import fact as F
from penstock.kernel.evolve.journal_values import as_failure
from penstock.kernel.state import Entry, State, Undo


def ledger_added(st: State, f: F.Fact) -> None:
    _, firing, node, scope, path, output, lineage, id_ = f
    item = st.items.get(firing)
    st.ledger.append(Entry(firing, node, scope, path, output, "open", list(lineage), id_, item is not None))
    if item is not None:
        item.entry = len(st.ledger) - 1


def ledger_moved(st: State, f: F.Fact) -> None:
    _, no, status, output, firing, path = f
    entry = st.ledger[no]
    entry.status = status
    if status == "open":  # it belongs to the firing that did it last
        entry.draft, entry.firing, entry.path = False, firing, path
    if output is not None:
        entry.output = output


def undo_planned(st: State, f: F.Fact) -> None:
    _, steps, why, then, firing, failure = f
    st.undo = Undo(list(steps), why, then, firing, failure=as_failure(failure))


def undo_step(st: State, f: F.Fact) -> None:
    entry = st.ledger[f[1]]
    entry.status = f[2]
    if f[2] == "RUNNING":
        entry.base = entry.top
    if f[2] == "FAILED":
        assert st.undo is not None
        st.undo.failed = True


def undo_at(st: State, f: F.Fact) -> None:
    assert st.undo is not None
    st.undo.at, st.undo.part = f[1], f[2]


def undo_ended(st: State, f: F.Fact) -> None:
    st.undo = None
