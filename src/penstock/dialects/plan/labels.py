"""How people read plans: statuses and node types in English and in Korean."""

from __future__ import annotations

from penstock.dialects.contract import Labels

_TYPES = {
    "task": ("task", "작업", "list-checks"), "start": ("start", "시작", "circle-play"),
    "merge": ("either way", "어느 쪽이든", "merge"),
}  # fmt: skip
_RUN = {
    "idle": ("Idle", "쉼"), "running": ("Running", "실행 중"), "paused": ("Paused", "멈춤"),
    "completed": ("Completed", "완료"),
}  # fmt: skip
_NODE = {
    "pending": ("Pending", "대기"), "in_progress": ("In progress", "진행 중"), "completed": ("Completed", "완료"),
    "cancelled": ("Cancelled", "취소됨"), "failed": ("Failed", "실패"),
}  # fmt: skip

LABELS = Labels(run=_RUN, node=_NODE, types=_TYPES)
