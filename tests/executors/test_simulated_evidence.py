"""What a simulation may conclude: from labels, from judgments that could be made, from what it really knows."""

from __future__ import annotations

import asyncio
import random
import socket
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.executors.contract import Done
from penstock.executors.judgment import JudgmentExecutor
from penstock.executors.parts.reports import render
from penstock.executors.parts.simulation import significance
from penstock.executors.parts.simulation.distributions import DistributionRefused, draws_of
from penstock.executors.parts.simulation.order import OrderInvalid, TimeRange
from penstock.executors.parts.simulation.recorders import RecordingTenant
from penstock.expr.cron import zone_of
from penstock.store.simulations import PastJudgmentRow
from tests.executors.desk import Desk
from tests.executors.simulations import (
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
)

HYBRID = {"type": "HYBRID", "rule_pack_id": PACK, "llm_config": {"model": "judge"}}


class DeployedByType:
    """A pack and a model in production, each in its first version."""

    def current(self, type: str, id: str, *, environment: str, line: str = "") -> str | None:
        return "1.0.0" if type == "rule_pack" else "1"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return a_desk(tmp_path)


@pytest.fixture
def models(desk: Desk) -> Desk:
    """Two versions of a model that the house's stub plays: it decides by the largest rate."""
    body = {"id": "judge", "status": "approved", "connection": "stub"}
    desk.tenant.things["model"] = {f"judge@{number}": {**body, "version": number} for number in ("1", "2")}
    desk.register("connection", "stub", type="stub")
    desk.tenant.deployments = DeployedByType()  # type: ignore[assignment]
    return desk


def of_model(**more: Any) -> dict[str, Any]:
    return order(candidate={"artifact": {"type": "model", "id": "judge"}}, **more)


def kept(desk: Desk, found: dict[str, Any]) -> list[dict[str, Any]]:
    row = desk.tenant.store.simulation("t", found["simulation_id"])
    assert row is not None
    samples: list[dict[str, Any]] = msgspec.msgpack.decode(row.result)["samples"]
    return samples


# ---- labels ----------------------------------------------------------------------------------------------------------


def test_labels_judge_the_candidate(desk: Desk) -> None:
    """C-59: a hundred labels prove the candidate right every time; two hundred samples whose truth is the baseline's
    own decision do not turn that into a loss."""
    chooser = random.Random(3)
    rates = [chooser.uniform(0, 0.08) for _ in range(300)]
    labels = {i: "critical" if rate >= 0.03 else "normal" for i, rate in enumerate(rates) if not i % 3}
    past(desk, *rates, labels=labels)
    found = result(desk, order())
    right = sum((rates[i] >= 0.05) == (label == "critical") for i, label in labels.items()) / 100
    assert found["of_labelled"] == {
        "samples": 100, "baseline_accuracy": right, "simulated_accuracy": 1.0, "improvement": pytest.approx(1 - right),
    }  # fmt: skip
    assert found["recommendation"] == "deploy" and found["summary"]["improvement"] == pytest.approx(1 - right)
    assert found["summary"]["simulated_accuracy"] < found["summary"]["baseline_accuracy"]  # C-59's own, over all
    assert "100" in found["recommendation_text"]["en"] and "100" in found["recommendation_text"]["ko"]
    assert "100 labelled" in render(found, "html", "en").decode() and "100건" in render(found, "html", "ko").decode()


def test_few_labels_are_no_proof(desk: Desk) -> None:
    """C-59: under thirty labels a person looks first, whichever way they point."""
    past(desk, *[0.01] * 40, *[0.04] * 20, labels=dict.fromkeys(range(40, 60), "critical"))
    found = result(desk, order())
    assert found["recommendation"] == "review" and found["of_labelled"]["samples"] == 20
    assert "20" in found["recommendation_text"]["en"]


def test_labels_prove_it_worse(desk: Desk) -> None:
    past(desk, *[0.01] * 40, *[0.04] * 40, labels=dict.fromkeys(range(40, 80), "normal"))
    found = result(desk, order())
    assert found["recommendation"] == "reject" and found["of_labelled"]["improvement"] == -1.0


