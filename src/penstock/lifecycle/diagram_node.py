"""The states of a diagram's node. They are for people to see: tokens alone drive a run (D-8.1.7)."""

from __future__ import annotations

from penstock.lifecycle.contract import Machine, T

DIAGRAM_NODE = Machine(
    "diagram_node",
    "PENDING",
    (
        T("PENDING", "fire", "RUNNING", "D-8.1.2"),
        T("COMPLETED", "fire", "RUNNING", "D-6.2.3: the next round of a loop"),
        T("MAXITER_REACHED", "fire", "RUNNING", "D-X.1: a new epoch counts from zero"),
        T("FAILED", "revive", "RUNNING", "KERNEL 7"),
        T("RUNNING", "settle", "COMPLETED", "D-8.1.3"),
        T("RUNNING", "settle_at_limit", "MAXITER_REACHED", "D-8.1.5, D-X.5"),
        T("RUNNING", "fail", "FAILED", "D-8.1.4"),
        T("PENDING", "skip", "SKIPPED", "D-8.1.6, D-X.8: never executed when the run ends"),
        T("RUNNING", "skip", "SKIPPED", "D-X.25"),
        T("RUNNING", "sweep", "SKIPPED", "P-X.30: CANCELLED is shown as SKIPPED"),
        T("SKIPPED", "reopen", "PENDING", "KERNEL 7: the run goes on after a retry by hand"),
    ),
    terminal=("COMPLETED", "FAILED", "MAXITER_REACHED", "SKIPPED"),
)
