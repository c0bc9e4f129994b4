"""DEPLOY (4.11): four strategies, criteria and triggers, notifications, and what becomes of the run (TC-WF-009)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.app.maintenance.verify import verify
from penstock.app.registry.registry import artifact
from penstock.errors import Finding
from penstock.executors.parts.rollout.assessment import assess
from penstock.executors.parts.rollout.model import Deployment, VersionMetrics
from penstock.lang.rollout_net import ROLLOUT
from tests.conformance.decision.make import act, document, found, undo
from tests.conformance.decision.rollouts import PACK, judged
from tests.conformance.decision.stores import Base
from tests.conformance.decision.world import HOUR, MINUTE, Door, Wire, World, deaths, go
from tests.host.decisions import TENANT

NEW, OLD = "2.1.0", "2.0.0"


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    wire = Wire()
    yield wire
    wire.close()


@pytest.fixture
def world(tmp_path: Path, wire: Wire, base: Base) -> World:
    wire.forget()
    return World(tmp_path, wire, base)


def play(world: World, scene: Callable[[Door], Any]) -> Any:
    async def opened() -> Any:
        async with world.open() as door:
            return await scene(door)

    return go(opened())


def deploy(strategy: str = "immediate", **fields: Any) -> dict[str, Any]:
    """The node, with the block of its strategy under `settings`."""
    settings = fields.pop("settings", None)
    block = {"type": strategy, **({strategy: settings} if settings is not None else {}), **fields.pop("more", {})}
    artifact = {"type": "rule_pack", "id": PACK, "version": NEW, **fields.pop("artifact", {})}
    target = {"environment": "production", **fields.pop("target", {})}
    return {"id": "deploy_rule", "type": "DEPLOY", "artifact": artifact, "target": target, "strategy": block, **fields}


CANARY = {"initial_percent": 10, "increment_percent": 30, "interval_minutes": 60}
CRITERIA = {"error_rate_max": 0.01, "latency_p99_max_ms": 60_000}


def newest(door: Door) -> Deployment:
    """The deployment that was begun last."""
    return door.host.tenants.of(TENANT).deployments.every()[0]


def output(door: Door, run: str) -> dict[str, Any]:
    found: dict[str, Any] = door.view(run).variables["deploy_result"]
    return found


def broken(door: Door, version: str = "3.0.0") -> str:
    """Registers a version whose only rule fails on a row that has produced nothing."""
    rule = {"id": "rate", "scope": "each", "when": "item.defect_count / item.produced > 0.5", "decision": "critical"}
    body = {"id": PACK, "version": version, "status": "approved", "rules": [rule]}
    door.store.put_artifacts([artifact(TENANT, "rule_pack", PACK, body, door.world.clock.at)])
    door.host.tenants.refresh()
    return version


# ---- strategies ------------------------------------------------------------------------------------------------------


def test_tc_wf_009_immediate(world: World) -> None:
    """TC-WF-009, W-4.11.1, W-4.11.4, C-57: at once, and the node has the whole result."""

    async def scene(door: Door) -> None:
        run = await door.play([deploy()])
        assert door.view(run).status == "completed" and door.ran(run) == {"deploy_rule": "succeeded"}
        values = output(door, run)
        assert values["status"] == values["rollout_status"] == "succeeded"
        assert (values["deployed_version"], values["previous_version"], values["progress"]) == (NEW, OLD, 100)
        assert (values["artifact_id"], values["artifact_type"], values["environment"]) == (
            PACK,
            "rule_pack",
            "production",
        )
        assert values["deployment_id"] == newest(door).id and values["deployed_at"] == "2026-03-02T01:00:00.000Z"
        assert values["affected_scope"] == {"tenant_ids": [TENANT], "line_ids": None}
        assert door.moves(run) == ["COMPLETED"] and door.told(run, "signal.kept") == []  # there was nothing to wait for

    play(world, scene)


def test_tc_wf_009_canary_in_steps_of_10_40_70_100(world: World) -> None:
    """TC-WF-009, W-4.11.1, W-11.3.9, C-57: the node succeeds when the first stage is live; the rollout goes on by
    itself, and the share is capped at 100."""

    async def scene(door: Door) -> None:
        run = await door.play([deploy("canary", settings=CANARY)])
        assert door.view(run).status == "completed"
        values = output(door, run)
        assert (values["status"], values["rollout_status"], values["percent"]) == ("succeeded", "in_progress", 10)
        shares = []
        for _ in range(4):
            shares.append(newest(door).percent)
            await door.later(60 * MINUTE)
        assert shares == [10, 40, 70, 100] and newest(door).status == "succeeded"
        rollout = newest(door).rollout
        assert rollout is not None and rollout.startswith("d") and door.view(rollout).status == "COMPLETED"

    play(world, scene)


def test_w_4_11_1_rolling_goes_line_by_line(world: World) -> None:
    """W-4.11.1, C-58: line by line over the scope; a line that has not had its turn keeps the old version."""
    scope = {"scope": {"line_ids": ["L01", "L02"]}}

    async def scene(door: Door) -> None:
        run = await door.play([deploy("rolling", settings={"interval_minutes": 30}, target=scope)])
        assert door.view(run).status == "completed"
        tenant = door.host.tenants.of(TENANT)

        def versions() -> list[str | None]:
            return [tenant.deployments.current("rule_pack", PACK, line=line) for line in ("L01", "L02")]

        assert newest(door).live_lines == ["L01"] and versions() == [NEW, OLD]
        await door.later(29 * MINUTE)
        assert versions() == [NEW, OLD]
        await door.later(MINUTE)
        assert newest(door).status == "succeeded" and versions() == [NEW, NEW]

    play(world, scene)


def test_w_4_11_1_blue_green_switches_when_the_new_slot_is_healthy(world: World) -> None:
    """W-4.11.1, C-58, C-83: a parallel slot, a health check, the switch; the run waits for it."""

    async def scene(door: Door) -> None:
        run = await door.play([deploy("blue_green")])
        assert door.view(run).status == "completed" and newest(door).status == "succeeded"
        assert output(door, run)["percent"] == 100

    play(world, scene)


def test_c_83_a_blue_green_slot_that_is_not_healthy_is_not_switched_to(world: World) -> None:
    """C-58, C-83: a version whose rules fail in a line of the scope never gets a share."""

    async def scene(door: Door) -> None:
        await judged(door, 1, 0.01, produced=0, defect_count=1)
        version = broken(door)
        run = await door.play([deploy("blue_green", artifact={"version": version})])
        deployment = newest(door)
        assert deployment.status in ("failed", "rolled_back") and deployment.percent == 0
        assert door.view(run).status == "failed" and "rate" in (deployment.reason or "")

    play(world, scene)


# ---- what becomes of the run -----------------------------------------------------------------------------------------


GUARDED = {
    "settings": {"initial_percent": 50, "increment_percent": 50, "interval_minutes": 60, "success_criteria": CRITERIA},
    "rollback": {"auto_rollback": True, "trigger": {"error_rate": 0.05}},
}


def test_c_57_a_blocking_rollout_is_a_durable_wait(world: World) -> None:
    """C-57, C-44: with `auto_rollback` the instance is WAITING until the rollout has ended, over a restart too; the
    node's own timeout does not bound it."""

    async def first(door: Door) -> str:
        run = await door.play([deploy("canary", timeout_ms=1000, **GUARDED), act("after")], "deploy_rule>after")
        assert door.view(run).status == "waiting" and door.status(run).status == "waiting"
        assert door.ran(run) == {"deploy_rule": "running"}
        return run

    run = play(world, first)

    async def again() -> None:
        async with world.open(again=True) as door:
            await door.later(59 * MINUTE)
            assert (newest(door).percent, door.view(run).status) == (50, "waiting")
            await door.later(MINUTE)
            assert door.view(run).status == "completed" and output(door, run)["rollout_status"] == "succeeded"
            assert door.ran(run) == {"deploy_rule": "succeeded", "after": "succeeded"}
            assert door.life(run)[-3:] == ["waiting", "running", "completed"]
            assert verify(door.store).violations == []

    go(again())


