"""The words of people who own processes: instances, work items, compensation (P-X.30, P-X.32); events (P-E, P-X.38)."""

from __future__ import annotations

from penstock.dialects.contract import Words

#: The house's run statuses → P-X.30.
RUN = {
    "CREATED": "RUNNING",
    "PENDING": "RUNNING",
    "RUNNING": "RUNNING",
    "WAITING": "RUNNING",
    "COMPENSATING": "RUNNING",
    "COMPLETED": "COMPLETED",
    "FAILED": "TERMINATED",
    "CANCELLED": "TERMINATED",
    "COMPENSATED": "TERMINATED",
    "TIMEOUT": "TERMINATED",
}

#: The house's words for units of work → P-4.1.12. A failed one is CANCELLED with its error (P-X.16).
UNIT = {
    "QUEUED": "TODO",
    "RUNNING": "IN_PROGRESS",
    "RETRYING": "IN_PROGRESS",
    "WAITING": "IN_PROGRESS",
    "SUCCEEDED": "DONE",
    "FAILED": "CANCELLED",
    "SKIPPED": "CANCELLED",
    "CANCELLED": "CANCELLED",
    "COMPENSATED": "COMPENSATED",
}

#: P-4.1.12
ITEMS = ("TODO", "IN_PROGRESS", "SUBMITTED", "DONE", "REWORK", "CANCELLED", "COMPENSATED")
MODES = ("AUTONOMOUS", "SUPERVISED", "MANUAL")
#: P-5.3.1, P-5.5.6
STEPS = ("PENDING", "EXECUTED", "FAILED", "SKIPPED", "CANCELLED")
COMPENSATION = ("NONE", "COMPLETE", "PARTIAL")

ITEMS_KO = {
    "TODO": "할 일",
    "IN_PROGRESS": "진행 중",
    "SUBMITTED": "승인 대기",
    "DONE": "완료",
    "REWORK": "재작업",
    "CANCELLED": "취소됨",
    "COMPENSATED": "보상됨",
}

RUN_KO = {"RUNNING": "실행 중", "COMPLETED": "완료", "TERMINATED": "종료됨"}

#: P-E.4: the event that brings a mined model
PROCESS_DISCOVERED = "PROCESS_DISCOVERED"
#: P-5.5.3, P-5.5.8, P-X.15, P-X.16: why an item was cancelled, word for word.
CANCELLED_BRANCH = "Saga compensation - parallel branch cancellation"
CANCELLED_FAILED = "execution failed"
CANCELLED_REWORK = "superseded by rework"
#: P-5.5.3: what is told of an open branch that compensation has cancelled.
CANCELLED_ACTION = "진행 중인 에이전트 작업 취소"

EVENTS = (
    "PROCESS_STARTED", "PROCESS_COMPLETED", "PROCESS_TERMINATED", "PROCESS_BLOCKED", "WORKITEM_CREATED",
    "WORKITEM_STATUS_CHANGED", "SAGA_COMPENSATION_COMPLETED", "COMPENSATION_STEP_FAILED",
    "DISCOVERED_MODEL_IMPORTED",
)  # fmt: skip


def step_status(entry: str) -> str:
    """What a ledger entry of the house is called: its step of compensation (P-X.21)."""
    return {"open": "PENDING", "RUNNING": "PENDING", "EXECUTED": "EXECUTED", "FAILED": "FAILED"}.get(entry, "SKIPPED")


def compensation_status(run: str, entries: list[str]) -> str:
    """P-X.20, P-X.32: of a run of the house and its ledger entries: was something undone, and all of it?"""
    touched = [entry for entry in entries if entry in ("EXECUTED", "FAILED")]
    if not touched:
        return "NONE"
    return "COMPLETE" if run == "COMPENSATED" else "PARTIAL" if run in ("FAILED", "CANCELLED") else "NONE"


WORDS = Words(run=RUN, unit=UNIT, events=EVENTS)
