"""simulate: past judgments again, by the candidate and by the version in production."""

from __future__ import annotations

import asyncio
import json
import random
import socket
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.executors.parts.simulation import significance
from penstock.executors.parts.simulation.recorders import RecordingTenant, SimulationRefused
from tests.executors.bench import as_json, given
from tests.executors.desk import Desk
from tests.executors.simulations import (
    CASES,
    DAY,
    NOW,
    PACK,
    Deployed,
    a_desk,
    failure,
    metric,
    order,
    pack,
    past,
    result,
    simulated,
)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return a_desk(tmp_path)


# ---- replay ----------------------------------------------------------------------------------------------------------


def test_eight_metrics_by_hand(desk: Desk) -> None:
    """TC-WF-011, W-4.13.1, C-59: the eight metrics of ten labelled judgments, counted with a pencil.

    Truth: critical 5, normal 5. Baseline says critical of the last three: 2 right, 1 wrong. The candidate says it of
    the last seven: 4 right, 3 wrong."""
    past(desk, *(rate for rate, _ in CASES), labels={i: label for i, (_, label) in enumerate(CASES)})
    found = result(desk, order())
    assert found["summary"] == {
        "total_samples": 10, "baseline_accuracy": 0.6, "simulated_accuracy": 0.6, "improvement": 0.0,
        "statistical_significance": False, "label_source": "human", "labelled": 10,
    }  # fmt: skip
    by_hand = {
        "precision": (2 / 3, 4 / 7), "recall": (2 / 5, 4 / 5), "f1_score": (2 * 2 / (4 + 1 + 3), 2 * 4 / (8 + 3 + 1)),
        "false_positive_rate": (1 / 5, 3 / 5), "false_negative_rate": (3 / 5, 1 / 5), "accuracy": (6 / 10, 6 / 10),
    }  # fmt: skip
    for name, (before, after) in by_hand.items():
        entry = metric(found, name)
        assert entry["baseline"] == pytest.approx(before) and entry["simulated"] == pytest.approx(after), name
        assert entry["difference"] == pytest.approx(after - before)
    assert metric(found, "recall")["better"] == "simulated"
    assert metric(found, "false_positive_rate")["better"] == "baseline"
    assert metric(found, "decision_distribution")["simulated"] == {
        "normal": 3, "warning": 0, "critical": 7, "unknown": 0,
    }  # fmt: skip
    assert metric(found, "processing_time")["baseline"] > 0 and metric(found, "processing_time")["unit"] == "ms"
    assert found["transitions"]["counts"][0] == [3, 0, 4, 0] and found["transitions"]["counts"][2] == [0, 0, 3, 0]
    assert found["risk_assessment"] == {
        "level": "medium", "changed_decisions": 4, "changed_share": 0.4, "new_false_negatives": 0,
        "new_false_positives": 2, "new_critical_misses": 0,
    }  # fmt: skip


def test_only_the_metrics_asked_for(desk: Desk) -> None:
    """W-4.13.1: comparison.metrics names them."""
    past(desk, 0.01, 0.06)
    found = result(desk, order(comparison={"metrics": ["recall", "accuracy"]}))
    assert [entry["metric"] for entry in found["detailed_comparison"]] == ["recall", "accuracy"]


def test_minimal_form(desk: Desk) -> None:
    """W-4.13.4, W-11.3.3: only a time range and a baseline; the rest are C-59's defaults."""
    past(desk, *[0.01] * 20, *[0.04] * 10, *[0.06] * 10)
    window = {"start": "1972-09-20T00:00:00Z", "end": "1972-09-27T00:00:00Z"}  # NOW is the 1000th day
    args = {"mode": {"type": "replay", "replay": {"time_range": window}},
            "comparison": {"baseline": "current_production"},
            "candidate": {"deploy": {"type": "rule_pack", "id": PACK}}}  # fmt: skip
    found = result(desk, args)
    assert found["summary"]["total_samples"] == 40 and found["summary"]["label_source"] == "baseline"
    assert found["summary"]["baseline_accuracy"] == 1.0 and found["summary"]["simulated_accuracy"] == 0.75
    assert found["test"]["name"] == "chi_square" and found["test"]["confidence_level"] == 0.95
    assert len(found["detailed_comparison"]) == 8
    assert found["subject"]["candidate_version"] == "1.1.0" and found["subject"]["baseline_version"] == "1.0.0"
    assert found["recommendation"] == "review"  # nobody has said which decisions are right


