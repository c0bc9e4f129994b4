"""The life of a run as people who draw see it (D-X.8)."""

from __future__ import annotations

from penstock.lifecycle.contract import Machine, T, each

DIAGRAM_RUN = Machine(
    "diagram_run",
    "PENDING",
    (
        T("PENDING", "start", "RUNNING", "D-X.8"),
        T("RUNNING", "wait_started", "WAITING", "D-X.8 user_response"),
        T("WAITING", "resumed", "RUNNING", "D-X.18"),
        T("RUNNING", "all_done", "COMPLETED", "D-X.8"),
        T("WAITING", "all_done", "COMPLETED", "D-A.16: the answer may be the last step"),
        T("RUNNING", "unrecoverable_error", "FAILED", "D-X.8 DEADLOCK, D-X.10"),
        T("WAITING", "unrecoverable_error", "FAILED", "D-X.18 timeout"),
        *each(("PENDING", "RUNNING", "WAITING"), "cancel_requested", "CANCELLED", "D-X.29"),
        T("FAILED", "operator_retry", "RUNNING", "KERNEL 7: by hand, the failed node revived under the same key"),
    ),
    terminal=("COMPLETED", "FAILED", "CANCELLED"),
)
