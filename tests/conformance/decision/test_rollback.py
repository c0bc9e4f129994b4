"""ROLLBACK (4.12): to which version, in which scope, verified how, and who is told (TC-WF-010)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.app.maintenance.verify import verify
from penstock.app.registry.registry import artifact
from penstock.errors import Finding
from penstock.host.deployments import TenantDeployments
from tests.conformance.decision.make import act, document, found
from tests.conformance.decision.rollouts import PACK, judged
from tests.conformance.decision.stores import Base
from tests.conformance.decision.test_deploy import NEW, OLD, broken, deploy
from tests.conformance.decision.world import HOUR, Door, Wire, World, deaths, go
from tests.host.decisions import TENANT

#: every check passes, nobody is told
ROLLBACK: dict[str, Any] = {"id": "rollback_rule", "type": "ROLLBACK", "artifact": {"type": "rule_pack", "id": PACK}}


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


def rollback(strategy: str = "previous", **fields: Any) -> dict[str, Any]:
    target = {"strategy": strategy, **fields.pop("target", {})}
    return {**ROLLBACK, "target_version": target, **fields}


def deployments(door: Door) -> TenantDeployments:
    return door.host.tenants.of(TENANT).deployments


def in_force(door: Door, line: str = "") -> str | None:
    return deployments(door).current("rule_pack", PACK, environment="production", line=line)


def result(door: Door, run: str) -> dict[str, Any]:
    output: dict[str, Any] = door.view(run).variables["rollback_result"]
    return output


def pack(door: Door, version: str, **body: Any) -> str:
    """Registers a version with one rule that judges nothing."""
    rule = {"id": "never", "when": "false", "decision": "critical"}
    whole = {"id": PACK, "version": version, "status": "approved", "rules": [rule], **body}
    door.store.put_artifacts([artifact(TENANT, "rule_pack", PACK, whole, door.world.clock.at)])
    door.host.tenants.refresh()
    return version


# ---- to which version ------------------------------------------------------------------------------------------------


def test_tc_wf_010_previous(world: World) -> None:
    """TC-WF-010, W-4.12.1, W-4.12.5: the version that was in force before; the whole output."""

    async def scene(door: Door) -> None:
        await door.play([deploy()])
        assert in_force(door) == NEW
        await door.later(HOUR)
        run = await door.play([rollback()])
        assert door.view(run).status == "completed" and in_force(door) == OLD
        values = result(door, run)
        assert (values["status"], values["artifact_id"], values["from_version"], values["to_version"]) == (
            "succeeded", PACK, NEW, OLD,
        )  # fmt: skip
        assert values["rolled_back_at"] == "2026-03-02T02:00:00.000Z" and values["reason"]
        assert {name: check["status"] for name, check in values["verification"].items()} == {
            "health_check": "passed", "smoke_test": "passed",
        }  # fmt: skip
        assert [deployment.status for deployment in deployments(door).every() if deployment.version == NEW] == [
            "rolled_back"
        ]

    play(world, scene)


def test_tc_wf_010_specific(world: World) -> None:
    """TC-WF-010, W-4.12.1: the version that is named."""

    async def scene(door: Door) -> None:
        pack(door, "1.5.0")
        await door.play([deploy()])
        run = await door.play([rollback("specific", target={"specific_version": "1.5.0"})])
        assert in_force(door) == result(door, run)["to_version"] == "1.5.0"

    play(world, scene)


def test_tc_wf_010_last_stable(world: World) -> None:
    """TC-WF-010, W-4.12.1: the newest earlier version that was in force long enough: 2.0.0 had its 25 hours, 2.1.0 only
    one, and 2.2.0 is what is taken back."""

    async def scene(door: Door) -> None:
        pack(door, "2.2.0")
        await door.later(25 * HOUR)
        await door.play([deploy()])
        await door.later(HOUR)
        await door.play([deploy(artifact={"version": "2.2.0"})])
        run = await door.play([rollback("last_stable", target={"last_stable_criteria": {"min_uptime_hours": 24}})])
        assert result(door, run)["to_version"] == in_force(door) == OLD

    play(world, scene)


def test_tc_wf_010_no_stable_version(world: World) -> None:
    """TC-WF-010, W-4.12.1, C-80: none is stable enough: NO_STABLE_VERSION, permanent, and nothing is switched."""

    async def scene(door: Door) -> None:
        await door.play([deploy()])
        criteria = {"min_uptime_hours": 1000}
        run = await door.play([rollback("last_stable", target={"last_stable_criteria": criteria})])
        assert door.failure(run) == ("NO_STABLE_VERSION", "permanent") and in_force(door) == NEW

    play(world, scene)


def test_w_4_12_1_just_stable_enough_is_stable(world: World) -> None:
    """W-4.12.1: uptime ≥ `min_uptime_hours`: exactly 24 hours are enough, a millisecond less is not."""

    async def scene(door: Door) -> None:
        await door.later(24 * HOUR - 1)
        await door.play([deploy()])
        target = {"last_stable_criteria": {"min_uptime_hours": 24}}
        run = await door.play([rollback("last_stable", target=target)])
        assert door.failure(run) == ("NO_STABLE_VERSION", "permanent") and in_force(door) == NEW
        pack(door, "2.2.0")
        await door.later(24 * HOUR)
        await door.play([deploy(artifact={"version": "2.2.0"})])
        run = await door.play([rollback("last_stable", target=target)])
        assert result(door, run)["to_version"] == in_force(door) == NEW

    play(world, scene)


@pytest.mark.parametrize(("bad", "to_version"), [(1, "1.9.0"), (2, OLD)])
def test_w_4_12_1_few_enough_errors_are_stable(world: World, bad: int, to_version: str) -> None:
    """W-4.12.1: error rate ≤ `max_error_rate`: one of four is 0.25 and enough, two of five are not."""

    async def scene(door: Door) -> None:
        await door.later(25 * HOUR)
        await door.play([deploy(artifact={"version": broken(door, "1.9.0")})])
        await judged(door, 3, 0.01, produced=1, defect_count=0)
        await judged(door, bad, 0.01, produced=0, defect_count=1)
        await door.later(25 * HOUR)
        await door.play([deploy()])
        criteria = {"min_uptime_hours": 24, "max_error_rate": 0.25}
        off = {"health_check": False, "smoke_test": False}
        node = rollback("last_stable", target={"last_stable_criteria": criteria}, verification=off)
        run = await door.play([node])
        assert result(door, run)["to_version"] == in_force(door) == to_version

    play(world, scene)


def test_w_4_12_1_what_was_taken_back_is_not_stable(world: World) -> None:
    """W-4.12.1: only 2.1.0 was in force for 24 hours, and it was taken back: NO_STABLE_VERSION."""

    async def scene(door: Door) -> None:
        pack(door, "2.2.0")
        await door.play([deploy()])
        await door.later(25 * HOUR)
        await door.play([rollback()])
        await door.play([deploy(artifact={"version": "2.2.0"})])
        run = await door.play([rollback("last_stable", target={"last_stable_criteria": {"min_uptime_hours": 24}})])
        assert door.failure(run) == ("NO_STABLE_VERSION", "permanent") and in_force(door) == "2.2.0"

    play(world, scene)


def test_w_4_12_1_without_a_predecessor(world: World) -> None:
    """W-4.12.1: there was nothing before: a typed failure, and nothing is switched."""

    async def scene(door: Door) -> None:
        body = {"id": "fresh", "version": "1.0.0", "rules": [{"id": "r", "when": "false", "decision": "critical"}]}
        door.store.put_artifacts([artifact(TENANT, "rule_pack", "fresh", body, door.world.clock.at)])
        door.host.tenants.refresh()
        await door.play([deploy(artifact={"id": "fresh", "version": "1.0.0"})])
        run = await door.play([rollback(artifact={"type": "rule_pack", "id": "fresh"})])
        assert door.failure(run) == ("NO_PREVIOUS_VERSION", "permanent")

    play(world, scene)


def test_w_4_12_1_a_version_that_was_never_released(world: World) -> None:
    """W-4.12.1: a typed failure, and nothing is switched."""

    async def scene(door: Door) -> None:
        await door.play([deploy()])
        nobody = await door.play([rollback(artifact={"type": "rule_pack", "id": "nobody"})])
        assert door.failure(nobody)[0] == "ARTIFACT_NOT_FOUND"
        run = await door.play([rollback("specific", target={"specific_version": "9.9.9"})])
        assert door.failure(run)[0] == "VERSION_NOT_FOUND" and in_force(door) == NEW

    play(world, scene)


# ---- where -----------------------------------------------------------------------------------------------------------


def test_w_4_12_2_match_deploy_takes_the_scope_of_the_deployment(world: World) -> None:
    """W-4.12.2: `match_deploy`: what was deployed to L01 is taken back there."""

    async def scene(door: Door) -> None:
        await door.play([deploy(target={"scope": {"line_ids": ["L01"]}})])
        assert (in_force(door, "L01"), in_force(door, "L02")) == (NEW, OLD)
        run = await door.play([rollback(scope={"match_deploy": True, "override": None})])
        assert result(door, run)["affected_scope"] == {"line_ids": ["L01"]} and in_force(door, "L01") == OLD
        assert [probe["name"] for probe in result(door, run)["verification"]["health_check"]["probes"]] == ["line L01"]

    play(world, scene)


def test_w_4_12_2_override_replaces_it(world: World) -> None:
    """W-4.12.2: `override`: only L02 is taken back of what was deployed everywhere."""

    async def scene(door: Door) -> None:
        await door.play([deploy()])
        await door.play([rollback(scope={"match_deploy": True, "override": {"line_ids": ["L02"]}})])
        assert (in_force(door, "L01"), in_force(door, "L02")) == (NEW, OLD)

    play(world, scene)


def test_w_4_12_2_each_line_returns_to_what_it_had(world: World) -> None:
    """W-4.12.1, W-4.12.2: L01 had another version than L02: the deployment itself is taken back, and both show again
    what lies beneath."""

    async def scene(door: Door) -> None:
        pack(door, "2.2.0")
        await door.play([deploy(target={"scope": {"line_ids": ["L01"]}})])
        await door.play([deploy(artifact={"version": "2.2.0"}, target={"scope": {"line_ids": ["L01", "L02"]}})])
        run = await door.play([rollback()])
        assert (in_force(door, "L01"), in_force(door, "L02")) == (NEW, OLD)
        values = result(door, run)
        assert (values["from_version"], values["to_version"], values["affected_scope"]) == (
            "2.2.0", NEW, {"line_ids": ["L01", "L02"]},
        )  # fmt: skip
        assert deployments(door).get(values["deployment_id"]).status == "rolled_back"

    play(world, scene)


def test_w_4_12_2_an_override_without_lines_moves_no_line_forward(world: World) -> None:
    """W-4.12.1, W-4.12.2: only L01 had another version before; the others keep what they have."""

    async def scene(door: Door) -> None:
        await door.play([deploy(target={"scope": {"line_ids": ["L01"]}})])
        run = await door.play([rollback(scope={"match_deploy": False, "override": {"environment": "production"}})])
        assert result(door, run)["affected_scope"] == {"line_ids": ["L01"]}
        assert [in_force(door, line) for line in ("L01", "L02", "")] == [OLD] * 3

    play(world, scene)


def test_w_4_12_2_it_is_taken_back_where_the_run_works(world: World) -> None:
    """W-4.12.2: without an override it is not the environment in which somebody has deployed last."""

    async def scene(door: Door) -> None:
        await door.play([deploy()])
        await door.play([deploy(target={"environment": "staging"})])
        run = await door.play([rollback()])
        staging = deployments(door).current("rule_pack", PACK, environment="staging")
        assert (result(door, run)["environment"], in_force(door), staging) == ("production", OLD, NEW)

    play(world, scene)


def test_c_69_an_override_without_a_line_is_refused(world: World) -> None:
    """C-69, W-4.12.2: an empty list is not all lines."""

    async def scene(door: Door) -> None:
        await door.play([deploy()])
        run = await door.play([rollback(scope={"override": {"line_ids": []}})])
        assert door.failure(run) == ("INPUT_INVALID", "validation") and in_force(door) == NEW

    play(world, scene)


def test_w_4_12_1_a_second_rollback_does_not_bring_the_bad_version_back(world: World) -> None:
    """W-4.12.1: nothing else was in force before: NO_PREVIOUS_VERSION."""

    async def scene(door: Door) -> None:
        await door.play([deploy()])
        await door.play([rollback()])
        run = await door.play([rollback()])
        assert door.failure(run) == ("NO_PREVIOUS_VERSION", "permanent") and in_force(door) == OLD

    play(world, scene)


# ---- verification ----------------------------------------------------------------------------------------------------


def test_c_83_a_version_that_fails_its_own_test_fails_the_node(world: World) -> None:
    """TC-WF-010, W-4.12.3, C-83: switched, then verified; node FAILED with its output, each probe listed."""
    wrong = {"name": "hot", "input": {"data": [{"defect_rate": 0.9}]}, "expected": {"decision": "critical"}}

    async def scene(door: Door) -> None:
        pack(door, "1.5.0", tests=[wrong])
        await door.play([deploy()])
        run = await door.play([rollback("specific", target={"specific_version": "1.5.0"})])
        assert door.failure(run) == ("VERIFICATION_FAILED", "permanent") and in_force(door) == "1.5.0"
        values = result(door, run)
        assert (values["status"], values["verification"]["health_check"]["status"]) == ("failed", "passed")
        probes = values["verification"]["smoke_test"]["probes"]
        assert probes[0] == {"name": "test hot", "ok": False, "problem": "decision is normal, expected critical"}

    play(world, scene)


def test_c_83_a_version_that_fails_on_a_stored_input_fails_the_node(world: World) -> None:
    """C-83: the newest stored inputs are tried: health by line, smoke one by one, at most 20."""

    async def scene(door: Door) -> None:
        await judged(door, 25, 0.01, produced=0, defect_count=1)
        version = broken(door, "1.9.0")
        await door.play([deploy()])
        run = await door.play([rollback("specific", target={"specific_version": version})])
        assert door.failure(run) == ("VERIFICATION_FAILED", "permanent")
        verified = result(door, run)["verification"]
        assert [(probe["name"], probe["ok"]) for probe in verified["health_check"]["probes"]] == [
            ("line L01", False), ("line L02", True),
        ]  # fmt: skip
        assert [probe["ok"] for probe in verified["smoke_test"]["probes"]] == [False] * 20

    play(world, scene)


def test_w_4_12_3_a_health_check_alone_fails_the_node(world: World) -> None:
    """W-4.12.3, C-83: the smoke test is not wanted; a line in which the version does not answer fails the node."""

    async def scene(door: Door) -> None:
        await judged(door, 1, 0.01, produced=0, defect_count=1)
        version = broken(door, "1.9.0")
        await door.play([deploy()])
        only = {"health_check": True, "smoke_test": False}
        run = await door.play([rollback("specific", target={"specific_version": version}, verification=only)])
        assert door.failure(run) == ("VERIFICATION_FAILED", "permanent")
        verified = result(door, run)["verification"]
        assert (verified["health_check"]["status"], verified["smoke_test"]["status"]) == ("failed", "skipped")

    play(world, scene)


@pytest.mark.parametrize("line", ["L01", "L02"])
def test_c_83_the_version_of_every_line_is_verified(world: World, line: str) -> None:
    """C-83, W-4.12.3: the lines go back to different versions, and one of them fails its own test."""
    wrong = {"name": "hot", "input": {"data": [{"defect_rate": 0.9}]}, "expected": {"decision": "critical"}}

    async def scene(door: Door) -> None:
        pack(door, "1.5.0", tests=[wrong])
        pack(door, "2.2.0")
        await door.play([deploy(artifact={"version": "1.5.0"}, target={"scope": {"line_ids": [line]}})])
        await door.play([deploy(artifact={"version": "2.2.0"}, target={"scope": {"line_ids": ["L01", "L02"]}})])
        run = await door.play([rollback()])
        assert in_force(door, line) == "1.5.0" and door.failure(run) == ("VERIFICATION_FAILED", "permanent")
        probes = result(door, run)["verification"]["smoke_test"]["probes"]
        assert [probe["name"] for probe in probes if not probe["ok"]] == ["1.5.0: test hot"]
        healthy = result(door, run)["verification"]["health_check"]
        assert sorted(probe["name"] for probe in healthy["probes"]) == ["line L01", "line L02"]

    play(world, scene)


def test_w_4_12_3_what_is_not_wanted_is_skipped(world: World) -> None:
    """W-4.12.3: both checks off: nothing is asked."""
    wrong = {"input": {"data": []}, "expected": {"decision": "critical"}}
    off = {"health_check": False, "smoke_test": False, "timeout_ms": 1000}

    async def scene(door: Door) -> None:
        pack(door, "1.5.0", tests=[wrong])
        await door.play([deploy()])
        node = rollback("specific", target={"specific_version": "1.5.0"}, verification=off)
        run = await door.play([node])
        assert door.view(run).status == "completed"
        assert {check["status"] for check in result(door, run)["verification"].values()} == {"skipped"}

    play(world, scene)


def test_w_4_12_3_a_verification_that_takes_too_long_fails(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """W-4.12.3: within `verification.timeout_ms`."""
    import asyncio

    async def slow(*_: Any) -> list[Any]:
        await asyncio.sleep(5)
        return []

    monkeypatch.setattr("penstock.executors.rollback.health_check", slow)

    async def scene(door: Door) -> None:
        await door.play([deploy()])
        run = await door.play([rollback(verification={"timeout_ms": 20})])
        assert door.failure(run)[0] == "VERIFICATION_FAILED" and in_force(door) == OLD

    play(world, scene)


@pytest.mark.parametrize(
    ("type", "good", "bad"),
    [("prompt", {"system": "Judge.", "user": "${data}"}, {"user": "${nobody.knows}"}),
     ("config", {"limit": 5, "tests": [{"expected": {"limit": 5}}]},
      {"limit": 6, "tests": [{"expected": {"limit": 5}}]}),
     ("model", {"connection": "default_llm", "model": "m"}, {"connection": "nowhere", "model": "m"})],
)  # fmt: skip
def test_c_83_c_82_other_artifacts_are_verified_too(world: World, type: str, good: Any, bad: Any) -> None:
    """C-83, C-82: a prompt is rendered, a configuration read and tested, a model's connection looked for."""

    async def scene(door: Door) -> None:
        rows = []
        for version, body in (("1", good), ("2", bad), ("3", good)):
            rows.append(artifact(TENANT, type, "thing", {**body, "version": version}, door.world.clock.at))
        door.store.put_artifacts(rows)
        door.host.tenants.refresh()
        thing = {"type": type, "id": "thing"}
        await door.play([deploy(artifact={**thing, "version": "3"})])
        ends = {}
        for version in ("1", "2"):
            node = rollback("specific", target={"specific_version": version}, artifact=thing)
            run = await door.play([node])
            ends[version] = door.view(run).status
        assert ends == {"1": "completed", "2": "failed"}

    play(world, scene)