def test_unchanged_rules_change_nothing(desk: Desk) -> None:
    """C-59: the same rules again: no difference in any sample, whatever was decided then."""
    chooser = random.Random(1)
    past(desk, *(chooser.random() / 10 for _ in range(200)), output={"decision": "warning"})
    desk.tenant.deployments = Deployed("1.1.0")  # type: ignore[assignment]
    found = result(desk, order())
    assert found["risk_assessment"]["changed_decisions"] == 0 and found["changes"] == []
    assert found["summary"]["improvement"] == 0 and found["test"]["p_value"] == 1.0
    assert found["recommendation"] == "deploy"


def test_no_history(desk: Desk) -> None:
    """W-11.3.3: no history: it succeeds with zero samples."""
    past(desk, 0.01, ago=8 * DAY)
    found = result(desk, order())
    assert found["summary"]["total_samples"] == 0 and found["summary"]["statistical_significance"] is False
    assert found["recommendation"] == "insufficient_data" and found["test"] is None
    assert [warning["code"] for warning in found["warnings"]] == ["no_history"]


def test_no_baseline(desk: Desk) -> None:
    """C-59: nothing is deployed to production: the baseline's fields are null, with a warning."""
    past(desk, *[0.04] * 40, labels={0: "critical"})
    desk.tenant.deployments = Deployed(None)  # type: ignore[assignment]
    found = result(desk, order())
    summary = found["summary"]
    assert summary["baseline_accuracy"] is None and summary["improvement"] is None and found["test"] is None
    assert summary["simulated_accuracy"] == 1 / 40  # one label; the others were «normal» then
    assert all(entry["baseline"] is None for entry in found["detailed_comparison"]) and found["transitions"] is None
    assert "no_baseline" in [warning["code"] for warning in found["warnings"]]
    assert found["recommendation"] == "review"


def test_a_version_as_the_baseline(desk: Desk) -> None:
    """C-59: comparison.baseline may name a version."""
    past(desk, 0.04, 0.06)
    assert result(desk, order(comparison={"baseline": "1.1.0"}))["risk_assessment"]["changed_decisions"] == 0
    assert failure(desk, order(comparison={"baseline": "0.9.0"})).code == "VERSION_NOT_FOUND"


def test_truth(desk: Desk) -> None:
    """C-59: a person's label, else a reviewed decision, else the baseline's decision; it says which."""
    past(desk, 0.01, 0.04, 0.06, labels={0: "critical"}, output={"decided_by": "human"})
    found = result(desk, order())
    assert found["label_sources"] == {"human": 1, "review": 2} and found["label_source"] == "mixed"
    assert found["summary"]["baseline_accuracy"] == pytest.approx(2 / 3)  # only the labelled one is wrong
    assert found["labelled"] == 3


def test_new_misses(desk: Desk) -> None:
    """C-59: risk_assessment: what the baseline caught and the candidate calls normal."""
    desk.tenant.things["rule_pack"][f"{PACK}@1.1.0"] = pack("1.1.0", 0.08)
    labels = {**dict.fromkeys(range(30), "normal"), **dict.fromkeys(range(30, 40), "critical")}
    past(desk, *[0.01] * 30, *[0.06] * 10, labels=labels)
    found = result(desk, order())
    risk = found["risk_assessment"]
    assert (risk["level"], risk["new_false_negatives"], risk["new_critical_misses"]) == ("high", 10, 10)
    assert found["recommendation"] == "reject" and len(found["new_misses"]) == 10


def test_rules_that_fail_are_counted(desk: Desk) -> None:
    """NaN-like trouble in rows: a rule that cannot be applied decides «unknown», and is counted with its code."""
    rule = {"id": "d", "scope": "each", "when": "1 / (rate - 0.04) > 0", "decision": "warning"}
    desk.tenant.things["rule_pack"][f"{PACK}@1.1.0"] = {**pack("1.1.0", 1), "rules": [rule]}
    past(desk, 0.04, 0.05)
    found = result(desk, order())
    assert found["failed"] == {"baseline": 0, "simulated": 1}
    (warning,) = [warning for warning in found["warnings"] if warning["code"] == "judging_failed"]
    assert "EXPR_DIV_ZERO" in warning["text"]["en"]


