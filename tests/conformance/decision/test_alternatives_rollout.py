"""The samples of 4.11 and 4.12 as they run: every artifact, environment, strategy and way back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.decision.harness import Sample, leaves, shows
from tests.conformance.decision.rollouts import PACK, judged, on_own_api, versions_used
from tests.conformance.decision.test_tc_wf import play
from tests.conformance.decision.world import HOUR, MINUTE, T0, TENANT, Door, Wire, World

#: two versions of one thing of each type; what applies is the newest, as long as nobody deploys anything
BODIES: dict[str, dict[str, Any]] = {
    "rule_pack": {"rules": [{"id": "high", "when": "item.defect_rate > 0.5", "scope": "each", "decision": "critical"}]},
    "model": {"connection": "default_llm", "model": "m"},
    "prompt": {"system": "You judge.", "user": "${data}"},
    "config": {"limit": 5},
}  # fmt: skip
#: a rule that cannot judge a line that has produced nothing
BROKEN = {
    "id": PACK, "version": "3.0.0",
    "rules": [{"id": "over_limit", "scope": "each", "when": "item.defects / item.produced > 0.05",
               "decision": "critical"}],
}  # fmt: skip


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    wire = Wire()
    yield wire
    wire.close()


@pytest.fixture
def world(tmp_path: Path, wire: Wire) -> World:
    wire.forget()
    return on_own_api(World(tmp_path, wire))


def put(door: Door, type: str, *versions: str, id: str = "thing") -> None:
    for version in versions:
        door.registry.put(type, id, {"id": id, "version": version, **BODIES[type]})


def applies(door: Door, type: str, id: str, environment: str, line: str = "L01", run: str = "r1") -> str:
    """The version that a use in this environment and line gets."""
    found = door.host.tenants.of(TENANT).deployed(type, id, environment=environment, line=line, run=run)
    assert found is not None
    return str(found.version)


def said(wire: Wire) -> list[str]:
    return [str(seen.json["text"]) for seen in wire.to("slack")]


# ---- 4.11: deployed --------------------------------------------------------------------------------------------------


@shows("4.11", "artifact/type", "rule_pack", "model", "prompt", "config")
@leaves("4.11", "id", "type", "name", "artifact/id", "artifact/version", "target/scope/tenant_ids",
        "target/scope/line_ids", "output/variable", "output/schema")  # fmt: skip
def test_what_is_deployed(world: World, one: Sample) -> None:
    """W-4.14.1, W-4.11.4, W-4.11.5, C-82: the version that is asked for, in the lines that are named, and no other."""

    async def scene(door: Door) -> None:
        put(door, one.alternative, "1.0.0", "1.1.0", "1.2.0")
        run = await one.run(door, rule_pack={"id": "thing", "version": "1.1.0"})
        look = door.view(run)
        assert look.status == "completed", look.failure
        result = look.variables["deploy_result"]
        assert (result["status"], result["deployed_version"]) == ("succeeded", "1.1.0")
        assert (result["artifact_type"], result["artifact_id"]) == (one.alternative, "thing")
        assert result["affected_scope"]["line_ids"] == ["L01", "L02"] and result["deployed_at"]
        used = {line: applies(door, one.alternative, "thing", "staging", line) for line in ("L01", "L02", "L03")}
        assert used == {"L01": "1.1.0", "L02": "1.1.0", "L03": "1.2.0"}
        assert ("deploy_rule", "DEPLOY") in [(each.node, each.type) for each in look.firings]
        net = door.net_of(door.told(run, "run.started")[0].data["net"])
        assert "품질 규칙 배포" in {node.label for node in net.nodes}

    play(world, scene)


@shows("4.11", "target/environment", "staging", "production")
def test_where_it_is_deployed(world: World, one: Sample) -> None:
    """W-4.11.1, C-82: the other environment is as it was."""

    async def scene(door: Door) -> None:
        run = await one.run(door, rule_pack={"id": PACK, "version": "2.0.0"})
        assert door.view(run).variables["deploy_result"]["environment"] == one.alternative
        found = {
            environment: applies(door, "rule_pack", PACK, environment) for environment in ("staging", "production")
        }
        # production has 2.0.0 from the start, staging what is newest
        assert found == {"staging": "2.0.0" if one.alternative == "staging" else "2.1.0", "production": "2.0.0"}

    play(world, scene)


@shows("4.11", "strategy/type", "immediate", "canary", "blue_green", "rolling")
@leaves("4.11", "strategy/canary/initial_percent", "strategy/canary/increment_percent",
        "strategy/canary/interval_minutes", "strategy/canary/success_criteria/error_rate_max",
        "strategy/canary/success_criteria/latency_p99_max_ms", "notification/on_start", "notification/on_complete",
        "notification/channels")  # fmt: skip
def test_how_it_is_deployed(world: World, wire: Wire, one: Sample) -> None:
    """W-4.11.1, W-4.11.3, C-57, C-58: at once; 10, 30, 50, 70, 90, 100 % every half hour; a switch after a check; line
    by line. The run waits meanwhile, and two messages go out, to both channels."""
    seen: list[tuple[int, Any]] = []

    async def scene(door: Door) -> None:
        put(door, "rule_pack", "1.0.0", "1.1.0")
        run = await one.run(door, rule_pack={"id": "thing", "version": "1.1.0"})
        rows = door.host.tenants.of(TENANT).deployments
        (row,) = rows.every(artifact="thing")
        for minutes in range(0, 181, 15):
            await door.to(T0 + minutes * MINUTE)
            now = rows.get(row.id)
            held = now.percent if one.alternative != "rolling" else tuple(now.live_lines or now.lines)
            if not seen or seen[-1][1] != held:
                seen.append((minutes, held))
            assert (door.view(run).status == "waiting") is (now.status == "in_progress")
        look = door.view(run)
        assert look.status == "completed", look.failure
        assert look.variables["deploy_result"]["progress"] == 100

    play(world, scene)
    assert (
        seen
        == {
            "immediate": [(0, 100)],
            "blue_green": [(0, 100)],
            "canary": [(0, 10), (30, 30), (60, 50), (90, 70), (120, 90), (150, 100)],
            "rolling": [(0, ("L01",)), (30, ("L01", "L02"))],
        }[one.alternative]
    )
    assert len(said(wire)) == 2 and len(wire.mails()) == 2


@shows("4.11", "rollback/to_version", "previous", "specific")
@leaves("4.11", "rollback/auto_rollback", "rollback/trigger/error_rate", "rollback/trigger/latency_p99_ms",
        "rollback/trigger/anomaly_score", "rollback/specific_version", "notification/on_rollback")  # fmt: skip
def test_where_it_goes_back_to(world: World, wire: Wire, one: Sample) -> None:
    """W-4.11.2, W-4.11.3, C-57: more than 5 % errors: taken back by itself, to the version before or to another one;
    the node has failed, its output is kept, and everybody who is to be told is told."""
    one.node["strategy"]["type"], one.node["target"] = "canary", {"environment": "production"}
    one.node["strategy"]["canary"]["initial_percent"] = 50
    if one.alternative == "specific":
        one.node["rollback"]["specific_version"] = "2.1.0"

    async def scene(door: Door) -> None:
        door.registry.put("rule_pack", PACK, BROKEN)
        run = await one.run(door, rule_pack={"id": PACK, "version": "3.0.0"})
        await judged(door, 30, 0.01, defects=1, produced=0)
        await door.to(T0 + 30 * MINUTE)
        look = door.view(run)
        assert look.status == "failed" and door.ran(run)["deploy_rule"] == "failed"
        result = look.variables["deploy_result"]
        assert (result["status"], result["to_version"]) == (
            "rolled_back",
            {"previous": "2.0.0"}.get(one.alternative, "2.1.0"),
        )
        counts = versions_used(door, await judged(door, 20))
        assert counts == {result["to_version"]: 20}

    play(world, scene)
    assert len(said(wire)) == 2 and len(wire.mails()) >= 2


# ---- 4.12: taken back ------------------------------------------------------------------------------------------------


async def deployed(door: Door, type: str, *versions: str, id: str = "thing", every_ms: int = 0) -> None:
    """One version after the other, whole, in production."""
    from msgspec import convert

    from penstock.executors.parts.rollout.model import DeploymentRequest

    for version in versions:
        request = {"artifact": {"type": type, "id": id, "version": version}, "target": {"environment": "production"}}
        await door.deployments.begin(convert(request, DeploymentRequest), by="it@example.com", key=version)
        await door.quiet()
        await door.later(every_ms)


@shows("4.12", "artifact/type", "rule_pack", "model", "prompt", "config")
@leaves("4.12", "id", "type", "name", "artifact/id", "scope/match_deploy", "scope/override")
def test_what_is_taken_back(world: World, one: Sample) -> None:
    """W-4.14.1, W-4.12.2, W-4.12.5, C-82: the version before the present one, in the scope of its deployment."""
    one.node["notification"] = {"channels": []}

    async def scene(door: Door) -> None:
        put(door, one.alternative, "1.0.0", "1.1.0")
        await deployed(door, one.alternative, "1.0.0", "1.1.0", every_ms=MINUTE)
        assert applies(door, one.alternative, "thing", "production") == "1.1.0"
        run = await one.run(door, deploy_result={"artifact_id": "thing"})
        look = door.view(run)
        assert look.status == "completed", look.failure
        result = look.variables["rollback_result"]
        assert (result["status"], result["artifact_id"]) == ("succeeded", "thing")
        assert (result["from_version"], result["to_version"]) == ("1.1.0", "1.0.0")
        assert applies(door, one.alternative, "thing", "production") == "1.0.0"
        assert ("rollback_rule", "ROLLBACK") in [(each.node, each.type) for each in look.firings]

    play(world, scene)


@shows("4.12", "target_version/strategy", "previous", "specific", "last_stable")
@leaves("4.12", "target_version/specific_version", "target_version/last_stable_criteria/min_uptime_hours",
        "target_version/last_stable_criteria/max_error_rate", "verification/health_check", "verification/smoke_test",
        "verification/timeout_ms", "notification/channels", "notification/include_reason")  # fmt: skip
def test_where_a_rollback_leads(world: World, wire: Wire, one: Sample) -> None:
    """W-4.12.1, W-4.12.3, W-4.12.4, C-83: the one before, the one that is named, or the newest that was in force for a
    day without errors; then it is checked, and three channels hear of it, with the reason."""
    world.register("channel", "pagerduty", routing_key="outbox:pagerduty")
    if one.alternative == "specific":
        one.node["target_version"]["specific_version"] = "1.1.0"
    one.node["reason"] = "too many alarms"

    async def scene(door: Door) -> None:
        put(door, "rule_pack", "1.0.0", "1.1.0", "1.2.0", "1.3.0")
        await deployed(door, "rule_pack", "1.0.0", every_ms=25 * HOUR)
        await deployed(door, "rule_pack", "1.1.0", "1.2.0", "1.3.0", every_ms=HOUR)
        run = await one.run(door, deploy_result={"artifact_id": "thing"})
        look = door.view(run)
        assert look.status == "completed", look.failure
        result = look.variables["rollback_result"]
        wanted = {"previous": "1.2.0", "specific": "1.1.0", "last_stable": "1.0.0"}[one.alternative]
        assert (result["from_version"], result["to_version"]) == ("1.3.0", wanted)
        assert {*result["verification"]} >= {"health_check", "smoke_test"}
        assert applies(door, "rule_pack", "thing", "production") == wanted
        kept = [row.channel for row in door.store.messages(door.tenant, run, 100)]
        assert kept == ["pagerduty"]

    play(world, scene)
    assert len(wire.mails()) == 1 and len(said(wire)) == 1 and "too many alarms" in said(wire)[0]
