"""11.3 `wf_rule_deploy_v2`, unmodified, run to every one of its ends; its API is the program's own."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.app.inbox import inbox, open_items
from penstock.app.maintenance.verify import verify
from penstock.app.penstock import Penstock
from penstock.errors import ApproverDenied, InputInvalid, Refused
from penstock.lang.compile import check_document
from tests.conformance.decision.rollouts import (
    IT,
    LEAD,
    PACK,
    QUALITY,
    asked,
    judged,
    on_own_api,
    percent,
    status_of,
    versions_used,
)
from tests.conformance.decision.stores import Base
from tests.conformance.decision.world import (
    EXAMPLES,
    HOUR,
    MINUTE,
    T0,
    TENANT,
    Door,
    Wire,
    World,
    block,
    deaths,
    go,
)
from tests.executors.bench import as_json

RULES, GUARDED = EXAMPLES / "rule_deploy.json", EXAMPLES / "rule_deploy_guarded.json"
DAY = 24 * HOUR
STAGING = ("load_rule", "simulate_impact", "approval_staging", "deploy_staging", "wait_staging_test", "switch_prod")
PRODUCTION = (*STAGING, "approval_production", "deploy_production", "monitor_deploy")
GIVEN = {"rule_pack_id": PACK, "target_env": "production"}


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    wire = Wire()
    yield wire
    wire.close()


@pytest.fixture
def world(tmp_path: Path, wire: Wire, base: Base) -> World:
    wire.forget()
    return on_own_api(World(tmp_path, wire, base))


def play(world: World, scene: Callable[[Door], Any]) -> Any:
    async def opened() -> Any:
        async with world.open() as door:
            return await scene(door)

    return go(opened())


async def begun(door: Door, key: str | None = None, **given: Any) -> str:
    """A run that waits for the QA lead."""
    run = await door.start(door.release(RULES), {**GIVEN, **given}, key=key)
    await door.quiet()
    return run


async def on_staging(door: Door, **given: Any) -> str:
    """A run that waits for the day on staging to pass."""
    run = await begun(door, **given)
    await door.decide(run, by=LEAD)
    return run


async def before_production(door: Door) -> str:
    run = await on_staging(door)
    await door.to(T0 + DAY)
    assert open_items.find(door, run).title == "규칙 Production 배포 승인"
    return run


async def in_production(door: Door) -> tuple[str, str]:
    """A run that watches its canary at 10 %, and the deployment's id."""
    run = await before_production(door)
    for person in (QUALITY, IT):
        await door.decide(run, by=person)
    return run, deployment_of(door, run)


def output(door: Door, run: str, node: str) -> dict[str, Any]:
    """What a node has answered: two of them write `deploy_result`, and `${node.member}` reads this one's."""
    (settled,) = [line for line in door.told(run, "settled") if line.node == node]
    found: dict[str, Any] = settled.data["output"]
    return found


def deployment_of(door: Door, run: str) -> str:
    return str(output(door, run, "deploy_production")["deployment_id"])


def deployments(door: Door, environment: str = "production") -> list[tuple[str, str]]:
    """(version, status) of what a run has deployed there, oldest first."""
    found = door.host.tenants.of(TENANT).deployments.every(environment=environment)
    return [(row.version, row.status) for row in reversed(found) if row.run]


# ---- the document ----------------------------------------------------------------------------------------------------


def test_the_example_is_the_seeds_own() -> None:
    """W-11.3.2, C-81: byte for byte; not even a hint is left to give; one start, and `comp_rollback` is none."""
    body = RULES.read_bytes()
    assert body.decode() == block("11.3")
    assert [str(one) for one in check_document(body, name=RULES.name)[1]] == []
    written = json.loads(body)
    assert (len(written["nodes"]), len(written["edges"])) == (10, 8)