# ---- sampling --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sampling", ["random", "stratified", "sequential"])
def test_sampling(desk: Desk, sampling: str) -> None:
    """C-59: random is seeded; stratified is proportional with one of each; sequential takes the newest in order."""
    past(desk, *[0.01] * 96, *[0.06] * 4)
    wish = {"sampling": sampling, "sample_size": 10, "seed": 7}
    first, again = (result(desk, order(mode={"replay": wish})) for _ in range(2))
    assert first["summary"]["total_samples"] == 10 and first["seed"] == 7
    assert first["detailed_comparison"][:6] == again["detailed_comparison"][:6]
    counts = metric(first, "decision_distribution")["baseline"]
    if sampling == "sequential":
        assert counts["critical"] == 4 and counts["normal"] == 6
    if sampling == "stratified":
        assert counts["critical"] == 1 and counts["normal"] == 9  # 0.4 of 10 is less than one


# ---- what_if, dry_run, monte_carlo -----------------------------------------------------------------------------------


def what_if(*modifications: Any, **more: Any) -> dict[str, Any]:
    return order("what_if", mode={"what_if": {"modifications": list(modifications)}}, **more)


def test_what_if(desk: Desk) -> None:
    """TC-WF-011, W-4.14.1 §4.13: another threshold of one rule, over the past judgments of what is in production."""
    past(desk, 0.01, 0.04, 0.06)
    change = {"type": "rule_change", "rule_id": "over", "new_threshold": 0.02}
    found = result(desk, what_if(change))
    assert found["subject"]["candidate_version"] == "1.0.0+what_if"
    assert found["risk_assessment"]["changed_decisions"] == 1 and found["changes"][0]["judgment"] == "p00001"
    assert desk.tenant.find("rule_pack", PACK, "1.0.0")["rules"][0]["threshold"] == 0.05  # type: ignore[index]


@pytest.mark.parametrize(
    ("change", "decisions"),
    [
        ({"type": "rule_disable", "rule_id": "over"}, ["normal", "normal"]),
        ({"type": "rule_remove", "rule_id": "over"}, None),
        ({"type": "rule_add", "rule": {"id": "x", "when": "true", "decision": "warning"}}, ["warning", "critical"]),
        ({"type": "default_change", "decision": "warning"}, ["warning", "critical"]),
        ({"type": "rule_change", "rule_id": "over", "decision": "warning"}, ["normal", "warning"]),
        ({"type": "param_change", "name": "x", "value": 1}, ["normal", "critical"]),
    ],
)
def test_modifications(desk: Desk, change: dict[str, Any], decisions: list[str] | None) -> None:
    """C-59: what may be changed, and a pack without rules is refused."""
    past(desk, 0.01, 0.06)
    if decisions is None:
        assert failure(desk, what_if(change)).code == "SCHEMA_INVALID"
        return
    found = result(desk, what_if(change))
    kept = msgspec.msgpack.decode(desk.tenant.store.simulation("t", found["simulation_id"]).result)  # type: ignore[union-attr]
    assert [row["after"] for row in kept["samples"]] == decisions


def test_modifications_in_a_replay(desk: Desk) -> None:
    """C-59: without an artifact on the node, modifications are the candidate also of a replay."""
    past(desk, 0.01, 0.04)
    args = order(candidate={"rule_pack": {"id": PACK}}, mode={"what_if": {"modifications": [
        {"type": "rule_change", "rule_id": "over", "new_threshold": 0.02}]}})  # fmt: skip
    assert result(desk, args)["subject"]["candidate_version"] == "1.0.0+what_if"


def test_dry_run(desk: Desk) -> None:
    """TC-WF-011, C-59: judged on the node's own data, or on what came along the edge; nothing stored is read."""
    past(desk, 0.9)
    given_data = result(desk, order("dry_run", input={"data": [{"rate": 0.04}]}))
    assert given_data["summary"]["total_samples"] == 1 and given_data["changes"][0]["after"] == "critical"
    along = simulated(desk, order("dry_run"), inputs=[given("default", [{"rate": 0.01}])])
    assert along.body["summary"]["total_samples"] == 1 and along.body["changes"] == []
    samples = [{"data": [{"rate": 0.04}], "label": "critical"}, {"data": [{"rate": 0.01}], "label": "normal"}]
    several = result(desk, order("dry_run", input={"samples": samples}))
    assert several["summary"]["improvement"] == 0.5 and several["summary"]["label_source"] == "human"


