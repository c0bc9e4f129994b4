"""Monte Carlo: odds, percentiles, loads and ways, against numbers that are known beforehand."""

from __future__ import annotations

import json
import statistics
from typing import Any

import pytest

from penstock.app.releases.documents import compile_source
from penstock.app.simulation.figures.percentiles import durations_of, histogram_of, percentile, wilson
from penstock.app.simulation.monte_carlo import MonteCarlo, monte_carlo
from penstock.app.simulation.virtual.history import EffectSample, History, NewsSample, PersonSample
from penstock.kernel.failure import Failure
from penstock.net.compiled import Compiled
from tests.conformance.decision.make import act, approval, document, judge, parallel, switch, wait

NOW = 1_790_000_000_000
HOUR = 3_600_000


def forecast(body: dict[str, Any], history: History | None = None, runs: int = 2_000, **more: Any) -> MonteCarlo:
    net = Compiled(compile_source(json.dumps(body).encode(), name="test")[0].net)
    options: dict[str, Any] = {"inputs": [{"line": "L1"}], "now": NOW, "history": history, "processes": 1, **more}
    return monte_carlo(net, runs=runs, **options)


def judged(decision: str, ms: int = 100) -> EffectSample:
    return EffectSample(ms, {"decision": decision, "confidence": 0.9})


def line_check() -> dict[str, Any]:
    cases = [("critical", "stop"), ("warning", "warn")]
    nodes = [
        judge("judge"), switch("which", "${judgment_result.decision}", cases, default={"goto": "end"}),
        approval("stop", "quality_manager", timeout={"duration_hours": 48, "on_timeout": "reject"}), act("warn"),
    ]  # fmt: skip
    return document(nodes, ("judge>which",))


def test_durations_and_decisions_come_from_history() -> None:
    """A quarter critical, an approval of 1 to 4 hours: the odds of 2 h are 3/4 + 1/4 · 1/2."""
    history = History(
        effects={"judge": [judged("critical"), judged("normal"), judged("normal"), judged("warning")],
                 "warn": [EffectSample(500, {})]},
        people={"stop": [PersonSample(hours * HOUR - 60_000, "vote", "approved") for hours in (1, 2, 3, 4)]},
        runs=40, since=NOW - 10 * 86_400_000, until=NOW,
    )  # fmt: skip
    result = forecast(line_check(), history, due_ms=2 * HOUR)
    assert result.due is not None and result.due.odds == pytest.approx(0.875, abs=0.03)
    assert result.due.low < 0.875 < result.due.high
    assert [each.status for each in result.outcomes] == ["COMPLETED"] and result.assumptions == []
    (load,) = result.roles
    assert (load.role, load.kind) == ("quality_manager", "role")
    assert load.items_per_run == pytest.approx(0.25, abs=0.03)
    # 39 runs in ten days
    assert load.items_per_day == pytest.approx(0.25 * 3.9, abs=0.15)
    reached = {node.id: node.reached_share for node in result.nodes}
    assert reached["judge"] == 1.0 and reached["warn"] == pytest.approx(0.25, abs=0.03)
    assert {node.id: (node.source, node.samples) for node in result.nodes}["judge"] == ("history", 4)


def test_the_most_likely_way() -> None:
    history = History(effects={"judge": [judged("normal")] * 3 + [judged("warning")]}, runs=4)
    result = forecast(line_check(), history)
    first, second = result.paths
    assert first.nodes == ["judge", "which", "end"] and first.share == pytest.approx(0.75, abs=0.04)
    assert second.nodes == ["judge", "which", "warn"] and first.share + second.share == pytest.approx(1)


def test_failures_of_the_past_are_retried_as_the_document_says() -> None:
    """Half of the attempts fail; with two retries an eighth of the runs fail, and each retry waits its time."""
    down = Failure("HTTP_503", "transient", "down")
    history = History(effects={"tell": [EffectSample(100, {}), EffectSample(100, None, down)]}, runs=2)
    body = document([act("tell")], policies={"retry": {"max": 2, "backoff_ms": 1000}})
    result = forecast(body, history, runs=4_000)
    shares = {each.status: each.share for each in result.outcomes}
    assert shares["FAILED"] == pytest.approx(1 / 8, abs=0.02) and result.failures["HTTP_503"] > 0
    assert result.duration_ms is not None and result.duration_ms.min == 100 and result.duration_ms.max >= 2_300


