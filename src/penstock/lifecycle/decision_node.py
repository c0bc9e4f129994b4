"""The life of a node's execution as people who write workflows see it (W-2.3)."""

from __future__ import annotations

from penstock.lifecycle.contract import Machine, T

DECISION_NODE = Machine(
    "decision_node",
    "QUEUED",
    (
        T("QUEUED", "executor_pick", "RUNNING", "W-2.3.2"),
        T("RUNNING", "execution_ok", "SUCCEEDED", "W-2.3.2"),
        T("RUNNING", "execution_error", "FAILED", "W-2.3.2"),
        T("RUNNING", "retry_triggered", "RETRYING", "W-2.3.2"),
        T("RETRYING", "retry_attempt", "RUNNING", "W-2.3.2"),
        T("RETRYING", "max_retry_exceeded", "FAILED", "W-2.3.2"),
        T("FAILED", "has_compensation", "COMPENSATING", "W-2.3.2"),
        T("FAILED", "skip_on_error", "SKIPPED", "W-2.3.2"),
        T("COMPENSATING", "compensation_done", "COMPENSATED", "W-2.3.2"),
        *(
            T("QUEUED", event, "SKIPPED", "W-2.3.3")
            for event in ("condition_false", "join_satisfied", "cancelled", "circuit_open_skip")
        ),
        *(
            T("RUNNING", event, "SKIPPED", "W-2.3.3")
            for event in ("rate_limited", "duplicate", "cancelled", "wait_timeout_skip")
        ),
        T("SUCCEEDED", "workflow_compensation", "COMPENSATING", "W-2.3.3"),
        T("COMPENSATING", "compensation_failed", "FAILED", "W-2.3.3"),
    ),
    terminal=("SUCCEEDED", "FAILED", "SKIPPED", "COMPENSATED"),
)
