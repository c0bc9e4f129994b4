"""The life of a task of a plan: the seed's four statuses, and `failed` (T-1, T-X.1, T-X.2).

`recover` is the only way back to `pending` (T-1.3.6) and belongs to the engine: after a crash, before each retry, when
a review is rejected, when a running task is put back. No person can ask for it by itself.
"""

from __future__ import annotations

from penstock.lifecycle.contract import Machine, T

TASK = Machine(
    "task",
    "pending",
    (
        T("pending", "start_task", "in_progress", "T-1.2.1: dependencies resolved, agent available"),
        T("in_progress", "complete_task", "completed", "T-1.2.2: success criteria met; T-8.1.3; T-X.14: approved"),
        T("in_progress", "cancel", "cancelled", "T-1.2.3: by hand"),
        T("pending", "cancel", "cancelled", "T-1.2.4: by hand"),
        T("in_progress", "recover", "pending", "T-1.3.6: after cleanup; T-X.14: rejected; T-X.15: before each retry"),
        T("in_progress", "fail_task", "failed", "T-X.1: retries exhausted, or fatal"),
        T("failed", "retry", "pending", "T-X.1: by hand"),
    ),
    terminal=("completed", "cancelled", "failed"),
)