def test_an_attempt_that_takes_too_long_is_out_of_time() -> None:
    history = History(effects={"tell": [EffectSample(60_000, {})]}, runs=1)
    result = forecast(document([act("tell", timeout_ms=5_000)]), history, runs=10)
    assert result.failures == {"NODE_TIMEOUT": 10}
    assert result.duration_ms is not None and result.duration_ms.max == 5_000


def test_nobody_decided_in_time() -> None:
    """Nobody ever decided within two hours: it counts as rejected when its time is over."""
    history = History(people={"ask": [PersonSample(2 * HOUR)]}, runs=5)
    body = document([approval("ask", "qa", timeout={"duration_hours": 2, "on_timeout": "reject"})])
    result = forecast(body, history, runs=20)
    assert result.failures == {"REJECTED": 20}
    assert result.duration_ms is not None and result.duration_ms.p50 == 2 * HOUR


def test_news_come_or_do_not() -> None:
    history = History(news={"lab": [NewsSample(HOUR, True, {"id": 1}), NewsSample(3 * HOUR, False)]}, runs=2)
    condition, late = {"type": "event", "event": {"source": "lab"}}, {"duration_hours": 2, "on_timeout": "fail"}
    result = forecast(document([wait("lab", condition, timeout=late)]), history, runs=600)
    shares = {each.status: each.share for each in result.outcomes}
    assert sum(share for status, share in shares.items() if status != "COMPLETED") == pytest.approx(0.5, abs=0.07)


def test_branches_take_as_long_as_the_longest() -> None:
    history = History(effects={"a": [EffectSample(1_000, {})], "b": [EffectSample(9_000, {})]}, runs=1)
    result = forecast(document([parallel("both", {"x": ["a"], "y": ["b"]}), act("a"), act("b")]), history, runs=5)
    assert result.duration_ms is not None and result.duration_ms.p50 == 9_000


def test_votes_of_everybody() -> None:
    body = document([approval("ask", "qa", "lead", type="all_of")])
    history = History(people={"ask": [PersonSample(HOUR, "vote", "approved")]}, runs=1)
    result = forecast(body, history, runs=20)
    assert [(each.status, each.count) for each in result.outcomes] == [("COMPLETED", 20)]
    assert sorted(load.role for load in result.roles) == ["lead", "qa"]


def test_the_same_seed_gives_the_same_forecast_in_any_number_of_processes() -> None:
    alone, other, shared = (
        forecast(line_check(), runs=300, seed=seed, due_ms=HOUR, processes=processes)
        for seed, processes in ((3, 1), (4, 1), (3, 2))
    )
    assert alone == shared and alone != other


def test_what_is_assumed_is_said() -> None:
    result = forecast(line_check(), runs=300)
    assumed = {row["node"]: row for row in result.assumptions}
    assert assumed["judge"]["executor"] == "judgment"
    assert assumed["stop"]["approved_share"] == 0.9 and assumed["stop"]["middle_ms"] == HOUR
    assert result.history.runs == 0 and result.refused["send"] > 0


# ---- numbers ---------------------------------------------------------------------------------------------------------


def test_percentiles_are_those_of_the_standard_library() -> None:
    values = [((i * 7919) % 1_009) ** 2 for i in range(997)]
    cuts = statistics.quantiles(values, n=100, method="inclusive")
    took = durations_of(values)
    assert took is not None
    shown = [took.p5, took.p50, took.p80, took.p90, took.p95, took.p99]
    assert shown == pytest.approx([cuts[i - 1] for i in (5, 50, 80, 90, 95, 99)])
    assert took.mean == pytest.approx(statistics.fmean(values))
    assert percentile([], 0.5) == 0.0 and percentile([7], 0.99) == 7 and durations_of([]) is None


def test_the_interval_of_a_share_is_wilsons() -> None:
    """Newcombe 1998, table I: 15 of 148 is 0.0624 to 0.1605, 0 of 20 is 0 to 0.1611, 1 of 29 is 0.0061 to 0.1718."""
    assert wilson(15, 148) == pytest.approx((0.0624, 0.1605), abs=1e-4)
    assert wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=1e-4)
    assert wilson(1, 29) == pytest.approx((0.0061, 0.1718), abs=1e-4)
    assert wilson(20, 20)[1] == 1.0 and wilson(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize("values", [[5], [5, 5, 5], list(range(1_000)), [1, 10**9]])
def test_a_histogram_counts_everybody_once(values: list[int]) -> None:
    bars = histogram_of(values)
    assert sum(bar.count for bar in bars) == len(values)
    assert bars[0].from_ms == min(values) and bars[-1].to_ms >= max(values)
    assert all(a.to_ms == b.from_ms for a, b in zip(bars, bars[1:], strict=False))
