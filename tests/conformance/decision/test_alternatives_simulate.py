"""The sample of 4.13 as it runs: each mode, sampling, test and report (TC-WF-011), over a week of the sample tenant."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.app.decision import simulations
from penstock.net.model import Net
from tests.conformance.decision.harness import Sample, leaves, shows
from tests.conformance.decision.make import compiled, document, found
from tests.conformance.decision.rollouts import PACK
from tests.conformance.decision.test_tc_wf import play
from tests.conformance.decision.world import EXAMPLES, TENANT, Door, Wire, World

#: what the workflow knows of the pack: its first rule is the one that is changed
GIVEN = {"id": PACK, "version": "2.0.0", "rules": [{"id": "over_limit"}]}
METRICS = [
    "accuracy", "precision", "recall", "f1_score", "false_positive_rate", "false_negative_rate",
    "decision_distribution", "processing_time",
]  # fmt: skip


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    wire = Wire()
    yield wire
    wire.close()


@pytest.fixture
def world(tmp_path: Path, wire: Wire) -> World:
    wire.forget()
    return World(tmp_path, wire)


async def result(door: Door, one: Sample, threshold: float = 0.05, **mode: Any) -> dict[str, Any]:
    """What the node gives out, with another threshold in its modification where a test wants one."""
    one.node["mode"] |= mode
    one.node["mode"]["what_if"]["modifications"][0]["new_threshold"] = threshold
    run = await one.run(door, rule_pack=GIVEN)
    look = door.view(run)
    assert look.status == "completed", look.failure
    assert [(each.node, each.type) for each in look.firings] == [("simulate_rule", "SIMULATE")]
    net = door.net_of(door.told(run, "run.started")[0].data["net"])
    assert "규칙 변경 영향 시뮬레이션" in {node.label for node in net.nodes}
    simulated: dict[str, Any] = look.variables["simulation_result"]
    return simulated


@shows("4.13", "mode/type", "dry_run", "replay", "what_if", "monte_carlo")
@leaves("4.13", "id", "type", "name", "mode/what_if/base_scenario", "mode/what_if/modifications/0/type",
        "mode/what_if/modifications/0/rule_id", "mode/what_if/modifications/0/new_threshold", "comparison/baseline",
        "comparison/metrics", "output/variable", "output/schema")  # fmt: skip
def test_modes(world: World, one: Sample) -> None:
    """TC-WF-011, W-4.14.1, W-4.13.1, C-59: the pack in production with another threshold of its first rule, on the
    node's data, on last week's judgments, or on random ones. The sample's own 0.05 is what is in force: no change."""

    async def scene(door: Door) -> None:
        if one.alternative == "dry_run":
            one.node["input"] = {"data": [{"line_id": "L01", "defect_rate": 0.045}]}
        same = await result(door, one)
        assert same["mode"] == one.alternative and same["risk_assessment"]["changed_decisions"] == 0
        assert same["subject"]["baseline_version"] == "2.0.0"
        assert same["subject"]["candidate_version"] == "2.0.0+what_if"
        assert [entry["metric"] for entry in same["detailed_comparison"]] == METRICS
        lower = await result(door, one, 0.04)
        total = {"dry_run": 1, "replay": 300, "what_if": 300, "monte_carlo": 200}[one.alternative]
        assert lower["summary"]["total_samples"] == total and lower["risk_assessment"]["changed_decisions"] > 0
        kept = msgspec.msgpack.decode(door.store.simulation(TENANT, lower["simulation_id"]).result)  # type: ignore[union-attr]
        assert {(row["before"], row["after"]) for row in kept["changes"]} == {("warning", "critical")}

    play(world, scene)


@shows("4.13", "mode/replay/sampling", "random", "stratified", "sequential")
@leaves("4.13", "mode/replay/data_source", "mode/replay/time_range/start", "mode/replay/time_range/end",
        "mode/replay/sample_size")  # fmt: skip