@pytest.mark.parametrize(("wait", "status"), [(True, "waiting"), (False, "completed")])
def test_c_57_wait_says_it_itself(world: World, wait: bool, status: str) -> None:
    """C-57: `strategy.wait` comes before what the strategy would do."""

    async def scene(door: Door) -> None:
        run = await door.play([deploy("canary", settings=CANARY, more={"wait": wait})])
        assert door.view(run).status == status

    play(world, scene)


def test_c_57_an_event_that_anybody_can_send_frees_no_run(world: World) -> None:
    """C-57: `deployment.ended` only makes the node look; what has not ended is waited for further on."""

    async def scene(door: Door) -> None:
        run = await door.play([deploy("canary", **GUARDED)])
        for _ in range(3):
            await door.send_event("deployment.ended", {"deployment_id": newest(door).id, "status": "succeeded"})
            await door.quiet()
        assert door.view(run).status == "waiting" and newest(door).status == "in_progress"
        await door.later(HOUR + MINUTE)
        assert door.view(run).status == "completed" and output(door, run)["rollout_status"] == "succeeded"

    play(world, scene)


async def until_rolled_back(door: Door, nodes: list[dict[str, Any]], *ways: Any) -> str:
    """A run whose version fails half of its judgments, after that was noticed."""
    run = await door.play(nodes, *ways)
    await judged(door, 60, 0.01, produced=0, defect_count=1)
    await door.later(61 * MINUTE)
    return run


