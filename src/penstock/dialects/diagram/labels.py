"""How people read diagrams: statuses and node types in English and in Korean."""

from __future__ import annotations

from penstock.dialects.contract import Labels

_TYPES = {
    "start": ("start", "시작", "circle-play"), "condition": ("condition", "조건", "split"),
    "user_response": ("answer", "사람의 답", "user-check"), "person_job": ("model", "언어 모델", "bot"),
    "code_job": ("code", "코드", "code"), "api_job": ("call", "호출", "globe"),
    "db": ("data", "데이터", "database"), "template_job": ("template", "템플릿", "file-text"),
    "hook": ("hook", "바깥 호출", "zap"), "integrated_api": ("service", "외부 서비스", "plug"),
    "endpoint": ("end", "끝", "flag"), "sub_diagram": ("sub-diagram", "하위 다이어그램", "workflow"),
}  # fmt: skip

LABELS = Labels(types=_TYPES)
