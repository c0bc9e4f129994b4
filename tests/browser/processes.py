"""Processes that stories are told with: put in force and brought to where a story begins, over HTTP."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

from tests.api.serving import Server, until
from tests.browser.runs import ADMIN

#: P-2.1.2 as a file: the last step fails, and what was done before it can be undone
FILE = Path(__file__).with_name("data_registration.bpmn")
STORY, TITLE = "data_registration_story", "데이터 등록 접수"
#: a join waits for a way that was not taken
STUCK = {
    "process_definition_id": "stuck_story", "process_definition_name": "막히는 접수",
    "activities": [
        {"id": "a", "name": "접수", "type": "humanTask"}, {"id": "b", "name": "검토", "type": "humanTask"},
        {"id": "c", "name": "보완", "type": "humanTask"},
    ],
    "gateways": [
        {"id": "g", "name": "충분한가?", "type": "exclusiveGateway", "conditions": {"f1": "x == 1", "f2": "x == 2"}},
        {"id": "both", "name": "함께", "type": "parallelGateway"},
    ],
    "transitions": [
        {"id": "f0", "source": "a", "target": "g"}, {"id": "f1", "source": "g", "target": "b"},
        {"id": "f2", "source": "g", "target": "c"}, {"id": "f3", "source": "b", "target": "both"},
        {"id": "f4", "source": "c", "target": "both"},
    ],
}  # fmt: skip
PLAIN = "# 접수 절차\n1. 담당자: 등록서를 접수한다\n2. 검토자: 내용을 검토한다\n"


def there(server: Server) -> str:
    """The story's definition, also when another story has brought it."""
    with closing(server.client(ADMIN)) as admin:
        made = admin.post("/processes/definitions:import-bpmn", json={"bpmn_xml": FILE.read_text(encoding="utf-8")})
        assert made.status_code in (200, 201), made.text
        return str(made.json()["id"])


def look(server: Server, run: str) -> dict[str, Any]:
    with closing(server.client(ADMIN)) as admin:
        answer = admin.get(f"/processes/instances/{run}")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found


def items(server: Server, run: str) -> dict[str, str]:
    """How each activity stands."""
    return {one["activity_id"]: one["status"] for one in look(server, run)["workitems"]}


def received(server: Server) -> str:
    """An instance whose first person has something to do."""
    there(server)
    with closing(server.client(ADMIN)) as admin:
        made = admin.post(f"/processes/definitions/{STORY}/instances", json={"input_data": {}})
        assert made.status_code == 201, made.text
        run = str(made.json()["proc_inst_id"])
    until(lambda: items(server, run), lambda one: one.get("receive") == "TODO")
    return run


def drafted(server: Server) -> str:
    """An instance whose agent has written a draft."""
    run = received(server)
    first = next(one for one in look(server, run)["workitems"] if one["activity_id"] == "receive")
    with closing(server.client(ADMIN)) as admin:
        done = admin.post(
            f"/processes/workitems/{first['id']}:submit", json={"result_data": {"document": "11월 등록서", "rows": 120}}
        )
        assert done.status_code == 200, done.text
    until(lambda: items(server, run), lambda one: one.get("classify") == "SUBMITTED")
    return run


def undone(server: Server) -> str:
    """An instance that has failed, and whose work was undone."""
    run = drafted(server)
    draft = next(one for one in look(server, run)["workitems"] if one["activity_id"] == "classify")
    with closing(server.client(ADMIN)) as admin:
        done = admin.post(f"/processes/workitems/{draft['id']}:approve", json={})
        assert done.status_code == 200, done.text
    until(lambda: look(server, run), lambda one: one["status"] == "TERMINATED")
    return run


def mined(server: Server, log: str) -> str:
    """A model that was mined and waits for approval: the story's, with another name for one step."""
    there(server)
    text = FILE.read_text(encoding="utf-8").replace("데이터 분류", "데이터 자동 분류").replace(STORY, f"{STORY}_{log}")
    body = {
        "event_log_id": log, "bpmn_xml": text, "base_proc_def_id": STORY,
        "mining_metadata": {"algorithm": "inductive", "fitness": 0.91, "case_count": 1204},
    }  # fmt: skip
    with closing(server.client(ADMIN)) as admin:
        made = admin.post("/processes/definitions:import-discovered", json=body)
        assert made.status_code in (200, 201), made.text
        return str(made.json()["id"])
