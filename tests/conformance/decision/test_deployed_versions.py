"""Which version of a rule pack, a prompt, a model or a setting a run uses, and how that is counted (C-58, C-82)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.app.maintenance.verify import verify
from penstock.app.registry.registry import artifact
from penstock.executors.parts.rollout.model import Deployment, DeploymentRequest
from penstock.host.deployment_layers import bucket_of
from penstock.host.run_ids import run_id
from penstock.store.deployment_tables import ARTIFACT_USE
from tests.conformance.decision.make import document
from tests.conformance.decision.stores import Base
from tests.conformance.decision.world import TENANT, Door, Wire, World, go

PACK, PROMPT, MODEL = "rates", "ask_about_rates", "plant_model"
ROW = {"line_id": "L01", "rate": 0.5}


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


def put(door: Door, type: str, id: str, *versions: tuple[str, dict[str, Any]]) -> None:
    rows = [
        artifact(TENANT, type, id, {"id": id, "version": version, "status": "approved", **body}, door.world.clock.at)
        for version, body in versions
    ]
    door.store.put_artifacts(rows)
    door.host.tenants.refresh()


def rules(decision: str, when: str = "item.rate >= 0") -> dict[str, Any]:
    return {"rules": [{"id": "all", "scope": "each", "when": when, "decision": decision}]}


def deploy(door: Door, type: str, id: str, version: str, **target: Any) -> Deployment:
    """At once and to the end."""
    deployments = door.host.tenants.of(TENANT).deployments
    percent = target.pop("percent", 100)
    strategy: dict[str, Any] = {"type": "immediate"}
    if percent < 100:
        strategy = {"type": "canary", "canary": {"initial_percent": percent}}
    asked = {"artifact": {"type": type, "id": id, "version": version}, "target": target, "strategy": strategy}
    at = door.world.clock.at
    begun = deployments.begin(msgspec.convert(asked, DeploymentRequest), key=f"{type}{version}{target}", at=at)
    return deployments.advance(begun.id, at=at)


async def judge(door: Door, rows: Any = (ROW,), runs: int = 1, given: Any = None, **node: Any) -> list[str]:
    policy = {"type": "RULE_ONLY", "rule_pack_id": PACK, **node.pop("policy", {})}
    environment = node.pop("environment", "")
    judged = {"id": "judge_rates", "type": "JUDGMENT", "policy": policy,
              "input": {"data": "${input.rows}", **node.pop("input", {})}, **node}  # fmt: skip
    release = door.release(json.dumps(document([judged], id="wf_judge_rates")).encode())
    input = {"rows": list(rows), **(given or {})}
    started = [await door.start(release, input, environment=environment) for _ in range(runs)]
    await door.quiet()
    return started


def decision(door: Door, run: str) -> str:
    return str(door.view(run).variables["judgment_result"]["decision"])


def uses(door: Door, run: str | None = None) -> list[dict[str, Any]]:
    rows = door.store.projected(ARTIFACT_USE, run)
    return [dict(zip(ARTIFACT_USE.names, row, strict=True)) for row in sorted(rows)]


def test_a_canary_splits_judgments_and_counts_both_versions(world: World) -> None:
    """C-58: the instances with hash mod 100 < percent, and no others, are judged by the new version; error rate and
    samples come from the judgments themselves."""

    async def scene(door: Door) -> None:
        put(door, "rule_pack", PACK, ("1.0", rules("normal")), ("2.0", rules("warning")))
        begun = deploy(door, "rule_pack", PACK, "2.0", percent=30)
        runs = await judge(door, runs=60)
        for run in runs:
            assert decision(door, run) == ("warning" if bucket_of(run) < 30 else "normal")
        new = sum(bucket_of(run) < 30 for run in runs)
        deployments = door.host.tenants.of(TENANT).deployments
        counted = {metrics.version: metrics.samples for metrics in deployments.metrics(begun.id)}
        assert counted == {"1.0": 60 - new, "2.0": new} and 5 < new < 35
        row = next(use for use in uses(door) if use["version"] == "2.0")
        assert (row["tenant"], row["environment"], row["line"], row["deployment"], row["decision"]) == (
            TENANT, "production", "L01", begun.id, "warning",
        )  # fmt: skip
        assert (row["confidence"], row["failed"]) == (1000, 0)
        assert verify(door.store).violations == []

    play(world, scene)


def test_uses_of_what_was_never_deployed_are_not_kept(world: World) -> None:
    """Nothing is paid for by those who deploy nothing."""

    async def scene(door: Door) -> None:
        put(door, "rule_pack", PACK, ("1.0", rules("normal")))
        await judge(door)
        assert uses(door) == []

    play(world, scene)


def test_a_judgment_that_fails_counts_as_an_error_of_its_version(world: World) -> None:
    """C-58: whatever it fails of, the rules, its output's schema or its time."""

    async def scene(door: Door) -> None:
        put(door, "rule_pack", PACK, ("1.0", rules("normal")), ("2.0", rules("warning", "item.rate / item.made > 1")))
        begun = deploy(door, "rule_pack", PACK, "2.0")
        (run,) = await judge(door, [{**ROW, "made": 0}])
        await judge(door, [{**ROW, "made": 5}], output={"variable": "v", "schema": {"type": "string"}})
        assert [(use["version"], use["failed"], use["decision"]) for use in uses(door)] == [("2.0", 1, "")] * 2
        (metrics,) = [item for item in door.host.tenants.of(TENANT).deployments.metrics(begun.id) if item.samples]
        assert (metrics.error_rate, metrics.errors) == (1.0, 2)
        assert uses(door, run)[0]["deployment"] == begun.id
        assert verify(door.store).violations == []

    play(world, scene)


