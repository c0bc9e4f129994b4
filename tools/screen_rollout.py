"""A rollout for the console's pictures: newer rules at 40 % of the runs, with a simulation that speaks for them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

PACK, VERSION = "quality_rules_v2", "2.1.0"
#: runs that judge a row, and what a person would wait for at most, in seconds
RUNS, PATIENCE = 60, 90
_DAYS = {"start": "${fn.date_add(fn.now(), -7, 'day')}", "end": "${fn.now()}"}
_JUDGE = {
    "id": "wf_judge_row", "name": "한 줄 판정", "version": 1, "edges": [],
    "nodes": [
        {"id": "judge", "type": "JUDGMENT", "policy": {"type": "RULE_ONLY", "rule_pack_id": PACK},
         "input": {"data": [{"line_id": "L01", "defect_rate": "${input.rate}"}]}},
    ],
}  # fmt: skip
_SIMULATE = {
    "id": "wf_simulate_rules", "name": "룰 모의 실행", "version": 1, "edges": [],
    "nodes": [
        {"id": "simulate_rule", "type": "SIMULATE", "artifact": {"type": "rule_pack", "id": PACK, "version": VERSION},
         "mode": {"type": "replay", "replay": {"time_range": _DAYS}}, "report": {"generate": True, "format": "html"}},
    ],
}  # fmt: skip
_ROLLOUT = {
    "artifact": {"type": "rule_pack", "id": PACK, "version": VERSION}, "environment": "production",
    "strategy": {"type": "canary", "canary": {
        "initial_percent": 10, "increment_percent": 30, "interval_minutes": 60,
        "success_criteria": {"error_rate_max": 0.01, "latency_p99_max_ms": 500}}},
    "rollback": {"auto_rollback": True, "trigger": {"error_rate": 0.05, "latency_p99_ms": 1000, "anomaly_score": 0.8}},
    "notification": {"on_start": True, "on_complete": True, "on_rollback": True, "channels": ["slack", "email"]},
}  # fmt: skip


def take(request: Any, base: str, approve: Callable[[str], None], shoot: Callable[[str, str], None]) -> None:
    """`approve` lets another person approve a version; `shoot` takes the address of a page and the picture's name."""

    def post(path: str, body: dict[str, Any] | None = None) -> Any:
        answer = request.post(f"{base}/api/v1{path}", data=body or {}, headers={"X-Penstock": "1"})
        if not answer.ok:
            raise SystemExit(f"{path}: {answer.status} {answer.text()}")
        return answer.json()

    def get(path: str) -> Any:
        return request.get(f"{base}/api/v1{path}").json()

    for document in (_JUDGE, _SIMULATE):
        post("/definitions", {"document": json.dumps(document)})
        approve(f"/definitions/{document['id']}/versions/1/approve")
        post(f"/definitions/{document['id']}/versions/1/activate")
    run = str(post("/runs", {"definition": _SIMULATE["id"], "input": {}})["id"])
    _wait(lambda: get(f"/runs/{run}")["state"] == "COMPLETED")
    id = str(post("/deploy", _ROLLOUT)["deployment_id"])
    _judge(post, RUNS // 4)
    post(f"/deploy/{id}/promote")
    _judge(post, RUNS)
    _wait(lambda: sum(version["samples"] for version in get(f"/deploy/{id}")["versions"]) >= RUNS)
    shoot(f"/ops/deployments/{id}", "rollout")
    shoot(f"/ops/simulations/{get('/simulations')['items'][0]['simulation_id']}", "simulation")
    post(f"/deploy/{id}/rollback", {"reason": "the picture is taken"})


def _judge(post: Callable[..., Any], runs: int) -> None:
    for number in range(runs):
        post("/runs", {"definition": _JUDGE["id"], "input": {"rate": 0.01 + 0.04 * (number % 10 == 0)}})


def _wait(reached: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not reached():
        if time.monotonic() > end:
            raise SystemExit("the rollout did not come as far as its picture")
        time.sleep(0.25)
