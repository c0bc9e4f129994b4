"""Deployments seen from outside: the program's own API, moves by hand, and judgments that use what is deployed."""

from __future__ import annotations

import json
from typing import Any

from penstock.executors.parts.network.egress_policy import EgressPolicy
from penstock.executors.parts.network.http_call import HttpCall
from tests.conformance.decision.make import document
from tests.conformance.decision.world import TENANT, Door, World

PACK = "quality_rules_v2"
LEAD, QUALITY, IT = "qa@example.com", "manager@example.com", "it@example.com"
#: judges one row with the pack, as every workflow of the plant does
JUDGE: dict[str, Any] = document(
    [
        {
            "id": "judge_row",
            "type": "JUDGMENT",
            "policy": {"type": "RULE_ONLY", "rule_pack_id": PACK},
            "input": {"data": "${input.rows}"},
        }
    ],
    id="wf_judge_row",
)


def on_own_api(world: World) -> World:
    """`default_api` is the program itself, as in the sample tenant."""
    world.register("connection", "default_api", type="http", base_url="own:")
    return world


async def asked(door: Door, path: str, method: str = "GET", tenant: str = TENANT) -> tuple[int, Any]:
    """Status and body of a request of a run to the program's own API."""
    calls = door.host.dispatch.services.self_calls
    call = HttpCall(method=method, url=f"own:{path}", headers=(("content-type", "application/json"),), content=b"{}")
    reply = await calls.send(tenant, call, EgressPolicy())
    return reply.status, json.loads(reply.body) if reply.body else None


async def status_of(door: Door, deployment: str) -> dict[str, Any]:
    """C-66: what `/api/deploy/{id}/status` answers."""
    status, body = await asked(door, f"/api/deploy/{deployment}/status")
    assert status == 200, body
    found: dict[str, Any] = body
    return found


async def percent(door: Door, deployment: str) -> int:
    return int((await status_of(door, deployment))["current_percent"])


async def judged(door: Door, runs: int, *rates: float, **more: Any) -> list[str]:
    """So many instances that judge one row each; their ids."""
    release = door.release(json.dumps(JUDGE).encode())
    given = {"rows": [{"line_id": "L01", "defect_rate": rate, **more} for rate in rates or (0.01,)]}
    started = [await door.start(release, given) for _ in range(runs)]
    await door.quiet()
    return started


def versions_used(door: Door, runs: list[str]) -> dict[str, int]:
    """How many of these instances were judged by which version of the pack."""
    counts: dict[str, int] = {}
    for run in runs:
        look = door.view(run)
        result = look.variables.get("judgment_result") or {}
        version = (result.get("rule_pack") or {}).get("version", look.status)
        counts[version] = counts.get(version, 0) + 1
    return counts
