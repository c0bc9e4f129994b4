"""The life of a run in the house's own words; every language shows only its own.

A command that ends a wait may end the run in the same turn, so WAITING has the endings of RUNNING.
"""

from __future__ import annotations

from penstock.lifecycle.contract import Machine, T, each

RUN = Machine(
    "run",
    "CREATED",
    (
        T("CREATED", "schedule", "PENDING", "W-2.2.2"),
        T("CREATED", "start", "RUNNING", "KERNEL 2: start fires the roots at once"),
        T("PENDING", "start", "RUNNING", "W-2.2.2 start_execution"),
        T("PENDING", "retry_allowed", "RUNNING", "KERNEL 6: the run's own retry, when its delay is over"),
        T("RUNNING", "wait_started", "WAITING", "W-2.2.3"),
        T("WAITING", "resumed", "RUNNING", "W-2.2.2 approval_received, W-2.2.3"),
        T("RUNNING", "all_done", "COMPLETED", "W-2.2.2 all_nodes_done"),
        T("WAITING", "all_done", "COMPLETED", "KERNEL 7"),
        T("RUNNING", "unrecoverable_error", "FAILED", "W-2.2.2"),
        T("WAITING", "unrecoverable_error", "FAILED", "KERNEL 7"),
        *each(("RUNNING", "WAITING"), "run_retry", "PENDING", "KERNEL 6"),
        *each(("CREATED", "PENDING", "RUNNING", "WAITING"), "cancel_requested", "CANCELLED", "W-2.2.3"),
        T("RUNNING", "compensation_triggered", "COMPENSATING", "W-2.2.2"),
        T("WAITING", "compensation_triggered", "COMPENSATING", "W-2.2.3"),
        T("PENDING", "compensation_triggered", "COMPENSATING", "KERNEL 6: cancelled while it waits for its own retry"),
        *each(("RUNNING", "WAITING"), "compensate", "COMPENSATING", "KERNEL 2: by hand"),
        T("COMPENSATING", "compensation_done", "COMPENSATED", "W-2.2.2"),
        T("COMPENSATING", "compensation_failed", "FAILED", "W-2.2.2"),
        T("COMPENSATING", "cancel_done", "CANCELLED", "KERNEL 6: a boundary cancel ends so whatever the undoing said"),
        T("FAILED", "operator_retry", "RUNNING", "W-2.2.3"),
        T("FAILED", "retry_queued", "PENDING", "F-S.5: by hand, where runs wait for room"),
        *each(("FAILED", "COMPLETED"), "compensate", "COMPENSATING", "KERNEL 7"),
    ),
    terminal=("COMPLETED", "FAILED", "CANCELLED", "COMPENSATED"),
)