def test_monte_carlo(desk: Desk) -> None:
    """TC-WF-011, C-59: so many draws of a seeded distribution; the share of alarms is what the distribution says."""
    wish = {"iterations": 4000, "seed": 3, "distributions": {"rate": {"dist": "uniform", "min": 0, "max": 0.1}}}
    first, again = (result(desk, order("monte_carlo", mode={"monte_carlo": wish})) for _ in range(2))
    assert first["summary"]["total_samples"] == 4000 and first["seed"] == 3
    assert first["probabilities"] == again["probabilities"]
    critical = first["probabilities"]["critical"]
    assert critical["low"] < 0.7 < critical["high"] and critical["high"] - critical["low"] < 0.03
    assert metric(first, "decision_distribution")["baseline"]["critical"] / 4000 == pytest.approx(0.5, abs=0.025)


@pytest.mark.parametrize(
    "wish",
    [
        {}, {"rate": 1}, {"rate": {"dist": "gauss"}}, {"rate": {"dist": "normal", "mean": 1}},
        {"rate": {"dist": "uniform", "min": 2, "max": 1}}, {"rate": {"dist": "choice"}},
        {"rate": {"dist": "choice", "values": [1], "weights": [0]}}, {"rate": {"dist": "bernoulli", "p": 2}},
    ],
)  # fmt: skip
def test_distributions_that_are_none(desk: Desk, wish: dict[str, Any]) -> None:
    wrong = failure(desk, order("monte_carlo", mode={"monte_carlo": {"distributions": wish}}))
    assert (wrong.code, wrong.category) == ("INPUT_INVALID", "validation") and wrong.message.endswith(".")


@pytest.mark.parametrize(
    "wish",
    [
        {"dist": "normal", "mean": 5, "sd": 1, "min": 4, "max": 6}, {"dist": "lognormal", "mean": 0, "sd": 0.1},
        {"dist": "integer", "min": 1, "max": 9}, {"dist": "triangular", "min": 1, "max": 9, "mode": 2},
        {"dist": "exponential", "mean": 2}, {"dist": "beta", "alpha": 2, "beta": 3}, {"dist": "bernoulli", "p": 0.5},
        {"dist": "choice", "values": [1, 2], "weights": [9, 1]}, {"dist": "constant", "value": 4},
    ],
)  # fmt: skip
def test_distributions(desk: Desk, wish: dict[str, Any]) -> None:
    mode = {"monte_carlo": {"iterations": 50, "distributions": {"rate": wish}}}
    assert result(desk, order("monte_carlo", mode=mode))["summary"]["total_samples"] == 50


# ---- candidates ------------------------------------------------------------------------------------------------------


def test_candidate_sources(desk: Desk) -> None:
    """C-59: the node's artifact, the nearest DEPLOY's, the variable rule_pack, the input's rule_pack_id, in order."""
    past(desk, 0.04)
    inline = pack("7", 0.01)
    sources = [
        ({"artifact": {"id": PACK, "version": "1.0.0"}}, "1.0.0"), ({"deploy": {"id": PACK}}, "1.1.0"),
        ({"rule_pack": inline}, "7"), ({"rule_pack": {"id": PACK, "version": "1.0.0"}}, "1.0.0"),
        ({"rule_pack": PACK}, "1.1.0"), ({"rule_pack_id": PACK}, "1.1.0"),
        ({"artifact": {"id": PACK, "version": "1.0.0"}, "deploy": {"id": PACK}, "rule_pack": inline}, "1.0.0"),
    ]  # fmt: skip
    for candidate, version in sources:
        assert result(desk, order(candidate=candidate))["subject"]["candidate_version"] == version
    wrong = failure(desk, order(candidate={}))
    assert (wrong.code, wrong.category) == ("INPUT_INVALID", "validation") and "artifact" in wrong.message


def test_a_draft_may_be_simulated(desk: Desk) -> None:
    """C-59: before anybody approves it, with a warning."""
    past(desk, 0.04)
    desk.tenant.things["rule_pack"][f"{PACK}@2.0.0"] = {**pack("2.0.0", 0.9), "status": "draft"}
    found = result(desk, order(candidate={"artifact": {"id": PACK, "version": "2.0.0"}}))
    assert found["warnings"][0]["code"] == "candidate_not_approved"


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (order(candidate={"artifact": {"id": "nobody"}}), "RULE_PACK_NOT_FOUND"),
        (order(candidate={"artifact": {"id": PACK, "version": "9"}}), "VERSION_NOT_FOUND"),
        (order("someday"), "INPUT_INVALID"),
        (order(analysis={"confidence_level": 1}), "INPUT_INVALID"),
        (order(mode={"replay": {"sample_size": 0}}), "INPUT_INVALID"),
        (order(mode={"replay": {"time_range": {"start": "soon"}}}), "INPUT_INVALID"),
        (order(mode={"replay": {"time_range": {"start": NOW, "end": 0}}}), "INPUT_INVALID"),
        (what_if(), "INPUT_INVALID"),
        (what_if({"type": "magic"}), "INPUT_INVALID"),
        (what_if({"type": "rule_change", "rule_id": "ovr", "new_threshold": 1}), "INPUT_INVALID"),
        (what_if({"type": "rule_change", "rule_id": "over"}), "INPUT_INVALID"),
        (order("dry_run", input={"samples": [{"data": 1, "label": "good"}]}), "INPUT_INVALID"),
    ],
)
def test_bad_orders(desk: Desk, args: dict[str, Any], code: str) -> None:
    """Bad input: a typed failure that says what to write."""
    wrong = failure(desk, args)
    assert (wrong.code, wrong.category) == (code, "validation"), wrong