# ---- who is told -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("include", [True, False])
def test_tc_wf_010_include_reason(world: World, include: bool) -> None:
    """TC-WF-010, W-4.12.4: the notice has the reason where `include_reason` says so, through every channel."""

    async def scene(door: Door) -> None:
        await door.play([deploy()])
        values = {"channels": ["slack", "email"], "include_reason": include}
        await door.play([rollback(reason="too many false alarms", notification=values)])
        (seen,) = door.world.wire.to("slack")
        assert f"{NEW} → {OLD}" in seen.json["text"]
        assert ("too many false alarms" in seen.json["text"]) is include
        assert len(door.world.wire.mails()) == 1

    play(world, scene)


# ---- crashes ---------------------------------------------------------------------------------------------------------


def test_w_4_12_1_killed_at_every_commit_it_is_switched_once(world: World) -> None:
    """W-4.12.1: after a crash `previous` is still what it was when the switch was made."""
    world.furnish()

    async def scene(door: Door) -> None:
        await door.play([deploy(), rollback()], "deploy_rule>rollback_rule")

    for left in deaths(world, scene, prepare=lambda: None, some=True):

        async def ended(left: World = left) -> None:
            async with left.open(again=True) as door:
                await door.quiet()
                runs = [row.id for row in door.runs() if row.id[0] == "r"]
                for run in runs:
                    assert door.view(run).status == "completed"
                    assert (result(door, run)["from_version"], result(door, run)["to_version"]) == (NEW, OLD)
                    assert in_force(door) == OLD
                assert verify(door.store).violations == []

        go(ended())


