"""Runs that the stories are about, started over HTTP and brought to where a story begins."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from tests.api.serving import Server, until

ADMIN, MANAGER, OPERATOR = "admin@example.com", "manager@example.com", "operator@example.com"
ALARM, DEVIATION, IMPORT = "wf_defect_alert_v2", "wf_ccp_deviation_v2", "wf_order_import"
TITLE = "긴급 불량 알람 검토 요청"


def begin(server: Server, name: str, given: dict[str, Any], state: str) -> str:
    """The id of a new run that has come to a state."""
    with closing(server.client(ADMIN)) as client:
        made = client.post("/runs", json={"definition": name, "input": given})
        assert made.status_code == 201, made.text
        run = str(made.json()["id"])
        until(lambda: client.get(f"/runs/{run}").json(), lambda one: one["state"] == state)
    return run


def waiting(server: Server) -> str:
    """W-11.1 up to its approval."""
    return begin(server, ALARM, {"line_id": "L01"}, "WAITING")


def finished(server: Server) -> str:
    return begin(server, ALARM, {"line_id": "L03"}, "COMPLETED")


def failed(server: Server) -> str:
    """Its file is not there."""
    return begin(server, IMPORT, {}, "FAILED")


def read(server: Server, path: str, user: str = ADMIN) -> Any:
    with closing(server.client(user)) as client:
        answer = client.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()


def decisions(server: Server, run: str) -> list[dict[str, Any]]:
    """What the journal has of decided work."""
    facts = read(server, f"/runs/{run}/facts?limit=200")["items"]
    return [one for one in facts if one["fact"] == "work.moved" and one["node"] == "request_approval"]


def send(server: Server, path: str, body: dict[str, Any], user: str = ADMIN) -> int:
    """The status of the answer to a POST."""
    with closing(server.client(user)) as client:
        return client.post(path, json=body).status_code