def test_tc_wf_009_a_trigger_takes_it_back_and_fails_the_node_with_its_output(world: World) -> None:
    """TC-WF-009, W-4.11.2, C-57: over the trigger it returns to the previous version by itself; node FAILED, its output
    kept."""

    async def scene(door: Door) -> None:
        version = broken(door)
        run = await until_rolled_back(door, [deploy("canary", artifact={"version": version}, **GUARDED)])
        assert door.view(run).status == "failed" and door.failure(run) == ("DEPLOYMENT_ROLLED_BACK", "permanent")
        assert door.ran(run) == {"deploy_rule": "failed"}
        values = output(door, run)
        assert (values["status"], values["deployed_version"], values["to_version"]) == ("rolled_back", version, OLD)
        assert "error_rate" in values["reason"]
        assert door.host.tenants.of(TENANT).deployments.current("rule_pack", PACK, environment="production") == OLD

    play(world, scene)


@pytest.mark.parametrize("when", ["rolled_back", "failed", "always"])
def test_c_57_c_39_an_edge_takes_the_rollback(world: World, when: str) -> None:
    """C-57, C-39: with an edge for it the flow goes on, and the next node reads the output."""

    async def scene(door: Door) -> None:
        version = broken(door)
        node = deploy("canary", artifact={"version": version}, **GUARDED)
        after = act("after", message="${deploy_result.status} ${deploy_rule.deployed_version}")
        run = await until_rolled_back(door, [node, after], ("deploy_rule>after", {"when": when}))
        assert door.view(run).status == "completed"
        assert door.ran(run) == {"deploy_rule": "failed", "after": "succeeded"}
        assert [seen.json["text"] for seen in door.world.wire.to("slack")] == [f"rolled_back {version}"]

    play(world, scene)


def test_c_57_on_rollback_continue_goes_on(world: World) -> None:
    """C-57: `on_rollback: continue`: the node has succeeded, and says in its output that it was rolled back."""

    async def scene(door: Door) -> None:
        version = broken(door)
        node = deploy("canary", artifact={"version": version}, on_rollback="continue", **GUARDED)
        run = await until_rolled_back(door, [node, act("after"), act("only")], "deploy_rule>after",
                                      ("deploy_rule>only", {"when": "rolled_back"}))  # fmt: skip
        assert door.view(run).status == "completed" and output(door, run)["status"] == "rolled_back"
        assert door.ran(run) == {"deploy_rule": "succeeded", "after": "succeeded", "only": "succeeded"}

    play(world, scene)