# ---- findings --------------------------------------------------------------------------------------------------------


def errors(node: dict[str, Any]) -> list[Finding]:
    return [finding for finding in found(document([node, act("other")])) if finding.severity == "error"]


@pytest.mark.parametrize(
    ("node", "rule", "pointer"),
    [({"id": "r", "type": "ROLLBACK"}, "missing_field", ""),
     ({**ROLLBACK, "artifact": {"type": "rule_pack"}}, "missing_field", "/artifact"),
     ({**ROLLBACK, "artifact": {"id": PACK}}, "missing_field", "/artifact"),
     ({**ROLLBACK, "artifact": {"type": "pack", "id": PACK}}, "wrong_type", "/artifact/type"),
     (rollback("newest"), "wrong_type", "/target_version/strategy"),
     (rollback("specific"), "missing_field", "/target_version"),
     (rollback("last_stable", target={"last_stable_criteria": {"max_error_rate": 2}}), "wrong_type",
      "/target_version/last_stable_criteria/max_error_rate"),
     (rollback(scope={"match_deploy": False}), "missing_field", "/scope"),
     (rollback(verification={"timeout_ms": 0}), "wrong_type", "/verification/timeout_ms"),
     (rollback(notification={"include_reason": 1}), "wrong_type", "/notification/include_reason"),
     (rollback(notification={"channels": "slack"}), "wrong_type", "/notification/channels")],
)  # fmt: skip
def test_c_69_what_is_wrong_is_found(node: dict[str, Any], rule: str, pointer: str) -> None:
    """C-69, W-4.12.1: each with its place and a hint."""
    (finding,) = [finding for finding in errors(node) if finding.rule not in ("no_orphan_nodes", "unreachable_node")]
    assert (finding.rule, finding.where.pointer) == (rule, f"/nodes/0{pointer}") and finding.hint
