"""Metrics and alarms: every series by its name, rates as C-62 defines them, thresholds compared strictly."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.app.metrics.alarms import Alarm, Alarms, measured
from penstock.app.metrics.collector import MetricsCollector
from penstock.app.metrics.dashboard import grafana, values
from penstock.app.metrics.exposition import ExpositionPage
from penstock.app.metrics.histogram import HOUR_MS, Histogram, beyond, quantile
from penstock.app.metrics.readings import Readings
from penstock.app.metrics.series import detailed, exposed
from penstock.host.gate import BreakerState
from penstock.kernel.state import CANCELLED, COMPENSATED, COMPLETED, FAILED, WAITING
from penstock.store.run_lists import Gauges
from tests.conformance.decision.world import DEFECT, HOUR, MANAGER, MINUTE, T0, Door, Wire, World, go
from tests.contract.store_suite import a_batch, a_run
from tests.host.decisions import TENANT
from tests.house.files import ROOT

SAMPLE = re.compile(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$")


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    one = Wire()
    yield one
    one.close()


@pytest.fixture
def world(tmp_path: Path, wire: Wire) -> World:
    wire.forget()
    one = World(tmp_path, wire).plant()
    one.sure(0.6)
    return one


def watched(door: Door) -> MetricsCollector:
    meter = MetricsCollector(door.store)
    meter.attach(door.host)
    return meter


def read(text: str) -> dict[str, float]:
    """Every sample, by its name and labels as they are written."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            match = SAMPLE.match(line)
            assert match, f"not a sample: {line}"
            found[line.rpartition(" ")[0]] = float(match.group(3))
    return found


def names(text: str) -> set[str]:
    return {key.partition("{")[0] for key in read(text)}


def test_every_series_is_there_before_anything_has_happened(world: World) -> None:
    """W-10.1.1, W-10.3.2, C-62: by name and label, from the first scrape on."""

    async def scene() -> None:
        async with world.open() as door:
            text = exposed(watched(door), None, door.now())
            found = read(text)
            plain = (
                "workflow_success_total workflow_success_rate workflow_waiting_count node_error_rate"
                " approval_pending_count approval_timeout_rate circuit_breaker_open_count dlq_message_count"
                " checkpoint_size_bytes workflow_duration_count workflow_duration_seconds_count"
                " approval_response_time_count penstock_turns_total penstock_commits_total penstock_stream_listeners"
            )
            assert [name for name in plain.split() if name not in found] == []
            for status in ("completed", "failed", "cancelled", "compensated"):
                assert found[f'workflow_execution_total{{status="{status}"}}'] == 0
            for series in (
                'workflow_versions{status="active"}', 'workflow_instances{status="running"}',
                'approval_requests{status="pending"}', 'node_execution_total{node_type="ACTION"}',
                'node_error_total{node_type="ACTION"}', 'node_duration_seconds{node_type="ACTION"}',
                'workflow_duration_bucket{le="60"}', 'workflow_duration_seconds_bucket{le="+Inf"}',
                'approval_response_time_bucket{le="3600"}', 'penstock_queue_length{queue="turns"}',
            ):  # fmt: skip
                assert series in found, series
            heads = Counter(line.split()[2] for line in text.splitlines() if line.startswith("# TYPE"))
            assert max(heads.values()) == 1, "a family is told once"

    go(scene())


def test_what_a_run_leaves_in_the_metrics(world: World, wire: Wire) -> None:
    """W-10.1.1, TC-WF-001, C-62: runs by status, the author's nodes once each, approvals and how long they took."""

    async def scene() -> None:
        async with world.open() as door:
            meter = watched(door)
            door.put_in_force(DEFECT)
            run = await door.run(DEFECT)
            found = read(exposed(meter, TENANT, door.now()))
            assert found['workflow_instances{status="waiting"}'] == found["workflow_waiting_count"] == 1
            assert found["approval_pending_count"] == found['approval_requests{status="pending"}'] == 1
            assert found['workflow_versions{status="active"}'] == 1
            await door.later(30 * MINUTE)
            await door.decide(run)
            wire.trouble["slack"] = 99
            broken = await door.run(DEFECT)
            await door.later(10_000)
            found = read(exposed(meter, TENANT, door.now()))
            assert found['workflow_execution_total{status="completed"}'] == found["workflow_success_total"] == 1
            assert found['workflow_execution_total{status="failed"}'] == 1 and found["workflow_success_rate"] == 0.5
            firings = [*door.view(run).firings, *door.view(broken).firings]
            ran = Counter(one.type for one in firings if one.ended_at is not None)
            for type in ("DATA", "JUDGMENT", "SWITCH", "ACTION", "APPROVAL"):
                assert found[f'node_execution_total{{node_type="{type}"}}'] == ran[type], type
            assert found['node_error_total{node_type="ACTION"}'] == 1
            assert found['approval_requests{status="approved"}'] == 1 == found["approval_response_time_count"]
            assert found["approval_response_time_sum"] == 1800 and found["approval_timeout_rate"] == 0
            assert found["workflow_duration_seconds_count"] == found["workflow_duration_count"] == 2
            assert found["workflow_duration_sum"] < 600, "the half hour that it waited is not in it"
            assert found["dlq_message_count"] == 1
            assert not any(name.startswith("penstock_") for name in found), "the engine's are for who runs it"
            assert read(exposed(meter, "other", door.now()))["workflow_success_total"] == 0
            assert read(exposed(meter, None, door.now()))["workflow_success_total"] == 1

    go(scene())