def test_no_baseline_is_no_truth(desk: Desk) -> None:
    """C-59: without a baseline and without labels nobody knows what is right: no accuracy, no rates, no section."""
    desk.tenant.deployments = Deployed(None)  # type: ignore[assignment]
    wish = {"iterations": 200, "distributions": {"rate": {"dist": "uniform", "min": 0, "max": 0.1}}}
    found = result(desk, order("monte_carlo", mode={"monte_carlo": wish}))
    assert found["summary"]["simulated_accuracy"] is None and found["label_sources"] == {}
    assert metric(found, "recall")["simulated"] is None and found["label_source"] == "none"
    assert metric(found, "decision_distribution")["simulated"]["critical"] > 0
    page = render(found, "html", "en").decode()
    assert "<h2>Metrics</h2>" not in page and "Expected decisions" in page
    assert render(found, "pdf", "en").startswith(b"%PDF-")


def test_a_reviewer_is_not_the_baseline(models: Desk) -> None:
    """C-59: what the baseline had proposed is its own; what the reviewer made of it is the truth."""
    body = {
        "input": {"data": [{"rate": 0.06}], "policy": {"type": "LLM_ONLY", "llm_config": {"model": "judge"}}},
        "output": {"decision": "critical", "confidence": 1.0, "decided_by": "human"},
        "proposed": {"decision": "normal", "confidence": 0.4},
    }  # fmt: skip
    row = PastJudgmentRow("t", "p1", PACK, "critical", msgspec.msgpack.encode(body), NOW - DAY)
    models.tenant.store.put_past_judgments([row])
    found = result(models, of_model())
    assert kept(models, found)[0]["before"] == "normal" and kept(models, found)[0]["label"] == "critical"
    assert found["summary"]["baseline_accuracy"] == 0.0


# ---- failures --------------------------------------------------------------------------------------------------------


def config_pack(version: str, share: float) -> dict[str, Any]:
    rule = {
        "id": "c", "scope": "each", "when": f"rate >= fn.get_config('limit') * {share}", "decision": "critical",
    }  # fmt: skip
    return {"id": PACK, "version": version, "status": "approved", "rules": [rule]}


@pytest.mark.parametrize("registered", [False, True])
def test_rules_read_the_configuration(desk: Desk, registered: bool) -> None:
    """C-82: rules are given what a judgment gives them: what the run carries, else what is registered."""
    desk.tenant.things["rule_pack"] = {
        f"{PACK}@1.0.0": config_pack("1.0.0", 1), f"{PACK}@1.1.0": config_pack("1.1.0", 0.1),
    }  # fmt: skip
    if registered:
        desk.tenant.things["config"] = {"global": {"limit": 0.05}}
    past(desk, *[0.01, 0.02, 0.04, 0.06] * 10)
    found = result(desk, order(), names={} if registered else {"$config": {"limit": 0.05}})
    assert found["failed"] == {"baseline": 0, "simulated": 0}
    assert found["risk_assessment"]["changed_decisions"] == 30 and found["recommendation"] == "review"


def test_what_fails_is_not_unchanged(desk: Desk) -> None:
    """A sample that nobody could judge is neither right nor unchanged; with more than a few of them nothing is said."""
    rule = {"id": "d", "scope": "each", "when": "1 / (rate - 0.04) > 0", "decision": "critical"}
    failing = {**pack("1.1.0", 1), "rules": [rule]}
    desk.tenant.things["rule_pack"] = {f"{PACK}@1.0.0": {**failing, "version": "1.0.0"}, f"{PACK}@1.1.0": failing}
    past(desk, *[0.06] * 90, *[0.04] * 10)
    found = result(desk, order())
    assert found["failed"] == {"baseline": 10, "simulated": 10} and found["recommendation"] == "insufficient_data"
    assert sum(map(sum, found["transitions"]["counts"])) == 90 and found["label_sources"] == {"baseline": 90}
    assert found["summary"]["total_samples"] == 100 and "10" in found["recommendation_text"]["en"]
    assert sum(row["failed"] for row in kept(desk, found)) == 10


