"""How each language's statuses and node types are said to people, in Korean and in English."""

from __future__ import annotations

from typing import Any

from penstock.dialects import Dialect, dialect_of
from penstock.languages import names

#: the house's states that a run or a node can be in, as people say them
_RUN = {
    "PENDING": ("Queued", "대기열"), "RUNNING": ("Running", "실행 중"), "WAITING": ("Waiting", "대기 중"),
    "COMPLETED": ("Completed", "완료"), "FAILED": ("Failed", "실패"), "CANCELLED": ("Cancelled", "취소됨"),
    "COMPENSATING": ("Undoing", "보상 중"), "COMPENSATED": ("Undone", "보상됨"),
}  # fmt: skip
_NODE = {
    "PENDING": ("Not reached", "아직 안 옴"), "QUEUED": ("Queued", "대기열"), "RUNNING": ("Running", "실행 중"),
    "RETRYING": ("Retrying", "다시 시도 중"), "WAITING": ("Waiting", "대기 중"), "SUCCEEDED": ("Done", "완료"),
    "FAILED": ("Failed", "실패"), "SKIPPED": ("Skipped", "건너뜀"), "CANCELLED": ("Cancelled", "취소됨"),
    "MAXITER_REACHED": ("Limit reached", "반복 한계 도달"),
}  # fmt: skip


def wording(locale: str) -> dict[str, dict[str, Any]]:
    at = 1 if locale == "ko" else 0
    return {language: _of(dialect_of(language), at) for language in names()}


def _of(dialect: Dialect, at: int) -> dict[str, Any]:
    labels = dialect.labels
    run = {state: label[at] for state, label in _RUN.items() if state in dialect.words.run}
    run |= {word: label[at] for word, label in labels.run.items()}
    node = {word: label[at] for word, label in {**_NODE, **labels.node}.items()}
    types = {name: {"label": label[at], "icon": label[2]} for name, label in labels.types.items()}
    return {"run": run, "node": node, "types": types}