def test_an_approval_that_times_out_counts_once(world: World) -> None:
    """W-10.1.1, C-62: reached TIMEOUT, of those closed or timed out; also when it was escalated and decided later."""

    async def scene() -> None:
        async with world.open() as door:
            meter = watched(door)
            run = await door.run(DEFECT)
            await door.later(2 * HOUR + MINUTE)
            mine = meter.of[TENANT]
            assert mine.timeouts() == (1, 1) and mine.approvals["timeout"] == 1
            await door.decide(run, by="admin@example.com")
            assert mine.timeouts() == (1, 1) and mine.approvals["approved"] == 1 and not mine.late
            second = await door.run(DEFECT)
            await door.decide(second, by=MANAGER)
            assert mine.timeouts() == (1, 2)

    go(scene())


def test_the_long_form_counts_as_the_printed_queries_do(world: World) -> None:
    """C-62: one series per instance, version and approval on /metrics/detail."""

    async def scene() -> None:
        async with world.open() as door:
            watched(door)
            door.put_in_force(DEFECT)
            runs = [await door.run(DEFECT) for _ in range(3)]
            found = read(detailed(door))
            waiting = [key for key in found if key.startswith('workflow_instances{status="waiting"')]
            assert len(waiting) == 3 and all(any(run in key for key in waiting) for run in runs)
            assert sum(key.startswith('approval_requests{status="pending"') for key in found) == 3
            assert sum(key.startswith('workflow_versions{status="active"') for key in found) == 1

    go(scene())


def test_the_hours_before_the_start_are_in_the_rates(world: World) -> None:
    """W-10.1.2: the window is 24 hours, also after a restart; what is older is gone."""

    async def scene() -> None:
        async with world.open() as door:
            watched(door)
            run = await door.run(DEFECT)
            await door.decide(run)
        world.clock.at += HOUR
        async with world.open(again=True) as door:
            meter = watched(door)
            mine = meter.of[TENANT]
            assert mine.runs() == (1, 1) and mine.nodes()[1] >= 5 and mine.ended == Counter()
            meter.sort(T0 + 26 * HOUR)
            assert mine.runs() == (0, 0) and mine.nodes() == (0, 0)

    go(scene())


def test_quantiles_are_compared_exactly() -> None:
    """W-10.1.2: p99 of exactly 60 s does not alarm; one millisecond more of the hundredth does."""
    spread = Histogram()
    spread.pending = [100] * 98 + [60_000] * 2
    spread.sort(0)
    assert not beyond(spread.bounds, spread.recent(), 99, 60_000)
    spread.pending = [60_001]
    spread.sort(0)
    assert not beyond(spread.bounds, spread.recent(), 99, 60_000), "one of 101 is less than a hundredth"
    spread.pending = [60_001]
    spread.sort(0)
    assert beyond(spread.bounds, spread.recent(), 99, 60_000)
    assert quantile((10, 100), [0, 4, 0], 0.5) == 55 and quantile((10, 100), [0, 0, 0], 0.5) is None


class Still:
    """Readings of a tenant that stands as it is told to."""

    def __init__(self, door: Door) -> None:
        self.door, self.meter = door, watched(door)
        self.mine = self.meter.tenant(TENANT)
        self.hour = door.now() // HOUR_MS

    def gauges(self, waiting: int = 0, letters: int = 0) -> Gauges:
        return Gauges([(TENANT, WAITING, waiting)], [], [(TENANT, letters)], [])

    def alarms(self, **given: Any) -> list[str]:
        found = measured(Readings(self.meter, TENANT, self.door.now(), self.gauges(**given)))
        return sorted(name for name, (_, raised, _) in found.items() if raised)