@pytest.mark.parametrize(
    "given",
    [None, {}, {"rule_pack_id": PACK}, {"target_env": "staging"}, {"rule_pack_id": PACK, "target_env": "test"},
     {"rule_pack_id": 5, "target_env": "staging"}, "x", {"rule_pack_id": None, "target_env": "production"}],
)  # fmt: skip
def test_without_its_input_there_is_no_instance(world: World, given: Any) -> None:
    """W-11.3.1, W-3.2.5, W-3.2.7: missing or wrong input is 422, and nothing has begun."""

    async def scene(door: Door) -> None:
        release = door.release(RULES)
        with pytest.raises(InputInvalid) as refused:
            await door.start(release, given)
        assert refused.value.http == 422 and refused.value.hint
        await door.quiet()
        assert door.runs() == [] and deployments(door, "staging") == []

    play(world, scene)


# ---- load and simulate -----------------------------------------------------------------------------------------------


def test_the_pack_is_loaded_from_the_own_api(world: World, wire: Wire) -> None:
    """W-11.3.2, C-66, C-28: GET /api/rule-packs/ID is answered though no server runs; nothing leaves the house."""

    async def scene(door: Door) -> None:
        run = await begun(door)
        loaded = output(door, run, "load_rule")
        assert (loaded["id"], loaded["version"]) == (PACK, "2.1.0")
        assert await asked(door, f"/api/rule-packs/{PACK}") == await asked(door, f"/api/v1/rule-packs/{PACK}")

    play(world, scene)
    assert wire.counts() == {}


def test_a_pack_that_is_not_there(world: World) -> None:
    """W-11.3.2: 404 is permanent: FAILED, nothing is asked of anybody, nothing is deployed."""

    async def scene(door: Door) -> None:
        run = await begun(door, rule_pack_id="nobody")
        assert door.view(run).status == "failed" and door.failure(run) == ("HTTP_4XX", "permanent")
        assert door.ran(run) == {"load_rule": "failed"} and inbox.open_items(door) == []

    play(world, scene)


@pytest.mark.parametrize("path", ["../keys", "quality_rules_v2/../../keys", "a b", "%2e%2e/users", "x?y=1", "x#y"])
def test_a_packs_name_is_one_step_of_a_path(world: World, path: str) -> None:
    """W-11.3.2, C-25: whatever the id says, only a rule pack is looked for, and there is none of that name."""

    async def scene(door: Door) -> None:
        run = await begun(door, rule_pack_id=path)
        assert door.view(run).status == "failed" and door.ran(run) == {"load_rule": "failed"}

    play(world, scene)


def test_last_week_is_replayed(world: World) -> None:
    """W-11.3.3, W-4.13.4, C-59: the candidate is the pack of the next DEPLOY in its newest version, the baseline is
    what production has; of the judgments that were made meanwhile, those of the last seven days are replayed."""

    async def scene(door: Door) -> None:
        before = await begun(door, rule_pack_id=PACK)
        old = door.view(before).variables["simulation_result"]["summary"]["total_samples"]
        await judged(door, 3, 0.045)  # warning by 2.0.0, critical by 2.1.0
        run = await begun(door)
        result = door.view(run).variables["simulation_result"]
        assert result["summary"]["total_samples"] == old + 3
        assert result["recommendation"] and result["risk_assessment"]["changed_decisions"] >= 3
        assert (result["subject"]["baseline_version"], result["subject"]["candidate_version"]) == ("2.0.0", "2.1.0")

    play(world, scene)


def test_without_history_it_goes_on(world: World) -> None:
    """W-11.3.3: nothing to replay: SUCCEEDED with `total_samples: 0`, and the QA lead is asked all the same."""
    rule = {"id": "r", "when": "item.x > 1", "scope": "each", "decision": "critical"}
    world.register("rule_pack", "new_rules", id="new_rules", version="1.0.0", rules=[rule])

    async def scene(door: Door) -> None:
        run = await begun(door, rule_pack_id="new_rules")
        look = door.view(run)
        assert look.status == "waiting", look.failure
        assert door.ran(run)["simulate_impact"] == "succeeded"
        assert look.variables["simulation_result"]["summary"]["total_samples"] == 0
        assert look.variables["simulation_result"]["recommendation"].startswith("insufficient_data")

    play(world, scene)


# ---- staging ---------------------------------------------------------------------------------------------------------