def test_a_rule_that_is_nearly_there(desk: Desk) -> None:
    wrong = failure(desk, what_if({"type": "rule_change", "rule_id": "ovr", "new_threshold": 1}))
    assert "Did you mean «over»?" in wrong.message


# ---- models, prompts, configurations ---------------------------------------------------------------------------------


def test_hybrid_uses_the_recorded_answer(desk: Desk) -> None:
    """C-59: rules are judged anew, and merged with what the model had said; nobody asks it again."""
    policy = {"type": "HYBRID", "rule_pack_id": PACK, "routing": {"conflict_resolution": "llm_priority"}}
    said = [{"decision": "warning", "confidence": 0.9}, {"decision": "critical", "confidence": 0.5}, None]
    past(desk, 0.01, 0.04, 0.06, policy=policy, llm=said, output={"decided_by": "hybrid"})
    found = result(desk, order())
    assert found["summary"]["total_samples"] == 2  # what the third model said is not known
    kept = msgspec.msgpack.decode(desk.tenant.store.simulation("t", found["simulation_id"]).result)  # type: ignore[union-attr]
    assert [(row["before"], row["after"]) for row in kept["samples"]] == [
        ("warning", "warning"), ("critical", "critical"),
    ]  # fmt: skip
    assert "not_replayable" in [warning["code"] for warning in found["warnings"]]


def test_a_prompt_is_asked(desk: Desk, serve: Any) -> None:
    """C-59, C-82: a new prompt: the model is asked through its client, and compared with what was decided then."""
    asked = []

    def answer(seen: Any) -> Any:
        body = json.loads(seen.body)
        asked.append(body)
        said = {"decision": "critical", "confidence": 0.8, "reasoning": "seen", "recommendations": []}
        choice = {"index": 0, "message": {"role": "assistant", "content": json.dumps(said)}, "finish_reason": "stop"}
        return as_json({"model": "m", "choices": [choice], "usage": {"total_tokens": 5}})

    server = serve(answer)
    desk.settings["http.allow"] = ["127.0.0.1"]
    desk.tenant.secrets["llm_key"] = "k"
    desk.register("connection", "default_llm", type="openai", base_url=server.url + "/v1", secret="llm_key")
    desk.tenant.things["prompt"] = {
        "strict@1": {"id": "strict", "version": "1", "status": "approved", "system": "old"},
        "strict@2": {"id": "strict", "version": "2", "status": "approved", "system": "be strict"},
    }
    desk.tenant.deployments = Deployed("1")  # type: ignore[assignment]
    past(desk, 0.01, 0.06, policy={"type": "LLM_ONLY", "prompt_id": "strict"})
    found = result(desk, order(candidate={"artifact": {"type": "prompt", "id": "strict"}}))
    assert len(asked) == 2 and all("be strict" in body["messages"][0]["content"] for body in asked)
    assert found["risk_assessment"]["changed_decisions"] == 1 and found["refused"] == 0


def test_a_model_is_asked(desk: Desk) -> None:
    """C-82: a model artifact as the candidate; here the house's stub answers, without a network."""
    desk.tenant.things["model"] = {
        "judge@2": {"id": "judge", "version": "2", "status": "approved", "connection": "stub"}
    }
    desk.register("connection", "stub", type="stub")
    desk.tenant.deployments = Deployed(None)  # type: ignore[assignment]
    past(desk, 0.01, policy={"type": "LLM_ONLY", "llm_config": {"model": "judge"}})
    found = result(desk, order(candidate={"artifact": {"type": "model", "id": "judge"}}))
    assert found["summary"]["total_samples"] == 1 and found["failed"]["simulated"] == 0
    assert metric(found, "decision_distribution")["simulated"] == {
        "normal": 1, "warning": 0, "critical": 0, "unknown": 0,
    }  # fmt: skip