@pytest.mark.parametrize(
    ("policy", "llm"),
    [
        ({}, {"decision": "normal", "confidence": "x"}),
        ({"routing": {"conflict_resolution": "human_escalate"}}, {"decision": "banana", "confidence": 0.5}),
        ({"routing": 5}, {"decision": "normal", "confidence": 0.5}),
        ({"routing": {"conflict_resolution": "magic"}}, {"decision": "normal", "confidence": 0.5}),
    ],
)
def test_one_bad_row_breaks_no_replay(desk: Desk, policy: dict[str, Any], llm: dict[str, Any]) -> None:
    """A row that cannot be read is a failure that is counted; the others are judged."""
    past(desk, *[0.01, 0.06] * 40)
    body = {
        "input": {"data": [{"rate": 0.9}], "policy": {"type": "HYBRID", "rule_pack_id": PACK, **policy}},
        "output": {"decision": "critical", "confidence": 0.9, "decided_by": "rule"}, "llm": llm,
    }  # fmt: skip
    row = PastJudgmentRow("t", "bad", PACK, "critical", msgspec.msgpack.encode(body), NOW - DAY)
    desk.tenant.store.put_past_judgments([row])
    found = result(desk, order())
    assert found["failed"] == {"baseline": 1, "simulated": 1} and found["summary"]["total_samples"] == 81


# ---- models ----------------------------------------------------------------------------------------------------------


def test_a_model_is_judged_beside_the_rules_in_force(models: Desk) -> None:
    """C-82: only the model is replaced: the rules of a HYBRID judgment are those of production, as then. At 0.04 the
    first version says normal and the second, which is approved but not deployed, critical."""
    seen: list[Any] = []
    real = type(models.tenant).deployed

    def deployed(self: Any, type: str, id: str, **where: Any) -> Any:
        seen.append((type, id))
        return real(self, type, id, **{**where, "version": "1.0.0"} if type == "rule_pack" else where)

    models.tenant.deployed = deployed.__get__(models.tenant)  # type: ignore[method-assign]
    past(models, *[0.04] * 4, policy=HYBRID, llm=[{"decision": "normal", "confidence": 0.9}] * 4)
    found = result(models, of_model())
    assert ("rule_pack", PACK) in seen and ("model", "judge") not in seen
    assert found["subject"]["candidate_version"] == "2" and found["subject"]["baseline_version"] == "1"
    assert {row["after"] for row in kept(models, found)} == {"normal"} and found["failed"]["simulated"] == 0


def test_how_conflicts_are_resolved_stays(models: Desk) -> None:
    """C-51: with llm_priority the model's word counts in a simulation as well; nobody is asked."""
    models.register("connection", "stub", type="stub", options={"answer": {"decision": "normal", "confidence": 0.9}})
    for resolution, decision in (("llm_priority", "normal"), ("rule_priority", "critical")):
        routing = {"conflict_resolution": resolution, "confidence_threshold": 0.99}
        past(models, *[0.06] * 3, policy={**HYBRID, "routing": routing},
             llm=[{"decision": "normal", "confidence": 0.9}] * 3)  # fmt: skip
        found = result(models, of_model())
        assert {row["after"] for row in kept(models, found)} == {decision}, resolution


def test_nobody_has_measured_the_past(models: Desk) -> None:
    """No time is made up for judgments that are not made again: their metric is null, and a test of it is not made."""
    past(models, *[0.01, 0.06] * 20, policy={"type": "LLM_ONLY", "llm_config": {"model": "judge"}})
    found = result(models, of_model(analysis={"statistical_test": "t_test", "on": "processing_time"}))
    time = metric(found, "processing_time")
    assert time["baseline"] is None and time["difference"] is None and time["simulated"] > 0
    assert found["test"] is None and "test_impossible" in [warning["code"] for warning in found["warnings"]]


def test_uses_of_a_simulation_are_no_uses(models: Desk) -> None:
    """C-58: what a simulation judges is counted for no deployment."""
    past(models, 0.06, policy=HYBRID, llm=[{"decision": "normal", "confidence": 0.9}])
    used: list[Any] = []
    result(models, of_model(), used=used)
    assert used == []


# ---- history ---------------------------------------------------------------------------------------------------------


