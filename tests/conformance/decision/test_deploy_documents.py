"""DEPLOY and ROLLBACK in documents: the seed's own samples, templates, branches, outputs, moves by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.lang.rollout_net import ROLLOUT_HASH
from tests.conformance.decision.make import act, compiled, document, found, parallel, seeds
from tests.conformance.decision.rollouts import PACK
from tests.conformance.decision.test_deploy import CANARY, GUARDED, NEW, OLD, deploy, newest, output
from tests.conformance.decision.world import MINUTE, Door, Wire, World, go
from tests.host.decisions import TENANT


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    wire = Wire()
    yield wire
    wire.close()


@pytest.fixture
def world(tmp_path: Path, wire: Wire) -> World:
    wire.forget()
    return World(tmp_path, wire)


def play(world: World, scene: Callable[[Door], Any]) -> Any:
    async def opened() -> Any:
        async with world.open() as door:
            return await scene(door)

    return go(opened())


def sample(section: str, **choices: str) -> dict[str, Any]:
    """The seed's node of a section, with an alternative for each choice (C-05)."""
    (node,) = seeds(section)
    text = json.dumps(node)
    for printed, chosen in choices.items():
        text = text.replace(json.dumps(printed), json.dumps(chosen))
    whole: dict[str, Any] = json.loads(text)
    return whole


DEPLOYED = {
    "rule_pack | model | prompt | config": "rule_pack", "staging | production": "production",
    "immediate | canary | blue_green | rolling": "canary", "previous | specific": "previous",
}  # fmt: skip
RULES = {"rule_pack": {"id": PACK, "version": NEW}}


def test_w_4_14_1_the_seeds_sample_of_a_deployment(world: World) -> None:
    """W-4.14.1, W-4.11.1: §4.11 as it is printed: 10, 30, 50, 70, 90, 100 % every 30 minutes; slack and mail."""

    async def scene(door: Door) -> None:
        run = await door.play([sample("4.11", **DEPLOYED)], context={"variables": RULES})
        shares = [newest(door).percent]
        while newest(door).status == "in_progress":
            assert door.view(run).status == "waiting"
            await door.later(29 * MINUTE)
            assert newest(door).percent == shares[-1]
            await door.later(MINUTE)
            shares.append(newest(door).percent)
        assert shares == [10, 30, 50, 70, 90, 100] and door.view(run).status == "completed"
        assert output(door, run)["affected_scope"] == {"tenant_ids": [TENANT], "line_ids": ["L01", "L02"]}
        assert len(door.world.wire.to("slack")) == len(door.world.wire.mails()) == 2

    play(world, scene)


@pytest.mark.parametrize("strategy", ["previous", "last_stable"])
def test_w_4_14_1_the_seeds_sample_of_a_rollback(world: World, strategy: str) -> None:
    """W-4.14.1, W-4.12.1: §4.12 as it is printed, after a deployment whose output it reads."""
    chosen = {"rule_pack | model | prompt | config": "rule_pack", "previous | specific | last_stable": strategy}

    async def scene(door: Door) -> None:
        await door.later(25 * 60 * MINUTE)
        node = {**sample("4.12", **chosen), "notification": {"channels": ["slack"], "include_reason": True}}
        run = await door.play([deploy(), node], "deploy_rule>rollback_rule")
        assert door.view(run).status == "completed"
        assert door.view(run).variables["rollback_result"]["to_version"] == OLD

    play(world, scene)


def test_w_4_0_5_the_alternatives_are_no_values() -> None:
    """W-4.0.5, C-05: «a | b» is refused in every place of both samples."""
    places = set()
    for section in ("4.11", "4.12"):
        whole = document([sample(section)], context={"variables": {**RULES, "deploy_result": {}}})
        places |= {finding.where.pointer for finding in found(whole) if finding.rule == "wrong_type"}
    assert places == {
        "/nodes/0/artifact/type", "/nodes/0/target/environment", "/nodes/0/strategy/type",
        "/nodes/0/rollback/to_version", "/nodes/0/target_version/strategy",
    }  # fmt: skip


