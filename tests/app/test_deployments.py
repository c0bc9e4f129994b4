"""Deployments by hand: how they are shown, who moves them, and what runs may ask of them without a server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.app.own_api import CALLER, answerer
from penstock.app.penstock import Penstock
from penstock.errors import NotAllowed, PenstockError, StatusConflict
from penstock.executors.parts.network.http_call import HttpCall
from penstock.executors.parts.rollout.model import DeploymentRequest
from tests.app.workflows import opened

PACK = "quality_rules_v2"
OLD, NEW = "2.0.0", "2.1.0"
MINUTE = 60_000
CANARY = {
    "type": "canary",
    "canary": {
        "initial_percent": 10, "increment_percent": 30, "interval_minutes": 60,
        "success_criteria": {"error_rate_max": 0.02},
    },
}  # fmt: skip
BACK = {"auto_rollback": True, "trigger": {"error_rate": 0.05}}


def request(**more: Any) -> DeploymentRequest:
    artifact = {"type": "rule_pack", "id": PACK, "version": NEW}
    return msgspec.convert({"artifact": artifact, "strategy": CANARY, "rollback": BACK, **more}, DeploymentRequest)


def with_packs(door: Penstock) -> Penstock:
    """Two versions of a pack."""
    door.load_sample()
    body = dict(msgspec.msgpack.decode(next(r.body for r in door.registry.each("rule_pack") if r.id == PACK)))
    for version in (OLD, NEW):
        door.register("rule_pack", PACK, {**body, "version": version, "status": "approved"})
    return door


def looking(body: Callable[[Penstock], Awaitable[None]], folder: Path) -> None:
    """With a door that drives nothing."""

    async def main() -> None:
        with opened(folder) as door:
            await body(with_packs(door))

    asyncio.run(main())


def test_a_deployment_as_it_is_shown(tmp_path: Path) -> None:
    """W-4.11.1, C-58: four stages with the hours at which they are due, the limits, what one may do, its history."""

    async def body(door: Penstock) -> None:
        begun = await door.deployments.begin(request(reason="fewer misses"), by="it@example.com")
        view = door.deployments.get(begun.id, {"deploy.pause"})
        assert (view.artifact.type, view.artifact.id, view.version) == ("rule_pack", PACK, NEW)
        assert (view.previous_version, view.environment, view.strategy) == (OLD, "production", "canary")
        assert (view.status, view.percent, view.progress, view.stage) == ("in_progress", 10, 10, 1)
        assert [stage.percent for stage in view.stages] == [10, 40, 70, 100]
        assert [stage.status for stage in view.stages] == ["now", "next", "next", "next"]
        due = [stage.begins_at for stage in view.stages]
        assert due == [view.started_at + n * 60 * MINUTE for n in range(4)] and view.next_at == due[1]
        assert view.criteria == {"error_rate_max": 0.02, "latency_p99_max_ms": 500.0}
        assert view.triggers == {"error_rate": 0.05} and view.automatic
        assert [(move.move, move.allowed) for move in view.moves] == [
            ("pause", True), ("promote", False), ("rollback", False),
        ]  # fmt: skip
        assert [(event.what, event.who, event.percent) for event in view.events] == [("begin", "it@example.com", 10)]
        assert view.begun_by == "it@example.com" and view.to_version == OLD and view.reason is None
        assert view.notify == {"on_start": False, "on_complete": False, "on_rollback": False, "channels": []}

    looking(body, tmp_path)


def test_moves_by_hand_and_their_history(tmp_path: Path) -> None:
    """W-4.11.1: pause, resume, promote, take back: each with who did it, and none where the status forbids it."""

    async def body(door: Penstock) -> None:
        all_ = door.deployments
        id = (await all_.begin(request())).id
        await all_.pause(id, by="ann", reason="the shift changes")
        paused = all_.get(id)
        assert (paused.status, paused.next_at, paused.paused_at is not None) == ("paused", None, True)
        assert paused.reason is not None
        assert (paused.reason.code, paused.reason.text, paused.reason.by) == ("BY_HAND", "the shift changes", "ann")
        assert [move.move for move in paused.moves] == ["resume", "promote", "rollback"]
        with pytest.raises(StatusConflict):
            await all_.pause(id)
        await all_.resume(id, by="bob")
        await all_.promote(id, by="bob")
        assert all_.status(id) == all_.status(id) and all_.get(id).percent == 40
        await all_.roll_back(id, by="ann", reason="too many misses")
        back = all_.get(id)
        assert (back.status, back.percent, back.progress, back.to_version) == ("rolled_back", 0, 0, OLD)
        assert back.reason is not None and back.reason.by == "ann" and back.ended_at is not None
        assert [stage.status for stage in back.stages] == ["done", "stopped", "stopped", "stopped"]
        assert [event.what for event in back.events] == ["roll_back", "promote", "resume", "pause", "begin"]
        with pytest.raises(StatusConflict):
            await all_.resume(id)
        again = await all_.roll_back(id, by="bob")
        assert again.status == "rolled_back" and len(all_.get(id).events) == 5

    looking(body, tmp_path)


def test_the_list_and_its_filters(tmp_path: Path) -> None:
    async def body(door: Penstock) -> None:
        all_ = door.deployments
        first = (await all_.begin(request(), key="a")).id
        assert (await all_.begin(request(), key="a")).id == first, "the same key is the same deployment"
        second = (await all_.begin(request(target={"environment": "staging"}), key="b")).id
        assert [row.deployment_id for row in all_.each(limit=2)] == [second, first]
        assert [row.deployment_id for row in all_.each(environment="staging")] == [second]
        assert [row.deployment_id for row in all_.each(before=second, limit=1)] == [first]
        await all_.pause(first)
        assert [row.deployment_id for row in all_.each(status=["paused"])] == [first]
        assert all_.each(type="prompt") == []

    looking(body, tmp_path)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"artifact": {"type": "rule_pack", "id": "nobody"}}, "ARTIFACT_NOT_FOUND"),
        ({"artifact": {"type": "rule_pack", "id": PACK, "version": "9.9.9"}}, "VERSION_NOT_FOUND"),
        ({"target": {"scope": {"line_ids": ["L99"]}}}, "LINE_UNKNOWN"),
        ({"target": {"scope": {"tenant_ids": ["others"]}}}, "TENANT_DENIED"),
        ({"artifact": {"type": "workflow", "id": "wf_none", "version": 1}}, "PS-404-RELEASE"),
        ({"artifact": {"type": "workflow", "id": "wf_none", "version": "latest"}}, "PS-400-INPUT"),
    ],
)
def test_what_cannot_be_deployed(tmp_path: Path, change: dict[str, Any], code: str) -> None:
    async def body(door: Penstock) -> None:
        before = door.deployments.each()
        with pytest.raises(PenstockError) as refused:
            await door.deployments.begin(request(**change))
        assert refused.value.code == code and refused.value.message
        assert door.deployments.each() == before

    looking(body, tmp_path)


# ---- the own API without a server ------------------------------------------------------------------------------------


async def asked(door: Penstock, method: str, path: str, content: bytes = b"") -> tuple[int, Any]:
    reply = await answerer(door)(door.tenant, HttpCall(method=method, url=f"own:{path}", content=content))
    return reply.status, json.loads(reply.body)


@pytest.mark.parametrize("prefix", ["/api", "/api/v1"])
def test_c_66_runs_are_answered_where_nobody_serves(tmp_path: Path, prefix: str) -> None:
    """C-66, W-11.3.2, W-11.3.10, W-11.3.11: the pack, the status, and taking back what a run has deployed."""

    async def body(door: Penstock) -> None:
        status, pack = await asked(door, "GET", f"{prefix}/rule-packs/{PACK}")
        assert status == 200 and (pack["id"], pack["type"], pack["body"]["id"]) == (PACK, "rule_pack", PACK)
        status, problem = await asked(door, "GET", f"{prefix}/rule-packs/nothing")
        assert status == 404 and problem["code"] == "PS-404-THING" and problem["detail"]
        begun = door.deployments.kept.begin(request(), key="k", at=door.now(), run="run-1", node="deploy")
        told = {"deployment_id": begun.id, "status": "in_progress", "progress": 10, "current_percent": 10, "stage": 1}
        assert await asked(door, "GET", f"{prefix}/deploy/{begun.id}/status") == (200, told)
        status, back = await asked(door, "POST", f"{prefix}/deploy/{begun.id}/rollback")
        assert (status, back["status"], back["percent"]) == (200, "rolled_back", 0)
        assert back["ended_at"].endswith("Z") and back["events"][0]["who"] == CALLER
        status, back = await asked(door, "POST", f"{prefix}/deploy/{begun.id}/rollback", b'{"reason": "again"}')
        assert (status, back["status"]) == (200, "rolled_back"), "W-11.3.11: once more is no conflict"
        assert (await asked(door, "GET", f"{prefix}/deploy/dep_none/status"))[0] == 404
        assert (await asked(door, "POST", f"{prefix}/deploy/{begun.id}/rollback", b"[1"))[0] == 400

    looking(body, tmp_path)


def test_a_run_takes_back_only_what_runs_have_begun(tmp_path: Path) -> None:
    async def body(door: Penstock) -> None:
        begun = await door.deployments.begin(request(), by="it@example.com")
        status, problem = await asked(door, "POST", f"/api/deploy/{begun.id}/rollback")
        assert status == 403 and problem["code"] == "PS-403-PERMISSION" and "deploy.rollback" in problem["detail"]
        with pytest.raises(NotAllowed):
            await door.deployments.take_back_own(begun.id, by=CALLER)
        assert door.deployments.get(begun.id).status == "in_progress"
        foreign = door.of("others")
        assert (await asked(foreign, "GET", f"/api/deploy/{begun.id}/status"))[0] == 404, "another tenant's"

    looking(body, tmp_path)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/runs"), ("DELETE", f"/api/rule-packs/{PACK}"), ("POST", f"/api/rule-packs/{PACK}"),
        ("GET", f"/rule-packs/{PACK}"), ("GET", "/api/rule-packs/"), ("GET", f"/api/rule-packs/{PACK}/more"),
        ("POST", "/api/deploy/x/promote"), ("GET", "http://elsewhere/api/deploy/x"),
    ],
)  # fmt: skip
def test_everything_else_needs_a_server(tmp_path: Path, method: str, path: str) -> None:
    async def body(door: Penstock) -> None:
        with pytest.raises(ConnectionError, match="penstock dev"):
            await asked(door, method, path)

    looking(body, tmp_path)
