"""Documents that stories about people are told with, put in force over HTTP."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from tests.api.places import in_force
from tests.api.serving import Server
from tests.browser.runs import ADMIN, MANAGER, begin

#: every kind of field that a form has
FORM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "status": {"type": "string"},
        "action": {"type": "string", "title": "조치", "enum": ["check", "stop", "watch"]},
        "reason_code": {"type": "string", "title": "원인", "enum": ["mold", "feed", "heat", "crew", "other"]},
        "minutes": {"type": "integer", "title": "멈추는 시간", "minimum": 5, "maximum": 60, "x-unit": "분"},
        "stopped": {"type": "boolean", "title": "라인을 세웠나요"},
        "again_on": {"type": "string", "format": "date", "title": "다시 재는 날"},
        "again_at": {"type": "string", "format": "date-time", "title": "다시 재는 때"},
        "memo": {"type": "string", "title": "메모", "maxLength": 40},
        "checks": {"type": "array", "title": "확인한 것", "items": {"type": "string"}},
        "mold": {
            "type": "object", "title": "금형",
            "properties": {"id": {"type": "string", "title": "번호", "maxLength": 20}, "shots": {"type": "number"}},
            "required": ["id"],
        },
        "parts": {
            "type": "array", "title": "부품",
            "items": {"type": "object", "properties": {"name": {"type": "string", "title": "이름", "maxLength": 20}}},
        },
    },
    "required": ["status", "action", "minutes", "mold"],
}  # fmt: skip


def decided_by_two(server: Server) -> str:
    """A run that waits for two approvals, with a form; its id."""
    approvers = {"type": "any_of", "targets": ["role:quality_manager", "role:approver"], "min_approvals": 2}
    document = {
        "id": "wf_two", "name": "두 사람의 승인", "version": 1,
        "nodes": [
            {
                "id": "agree", "type": "APPROVAL", "request": {"title": "라인 점검 승인", "approvers": approvers},
                "timeout": {"duration_hours": 4, "on_timeout": "reject"},
                "output": {"variable": "agreed", "schema": FORM},
            },
        ],
        "edges": [],
    }  # fmt: skip
    return begin(server, _there(server, document), {}, "WAITING")


def reviewed(server: Server) -> str:
    """A run whose verdict a person gives."""
    policy = {"type": "ESCALATE", "rule_pack": "defect_rules_v3"}
    document = {
        "id": "wf_reviewed", "name": "사람의 판정", "version": 1,
        "nodes": [
            {"id": "judge", "type": "JUDGMENT", "policy": policy, "input": {"data": [{"defect_rate": 0.01}]},
             "output": {"variable": "verdict"}},
        ],
        "edges": [],
    }  # fmt: skip
    return begin(server, _there(server, document), {}, "WAITING")


def limited(server: Server) -> str:
    """A run that waits, with a variable that no node has named."""
    document = {
        "id": "wf_limited", "name": "한도가 있는 승인", "version": 1,
        "nodes": [
            {
                "id": "log", "type": "ACTION", "channel": {"type": "slack"}, "message": "hello",
                "side_effects": {"set_variables": {"limit": 3}},
            },
            {"id": "agree", "type": "APPROVAL", "request": {
                "title": "한도 확인", "approvers": {"type": "role", "targets": ["quality_manager"]}}},
        ],
        "edges": [{"from": "log", "to": "agree"}],
    }  # fmt: skip
    return begin(server, _there(server, document), {}, "WAITING")


def judged(server: Server, pack: str) -> str:
    """A run that judges one row by a rule pack."""
    document = {
        "id": f"wf_judge_{pack}", "name": "한 줄 판정", "version": 1,
        "nodes": [
            {"id": "judge", "type": "JUDGMENT", "policy": {"type": "RULE_ONLY", "rule_pack_id": pack},
             "input": {"data": [{"line_id": "L01", "defect_rate": 0.01}]}},
        ],
        "edges": [],
    }  # fmt: skip
    return begin(server, _there(server, document), {}, "COMPLETED")


def simulated(server: Server, pack: str, version: str) -> str:
    """A run that has replayed the last seven days with another version of a rule pack."""
    days = {"start": "${fn.date_add(fn.now(), -7, 'day')}", "end": "${fn.now()}"}
    document = {
        "id": "wf_simulated", "name": "모의 실행", "version": 1,
        "nodes": [
            {
                "id": "simulate_rule", "type": "SIMULATE",
                "artifact": {"type": "rule_pack", "id": pack, "version": version},
                "mode": {"type": "replay", "replay": {"time_range": days}},
                "comparison": {"baseline": "current_production"}, "report": {"generate": True, "format": "html"},
            },
        ],
        "edges": [],
    }  # fmt: skip
    return begin(server, _there(server, document), {}, "COMPLETED")


def analysed(server: Server) -> str:
    """A run that has drawn the defect rate of the last thirty days."""
    document = {
        "id": "wf_analysed", "name": "불량 추이", "version": 1,
        "nodes": [
            {
                "id": "bi_trend", "type": "BI",
                "analysis": {
                    "type": "trend", "metrics": ["defect_rate"], "dimensions": ["line_id"], "time_grain": "day",
                    "time_range": {"start": "${fn.date_add(fn.now(), -30, 'day')}", "end": "${fn.now()}"},
                },
                "output": {"variable": "trend_result", "format": "chart_data"},
                "visualization": {"chart_type": "line", "title": "30일 불량률 추이", "x_axis": "date",
                                  "y_axis": ["defect_rate"], "series_by": "line_id"},
            },
        ],
        "edges": [],
    }  # fmt: skip
    return begin(server, _there(server, document), {}, "COMPLETED")


def asked(server: Server) -> str:
    """A diagram that asks a person for a name."""
    document = {
        "version": "light", "name": "Asking",
        "nodes": [
            {"label": "Start", "type": "start"},
            {"label": "Ask name", "type": "user_response", "prompt": "이름이 무엇인가요?", "timeout": 86400},
            {"label": "End", "type": "endpoint"},
        ],
        "connections": [
            {"from": "Start", "to": "Ask name"}, {"from": "Ask name", "to": "End", "label": "name"},
        ],
    }  # fmt: skip
    with closing(server.client(ADMIN)) as admin:
        made = admin.post("/diagrams", json={"document": document})
        assert made.status_code in (200, 201, 409), made.text
        run = admin.post("/diagrams/asking/runs", json={})
        assert run.status_code in (200, 201, 202), run.text
        return str(run.json()["run_id"])


def _there(server: Server, document: dict[str, Any]) -> str:
    """In force, also when another story has brought it."""
    with closing(server.client(ADMIN)) as admin, closing(server.client(MANAGER)) as manager:
        if admin.get(f"/definitions/{document['id']}/versions").status_code == 200:
            return str(document["id"])
        return in_force(admin, manager, document)
