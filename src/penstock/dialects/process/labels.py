"""How people read processes: statuses and node types in English and in Korean."""

from __future__ import annotations

from penstock.dialects.contract import Labels
from penstock.dialects.process.words import ITEMS_KO

_TYPES = {
    "humanTask": ("human task", "사람의 일", "user-pen"), "userTask": ("user task", "사람의 일", "user-pen"),
    "manualTask": ("manual task", "손으로 하는 일", "user-pen"), "task": ("task", "일", "box"),
    "serviceTask": ("service task", "서비스의 일", "bot"), "scriptTask": ("script task", "스크립트", "code"),
    "sendTask": ("send task", "보내기", "send"), "receiveTask": ("receive task", "받기", "mail"),
    "businessRuleTask": ("business rule", "규칙", "scale"),
    "callActivity": ("call", "다른 프로세스 부르기", "workflow"),
    "subProcess": ("sub-process", "하위 프로세스", "workflow"),
    "transaction": ("transaction", "모두 하거나 모두 되돌리는 하위 프로세스", "workflow"),
    "adHocSubProcess": ("ad-hoc sub-process", "할 일을 골라 가는 하위 프로세스", "workflow"),
    "exclusiveGateway": ("one way", "하나만 고르는 갈림길", "split"),
    "parallelGateway": ("all ways", "모두 가는 갈림길", "split"),
    "inclusiveGateway": ("some ways", "여럿 고르는 갈림길", "split"),
    "complexGateway": ("so many ways", "몇 갈래만 기다리는 갈림길", "split"),
    "eventBasedGateway": ("first event", "먼저 온 소식을 따르는 갈림길", "split"),
    "startEvent": ("start", "시작", "play"), "endEvent": ("end", "끝", "flag"),
    "catchEvent": ("wait for", "기다림", "hourglass"), "throwEvent": ("tell", "알림", "send"),
    "boundaryEvent": ("meanwhile", "도중의 소식", "bell"), "compensation": ("undo", "되돌리기", "undo-2"),
}  # fmt: skip
_RUN = {
    "RUNNING": ("Running", "실행 중"), "COMPLETED": ("Completed", "완료"), "TERMINATED": ("Terminated", "종료됨"),
}  # fmt: skip
_NODE = {
    "TODO": ("To do", ITEMS_KO["TODO"]), "IN_PROGRESS": ("In progress", ITEMS_KO["IN_PROGRESS"]),
    "SUBMITTED": ("Waits for approval", ITEMS_KO["SUBMITTED"]), "DONE": ("Done", ITEMS_KO["DONE"]),
    "REWORK": ("Rework", ITEMS_KO["REWORK"]), "CANCELLED": ("Cancelled", ITEMS_KO["CANCELLED"]),
    "COMPENSATED": ("Undone", ITEMS_KO["COMPENSATED"]),
}  # fmt: skip

LABELS = Labels(run=_RUN, node=_NODE, types=_TYPES)