# ---- what only a run knows -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("how", "status"), [("immediate", "completed"), ("canary", "completed"), ("moon", "failed")])
def test_c_69_a_strategy_that_a_run_chooses(world: World, how: str, status: str) -> None:
    """C-69, C-57: a template is checked when it runs, and whether it waits is known then."""

    async def scene(door: Door) -> None:
        run = await door.play([deploy("${input.how}"), act("after")], "deploy_rule>after", given={"how": how})
        assert door.view(run).status == status
        if status == "completed":
            assert output(door, run)["rollout_status"] == ("succeeded" if how == "immediate" else "in_progress")
        else:
            assert door.failure(run) == ("INPUT_INVALID", "validation")

    play(world, scene)


def test_c_64_what_it_reads_from_outside_is_fetched_first(world: World) -> None:
    """C-64, W-4.0.2: an asset in its fields; a condition that is false fetches and deploys nothing."""
    world.register("aas", "line.L01", id="L01", pack=PACK)

    async def scene(door: Door) -> None:
        node = deploy(artifact={"id": "${aas.line.L01.pack}"})
        run = await door.play([node])
        assert output(door, run)["artifact_id"] == PACK
        run = await door.play([{**node, "condition": "false"}])
        assert door.ran(run) == {"deploy_rule": "skipped"}

    play(world, scene)


# ---- where it stands -------------------------------------------------------------------------------------------------


def test_w_4_9_1_in_a_branch(world: World) -> None:
    """W-4.9.1, C-57: a branch of a PARALLEL waits for its rollout, the other does not."""
    nodes = [parallel("both", {"a": ["deploy_rule"], "b": ["other"]}), deploy("canary", **GUARDED), act("other")]

    async def scene(door: Door) -> None:
        run = await door.play(nodes)
        assert door.view(run).status == "waiting" and door.ran(run)["other"] == "succeeded"
        await door.later(61 * MINUTE)
        assert door.view(run).status == "completed" and door.ran(run)["deploy_rule"] == "succeeded"

    play(world, scene)


def test_w_4_0_3_an_expression_makes_its_output(world: World) -> None:
    """W-4.0.3: `output.expression` over the answer, under the author's name."""

    async def scene(door: Door) -> None:
        made = {"variable": "shipped", "expression": "output.deployed_version"}
        run = await door.play([deploy(output=made)])
        assert door.view(run).variables["shipped"] == NEW

    play(world, scene)


def test_w_12_1_5_a_schema_that_the_output_does_not_fit(world: World) -> None:
    """W-12.1.5, C-80: the author's schema is checked."""

    async def scene(door: Door) -> None:
        schema = {"type": "object", "properties": {"deployed_version": {"const": "7"}}}
        run = await door.play([deploy(output={"schema": schema})])
        assert door.failure(run) == ("OUTPUT_SCHEMA", "validation")

    play(world, scene)


def test_c_57_the_rollout_is_a_run_of_its_own() -> None:
    """C-57: what a document calls is known when it is released; nothing of it blocks where it need not."""
    whole = compiled(document([deploy("canary", settings=CANARY)]))
    assert list(whole.children) == [ROLLOUT_HASH]
    assert [node.id for node in whole.net.nodes] == ["deploy_rule.begin", "deploy_rule.rollout", "deploy_rule"]


# ---- by hand ---------------------------------------------------------------------------------------------------------


def test_c_57_a_rollback_by_hand_ends_the_wait(world: World) -> None:
    """C-57: who waits for a rollout hears at once that a person has taken it back."""

    async def scene(door: Door) -> None:
        run = await door.play([deploy("canary", **GUARDED)])
        await door.deployments.roll_back(newest(door).id, by="it@example.com", reason="not today")
        await door.quiet()
        assert door.failure(run) == ("DEPLOYMENT_ROLLED_BACK", "permanent")
        assert output(door, run)["reason"] == "not today"

    play(world, scene)


def test_c_57_a_pause_holds_the_share_and_a_promotion_goes_on(world: World) -> None:
    """C-57, W-4.11.1: paused it waits as long as it takes; promoted it goes to the next stage at once."""

    async def scene(door: Door) -> None:
        run = await door.play([deploy("canary", **GUARDED)])
        id = newest(door).id
        await door.deployments.pause(id, by="it@example.com")
        await door.later(48 * 60 * MINUTE)
        assert (newest(door).percent, newest(door).status, door.view(run).status) == (50, "paused", "waiting")
        await door.deployments.promote(id, by="it@example.com")
        await door.quiet()
        assert newest(door).status == "succeeded" and door.view(run).status == "completed"

    play(world, scene)
