"""How people read workflows: statuses and node types in English and in Korean."""

from __future__ import annotations

from penstock.dialects.contract import Labels

_TYPES = {
    "DATA": ("data", "데이터", "database"), "JUDGMENT": ("judgment", "판정", "scale"),
    "MCP": ("tool", "외부 도구", "plug"), "ACTION": ("action", "조치", "send"),
    "APPROVAL": ("approval", "승인", "user-check"), "WAIT": ("wait", "대기", "hourglass"),
    "SWITCH": ("switch", "분기", "split"), "PARALLEL": ("parallel", "병렬", "columns-3"),
    "COMPENSATION": ("undo", "보상", "undo-2"), "BI": ("analysis", "분석", "bar-chart-3"),
    "DEPLOY": ("deploy", "배포", "rocket"), "ROLLBACK": ("rollback", "되돌리기", "rotate-ccw"),
    "SIMULATE": ("simulation", "모의 실행", "flask-conical"), "REVIEW": ("review", "검토", "eye"),
}  # fmt: skip

LABELS = Labels(types=_TYPES)