def test_the_qa_lead_is_asked(world: World) -> None:
    """W-11.3.4: for `qa_lead` alone, for 24 hours, with its title; nobody else may decide."""

    async def scene(door: Door) -> None:
        run = await begun(door)
        item = open_items.find(door, run)
        assert (item.title, item.candidates["targets"]) == ("규칙 Staging 배포 승인", ["role:qa_lead"])
        assert item.due_at == T0 + DAY
        with pytest.raises(ApproverDenied):
            await door.decide(run, by=QUALITY)
        assert deployments(door, "staging") == []

    play(world, scene)


def test_a_refusal_deploys_nothing(world: World) -> None:
    """W-11.3.4: rejected: CANCELLED."""

    async def scene(door: Door) -> None:
        run = await begun(door)
        await door.decide(run, "rejected", by=LEAD, comment="not before the audit")
        assert door.view(run).status == "cancelled"
        assert deployments(door, "staging") == deployments(door) == []

    play(world, scene)


def test_nobody_decides_about_staging(world: World) -> None:
    """W-11.3.4, W-4.6.6: after 24 hours it counts as rejected: CANCELLED, nothing is deployed."""

    async def scene(door: Door) -> None:
        run = await begun(door)
        await door.to(T0 + DAY - 1)
        assert door.view(run).status == "waiting"
        await door.to(T0 + DAY)
        assert door.view(run).status == "cancelled" and deployments(door, "staging") == []

    play(world, scene)


def test_staging_gets_the_newest_version_at_once(world: World) -> None:
    """W-11.3.5, W-4.11.6, W-4.11.4, C-82: the whole of staging has 2.1.0, and production is as it was."""

    async def scene(door: Door) -> None:
        run = await on_staging(door)
        result = output(door, run, "deploy_staging")
        assert result["deployment_id"] and result["status"] == "succeeded"
        assert (result["deployed_version"], result["environment"]) == ("2.1.0", "staging")
        assert (result["artifact_type"], result["artifact_id"], result["progress"]) == ("rule_pack", PACK, 100)
        assert deployments(door, "staging") == [("2.1.0", "succeeded")] and deployments(door) == []
        tenant = door.host.tenants.of(TENANT)
        for environment, version in (("staging", "2.1.0"), ("production", "2.0.0")):
            found = tenant.deployed("rule_pack", PACK, environment=environment, line="L01", run="r1")
            assert found is not None and found.version == version
        assert versions_used(door, await judged(door, 5)) == {"2.0.0": 5}

    play(world, scene)


def test_a_day_passes(world: World) -> None:
    """W-11.3.6, C-38: WAITING for 24 hours, not a second less; a restart in between changes nothing."""

    async def first(door: Door) -> str:
        run = await on_staging(door)
        await door.to(T0 + 23 * HOUR)
        assert door.view(run).status == "waiting" and door.ran(run)["wait_staging_test"] == "running"
        return run

    run = play(world, first)

    async def second() -> None:
        async with world.open(again=True) as door:
            await door.to(T0 + DAY - 1)
            assert door.ran(run)["wait_staging_test"] == "running"
            await door.to(T0 + DAY)
            assert door.ran(run)["wait_staging_test"] == "succeeded"

    go(second())


def test_staging_only(world: World) -> None:
    """W-11.3.7: `target_env` staging matches no case: COMPLETED after the day, production is not touched."""

    async def scene(door: Door) -> None:
        run = await on_staging(door, target_env="staging")
        await door.to(T0 + DAY)
        look = door.view(run)
        assert look.status == "completed" and door.ran(run) == dict.fromkeys(STAGING, "succeeded")
        assert [one["code"] for one in look.warnings] == ["SWITCH_NO_MATCH"]
        assert deployments(door, "staging") == [("2.1.0", "succeeded")] and deployments(door) == []

    play(world, scene)


