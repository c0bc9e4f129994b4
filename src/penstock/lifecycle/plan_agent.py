"""The life of an agent of a plan: it does one task at a time (T-2)."""

from __future__ import annotations

from penstock.lifecycle.contract import Machine, T

PLAN_AGENT = Machine(
    "plan_agent",
    "idle",
    (
        T("idle", "assign_task", "busy", "T-2.2.1: a task is available"),
        T("busy", "task_complete", "idle", "T-2.2.2: its execution has finished"),
        T("busy", "task_failed", "idle", "T-2.2.3: its execution has failed"),
        T("busy", "recover", "idle", "T-2.3.2: its process is dead, after cleanup; T-9.2.4: at a restart"),
    ),
    terminal=(),
)
