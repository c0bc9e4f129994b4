"""The life of a process instance as its owner sees it (P-X.30): compensation belongs to running."""

from __future__ import annotations

from penstock.lifecycle.contract import Machine, T

PROCESS_RUN = Machine(
    "process_run",
    "RUNNING",
    (
        T("RUNNING", "all_done", "COMPLETED", "P-3.1.4, P-X.11: nothing is open, nothing waits at a join"),
        T("RUNNING", "compensation_done", "TERMINATED", "P-5.3.7, P-X.32: compensation_status COMPLETE"),
        T("RUNNING", "compensation_failed", "TERMINATED", "P-X.20: compensation_status PARTIAL"),
        T("RUNNING", "unrecoverable_error", "TERMINATED", "P-4.3.5: there was nothing to undo"),
        T("RUNNING", "cancel_requested", "TERMINATED", "P-X.28 :terminate"),
        T("RUNNING", "compensate", "RUNNING", "P-X.28 :compensate"),
        T("TERMINATED", "compensate", "RUNNING", "P-X.20: the failed steps, and what was left"),
        T("COMPLETED", "compensate", "RUNNING", "P-X.28 :compensate"),
    ),
    terminal=("COMPLETED", "TERMINATED"),
)