def test_a_configuration(desk: Desk) -> None:
    """C-82: past judgments again with another configuration, by the packs that judged them."""
    rule = {"id": "c", "scope": "each", "when": "rate >= fn.get_config('limit')", "decision": "critical"}
    desk.tenant.things["rule_pack"] = {PACK: {"id": PACK, "version": "1", "status": "approved", "rules": [rule]}}
    desk.tenant.things["config"] = {
        "line@1": {"version": "1", "limit": 0.05},
        "line@2": {"version": "2", "limit": 0.03},
    }
    desk.tenant.deployments = Deployed("1")  # type: ignore[assignment]
    past(desk, 0.01, 0.04, 0.06)
    found = result(desk, order(candidate={"artifact": {"type": "config", "id": "line"}}))
    assert found["failed"] == {"baseline": 0, "simulated": 0}
    assert found["risk_assessment"]["changed_decisions"] == 1 and found["changes"][0]["after"] == "critical"


# ---- no side effect --------------------------------------------------------------------------------------------------


def test_nothing_is_written_or_sent(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """W-4.13.2: with a store that refuses every write but the simulation's own row, and no network, all four modes
    work, and what was stored before is as it was."""
    past(desk, *[0.01] * 20, *[0.04] * 20)
    store: Any = desk.tenant.store
    desk.tenant.find("rule_pack", PACK)  # what the test registers is in the store
    before = _tables(store.c)
    real = store.transaction

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("a simulation writes or connects")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(store, "transaction", refuse)

    def put(row: Any) -> None:
        monkeypatch.setattr(store, "transaction", real)
        type(store).put_simulation(store, row)
        monkeypatch.setattr(store, "transaction", refuse)

    monkeypatch.setattr(store, "put_simulation", put)
    draws = {"rate": {"dist": "uniform", "min": 0, "max": 0.1}}
    for args in (
        order(), what_if({"type": "rule_disable", "rule_id": "over"}), order("dry_run", input={"data": [{"rate": 1}]}),
        order("monte_carlo", mode={"monte_carlo": {"iterations": 10, "distributions": draws}}),
    ):  # fmt: skip
        assert result(desk, args)["refused"] == 0
    after = _tables(store.c)
    assert {name for name in after if after[name] != before[name]} == {"simulation"}


def _tables(c: sqlite3.Connection) -> dict[str, list[Any]]:
    names = [row[0] for row in c.execute("SELECT name FROM sqlite_master WHERE type='table'")]
    return {name: c.execute(f'SELECT * FROM "{name}"').fetchall() for name in names}


def test_what_is_tried_is_refused_and_counted(desk: Desk) -> None:
    """W-4.13.2: the tenant of a simulation sends nothing and takes nothing; it counts what was tried."""
    tenant = RecordingTenant(desk.tenant, "prompt", "p", {"system": "x"})
    with pytest.raises(SimulationRefused):
        tenant.keep("k", "slack", "#a", "m", "r")
    with pytest.raises(SimulationRefused):
        tenant.turn("a", "k", ["x"])
    with pytest.raises(SimulationRefused):
        asyncio.run(tenant.take("s", 1, 0))
    assert tenant.refused == 3 and desk.tenant.kept == []
    assert tenant.find("prompt", "p") == {"system": "x"} and tenant.find("rule_pack", PACK) is not None


def test_the_same_attempt_is_the_same_simulation(desk: Desk) -> None:
    """An effect that is asked for again keeps one row; another effect has its own."""
    past(desk, 0.01)
    ids = {result(desk, order())["simulation_id"] for _ in range(2)}
    assert len(ids) == 1 and len(desk.tenant.store.simulations("t")) == 1
    result(desk, order(), key="t/r/n/0/2")
    assert len(desk.tenant.store.simulations("t")) == 2


def test_without_scipy(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test is left out with a warning that names the extra; everything else is there."""

    def missing() -> Any:
        raise significance.MissingStatistics

    monkeypatch.setattr(significance, "_stats", missing)
    past(desk, *[0.01] * 30)
    found = result(desk, order())
    assert found["test"] is None and found["summary"]["statistical_significance"] is False
    assert "penstock[statistics]" in found["warnings"][0]["text"]["en"]