#: W-10.1.1: those that have an alarm
ALARMS = (
    "workflow_success_rate", "workflow_duration_seconds", "workflow_waiting_count", "node_error_rate",
    "node_duration_seconds", "approval_pending_count", "approval_timeout_rate", "circuit_breaker_open_count",
    "dlq_message_count", "checkpoint_size_bytes",
)  # fmt: skip


def test_exactly_at_the_threshold_there_is_no_alarm(world: World) -> None:
    """W-10.1.1, W-10.1.2: 95 %, 100, 5 %, 50, 10 %, 0, 10 and 10 MB do not alarm; one more does."""

    async def scene() -> None:
        async with world.open() as door:
            one = Still(door)
            one.mine.ended_hours[one.hour] = Counter({COMPLETED: 95, FAILED: 4, COMPENSATED: 1, CANCELLED: 900})
            kind = one.mine.kind("ACTION", False)
            kind.put(100, 5, door.now())
            one.mine.approval_hours[one.hour] = Counter(asked=10, late=1)
            one.mine.checkpoints[one.hour] = 10 * 1024 * 1024
            kind.spread.put([10_000] * 100, door.now())
            one.mine.duration.put([60_000] * 100, door.now())
            assert one.alarms(waiting=100, letters=10) == []
            one.mine.ended_hours[one.hour][FAILED] += 1
            kind.put(0, 1, door.now())
            one.mine.approval_hours[one.hour]["late"] += 1
            one.mine.checkpoints[one.hour] += 1
            kind.spread.put([10_001] * 2, door.now())
            one.mine.duration.put([60_001] * 2, door.now())
            door.host.gate.breakers[f"{TENANT}/wf/n"] = BreakerState("open")
            door.host.gate.breakers["other/wf/n"] = BreakerState("open")
            raised = one.alarms(waiting=101, letters=11)
            assert raised == sorted(set(ALARMS) - {"approval_pending_count"})

    go(scene())


def test_an_alarm_is_raised_once_told_once_and_survives_a_restart(world: World, wire: Wire) -> None:
    """W-10.1.2: raised once and cleared; its message goes with the row that keeps it, to the tenant's channels."""
    notification = {"notification": {"channels": ["email"], "escalation_channels": ["slack"]}}
    world.register("config", "tenant", **notification)
    told: list[tuple[str, Alarm]] = []

    async def first() -> None:
        async with world.open() as door:
            alarms = Alarms(watched(door), door.host, lambda tenant, alarm: told.append((tenant, alarm)))
            batch = a_batch(new=[a_run(900 + i, tenant=TENANT, status=WAITING) for i in range(101)])
            door.store.commit(batch)
            assert [one.metric for one in alarms.look()] == ["workflow_waiting_count"]
            assert alarms.look() == [] and len(told) == 1
            await door.until(lambda: len(wire.to("slack")) == 1)

    async def second() -> None:
        async with world.open(again=True) as door:
            alarms = Alarms(watched(door), door.host, lambda tenant, alarm: told.append((tenant, alarm)))
            assert list(alarms.of(TENANT).open) == ["workflow_waiting_count"] and alarms.look() == []
            door.store.commit(a_batch(ended=[(CANCELLED, T0, 1, 900)]))
            world.clock.at += MINUTE
            (cleared,) = alarms.look()
            assert cleared.cleared_at == T0 + MINUTE and alarms.look() == []
            stand = Alarms(alarms.meter, door.host).of(TENANT)
            assert not stand.open and [one.metric for one in stand.recent] == ["workflow_waiting_count"]
            await door.until(lambda: len(wire.to("slack")) == 2)
            texts = [str(seen.json) for seen in wire.to("slack")]
            assert "raised" in texts[0] and "cleared" in texts[1]

    go(first())
    go(second())
    assert [(tenant, one.cleared_at is None) for tenant, one in told] == [(TENANT, True), (TENANT, False)]


