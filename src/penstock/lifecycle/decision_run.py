"""The life of an instance as people who write workflows see it (W-2.2)."""

from __future__ import annotations

from penstock.lifecycle.contract import Machine, T, each

_RESUMED = ("approval_received", "event_received", "timer_elapsed", "poll_succeeded", "manual_signal")

DECISION_RUN = Machine(
    "decision_run",
    "CREATED",
    (
        T("CREATED", "schedule", "PENDING", "W-2.2.2"),
        T("PENDING", "start_execution", "RUNNING", "W-2.2.2"),
        T("RUNNING", "approval_required", "WAITING", "W-2.2.2"),
        T("RUNNING", "wait_started", "WAITING", "W-2.2.3"),
        T("RUNNING", "node_complete", "RUNNING", "W-2.2.2"),
        *(T("WAITING", event, "RUNNING", "W-2.2.2, W-2.2.3") for event in _RESUMED),
        T("WAITING", "human_judgment_received", "RUNNING", "W-2.2.3"),
        T("WAITING", "approval_rejected", "CANCELLED", "W-2.2.2"),
        T("WAITING", "wait_expired", "TIMEOUT", "W-2.2.2"),
        T("RUNNING", "all_nodes_done", "COMPLETED", "W-2.2.2"),
        T("RUNNING", "unrecoverable_error", "FAILED", "W-2.2.2"),
        T("RUNNING", "compensation_triggered", "COMPENSATING", "W-2.2.2"),
        T("COMPENSATING", "compensation_done", "COMPENSATED", "W-2.2.2"),
        T("COMPENSATING", "compensation_failed", "FAILED", "W-2.2.2"),
        T("TIMEOUT", "no_recovery", "FAILED", "W-2.2.2"),
        T("TIMEOUT", "retry_allowed", "RUNNING", "W-2.2.2, C-75"),
        *each(("CREATED", "PENDING", "RUNNING", "WAITING"), "cancel_requested", "CANCELLED", "W-2.2.3"),
        *each(("WAITING", "TIMEOUT"), "compensation_triggered", "COMPENSATING", "W-2.2.3"),
        T("RUNNING", "workflow_timeout", "TIMEOUT", "W-2.2.3"),
        T("FAILED", "operator_retry", "RUNNING", "W-2.2.3: by hand"),
    ),
    terminal=("COMPLETED", "FAILED", "CANCELLED", "COMPENSATED"),
)
