"""Files of modelers from the drawing to the end: finished by proposals, released, served by a worker outside."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.places import ADMIN, MANAGER, OPERATOR
from tests.api.serving import Server, serving, until

MODELERS = Path(__file__).resolve().parents[1] / "modelers"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("modelers"), "dev", "--quiet") as running:
        yield running


@pytest.fixture(scope="module")
def given(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A worker in a process of its own, and the file in which it says what it was given."""
    told = tmp_path_factory.mktemp("worker") / "given.jsonl"
    told.touch()
    asked = {"name": "worker", "user": "svc", "roles": ["worker"], "scopes": ["job.work"]}
    key = str(server.client(ADMIN).post("/keys", json=asked).json()["token"])
    worker = subprocess.Popen([sys.executable, str(MODELERS / "worker.py"), server.url, key, told], env=server.env)
    yield told
    worker.terminate()
    assert worker.wait(60) == 0


def released(server: Server, name: str, *todos: str) -> str:
    """The id of the process, after all proposals for its to-dos were taken."""
    admin = server.client(ADMIN)
    text = (MODELERS / name).read_text(encoding="utf-8")
    draft = admin.post("/processes/drafts", json={"name": name, "text": text}).json()
    assert sorted(todo["kind"] for todo in draft["todos"] if todo["required"]) == sorted(todos)
    draft = admin.post(f"/processes/drafts/{draft['id']}:accept", json={"number": draft["number"]}).json()
    assert draft["status"] == "finished", draft["todos"]
    made = admin.post(f"/processes/drafts/{draft['id']}:release", json={"number": draft["number"]})
    assert made.status_code == 200, made.text
    return str(draft["definitions"][0]["id"])


def run_to_the_end(server: Server, process: str, answers: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
    """People answer what waits for them until the instance has ended; the worker does the rest."""
    people = [server.client(user) for user in (OPERATOR, MANAGER)]
    begun = people[0].post(f"/processes/definitions/{process}/instances", json={"input_data": variables})
    assert begun.status_code == 201, begun.text
    run = str(begun.json()["proc_inst_id"])
    done = []

    def look() -> dict[str, Any]:
        seen: dict[str, Any] = people[0].get(f"/processes/instances/{run}").json()
        for item in seen["workitems"]:
            node = item["activity_id"]
            if item["status"] in ("TODO", "IN_PROGRESS") and node in answers and item["id"] not in done:
                result = {"result_data": answers[node]}
                for person in people:
                    if person.post(f"/processes/workitems/{item['id']}:submit", json=result).status_code == 200:
                        done.append(item["id"])
                        break
        return seen

    return dict(until(look, lambda seen: seen["status"] not in ("NEW", "RUNNING", "PENDING")))


def jobs(told: Path, *types: str) -> list[list[Any]]:
    lines = [json.loads(line) for line in told.read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if line[0] in types]


def test_camunda_7(server: Server, given: Path) -> None:
    """P-X.25, P-X.28, P-X.9, P-X.14: forms, groups, JUEL, timers, mappings, retries, a business error, a listener."""
    process = released(server, "camunda7_claim.bpmn", "timer_value", "gateway_conditions")
    answers = {"register": {"amount": 1000, "kind": "car"}, "approve": {}, "what": {"choice": "send it on"}}
    seen = run_to_the_end(server, process, answers, {"dateOfReview": "2031-05-01T10:00:00Z"})
    assert seen["status"] == "COMPLETED" and seen["variables"]["twice"] == 6 and seen["variables"]["left"] == 900
    assessed = ["com.example.Assess", {"text": "car of 1000", "marks": [500, "fixed"]}, {"scale": "1-5"}]
    assert jobs(given, "com.example.Assess") == [assessed, assessed]  # its first attempt fails
    assert [line[1]["level"] for line in jobs(given, "pay")] == [3]


def test_camunda_8(server: Server, given: Path) -> None:
    """P-X.25, P-X.28, P-X.9: a form in the file, FEEL in groups, dates, scripts and mappings, headers, a timer."""
    process = released(server, "camunda8_order.bpmn", "gateway_conditions")
    answers = {"check": {"total": 50, "country": "KR"}, "paid": {"choice": "the customer"}}
    seen = run_to_the_end(server, process, answers, {})
    assert seen["status"] == "COMPLETED" and seen["variables"]["order"] == {"receipt": "R-7"}
    assert seen["variables"]["amount"] == 55 and "secret" not in seen["variables"]
    assert jobs(given, "charge-card") == [["charge-card", {"card": {"amount": 55}}, {"currency": "KRW"}]]


def test_flowable(server: Server, given: Path) -> None:
    """P-X.25, P-X.28: form properties, a script in JUEL, a bean's method for several instances, a loop that asks."""
    process = released(server, "flowable_greeting.bpmn20.xml", "gateway_conditions")
    answers = {"write": {"text": "hello", "copies": 2}, "again": {"choice": "enough"}}
    seen = run_to_the_end(server, process, answers, {})
    assert seen["status"] == "COMPLETED" and seen["variables"]["loud"] == "HELLO"
    assert [line[1]["loud"] for line in jobs(given, "mailer.send")] == ["HELLO", "HELLO"]
