"""The life of one execution of a task: a process, from its start to its end (T-3).

One that never got a process (its command does not exist) has failed all the same: what did not run cannot be running.
"""

from __future__ import annotations

from penstock.lifecycle.contract import Machine, T

TASK_EXECUTION = Machine(
    "task_execution",
    "pending",
    (
        T("pending", "process_start", "running", "T-3.2.1: the process is spawned"),
        T("running", "process_exit_0", "completed", "T-3.2.2"),
        T("running", "process_exit_error", "failed", "T-3.2.3: an exit code other than 0; T-X.3: cancelled"),
        T("running", "timeout", "failed", "T-3.2.4: the time limit is over"),
        T("pending", "not_started", "failed", "T-X.18: the command or the project is not there"),
    ),
    terminal=("completed", "failed"),
)