def test_samplings(world: World, one: Sample) -> None:
    """C-59: of the week before, so many judgments: drawn, drawn by decision, or the newest in their order."""

    async def scene(door: Door) -> None:
        whole = await result(door, one, type="replay")
        assert whole["summary"]["total_samples"] == 300  # all of last week are less than a thousand
        one.node["mode"]["replay"]["sample_size"] = 20
        some = await result(door, one, type="replay")
        kept = msgspec.msgpack.decode(door.store.simulation(TENANT, some["simulation_id"]).result)  # type: ignore[union-attr]
        ids = [row["judgment"] for row in kept["samples"]]
        assert len(ids) == 20 and ids == sorted(ids)
        newest = [f"sample_{number:03}" for number in range(281, 301)]
        assert (ids == newest) == (one.alternative == "sequential")
        if one.alternative == "stratified":
            assert {row["before"] for row in kept["samples"]} == {"normal", "warning", "critical"}
        one.node["mode"]["replay"]["time_range"]["end"] = "${fn.date_add(fn.now(), -6, 'day')}"
        assert 0 < (await result(door, one, type="replay"))["summary"]["total_samples"] <= 20

    play(world, scene)


@shows("4.13", "analysis/statistical_test", "chi_square", "t_test", "ks_test")
@leaves("4.13", "analysis/confidence_level", "analysis/effect_size")
def test_tests(world: World, one: Sample) -> None:
    """TC-WF-011, W-4.13.3, C-59: each with its statistic, its p-value and its own effect size."""

    async def scene(door: Door) -> None:
        made = await result(door, one, 0.03, type="replay")
        test = made["test"]
        effects = {"chi_square": "cramers_v", "t_test": "cohens_d", "ks_test": "ks_d"}
        assert test["name"] == one.alternative and test["effect_size"]["name"] == effects[one.alternative]
        assert test["on"] == ("decisions" if one.alternative == "chi_square" else "confidence")
        assert test["significant"] is (test["p_value"] < 0.05) is made["summary"]["statistical_significance"]
        one.node["analysis"] |= {"confidence_level": 0.999999, "effect_size": False}
        strict = (await result(door, one, 0.03, type="replay"))["test"]
        assert strict["p_value"] == test["p_value"] and strict["effect_size"] is None
        assert strict["significant"] is (test["p_value"] < 1 - 0.999999)

    play(world, scene)


@shows("4.13", "report/format", "html", "pdf", "json")
@leaves("4.13", "report/generate", "report/include_visualizations")
def test_reports(world: World, one: Sample) -> None:
    """TC-WF-011, W-4.13.1, C-59: stored, with its link in the result; charts where they are wanted, none where not."""

    async def scene(door: Door) -> None:
        made = await result(door, one, 0.04, type="replay")
        id = made["simulation_id"]
        assert made["report"]["url"] == f"/api/v1/simulations/{id}/report.{one.alternative}"
        row = door.store.simulation(TENANT, id)
        assert row is not None and row.format == one.alternative
        assert row.report == simulations.report(door, id, one.alternative)
        begins = {"html": b"<!doctype html>", "pdf": b"%PDF-", "json": b"{"}[one.alternative]
        assert row.report is not None and row.report.startswith(begins)
        if one.alternative == "html":
            assert b"<svg" in row.report and b"<script" not in row.report and b"http" not in row.report
        if one.alternative == "json":
            assert json.loads(row.report)["summary"] == {**made["summary"]}
        one.node["report"]["include_visualizations"] = False
        plain = simulations.report(door, (await result(door, one, 0.04, type="replay"))["simulation_id"], "html")
        assert b"<svg" not in plain and b"<table" in plain
        one.node["report"]["generate"] = False
        none = await result(door, one, 0.04, type="replay")
        assert none["report"] is None and door.store.simulation(TENANT, none["simulation_id"]).report is None  # type: ignore[union-attr]

    play(world, scene)


# ---- the candidate, from the document --------------------------------------------------------------------------------


def deploy(id: str, pack: str, **more: Any) -> dict[str, Any]:
    return {
        "id": id, "type": "DEPLOY", "artifact": {"type": "rule_pack", "id": pack, **more},
        "target": {"environment": "staging"}, "strategy": {"type": "immediate"},
    }  # fmt: skip


def candidate(*nodes: dict[str, Any], edges: list[Any] | None = None, **top: Any) -> Any:
    """The candidate that the node `sim` was lowered to; or the errors."""
    simulation = {"id": "sim", "type": "SIMULATE", "mode": {"type": "replay"}}
    whole = document([simulation, *nodes], edges or (), **top)
    wrong = [(finding.rule, finding.where.pointer) for finding in found(whole) if finding.severity == "error"]
    return wrong or _effect(compiled(whole).net, "sim")["candidate"]


