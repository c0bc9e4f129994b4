"""Maps of processes whose truth was planted, read from XES and from CSV."""

from __future__ import annotations

import gzip
import io
from collections import Counter

import pytest

from penstock.mining.activity_map import ActivityMap, activity_map
from penstock.mining.event_logs import read_log
from tests.mining.planted import MINUTE, Planted, median, p95

SEEDS = range(1, 21)
_MAPS: dict[tuple[int, str], tuple[Planted, ActivityMap]] = {}


def mapped(seed: int, format: str) -> tuple[Planted, ActivityMap]:
    if (seed, format) not in _MAPS:
        planted = Planted(seed)
        content = gzip.compress(planted.xes()) if format == "xes" else planted.csv()
        log = read_log(io.BytesIO(content), f"planted {seed}")
        found = activity_map(log)
        mixed = [] if format == "xes" else ["log_times_backwards"]  # the rows of the CSV were shuffled
        assert [finding.rule for finding in log.findings()] == mixed
        _MAPS[seed, format] = planted, found
    return _MAPS[seed, format]


both = pytest.mark.parametrize("format", ["xes", "csv"])
each = pytest.mark.parametrize("seed", SEEDS)


def test_the_processes_differ_and_have_every_shape() -> None:
    """Loops, parallel branches and choices occur, or the others would show little."""
    kinds: Counter[str] = Counter()
    for seed in SEEDS:
        planted = Planted(seed, cases=1)
        open_blocks = [planted.root]
        while open_blocks:
            block = open_blocks.pop()
            if hasattr(block, "kind"):
                kinds[block.kind] += 1
                open_blocks += block.children
    assert min(kinds[kind] for kind in ("sequence", "choice", "parallel", "loop")) >= 3, kinds


@both
@each
def test_flows_have_the_planted_counts_and_waits(seed: int, format: str) -> None:
    """P-7.2.2: the directly-follows graph with what each of its flows waits."""
    planted, found = mapped(seed, format)
    truth = planted.truth()
    assert {(flow.source, flow.target): flow.count for flow in found.flows} == truth["flow_counts"]
    for flow in found.flows:
        pair = (flow.source, flow.target)
        waits = truth["flows"][pair]
        assert flow.cases == len(truth["flow_cases"][pair])
        assert (flow.median_wait_ms, flow.p95_wait_ms) == (median(waits), p95(waits)), pair
        assert flow.total_wait_ms == sum(waits)


@both
@each
def test_activities_have_the_planted_work_and_modes(seed: int, format: str) -> None:
    """P-7.5.4: people and agents are told apart."""
    planted, found = mapped(seed, format)
    truth = planted.truth()
    assert {a.name for a in found.activities} == set(truth["work"])
    for a in found.activities:
        work = truth["work"][a.name]
        assert (a.count, a.total_work_ms) == (len(work), sum(work))
        assert (a.median_work_ms, a.p95_work_ms) == (median(work), p95(work))
        assert (a.human, a.agent) == (truth["modes"][a.name, True], truth["modes"][a.name, False])
        sequences = {sequence: len(ids) for sequence, ids in truth["variants"].items()}
        assert a.cases == sum(cases for sequence, cases in sequences.items() if a.name in sequence)
        assert a.starts == sum(cases for sequence, cases in sequences.items() if sequence[0] == a.name)
        assert a.ends == sum(cases for sequence, cases in sequences.items() if sequence[-1] == a.name)


@both
@each
def test_variants_are_the_planted_ones(seed: int, format: str) -> None:
    planted, found = mapped(seed, format)
    truth = planted.truth()
    assert {v.activities: v.cases for v in found.variants} == {s: len(ids) for s, ids in truth["variants"].items()}
    assert [v.cases for v in found.variants] == sorted((v.cases for v in found.variants), reverse=True)
    assert sum(v.share for v in found.variants) == pytest.approx(1)
    for v in found.variants:
        ids = truth["variants"][v.activities]
        assert v.median_ms == median([truth["elapsed"][id] for id in ids])
        assert v.share == pytest.approx(len(ids) / len(planted.cases))
        assert set(v.case_ids) <= set(ids) and len(v.case_ids) == min(5, len(ids))


@both
@each
def test_the_bottleneck_is_where_it_was_planted(seed: int, format: str) -> None:
    """P-7.2.2: bottleneck analysis."""
    planted, found = mapped(seed, format)
    truth = planted.truth()
    worst = found.bottleneck
    assert worst is not None and worst.target == planted.stuck.name
    waits = truth["flows"][worst.source, worst.target]
    assert sum(waits) == max(sum(each) for each in truth["flows"].values())
    assert worst.share == pytest.approx(sum(waits) / sum(truth["elapsed"].values()))
    assert (worst.median_wait_ms, worst.p95_wait_ms) == (median(waits), p95(waits))
    assert worst.people == len(truth["people"][worst.target])
    assert found.begin is not None and found.end is not None
    days = (found.end - found.begin) / (24 * 60 * MINUTE)
    assert worst.arrivals_per_day == pytest.approx(len(waits) / days)


@both
@each
def test_rework_and_handovers_are_the_planted_ones(seed: int, format: str) -> None:
    planted, found = mapped(seed, format)
    truth = planted.truth()
    assert {r.activity: (r.cases, r.repeats) for r in found.rework} == {
        name: (len(times), sum(times)) for name, times in truth["repeats"].items()
    }
    assert {(h.source, h.target): (h.count, h.median_wait_ms) for h in found.handovers} == {
        pair: (len(waits), median(waits)) for pair, waits in truth["handovers"].items()
    }


@both
@each
def test_the_sums_of_the_map(seed: int, format: str) -> None:
    planted, found = mapped(seed, format)
    truth = planted.truth()
    done = [each for _, case in planted.cases for each in case]
    assert (found.cases, found.events) == (len(planted.cases), len(done))
    assert (found.begin, found.end) == (min(e.started for e in done), max(e.ended for e in done))
    assert found.median_case_ms == median(list(truth["elapsed"].values()))
    assert found.elapsed_ms == sum(truth["elapsed"].values())