def test_other_packs_do_not_push_history_out(desk: Desk) -> None:
    """C-59: the newest judgments of this pack are replayed, however many others were made since."""
    past(desk, *[0.01, 0.04, 0.06] * 20, ago=3 * DAY)
    body = msgspec.msgpack.encode({
        "input": {"data": [{"rate": 0.01}], "policy": {"type": "RULE_ONLY", "rule_pack_id": "other"}},
        "output": {"decision": "normal", "confidence": 0.9, "decided_by": "rule"},
    })  # fmt: skip
    rows = [PastJudgmentRow("t", f"o{i}", "other", "normal", body, NOW - DAY + i // 7_000) for i in range(20_001)]
    desk.tenant.store.put_past_judgments(rows)
    found = result(desk, order())
    assert found["summary"]["total_samples"] == 60
    assert "history_cut" not in [warning["code"] for warning in found["warnings"]]


def test_time_ranges_are_the_plants() -> None:
    """As BI reads them: a time without a zone is the plant's, and a date as the end is the whole day."""
    seoul = zone_of("Asia/Seoul")
    assert seoul is not None
    start, end = TimeRange("1972-09-20", "1972-09-26").window(NOW, seoul)
    assert (start, end) == (85_762_800_000, 86_367_600_000 - 1)
    naive, _ = TimeRange("1972-09-20T09:00:00", NOW).window(NOW, seoul)
    zoned, _ = TimeRange("1972-09-20T00:00:00Z", NOW).window(NOW, seoul)
    assert naive == zoned
    with pytest.raises(OrderInvalid, match="start"):
        TimeRange("soon").window(NOW, seoul)


# ---- candidates ------------------------------------------------------------------------------------------------------


def test_what_if_of_a_version(desk: Desk) -> None:
    """C-59: modifications of an artifact with a version change that version."""
    past(desk, *[0.04] * 40)
    change = {"type": "rule_change", "rule_id": "over", "new_confidence": 0.5}
    named = {"artifact": {"type": "rule_pack", "id": PACK, "version": "1.1.0"}}
    found = result(desk, order("what_if", mode={"what_if": {"modifications": [change]}}, candidate=named))
    assert found["subject"]["candidate_version"] == "1.1.0+what_if"
    assert found["risk_assessment"]["changed_decisions"] == 40


def test_an_environment_that_is_none(desk: Desk) -> None:
    """A baseline in an environment that nobody has is a mistake in writing, not an empty baseline."""
    past(desk, 0.04)
    wrong = failure(desk, order(comparison={"baseline": "current_prodution"}))
    assert wrong.code == "INPUT_INVALID" and "prodution" in wrong.message and "production" in wrong.message


# ---- numbers ---------------------------------------------------------------------------------------------------------


def test_two_constants() -> None:
    """C-59: two different constants differ by more than any deviation: the effect has no number, and is large."""
    test = significance.t_test([0.9] * 10, [0.5] * 10)
    assert test is not None and test.effect is None
    assert test.body("confidence", 0.95, effect_size=True)["effect_size"] == {
        "name": "cohens_d", "value": None, "magnitude": "large",
    }  # fmt: skip
    same = significance.t_test([0.9] * 10, [0.9] * 10)
    assert same is not None and same.effect == 0.0


def test_two_constants_are_reported(desk: Desk) -> None:
    desk.tenant.things["rule_pack"][f"{PACK}@1.1.0"]["rules"][0]["confidence"] = 0.5
    past(desk, *[0.06] * 40)
    found = result(desk, order(analysis={"statistical_test": "t_test"}))
    assert found["test"]["effect_size"]["magnitude"] == "large" and "large" in found["sentence"]["en"]
    for format in ("html", "pdf", "json"):
        assert render(found, format, "ko")


@pytest.mark.parametrize(
    "wish",
    [
        {"dist": "normal", "mean": float("inf"), "sd": 1}, {"dist": "uniform", "min": 0, "max": float("inf")},
        {"dist": "integer", "min": 1.2, "max": 1.8}, {"dist": "triangular", "min": 0, "max": 1, "mode": 2},
        {"dist": "choice", "values": [1], "weights": [float("inf")]}, {"dist": "normal", "mean": 10**400, "sd": 1},
        {"dist": "choice", "values": [1], "weights": [True]},
        {"dist": "normal", "mean": 0, "sd": 1, "min": 2, "max": 1},
    ],
)  # fmt: skip
def test_numbers_that_cannot_be_drawn(wish: dict[str, Any]) -> None:
    with pytest.raises(DistributionRefused) as refused:
        draws_of({"rate": wish})
    assert refused.value.hint and "rate" in str(refused.value)


def test_draws_that_overflow(desk: Desk) -> None:
    """What only drawing shows is a typed failure as well."""
    draws = {"rate": {"dist": "lognormal", "mean": 700, "sd": 100}}
    wrong = failure(desk, order("monte_carlo", mode={"monte_carlo": {"iterations": 500, "distributions": draws}}))
    assert (wrong.code, wrong.category) == ("INPUT_INVALID", "validation") and "rate" in wrong.message


def test_the_real_tenant_is_asked_for_everything_else(desk: Desk) -> None:
    tenant = RecordingTenant(desk.tenant, "model", "judge", {"id": "judge"})
    assert tenant.deployed("model", "judge") is None
    assert tenant.deployed("rule_pack", PACK).version == "1.1.0"


# ---- no side effect --------------------------------------------------------------------------------------------------


def test_a_model_writes_and_sends_nothing(models: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """W-4.13.2: a whole simulation of a model with a store that refuses every write but the simulation's own row, and
    without a network; its verdicts are the stub's: normal below 0.02, warning below 0.05, critical from there."""
    past(models, 0.01, 0.03, 0.06, policy={"type": "LLM_ONLY", "llm_config": {"model": "judge"}})
    for type in ("model", "connection", "prompt", "rule_pack", "calendar"):
        models.tenant.find(type, "any")  # what the test registers is in the store
    store: Any = models.tenant.store
    real, before = store.transaction, _tables(store.c)

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("a simulation writes or connects")

    def put(row: Any) -> None:
        monkeypatch.setattr(store, "transaction", real)
        store.__class__.put_simulation(store, row)
        monkeypatch.setattr(store, "transaction", refuse)

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(store, "transaction", refuse)
    monkeypatch.setattr(store, "put_simulation", put)
    found = result(models, of_model())
    monkeypatch.setattr(store, "transaction", real)
    assert found["refused"] == 0 and found["failed"] == {"baseline": 0, "simulated": 0}
    assert [row["after"] for row in kept(models, found)] == ["normal", "warning", "critical"]
    after = _tables(store.c)
    assert {name for name in after if after[name] != before[name]} == {"simulation"}


def test_a_simulation_that_tries_to_send(models: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """W-4.13.2: whatever asks the model and wants to send beside it is refused, counted and reported; nothing is in the
    outbox, and the sample counts as failed."""
    real = JudgmentExecutor.run

    async def run(self: Any, request: Any, services: Any) -> Any:
        if request.args["data"][0]["rate"] > 0.05:
            services.tenant(request.tenant).keep(request.key, "slack", "#line", "look", request.run)
        return await real(self, request, services)

    monkeypatch.setattr(JudgmentExecutor, "run", run)
    past(models, 0.01, 0.06, 0.07, policy={"type": "LLM_ONLY", "llm_config": {"model": "judge"}})
    found = result(models, of_model())
    assert found["refused"] == 2 and found["failed"]["simulated"] == 2 and models.tenant.kept == []
    codes = [warning["code"] for warning in found["warnings"]]
    assert "refused" in codes and "judging_failed" in codes


def _tables(c: sqlite3.Connection) -> dict[str, list[Any]]:
    names = [row[0] for row in c.execute("SELECT name FROM sqlite_master WHERE type='table'")]
    return {name: c.execute(f'SELECT * FROM "{name}"').fetchall() for name in names}


def test_a_judgment_is_given_the_same_names(desk: Desk) -> None:
    """C-82: in production, too, rules read what is registered where the run carries nothing."""
    desk.tenant.things["rule_pack"] = {f"{PACK}@1.0.0": config_pack("1.0.0", 1)}
    desk.tenant.things["config"] = {"global": {"limit": 0.05}}
    args = {"policy": {"type": "RULE_ONLY", "rule_pack_id": PACK}, "data": [{"rate": 0.06}]}
    outcome = asyncio.run(JudgmentExecutor().run(desk.request(args, at=NOW), desk.services))
    assert isinstance(outcome, Done) and outcome.body["decision"] == "critical"