# ---- production ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [(QUALITY, IT), (IT, QUALITY)])
def test_both_managers_must_agree(world: World, order: tuple[str, str]) -> None:
    """W-11.3.8, C-32: one approval alone keeps it waiting, the QA lead's does not count; both let it go on."""

    async def scene(door: Door) -> None:
        run = await before_production(door)
        with pytest.raises(ApproverDenied):
            await door.decide(run, by=LEAD)
        await door.decide(run, by=order[0])
        assert door.view(run).status == "waiting" and deployments(door) == []
        await door.decide(run, by=order[1])
        assert door.ran(run)["approval_production"] == "succeeded"
        assert deployments(door) == [("2.1.0", "in_progress")]

    play(world, scene)


@pytest.mark.parametrize("first", [None, IT])
def test_one_manager_refuses(world: World, first: str | None) -> None:
    """W-11.3.8: any rejection: CANCELLED; what staging has got stays."""

    async def scene(door: Door) -> None:
        run = await before_production(door)
        if first is not None:
            await door.decide(run, by=first)
        await door.decide(run, "rejected", by=QUALITY)
        assert door.view(run).status == "cancelled"
        assert deployments(door, "staging") == [("2.1.0", "succeeded")] and deployments(door) == []

    play(world, scene)


def test_nobody_decides_about_production(world: World) -> None:
    """W-11.3.8, W-4.6.6: half of the approvals after 24 hours are none."""

    async def scene(door: Door) -> None:
        run = await before_production(door)
        await door.decide(run, by=IT)
        await door.to(T0 + 2 * DAY)
        assert door.view(run).status == "cancelled" and deployments(door) == []

    play(world, scene)


def test_the_canary_goes_on_by_itself(world: World) -> None:
    """W-11.3.9, W-11.3.10, C-57, C-66, TC-WF-009: the node has succeeded with the first stage live; 10, 40, 70 and
    100 % at 0, 60, 120 and 180 minutes and not a moment before; then the poll ends the run."""

    async def scene(door: Door) -> None:
        run, deployment = await in_production(door)
        result = output(door, run, "deploy_production")
        assert door.ran(run)["deploy_production"] == "succeeded" and door.ran(run)["monitor_deploy"] == "running"
        assert (result["status"], result["rollout_status"]) == ("succeeded", "in_progress")
        assert (result["previous_version"], result["deployed_version"]) == ("2.0.0", "2.1.0")
        begin, seen = T0 + DAY, []
        for minutes in (0, 59, 60, 119, 120, 179):
            await door.to(begin + minutes * MINUTE + (59_999 if minutes % 60 else 0))
            body = await status_of(door, deployment)
            assert set(body) == {"deployment_id", "status", "progress", "current_percent", "stage"}
            assert (body["deployment_id"], body["status"]) == (deployment, "in_progress")
            seen.append(body["current_percent"])
        assert seen == [10, 10, 40, 40, 70, 70]
        await door.to(begin + 180 * MINUTE)
        body = await status_of(door, deployment)
        assert (body["status"], body["progress"], body["current_percent"]) == ("succeeded", 100, 100)
        await door.to(begin + 185 * MINUTE)
        look = door.view(run)
        assert look.status == "completed" and door.ran(run) == dict.fromkeys(PRODUCTION, "succeeded")
        assert deployments(door) == [("2.1.0", "succeeded")]
        assert versions_used(door, await judged(door, 5)) == {"2.1.0": 5}
        assert verify(door.store).violations == []

    play(world, scene)


def test_the_poll_looks_every_five_minutes(world: World) -> None:
    """W-11.3.10, W-4.7.3: `interval_sec: 300`: not once more, not once less."""

    async def scene(door: Door) -> None:
        run, _ = await in_production(door)
        first = len(polls(door, run))
        for count in range(1, 4):
            await door.to(T0 + DAY + count * 5 * MINUTE - 1)
            assert len(polls(door, run)) == first + count - 1
            await door.to(T0 + DAY + count * 5 * MINUTE)
            assert len(polls(door, run)) == first + count

    play(world, scene)


def polls(door: Door, run: str) -> list[Any]:
    return [line for line in door.told(run, "effect.asked") if line.node == "monitor_deploy"]


