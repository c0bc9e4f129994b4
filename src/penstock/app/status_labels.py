"""How each language's statuses and node types are said to people, in Korean and in English."""

from __future__ import annotations

from typing import Any

from penstock.app.runs.run_view import words_of
from penstock.dialects.process.words import ITEMS_KO

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
_TYPES: dict[str, dict[str, tuple[str, str, str]]] = {
    "decision": {
        "DATA": ("data", "데이터", "database"), "JUDGMENT": ("judgment", "판정", "scale"),
        "MCP": ("tool", "외부 도구", "plug"), "ACTION": ("action", "조치", "send"),
        "APPROVAL": ("approval", "승인", "user-check"), "WAIT": ("wait", "대기", "hourglass"),
        "SWITCH": ("switch", "분기", "split"), "PARALLEL": ("parallel", "병렬", "columns-3"),
        "COMPENSATION": ("undo", "보상", "undo-2"), "BI": ("analysis", "분석", "bar-chart-3"),
        "DEPLOY": ("deploy", "배포", "rocket"), "ROLLBACK": ("rollback", "되돌리기", "rotate-ccw"),
        "SIMULATE": ("simulation", "모의 실행", "flask-conical"), "REVIEW": ("review", "검토", "eye"),
    },
    "diagram": {
        "start": ("start", "시작", "circle-play"), "condition": ("condition", "조건", "split"),
        "user_response": ("answer", "사람의 답", "user-check"), "person_job": ("model", "언어 모델", "bot"),
        "code_job": ("code", "코드", "code"), "api_job": ("call", "호출", "globe"),
        "db": ("data", "데이터", "database"), "template_job": ("template", "템플릿", "file-text"),
        "endpoint": ("end", "끝", "flag"), "sub_diagram": ("sub-diagram", "하위 다이어그램", "workflow"),
    },
    "process": {
        "humanTask": ("human task", "사람의 일", "user-pen"), "userTask": ("user task", "사람의 일", "user-pen"),
        "manualTask": ("manual task", "손으로 하는 일", "user-pen"), "task": ("task", "일", "box"),
        "serviceTask": ("service task", "서비스의 일", "bot"), "scriptTask": ("script task", "스크립트", "code"),
        "sendTask": ("send task", "보내기", "send"), "receiveTask": ("receive task", "받기", "mail"),
        "businessRuleTask": ("business rule", "규칙", "scale"),
        "callActivity": ("call", "다른 프로세스 부르기", "workflow"),
        "subProcess": ("sub-process", "하위 프로세스", "workflow"),
        "exclusiveGateway": ("one way", "하나만 고르는 갈림길", "split"),
        "parallelGateway": ("all ways", "모두 가는 갈림길", "split"),
        "inclusiveGateway": ("some ways", "여럿 고르는 갈림길", "split"),
        "eventBasedGateway": ("first event", "먼저 온 소식을 따르는 갈림길", "split"),
        "startEvent": ("start", "시작", "play"), "endEvent": ("end", "끝", "flag"),
        "catchEvent": ("wait for", "기다림", "hourglass"), "throwEvent": ("tell", "알림", "send"),
        "boundaryEvent": ("meanwhile", "도중의 소식", "bell"), "compensation": ("undo", "되돌리기", "undo-2"),
    },
}  # fmt: skip
#: where a language has words of its own for how its work stands: both tongues, beside the house's
_OWN_RUN: dict[str, dict[str, tuple[str, str]]] = {
    "process": {
        "RUNNING": ("Running", "실행 중"), "COMPLETED": ("Completed", "완료"), "TERMINATED": ("Terminated", "종료됨"),
    },
}  # fmt: skip
_OWN_NODE: dict[str, dict[str, tuple[str, str]]] = {
    "process": {
        "TODO": ("To do", ITEMS_KO["TODO"]), "IN_PROGRESS": ("In progress", ITEMS_KO["IN_PROGRESS"]),
        "SUBMITTED": ("Waits for approval", ITEMS_KO["SUBMITTED"]), "DONE": ("Done", ITEMS_KO["DONE"]),
        "REWORK": ("Rework", ITEMS_KO["REWORK"]), "CANCELLED": ("Cancelled", ITEMS_KO["CANCELLED"]),
        "COMPENSATED": ("Undone", ITEMS_KO["COMPENSATED"]),
    },
}  # fmt: skip


def wording(locale: str) -> dict[str, dict[str, Any]]:
    at = 1 if locale == "ko" else 0
    return {language: _of(language, at) for language in _TYPES}


def _of(language: str, at: int) -> dict[str, Any]:
    known = words_of(language)
    run = {state: said[at] for state, said in _RUN.items() if state in known.run}
    run |= {word: said[at] for word, said in _OWN_RUN.get(language, {}).items()}
    node = {word: said[at] for word, said in {**_NODE, **_OWN_NODE.get(language, {})}.items()}
    types = {name: {"label": said[at], "icon": said[2]} for name, said in _TYPES[language].items()}
    return {"run": run, "node": node, "types": types}
