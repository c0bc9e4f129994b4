"""rollout and rollback: one look at one deployment, and the same look again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from penstock.executors.contract import Done, Failed
from penstock.executors.notify import NotifyExecutor
from penstock.executors.parts.rollout.model import Rollback, Strategy
from penstock.executors.rollback import RollbackExecutor
from penstock.executors.rollout import RolloutExecutor, waits
from tests.executors.desk import Desk

AT = 1_000_000
PACK = {"type": "rule_pack", "id": "pack"}
RULE = {"id": "hot", "scope": "each", "when": "item.rate > 0.5", "decision": "critical"}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path)
    for version in ("1.0.0", "1.1.0"):
        desk.register("rule_pack", f"pack@{version}", id="pack", version=version, status="approved", rules=[RULE])
    return desk


def request(**more: Any) -> dict[str, Any]:
    artifact = {**PACK, **more.pop("artifact", {})}
    return {"artifact": artifact, "target": {"environment": "production"}, "strategy": {"type": "canary"}, **more}


def ask(desk: Desk, op: str, key: str = "t/r1/d", **args: Any) -> Any:
    fields: dict[str, Any] = {"key": key, "tenant": "t", "run": "r1", "node": "deploy.begin", "at": AT}
    return desk.run(RolloutExecutor(), {"op": op, **args}, **fields)


def begun(desk: Desk, **more: Any) -> str:
    outcome = ask(desk, "begin", request=request(**more))
    assert isinstance(outcome, Done), outcome
    return str(outcome.body["deployment_id"])


def test_the_same_key_is_the_same_deployment(desk: Desk) -> None:
    """W-4.11.6, C-74: asked again after a crash, nothing is begun twice; the newest version where none is named."""
    first, second = begun(desk), begun(desk)
    assert first == second and len(desk.tenant.deployments.every()) == 1
    deployment = desk.tenant.deployments.get(first)
    assert (deployment.version, deployment.node, deployment.run) == ("1.1.0", "deploy", "r1")


def test_the_first_rollout_that_attaches_moves_it(desk: Desk) -> None:
    """C-57: a second rollout of the same deployment has nothing to do."""
    id = begun(desk, notification={"on_start": True, "channels": ["slack"]})
    outcome = ask(desk, "attach", deployment_id=id)
    assert outcome.body["attached"] and not outcome.body["ended"] and outcome.body["next_at"] > AT
    notice = outcome.body["notice"]
    assert notice["channels"] == ["slack"] and notice["template"]["id"] == "deployment_notice_v1"
    assert (notice["template"]["params"]["event"], notice["template"]["params"]["output"]["percent"]) == ("started", 10)
    other = desk.done(RolloutExecutor(), {"op": "attach", "deployment_id": id}, tenant="t", run="r2", at=AT)
    assert other.body == {"ended": True, "attached": False, "notice": None}


def test_a_tenant_without_a_template_is_told_all_the_same(desk: Desk) -> None:
    """W-4.11.3: the text of a notice is built in; a template of the tenant's under the same id comes first."""
    desk.register("channel", "slack", webhook_url="outbox:slack")
    id = begun(desk, notification={"on_start": True, "channels": ["slack"]})
    notice = ask(desk, "attach", deployment_id=id).body["notice"]
    desk.done(NotifyExecutor(), notice, tenant="t", key="first", at=AT)
    desk.register("template", "deployment_notice_v1", body="own: ${event}")
    desk.done(NotifyExecutor(), notice, tenant="t", key="second", at=AT)
    built_in, own = (message["text"] for _, _, _, message, _ in desk.tenant.kept)
    assert built_in.splitlines() == [
        "rule_pack pack: started", "환경 / environment: production", "버전 / version: 1.1.0",
    ]  # fmt: skip
    assert own == "own: started"


def test_the_end_is_told(desk: Desk) -> None:
    """C-57: whoever waits for the end hears `deployment.ended` with the deployment's output."""
    id = begun(desk)
    assert desk.tenant.deployments.fail(id, at=AT, reason="no").status == "failed"
    outcome = ask(desk, "finish", deployment_id=id)
    assert isinstance(outcome, Done) and outcome.told is not None
    assert (outcome.told.name, outcome.told.payload["deployment_id"]) == ("deployment.ended", id)
    assert outcome.told.payload["rollout_status"] == "failed"