def test_each_line_and_environment_has_its_version(world: World) -> None:
    """C-82: (tenant, environment, line); the line is the node's, its context's, the run's input's or the data's."""

    async def scene(door: Door) -> None:
        put(door, "rule_pack", PACK, ("1.0", rules("normal")), ("2.0", rules("warning")))
        deploy(door, "rule_pack", PACK, "1.0")
        deploy(door, "rule_pack", PACK, "2.0", scope={"line_ids": ["L02"]})
        deploy(door, "rule_pack", PACK, "2.0", environment="staging")
        there, here = {"rate": 1, "line_id": "L02"}, {"rate": 1, "line_id": "L01"}
        cases: list[tuple[dict[str, Any], str]] = [
            ({"rows": [here]}, "normal"),
            ({"rows": [there]}, "warning"),
            ({"rows": [there, here]}, "normal"),
            ({"rows": [here], "given": {"line_id": "L02"}}, "warning"),
            ({"rows": [here], "input": {"context": {"line_id": "L02"}}}, "warning"),
            ({"rows": [here], "input": {"line_id": "${input.which}"}, "given": {"which": "L02"}}, "warning"),
            ({"rows": [here], "environment": "staging"}, "warning"),
            ({"rows": [there], "policy": {"rule_pack_version": "1.0"}}, "normal"),
        ]
        for case, expected in cases:
            (run,) = await judge(door, **case)
            assert decision(door, run) == expected, case

    play(world, scene)


def test_prompts_and_models_are_deployed_too(world: World) -> None:
    """C-82: HYBRID uses three things at once, each in the version that applies."""

    async def scene(door: Door) -> None:
        put(door, "rule_pack", PACK, ("1.0", rules("normal")))
        put(door, "prompt", PROMPT, ("1", {"user": "Judge."}), ("2", {"user": "${fn.no_such_function()}"}))
        put(door, "model", MODEL, ("1", {"connection": "calm"}), ("2", {"connection": "strict"}))
        for name, verdict in (("calm", "normal"), ("strict", "critical")):
            answer = {"decision": verdict, "confidence": 0.9}
            put(door, "connection", name, ("", {"type": "stub", "options": {"answer": answer}}))
        policy = {"type": "LLM_ONLY", "prompt_id": PROMPT, "llm_config": {"model": MODEL}}
        deploy(door, "prompt", PROMPT, "1")
        seen = []
        for version in ("1", "2"):
            deploy(door, "model", MODEL, version)
            (run,) = await judge(door, policy=policy)
            seen.append((decision(door, run), {(use["type"], use["version"]) for use in uses(door, run)}))
        assert seen == [
            ("normal", {("prompt", "1"), ("model", "1")}),
            ("critical", {("prompt", "1"), ("model", "2")}),
        ]
        deploy(door, "prompt", PROMPT, "2")
        (run,) = await judge(door, policy=policy)
        assert door.failure(run)[1] == "validation"
        assert {(use["type"], use["version"], use["failed"]) for use in uses(door, run)} == {
            ("prompt", "2", 1), ("model", "2", 1),
        }  # fmt: skip

    play(world, scene)