#: W-10.3.1: its rows, the panels of each, how they are drawn and what the seed asks for them
PANELS = [
    ("Overview", "Active Workflows", "stat", "count(workflow_versions{status='active'})"),
    ("Overview", "Running Instances", "stat", "count(workflow_instances{status='running'})"),
    ("Overview", "Success Rate (24h)", "gauge",
     "sum(rate(workflow_success_total[24h])) / sum(rate(workflow_execution_total[24h]))"),
    ("Execution Metrics", "Executions by Status", "timeseries",
     "sum by (status) (rate(workflow_execution_total[5m]))"),
    ("Execution Metrics", "Duration Distribution", "histogram", "histogram_quantile(0.95, workflow_duration_bucket)"),
    ("Node Performance", "Slowest Nodes", "table", "topk(10, avg by (node_type) (node_duration_seconds))"),
    ("Node Performance", "Node Error Rate", "timeseries", "sum by (node_type) (rate(node_error_total[5m]))"),
    ("Approvals & Waiting", "Pending Approvals", "stat", "count(approval_requests{status='pending'})"),
    ("Approvals & Waiting", "Approval Response Time", "timeseries",
     "histogram_quantile(0.5, approval_response_time_bucket)"),
]  # fmt: skip


def test_the_dashboard_asks_for_series_that_are_there(world: World) -> None:
    """W-10.3.1, W-10.3.2, C-62: nine panels in four rows, printed queries kept, every series and label known."""

    async def scene() -> str:
        async with world.open() as door:
            watched_ = watched(door)
            await door.run(DEFECT)
            shown = {one.id: one for one in values(Readings(watched_, TENANT, door.now()))}
            assert shown["pending_approvals"].value == 1.0 and shown["slowest_nodes"].values
            assert set(shown["executions_by_status"].values or {}) >= {"completed", "failed"}
            assert [(one.row, one.title, one.type) for one in shown.values()] == [panel[:3] for panel in PANELS]
            return exposed(watched_, None, door.now())

    text = go(scene())
    file = json.loads((ROOT / "deploy" / "grafana" / "workflow_dashboard.json").read_text())
    assert file == json.loads(msgspec.json.encode(grafana())), "made by penstock.app.metrics.dashboard.grafana()"
    assert [one["title"] for one in file["panels"] if one["type"] == "row"] == [
        "Overview", "Execution Metrics", "Node Performance", "Approvals & Waiting"]  # fmt: skip
    panels = [one for one in file["panels"] if one["type"] != "row"]
    made_by_grafana = {"histogram": "timeseries"}  # its histogram counts raw values; these are counted already
    drawn_as = [(title, made_by_grafana.get(kind, kind)) for _, title, kind, _ in PANELS]
    assert [(one["title"], one["type"]) for one in panels] == drawn_as
    rows: list[tuple[str, str]] = []
    row = ""
    for one in file["panels"]:
        row = one["title"] if one["type"] == "row" else row
        rows += [(row, one["title"])] if one["type"] != "row" else []
    assert rows == [(row, title) for row, title, _, _ in PANELS]
    found, there = read(text), names(text)
    for (_, _, _, printed), drawn in zip(PANELS, panels, strict=True):
        assert printed in drawn["description"]
        asked = drawn["targets"][0]["expr"]
        for name, label in re.findall(r"((?:workflow|node|approval)_[a-z_]+)(?:\{([a-z]+)=)?", asked):
            if name not in ("node_type",):
                assert name in there, name
                assert not label or any(key.startswith(f"{name}{{") and f'{label}="' in key for key in found)


def test_labels_are_escaped() -> None:
    """W-10.1.2: what somebody has called a thing cannot break the page."""
    page = ExpositionPage()
    page.family("x", "gauge", "a\nb\\", [({"l": 'q"\\\n'}, 1.0), ({}, None), ({}, 0.25)])
    assert page.text() == '# HELP x a\\nb\\\\\n# TYPE x gauge\nx{l="q\\"\\\\\\n"} 1\nx NaN\nx 0.25\n'


def _timed(meter: MetricsCollector, kept: list[tuple[Any, ...]]) -> int:
    spent = 0
    for live, run, facts, n, now in kept:
        live.run = run
        began = time.perf_counter_ns()
        meter._turn(live, facts, n, now)
        spent += time.perf_counter_ns() - began
    return spent


def test_a_step_costs_less_than_a_few_microseconds(world: World) -> None:
    """W-10.1.1: nobody pays for metrics that nobody scrapes."""

    async def scene() -> None:
        async with world.open() as door:
            meter = watched(door)
            kept: list[tuple[Any, ...]] = []
            door.host.turns.on_facts.append(lambda live, facts, n, now: kept.append((live, live.run, facts, n, now)))
            await door.run(DEFECT)
            best = min(_timed(meter, kept) for _ in range(50)) / len(kept)
            print(f"a step of {len(kept)}, with {sum(len(one[2]) for one in kept)} facts in all: {best:.0f} ns")
            assert best < 10_000, "far above what it takes, for machines that have other things to do"

    asyncio.run(scene())
