"""The life of an execution as people who process files see it (F-2.1, F-2.2, F-2.5 to F-2.8)."""

from __future__ import annotations

from penstock.lifecycle.contract import Machine, T, each

PIPELINE_RUN = Machine(
    "pipeline_run",
    "PENDING",
    (
        T("PENDING", "start", "RUNNING", "F-2.1: picked up"),
        T("RUNNING", "all_done", "COMPLETED", "F-2.2"),
        T("RUNNING", "unrecoverable_error", "FAILED", "F-2.2, F-2.5: no retry is left"),
        T("RUNNING", "timed_out", "TIMEOUT", "F-2.2, F-X.6: the only attempt ran out of time"),
        T("RUNNING", "run_retry", "PENDING", "F-2.5, F-X.6: again after retry_delay_seconds"),
        T("RUNNING", "cancel_requested", "CANCELLED", "F-2.6: at the boundary of a stage"),
        T("PENDING", "cancel_requested", "CANCELLED", "F-X.8: only with pipelines.allow_cancel_pending"),
        *each(("FAILED", "TIMEOUT"), "operator_retry", "PENDING", "F-2.7, F-S.5: resume"),
    ),
    terminal=("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT"),
)