def test_the_traffic_is_really_split(world: World) -> None:
    """W-11.3.9, C-58: at 40 % some instances are judged by the new version and most by the old one, each of them by
    one; the same question again is answered by the same version."""

    async def scene(door: Door) -> None:
        await in_production(door)
        await door.to(T0 + DAY + 60 * MINUTE)
        counts = versions_used(door, await judged(door, 120))
        assert set(counts) == {"2.0.0", "2.1.0"} and 26 <= counts["2.1.0"] <= 70, counts

    play(world, scene)


# ---- it goes wrong ---------------------------------------------------------------------------------------------------


def compensated(door: Door, run: str, deployment: str) -> None:
    """W-11.3.11: the run is COMPENSATED through `comp_rollback`, and the old version judges again."""
    look = door.view(run)
    assert look.status == "compensated", (look.status, look.failure)
    assert door.life(run)[-2:] == ["compensating", "compensated"]
    assert door.ran(run)["monitor_deploy"] == "failed" and door.ran(run)["comp_rollback"] == "succeeded"
    moves = [one.to for one in door.history(run) if one.of == "node" and one.node_id == "deploy_production"]
    assert moves[-2:] == ["compensating", "compensated"]
    row = door.host.tenants.of(TENANT).deployments.get(deployment)
    assert row.status == "rolled_back"
    found = door.host.tenants.of(TENANT).deployed("rule_pack", PACK, environment="production", line="L01", run="r1")
    assert found is not None and found.version == "2.0.0"


@pytest.mark.parametrize("minutes", [0, 60])
@pytest.mark.parametrize("end", ["rolled_back", "failed"])
def test_the_status_says_that_it_went_wrong(world: World, end: str, minutes: int) -> None:
    """W-11.3.11, C-38: at 10 % and at 40 %: somebody rolls it back, or it fails: FAILED, then COMPENSATED."""

    async def scene(door: Door) -> None:
        run, deployment = await in_production(door)
        at = T0 + DAY + minutes * MINUTE
        await door.to(at)
        assert await percent(door, deployment) == (40 if minutes else 10)
        if end == "failed":
            rows = door.host.tenants.of(TENANT).deployments
            rows.fail(deployment, at=world.clock.at, reason="a test says so")
        else:
            await door.deployments.roll_back(deployment, by=IT, reason="too many alarms")
        assert (await status_of(door, deployment))["status"] == end
        await door.to(at + 5 * MINUTE)
        assert door.failure(run) == ("POLL_FAILURE_STATUS", "permanent")
        compensated(door, run, deployment)
        assert versions_used(door, await judged(door, 5)) == {"2.0.0": 5}

    play(world, scene)


@pytest.mark.parametrize("minutes", [0, 60])
def test_the_poll_times_out(world: World, minutes: int) -> None:
    """W-11.3.11, C-38: paused at 10 % and at 40 %, the canary does not come to an end: after 24 hours WAIT_TIMEOUT, and
    what had been let out is taken back."""

    async def scene(door: Door) -> None:
        run, deployment = await in_production(door)
        await door.to(T0 + DAY + minutes * MINUTE)
        await door.deployments.pause(deployment, by=IT)
        share = await percent(door, deployment)
        assert share == (40 if minutes else 10)
        await door.to(T0 + 2 * DAY - 1)
        assert door.view(run).status == "waiting" and await percent(door, deployment) == share
        assert (await status_of(door, deployment))["status"] == "paused"
        await door.to(T0 + 2 * DAY)
        assert door.failure(run) == ("WAIT_TIMEOUT", "timeout")
        compensated(door, run, deployment)

    play(world, scene)