def test_settings_are_deployed_too(world: World) -> None:
    """C-82: what fn.get_config and fn.get_tenant_config read; the version is the run's for its whole life, and its end
    is counted."""

    async def scene(door: Door) -> None:
        put(door, "config", "global", ("1", {"limit": 10}), ("2", {"limit": 20}))
        begun = deploy(door, "config", "global", "2", percent=40)
        node = {"id": "read_it", "type": "DATA", "source": {"type": "expression"},
                "output": {"variable": "limit", "expression": "${fn.get_config('limit')}"}}  # fmt: skip
        release = door.release(json.dumps(document([node], id="wf_limit")).encode())
        runs = [await door.start(release, {}) for _ in range(30)]
        await door.quiet()
        assert {bucket_of(run) < 40 for run in runs} == {True, False}
        for run in runs:
            assert door.view(run).variables["limit"] == (20 if bucket_of(run) < 40 else 10)
            (use,) = uses(door, run)
            assert (use["firing"], use["version"], use["decision"]) == (
                -1, "2" if bucket_of(run) < 40 else "1", "completed",
            )  # fmt: skip
        assert sum(item.samples for item in door.host.tenants.of(TENANT).deployments.metrics(begun.id)) == 30
        assert verify(door.store).violations == []

    play(world, scene)


def test_uses_are_made_again_from_the_journal(world: World) -> None:
    """A projection holds nothing that the journal does not hold."""

    async def scene(door: Door) -> list[dict[str, Any]]:
        put(door, "rule_pack", PACK, ("1.0", rules("normal")), ("2.0", rules("warning", "item.rate / item.made > 1")))
        deploy(door, "rule_pack", PACK, "2.0", percent=50)
        await judge(door, [{**ROW, "made": 5}], runs=5)
        await judge(door, [{**ROW, "made": 0}], runs=5)
        return uses(door)

    async def again() -> None:
        async with world.open(again=True) as door:
            door.rebuild()
            assert uses(door) == before

    before = play(world, scene)
    assert len(before) == 10
    go(again())


def test_c_58_ten_percent_of_ten_thousand_instances(world: World) -> None:
    """C-58, W-4.11.1: a canary of 10 % gets 10 % ± 1 of 10,000 instances, and each of them keeps its version while the
    share rises."""

    async def scene(door: Door) -> None:
        put(door, "rule_pack", PACK, ("1.0", rules("normal")), ("2.0", rules("warning")))
        deployment = deploy(door, "rule_pack", PACK, "2.0", percent=10)
        tenant, runs = door.host.tenants.of(TENANT), [run_id(door.world.clock.at, n * 7919) for n in range(10_000)]

        def newer() -> set[str]:
            applied = {run: tenant.deployed("rule_pack", PACK, line="L01", run=run) for run in runs}
            return {run for run, found in applied.items() if found is not None and found.version == "2.0"}

        first = newer()
        assert 900 <= len(first) <= 1100
        tenant.deployments.promote(deployment.id, at=door.world.clock.at)
        assert first < newer()

    play(world, scene)


def test_c_58_an_instance_stands_in_the_same_place_in_every_process() -> None:
    """C-58: the place is a hash of the instance's id alone; the numbers were computed apart."""
    assert [bucket_of("run1"), bucket_of("r1m7pg0xqd7rwf4s")] == [86, 87]