def test_w_11_3_12_a_deployment_that_fails_is_not_compensated(world: World) -> None:
    """W-11.3.12, C-45: what did not succeed is not undone."""

    async def scene(door: Door) -> None:
        version = broken(door)
        node = deploy("canary", artifact={"version": version}, **GUARDED)
        run = await until_rolled_back(door, [node, undo("comp", "deploy_rule")])
        assert door.view(run).status == "failed" and door.ran(run) == {"deploy_rule": "failed"}

    play(world, scene)


def test_w_4_11_2_to_a_specific_version(world: World) -> None:
    """W-4.11.2: `to_version: specific` returns to the version that is named."""

    async def scene(door: Door) -> None:
        version = broken(door)
        rollback = {**GUARDED["rollback"], "to_version": "specific", "specific_version": NEW}
        node = deploy("canary", artifact={"version": version}, **{**GUARDED, "rollback": rollback})
        run = await until_rolled_back(door, [node])
        assert output(door, run)["to_version"] == NEW
        assert door.host.tenants.of(TENANT).deployments.current("rule_pack", PACK, environment="production") == NEW

    play(world, scene)


def test_w_4_11_1_missed_criteria_stop_it(world: World) -> None:
    """TC-WF-009, W-4.11.1: criteria missed at the end of a stage: rolled back, though no trigger was set."""

    async def scene(door: Door) -> None:
        version = broken(door)
        settings = {**CANARY, "initial_percent": 50, "success_criteria": CRITERIA}
        node = deploy("canary", artifact={"version": version}, settings=settings, more={"wait": True})
        run = await until_rolled_back(door, [node])
        assert output(door, run)["status"] == "rolled_back" and door.view(run).status == "failed"

    play(world, scene)


def test_c_57_a_cancelled_run_leaves_its_rollout(world: World) -> None:
    """C-57: nobody would drive a canary whose rollout were cancelled with the run: it goes on by itself."""

    async def scene(door: Door) -> None:
        run = await door.play([deploy("canary", **GUARDED)])
        await door.cancel(run)
        await door.quiet()
        assert door.view(run).status == "cancelled" and newest(door).status == "in_progress"
        await door.later(3 * HOUR)
        assert newest(door).status == "succeeded"

    play(world, scene)


# ---- notifications ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "flags", [{}, {"on_start": True}, {"on_complete": True}, {"on_start": True, "on_complete": True}]
)
def test_w_4_11_3_who_is_told_of_start_and_end(world: World, flags: dict[str, bool]) -> None:
    """TC-WF-009, W-4.11.3: exactly the moments that are flagged, through the channels that are named."""

    async def scene(door: Door) -> None:
        await door.play([deploy(notification={**flags, "on_rollback": True, "channels": ["slack", "email"]})])
        await door.later(1000)
        moments = [name for flag, name in (("on_start", "started"), ("on_complete", "succeeded")) if flags.get(flag)]
        texts = [seen.json["text"] for seen in door.world.wire.to("slack")]
        assert {text.partition("\n")[0] for text in texts} == {f"rule_pack {PACK}: {name}" for name in moments}
        assert len(texts) == len(moments)
        assert len(door.world.wire.mails()) == len(moments)

    play(world, scene)


def test_w_4_11_3_a_rollback_is_told_with_its_reason(world: World) -> None:
    """TC-WF-009, W-4.11.3: `on_rollback`, and why."""

    async def scene(door: Door) -> None:
        version = broken(door)
        values = {"on_start": False, "on_complete": True, "on_rollback": True, "channels": ["slack"]}
        await until_rolled_back(door, [deploy("canary", artifact={"version": version}, notification=values, **GUARDED)])
        (seen,) = door.world.wire.to("slack")
        assert "rolled_back" in seen.json["text"] and "error_rate" in seen.json["text"]

    play(world, scene)