def _effect(net: Net, id: str) -> Any:
    effect = next(node for node in net.nodes if node.id == id).effect
    assert effect is not None
    return effect.args


def test_nearest_deploy() -> None:
    """C-59, W-11.3.3: the DEPLOY that comes soonest after the node; of two as near, the first written."""
    other = {"id": "go_on", "type": "DATA", "source": {"type": "expression"}, "output": {"expression": "1"}}
    near, far = deploy("near", "a"), deploy("far", "b", version="3")
    edges = ["sim>go_on", "go_on>far", "sim>near"]
    assert candidate(far, near, other, edges=edges) == {"deploy": {"type": "rule_pack", "id": "a"}}
    assert candidate(far, other, edges=edges[:2]) == {"deploy": {"type": "rule_pack", "id": "b", "version": "3"}}
    assert candidate(far, near, edges=["sim>far", "sim>near"])["deploy"]["id"] == "b"
    assert candidate(near, edges=["near>sim"]) == [("simulate_candidate", "/nodes/0")]  # it comes before


def test_other_candidates() -> None:
    """C-59: the variable rule_pack, then the input's rule_pack_id; none of them: an error where the node stands."""
    assert candidate(context={"variables": {"rule_pack": {}}}) == {"rule_pack": {"$expr": "rule_pack"}}
    schema = {"type": "object", "properties": {"rule_pack_id": {"type": "string"}}}
    assert candidate(input_schema=schema) == {"rule_pack_id": {"$expr": "input.rule_pack_id"}}
    assert candidate() == [("simulate_candidate", "/nodes/0")]


def test_11_3_names_its_candidate() -> None:
    """W-11.3.3: the seed's own document, unmodified."""
    net = compiled(json.loads((EXAMPLES / "rule_deploy.json").read_text())).net
    assert next(node for node in net.nodes if node.id == "simulate_impact").out == ("simulation_result",)
    assert _effect(net, "simulate_impact")["candidate"] == {
        "deploy": {"type": "rule_pack", "id": {"$template": "${input.rule_pack_id}"}}
    }


@pytest.mark.parametrize(
    ("mode", "at"),
    [
        ({"type": "what_if"}, "/nodes/0/mode"),
        ({"type": "monte_carlo"}, "/nodes/0/mode"),
        ({"type": "what_if", "what_if": {}}, "/nodes/0/mode/what_if"),
        ({"type": "monte_carlo", "monte_carlo": {}}, "/nodes/0/mode/monte_carlo"),
        ({"type": "what_if", "what_if": {"modifications": [1]}}, "/nodes/0/mode/what_if/modifications/0"),
        ({"type": "what_if", "what_if": {"modifications": [{}]}}, "/nodes/0/mode/what_if/modifications/0"),
        ({"type": "what_if", "what_if": {"modifications": [{"type": "rule_chang"}]}},
         "/nodes/0/mode/what_if/modifications/0/type"),
        ({"type": "monte_carlo", "monte_carlo": {"iterations": 0, "distributions": {"a": {}}}},
         "/nodes/0/mode/monte_carlo/iterations"),
    ],
)  # fmt: skip
def test_modes_without_what_they_need(mode: dict[str, Any], at: str) -> None:
    """W-4.13.1: a finding with its place and what to write."""
    node = {"id": "sim", "type": "SIMULATE", "mode": mode, "artifact": {"type": "rule_pack", "id": PACK}}
    errors = [finding for finding in found(document([node])) if finding.severity == "error"]
    assert [finding.where.pointer for finding in errors] == [at] and all(finding.hint for finding in errors)


def test_a_baseline_in_no_environment() -> None:
    """C-59: a slip in the environment's name is said where it is written, with what was meant."""
    node = {"id": "sim", "type": "SIMULATE", "mode": {"type": "replay"}, "artifact": {"type": "rule_pack", "id": PACK},
            "comparison": {"baseline": "current_prodution"}}  # fmt: skip
    (finding,) = [finding for finding in found(document([node])) if finding.rule == "simulate_baseline"]
    assert finding.where.pointer == "/nodes/0/comparison/baseline" and "current_production" in finding.hint
