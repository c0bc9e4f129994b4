"""The execution trace of a run (W-10.2): for the seed's workflows, and for a diagram."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.app.runs.queries import Queries
from penstock.app.runs.timeline.trace import trace
from tests.app.scenes import LOOP, ccp, opened
from tests.conformance.decision.make import value
from tests.conformance.decision.world import DEFECT, MANAGER, Wire, World, go

FIELDS = [
    "workflow_id", "instance_id", "version", "tenant_id", "started_at", "completed_at", "duration_ms", "status",
    "trigger", "input_summary", "output_summary", "nodes_executed", "errors", "checkpoints",
]  # fmt: skip


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    one = Wire()
    yield one
    one.close()


@pytest.fixture
def world(tmp_path: Path, wire: Wire) -> World:
    wire.forget()
    one = World(tmp_path, wire).plant()
    one.sure(0.6)
    return one


def told(door: Queries, run: str) -> tuple[dict[str, Any], dict[str, Any]]:
    whole: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(trace(door, run)))
    return whole, whole["workflow_execution"]


def test_the_trace_has_the_seeds_shape(world: World) -> None:
    """W-10.2.1, W-10.2.2: ids of 32 and 16 hex digits, every field of the sample, and nothing else."""

    async def scene() -> None:
        async with world.open() as door:
            run = await door.run(DEFECT)
            await door.later(90_000)
            await door.decide(run, "approved", MANAGER)
            whole, one = told(door, run)
            assert list(whole) == ["trace_id", "span_id", "workflow_execution"] and list(one) == FIELDS
            assert re.fullmatch("[0-9a-f]{32}", whole["trace_id"]) and re.fullmatch("[0-9a-f]{16}", whole["span_id"])
            assert (one["workflow_id"], one["version"], one["tenant_id"]) == ("wf_defect_alert_v2", 2, "tenant_001")
            assert (one["instance_id"], one["status"], one["duration_ms"]) == (run, "completed", 90_000)
            assert one["started_at"] == "2026-03-02T01:00:00.000Z" and one["completed_at"].endswith("01:01:30.000Z")
            assert one["trigger"] == {"type": "manual", "source": None} and one["input_summary"] == {"line_id": "L01"}
            assert one["output_summary"]["decision"] == "critical"
            # The three act side by side: they are told in the order in which they ended.
            taken = one["output_summary"]["actions_taken"]
            assert sorted(taken) == ["slack_notification", "sms_notification", "webhook"]
            nodes = {node["node_id"]: node for node in one["nodes_executed"]}
            assert list(nodes)[:3] == ["data_defect", "judge_quality", "switch_severity"]
            assert nodes["judge_quality"].pop("tokens_used") > 0
            assert nodes["judge_quality"] == {
                "node_id": "judge_quality", "type": "JUDGMENT", "status": "succeeded", "retry_count": 0,
                "duration_ms": 0, "model": "stub",
            }  # fmt: skip
            assert nodes["request_approval"]["duration_ms"] == 90_000 and "model" not in nodes["data_defect"]
            assert (one["errors"], one["checkpoints"]) == ([], 0) and told(door, run)[0]["span_id"] == whole["span_id"]

    go(scene())


def test_errors_retries_and_the_trigger(world: World, wire: Wire) -> None:
    """W-10.2.1: who failed, after how many retries, once; an event is the trigger, with its source."""

    async def scene() -> None:
        async with world.open() as door:
            lab = await ccp(door)
            _, waits = told(door, lab)
            assert waits["trigger"] == {"type": "event", "source": "sensor.ccp.threshold_exceeded"}
            assert (waits["status"], waits["completed_at"], waits["duration_ms"]) == ("waiting", None, None)
            assert "duration_ms" not in waits["nodes_executed"][-1]
            wire.trouble["slack"] = 99
            run = await door.run(DEFECT)
            await door.later(10_000)
            _, one = told(door, run)
            (error,) = one["errors"]
            assert (error["node_id"], error["code"], error["category"]) == (
                "action_slack_emergency", "HTTP_5XX", "external",
            )  # fmt: skip
            assert error["at"] == "2026-03-02T01:00:10.000Z" and one["status"] == "failed"
            retried = {node["node_id"]: node["retry_count"] for node in one["nodes_executed"]}
            assert retried["action_slack_emergency"] == 2 and retried["data_defect"] == 0

    go(scene())


def test_a_summary_holds_scalars_and_no_secret(world: World) -> None:
    """W-10.2.2, W-8.1.6: no lists, no objects, nothing long, no value of a secret, no password."""

    async def scene() -> None:
        async with world.open() as door:
            secret = world.things["secret", "jira_webhook"]["value"]
            given = {
                "line_id": "L01", "count": 3, "ok": True, "none": None, "rows": [1], "deep": {"a": 1},
                "long": "x" * 999, "note": f"call {secret} now", "api_key": "12345", "password": "hunter2",
            }  # fmt: skip
            run = await door.play([value("v", "1 + 1")], given=given)
            _, one = told(door, run)
            found = one["input_summary"]
            assert found["line_id"] == "L01" and (found["count"], found["ok"], found["none"]) == (3, True, None)
            assert "rows" not in found and "deep" not in found and len(found["long"]) == 200
            assert found["api_key"] == found["password"] == "***"
            assert secret not in found["note"] and found["note"].startswith("call ")

    go(scene())


def test_a_diagram_has_a_trace_too(tmp_path: Path) -> None:
    """W-10.2.1: any run has one, in the words of its language; every round of a loop is told."""

    async def scene() -> None:
        async with opened(tmp_path) as door:
            run = await door.start(door.release(LOOP))
            await door.wait(run, timeout=60)
            _, one = told(door, run)
            assert (one["workflow_id"], one["status"], one["version"]) == ("loop", "COMPLETED", None)
            jobs = [node for node in one["nodes_executed"] if node["node_id"] == "PersonJob"]
            assert len(jobs) == 3 and {node["status"] for node in jobs} == {"COMPLETED"}
            assert all(node["type"] == "person_job" and node["model"] for node in jobs)

    go(scene())