@pytest.mark.parametrize(("flags", "told"), [({"on_complete": True}, []), ({"on_rollback": True}, ["rolled_back"])])
def test_w_4_11_3_the_end_and_the_rollback_are_flagged_apart(
    world: World, flags: dict[str, bool], told: list[str]
) -> None:
    """W-4.11.3: what was taken back is no completion, and the other way round."""

    async def scene(door: Door) -> None:
        node = deploy(
            "canary", artifact={"version": broken(door)}, notification={**flags, "channels": ["slack"]}, **GUARDED
        )
        await until_rolled_back(door, [node])
        assert newest(door).status == "rolled_back"
        texts = [seen.json["text"] for seen in door.world.wire.to("slack")]
        assert [text.partition("\n")[0] for text in texts] == [f"rule_pack {PACK}: {name}" for name in told]

    play(world, scene)


@pytest.mark.parametrize(("p99", "goes_on"), [(500, True), (501, False)])
def test_c_58_the_limits_of_an_empty_block(world: World, p99: int, goes_on: bool) -> None:
    """C-58: a block of criteria without numbers means 0.01 and 500 ms; what is exactly at a limit holds."""

    async def scene(door: Door) -> None:
        await door.play([deploy("canary", settings={**CANARY, "success_criteria": {}})])
        deployment = newest(door)
        criteria = deployment.request.strategy.canary
        assert criteria is not None and criteria.success_criteria is not None
        assert criteria.success_criteria.error_rate_max == 0.01
        metrics = VersionMetrics(NEW, error_rate=0.01, latency_p99_ms=p99, samples=100)
        found = assess(deployment, metrics, deployment.began_at + HOUR)
        assert found.what == ("next" if goes_on else "roll_back")

    play(world, scene)


# ---- versions and scope ----------------------------------------------------------------------------------------------


def test_w_4_11_6_without_a_version_the_newest(world: World) -> None:
    """W-4.11.6: `artifact.version` absent (11.3): the newest that is approved."""

    async def scene(door: Door) -> None:
        node = deploy()
        del node["artifact"]["version"]
        assert output(door, await door.play([node]))["deployed_version"] == NEW

    play(world, scene)


def test_w_4_11_5_lines_are_checked_and_told(world: World) -> None:
    """W-4.11.5: a line that the AAS registry does not know is refused; those of the scope say what they have got."""

    async def scene(door: Door) -> None:
        wrong = await door.play([deploy(target={"scope": {"line_ids": ["L99"]}})])
        assert door.failure(wrong) == ("LINE_UNKNOWN", "validation")
        run = await door.play([deploy(target={"scope": {"line_ids": ["L01"]}})])
        assert output(door, run)["affected_scope"]["line_ids"] == ["L01"]
        assets = door.host.tenants.of(TENANT).each("aas")
        said = assets["line.L01"]["deployed"]["production"][f"rule_pack/{PACK}"]
        assert (said["version"], said["deployment_id"]) == (NEW, output(door, run)["deployment_id"])
        assert "deployed" not in assets["line.L02"]

    play(world, scene)


@pytest.mark.parametrize(
    ("change", "failure"),
    [({"artifact": {"version": "9.9.9"}}, "VERSION_NOT_FOUND"), ({"artifact": {"id": "nobody"}}, "ARTIFACT_NOT_FOUND"),
     ({"target": {"scope": {"tenant_ids": ["other"]}}}, "TENANT_DENIED")],
)  # fmt: skip
def test_w_4_11_1_what_cannot_be_deployed_fails_the_node(world: World, change: Any, failure: str) -> None:
    """W-4.11.6: a version that was never released, an artifact that is not there, a tenant that is not the own."""

    async def scene(door: Door) -> None:
        run = await door.play([deploy(**change)])
        assert door.view(run).status == "failed" and door.failure(run)[0] == failure

    play(world, scene)


def test_w_4_0_2_a_condition_that_is_false_deploys_nothing(world: World) -> None:
    """W-4.0.2: skipped, and the flow goes on."""

    async def scene(door: Door) -> None:
        before = newest(door).id
        run = await door.play([deploy(condition="false"), act("after")], "deploy_rule>after")
        assert door.ran(run) == {"deploy_rule": "skipped", "after": "succeeded"} and newest(door).id == before

    play(world, scene)