def test_the_rollback_itself_fails(world: World, wire: Wire) -> None:
    """W-11.3.11, W-4.10.4: the call that takes it back is refused again and again: FAILED, and somebody has to look."""
    world.register("connection", "default_api", type="http", base_url=wire.server.url)
    wire.answers[f"api/rule-packs/{PACK}"] = lambda seen: as_json({})

    async def scene(door: Door) -> None:
        run, deployment = await in_production(door)
        wire.answers[f"api/deploy/{deployment}/status"] = lambda seen: as_json({"status": "rolled_back"})
        wire.trouble[f"api/deploy/{deployment}/rollback"] = float("inf")
        await door.to(T0 + 2 * DAY)
        assert door.view(run).status == "failed"
        assert len(wire.to(f"api/deploy/{deployment}/rollback")) > 1
        assert len(set(wire.keys(f"api/deploy/{deployment}/rollback"))) == 1
        assert [letter.run for letter in door.letters()] == [run]

    play(world, scene)


def test_the_deployment_itself_fails(world: World) -> None:
    """W-11.3.12: the pack is gone before production: `deploy_production` FAILED, `comp_rollback` has nothing to undo:
    FAILED, and neither COMPENSATED nor called."""

    async def scene(door: Door) -> None:
        run = await before_production(door)
        door.registry.remove("rule_pack", PACK)
        for person in (QUALITY, IT):
            await door.decide(run, by=person)
        look = door.view(run)
        assert look.status == "failed" and door.ran(run)["deploy_production"] == "failed"
        assert look.failure is not None and look.failure["code"] in ("ARTIFACT_NOT_FOUND", "RULE_PACK_NOT_FOUND")
        assert "comp_rollback" not in door.ran(run) and "compensating" not in door.life(run)
        assert deployments(door) == []

    play(world, scene)


def test_another_tenant_sees_nothing_of_it(world: World) -> None:
    """C-66: a deployment is its tenant's own: another one's run finds neither its status nor its rollback."""

    async def scene(door: Door) -> None:
        _, deployment = await in_production(door)
        for path, method in (("status", "GET"), ("rollback", "POST")):
            status, body = await asked(door, f"/api/deploy/{deployment}/{path}", method, tenant="other")
            assert status in (403, 404) and body["code"]
        assert await percent(door, deployment) == 10

    play(world, scene)


# ---- killed ----------------------------------------------------------------------------------------------------------


async def to_staging(door: Door) -> None:
    """From the start to staging. Asked for again after a crash it goes on where it was."""
    run = await begun(door, key="the one")
    for item in inbox.open_items(door, LEAD):
        await door.decide(item.run, by=LEAD)
    await door.until(lambda: door.ran(run).get("wait_staging_test") == "running")


async def to_the_canary(door: Door) -> None:
    run = await begun(door, key="the one")
    await door.to(T0 + DAY)
    for person in (QUALITY, IT):
        for item in inbox.open_items(door, person):
            with contextlib.suppress(Refused):  # who has voted before the crash need not do so again
                await door.decide(item.run, by=person)
    await door.until(lambda: door.ran(run).get("monitor_deploy") == "running")


def killed(world: World, wire: Wire, *, before: Any, life: Any, ends: Callable[[Door, str], Any], some: bool) -> None:
    """`before` is lived through once; `life` again and again, with a death before and after each of its writes."""

    async def prepared() -> None:
        world.furnish()
        async with world.open(again=True) as door:
            if before is not None:
                await before(door)

    go(prepared())

    async def resume(other: World) -> None:
        async with other.open(again=True) as door:
            await life(door)
            run = door.row("the one").id
            await ends(door, run)
            assert verify(door.store).violations == []

    for other in deaths(world, life, prepare=lambda: None, some=some):
        go(resume(other))


def test_killed_at_every_write_on_the_way_to_staging(world: World, wire: Wire) -> None:
    """W-8.3.2, W-11.3.3, W-11.3.5: wherever the process dies: one simulation, one question, one deployment."""

    async def ends(door: Door, run: str) -> None:
        assert door.view(run).status == "waiting", door.view(run).failure
        assert deployments(door, "staging") == [("2.1.0", "succeeded")]
        assert [row.run for row in door.store.simulations(TENANT, limit=10)] == [run]
        done = [line.node for line in door.told(run, "settled") if line.node in STAGING]
        assert len(done) == len(set(done))

    killed(world, wire, before=None, life=to_staging, ends=ends, some=True)


