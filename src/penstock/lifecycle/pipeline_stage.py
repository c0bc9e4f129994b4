"""The life of a stage as people who process files see it (F-2.3, F-2.4)."""

from __future__ import annotations

from penstock.lifecycle.contract import Machine, T, each

PIPELINE_STAGE = Machine(
    "pipeline_stage",
    "STARTED",
    (
        T("STARTED", "begin", "RUNNING", "F-2.3"),
        T("STARTED", "skip", "SKIPPED", "F-S.3: its condition does not hold"),
        T("RUNNING", "settle", "COMPLETED", "F-2.4"),
        T("RUNNING", "fail", "FAILED", "F-2.4, F-X.6b: FAIL, RETRY, CONTINUE"),
        T("RUNNING", "skip", "SKIPPED", "F-2.4, F-X.6b: SKIP"),
        T("RUNNING", "time_out", "TIMEOUT", "F-2.4"),
        *each(("FAILED", "TIMEOUT"), "revive", "RUNNING", "F-X.6b, F-X.7: the next attempt resumes here"),
    ),
    terminal=("COMPLETED", "FAILED", "SKIPPED", "TIMEOUT"),
)