# ---- crashes ---------------------------------------------------------------------------------------------------------


def test_c_57_killed_at_every_commit_it_goes_on_with_the_right_share(world: World) -> None:
    """C-57, W-4.11.1: dead at any write of a blocking canary, the next process ends it: one deployment, one rollout."""
    world.furnish()

    async def scene(door: Door) -> None:
        stages = {"initial_percent": 50, "increment_percent": 50, "interval_minutes": 60}
        await door.play([deploy("canary", settings=stages, more={"wait": True}), act("after")], "deploy_rule>after")
        await door.later(2 * HOUR)

    for left in deaths(world, scene, prepare=lambda: None, some=True):

        async def ended(left: World = left) -> None:
            async with left.open(again=True) as door:
                rows = [row for row in door.runs() if row.id[0] == "r"]
                if not rows:
                    return
                (row,) = rows
                await door.later(2 * HOUR)
                assert door.view(row.id).status == "completed"
                deployments = [
                    deployment for deployment in door.host.tenants.of(TENANT).deployments.every() if deployment.run
                ]
                assert [(deployment.status, deployment.percent) for deployment in deployments] == [("succeeded", 100)]
                names = [door.nets.get(run.net).net.name for run in door.runs()]
                assert names.count(ROLLOUT.name) == 1
                assert verify(door.store).violations == []

        go(ended())


# ---- findings --------------------------------------------------------------------------------------------------------


def errors(node: dict[str, Any]) -> list[Finding]:
    return [finding for finding in found(document([node])) if finding.severity == "error"]


def without(path: str) -> dict[str, Any]:
    node = deploy("canary", settings=CANARY)
    *parents, last = path.split("/")
    inner: Any = node
    for name in parents:
        inner = inner[name]
    del inner[last]
    return node


@pytest.mark.parametrize(
    "path", ["artifact", "artifact/type", "artifact/id", "target", "target/environment", "strategy", "strategy/type"]
)
def test_c_69_every_required_field_is_missed(path: str) -> None:
    """C-69: a finding with its place and a hint."""
    (finding,) = errors(without(path))
    assert finding.rule == "missing_field" and finding.hint and path.rpartition("/")[2] in finding.message
    assert finding.where.pointer == "/nodes/0" + ("/" + path.rpartition("/")[0] if "/" in path else "")


@pytest.mark.parametrize(
    ("node", "pointer"),
    [(deploy(artifact={"type": "rules"}), "artifact/type"),
     (deploy(target={"environment": "moon"}), "target/environment"),
     (deploy("blue"), "strategy/type"), (deploy(on_rollback="maybe"), "on_rollback"),
     (deploy("canary", settings={"initial_percent": 101}), "strategy/canary/initial_percent"),
     (deploy("canary", settings={"increment_percent": 0}), "strategy/canary/increment_percent"),
     (deploy("canary", settings={"success_criteria": {"error_rate_max": 2}}),
      "strategy/canary/success_criteria/error_rate_max"),
     (deploy(rollback={"to_version": "newest"}), "rollback/to_version"),
     (deploy(rollback={"trigger": {"anomaly_score": -1}}), "rollback/trigger/anomaly_score"),
     (deploy(notification={"on_start": "yes"}), "notification/on_start"),
     (deploy(notification={"channels": "slack"}), "notification/channels")],
)  # fmt: skip
def test_w_4_11_1_wrong_values_are_found(node: dict[str, Any], pointer: str) -> None:
    """W-4.11.1: enums, bounds and types, each at its place with a hint."""
    (finding,) = errors(node)
    assert (finding.rule, finding.where.pointer) == ("wrong_type", f"/nodes/0/{pointer}") and finding.hint


def test_w_4_11_2_specific_needs_its_version() -> None:
    """W-4.11.2: `specific` without `specific_version` is found before anything is deployed."""
    (finding,) = errors(deploy(rollback={"to_version": "specific"}))
    assert finding.rule == "missing_field" and finding.where.pointer == "/nodes/0/rollback"