def test_killed_at_every_write_when_the_canary_begins(world: World, wire: Wire) -> None:
    """W-8.3.2, W-11.3.6, W-11.3.8, W-11.3.9: from the end of the day to the first poll: one deployment, at 10 %."""

    async def ends(door: Door, run: str) -> None:
        assert deployments(door) == [("2.1.0", "in_progress")]
        assert await percent(door, deployment_of(door, run)) == 10

    killed(world, wire, before=to_staging, life=to_the_canary, ends=ends, some=True)


@pytest.mark.parametrize(("minutes", "share"), [(60, 40), (120, 70)])
def test_killed_at_every_write_while_the_canary_goes_on(world: World, wire: Wire, minutes: int, share: int) -> None:
    """W-8.3.2, W-11.3.9: around the steps from 10 to 40 and to 70 %: the right percentage at the right time, whoever
    drives it."""

    async def before(door: Door) -> None:
        await to_staging(door)
        await to_the_canary(door)
        await door.to(T0 + DAY + (minutes - 16) * MINUTE)

    async def life(door: Door) -> None:
        await door.to(T0 + DAY + minutes * MINUTE)

    async def ends(door: Door, run: str) -> None:
        deployment = deployment_of(door, run)
        assert await percent(door, deployment) == share
        await door.to(T0 + DAY + (minutes + 60) * MINUTE - 1)
        assert await percent(door, deployment) == share

    killed(world, wire, before=before, life=life, ends=ends, some=True)


def test_killed_at_every_write_of_the_end(world: World, wire: Wire) -> None:
    """W-8.3.2, W-11.3.10: the last step and the poll that sees it: COMPLETED, and the canary has all of it."""

    async def before(door: Door) -> None:
        await to_staging(door)
        await to_the_canary(door)
        await door.to(T0 + DAY + 179 * MINUTE)

    async def life(door: Door) -> None:
        await door.to(T0 + DAY + 185 * MINUTE)

    async def ends(door: Door, run: str) -> None:
        assert door.view(run).status == "completed" and deployments(door) == [("2.1.0", "succeeded")]

    killed(world, wire, before=before, life=life, ends=ends, some=True)


def test_killed_at_every_write_of_a_compensation(world: World, wire: Wire) -> None:
    """W-8.3.2, W-11.3.11: rolled back by hand, seen by the poll, undone once: COMPENSATED wherever the process dies."""

    async def before(door: Door) -> None:
        await to_staging(door)
        await to_the_canary(door)
        run = door.row("the one").id
        deployment = deployment_of(door, run)
        await door.deployments.pause(deployment, by=IT)
        await door.to(T0 + 2 * DAY - 1)

    async def life(door: Door) -> None:
        await door.to(T0 + 2 * DAY + MINUTE)

    async def ends(door: Door, run: str) -> None:
        assert door.ran(run)["comp_rollback"] == "succeeded"
        compensated(door, run, deployment_of(door, run))

    killed(world, wire, before=before, life=life, ends=ends, some=True)


# ---- as it comes out of the box --------------------------------------------------------------------------------------


def test_the_sample_tenant_runs_it_offline(tmp_path: Path, base: Base, monkeypatch: pytest.MonkeyPatch) -> None:
    """C-81, W-11.3.3: a new store, nothing registered by hand, no network and no server: the pack is loaded, last week
    is replayed, the QA lead approves, and staging has it."""
    monkeypatch.chdir(tmp_path)

    async def scene() -> None:
        async with Penstock(base.make(tmp_path)) as door:
            release = door.release(RULES)
            assert release.findings == []
            run = await door.start(release, GIVEN)
            look = await door.wait(run, until_waiting=True, timeout=60)
            assert look.status == "waiting", look.failure
            assert look.variables["simulation_result"]["summary"]["total_samples"] > 100
            await door.command(run, inbox.decision(door, open_items.find(door, run), "approved", LEAD, None))
            while "deploy_result" not in door.view(run).variables:
                await asyncio.sleep(0.02)
            result = door.view(run).variables["deploy_result"]
            assert (result["deployed_version"], result["status"]) == ("2.1.0", "succeeded")

    go(scene())