def test_a_rollout_that_cannot_go_on_has_failed(desk: Desk) -> None:
    """C-57: its deployment stays where it is, and says so."""
    id = begun(desk)
    assert ask(desk, "give_up", deployment_id=id).body["status"] == "failed"
    assert "r1" in (desk.tenant.deployments.get(id).reason or "")


def test_a_failure_has_the_output(desk: Desk) -> None:
    """C-57: node FAILED with its output kept; whoever did not wait is not failed by it."""
    id = begun(desk, rollback={"auto_rollback": True})
    desk.tenant.deployments.fail(id, at=AT, reason="too slow")
    outcome = ask(desk, "result", deployment_id=id, waited=True)
    assert isinstance(outcome, Failed) and outcome.failure.code == "DEPLOYMENT_FAILED"
    assert outcome.failure.detail["output"]["status"] == "failed" and "too slow" in outcome.failure.message
    assert isinstance(ask(desk, "result", deployment_id=id, waited=False), Done)


@pytest.mark.parametrize(
    ("strategy", "rollback", "expected"),
    [(Strategy(type="immediate"), None, True), (Strategy(type="blue_green"), None, True),
     (Strategy(type="canary"), None, False), (Strategy(type="rolling"), None, False),
     (Strategy(type="canary"), Rollback(), True), (Strategy(type="canary"), Rollback(auto_rollback=False), False),
     (Strategy(type="canary", wait=True), None, True), (Strategy(type="immediate", wait=False), Rollback(), False)],
)  # fmt: skip
def test_who_waits(strategy: Strategy, rollback: Rollback | None, expected: bool, desk: Desk) -> None:
    """C-57: `wait`, else immediate and blue_green, else where it is rolled back by itself."""
    deployment = desk.tenant.deployments.get(begun(desk))
    assert waits(replace(deployment.request, strategy=strategy, rollback=rollback)) is expected


@pytest.mark.parametrize(
    ("args", "code"),
    [({"op": "fly"}, "INPUT_INVALID"), ({}, "INPUT_INVALID"), ({"op": "begin"}, "INPUT_INVALID"),
     ({"op": "look", "deployment_id": "none"}, "PS-404-DEPLOYMENT"),
     ({"op": "begin", "request": {"artifact": {"type": "x", "id": "y"}}}, "INPUT_INVALID"),
     ({"op": "begin", "request": request(target={"environment": "moon"})}, "INPUT_INVALID"),
     ({"op": "begin", "request": request(artifact={"type": "workflow"})}, "INPUT_INVALID"),
     ({"op": "begin", "request": request(artifact={"version": "7"})}, "VERSION_NOT_FOUND")],
)  # fmt: skip
def test_what_cannot_be_read_is_a_typed_failure(desk: Desk, args: Any, code: str) -> None:
    """C-69: what only a run knows is checked when it runs."""
    outcome = desk.run(RolloutExecutor(), args, tenant="t", at=AT)
    assert isinstance(outcome, Failed) and outcome.failure.code == code and outcome.failure.message


@pytest.mark.parametrize(
    ("args", "code"),
    [({}, "INPUT_INVALID"), ({"artifact": {"type": "robot", "id": "x"}}, "INPUT_INVALID"),
     ({"artifact": PACK, "target_version": {"strategy": "newest"}}, "INPUT_INVALID"),
     ({"artifact": PACK, "target_version": {"strategy": "specific"}}, "PS-422-DEPLOYMENT"),
     ({"artifact": PACK, "scope": {"override": {"tenant_ids": ["other"]}}}, "TENANT_DENIED"),
     ({"artifact": PACK, "scope": {"override": {"environment": "moon"}}}, "INPUT_INVALID"),
     ({"artifact": {"type": "rule_pack", "id": "nobody"}}, "ARTIFACT_NOT_FOUND"),
     ({"artifact": PACK}, "NO_PREVIOUS_VERSION")],
)  # fmt: skip
def test_a_rollback_that_cannot_be_read(desk: Desk, args: Any, code: str) -> None:
    """W-4.12.1, C-69: a typed failure, and nothing is switched."""
    outcome = desk.run(RollbackExecutor(), args, tenant="t", at=AT)
    assert isinstance(outcome, Failed) and outcome.failure.code == code
    assert desk.tenant.deployments.every() == []
