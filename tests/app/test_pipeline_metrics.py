"""Metrics, usage and alarms of executions (F-7.2, F-8.3, F-9.9), on both databases."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.app.metrics.alarms import Alarms
from penstock.app.metrics.collector import MetricsCollector
from penstock.app.metrics.otel import Spans
from penstock.app.metrics.series import exposed
from penstock.app.pipeline.follow_ups import FollowUpDelivery
from penstock.app.pipeline.intake.dead_queue import DEAD_QUEUE
from penstock.app.pipeline.intake.ingest import Ingest
from penstock.app.pipeline.measures.correlation import correlation
from penstock.app.pipeline.measures.dashboard import PANELS, grafana
from penstock.app.pipeline.measures.metrics import HELP, metrics, thresholds
from penstock.app.pipeline.measures.usage import usage
from penstock.errors.pipeline import ExecutionNotFound
from penstock.executors.contract import failed
from penstock.lang.pipeline.messages import messages_of
from tests.app.pipelines import EXAMPLE, Processor, a_pipeline, a_stage, driven, ended
from tests.conformance.decision.world import go
from tests.house.files import ROOT
from tests.servers.places import store_of

BROKEN = failed("IMAGE_BROKEN", "validation", "It is no picture.", {"usage": {"wall_ms": 3, "cpu_ms": 1}})
BUSY = failed("BUSY", "transient", "Not now.")
USED = {"wall_ms": 10, "cpu_ms": 4, "peak_rss": 900, "bytes_in": 100, "bytes_out": 50, "llm_tokens": 7}
MADE = {"output": {}, "output_ref": "tenants/t/x", "usage": USED}


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest) -> str:
    return store_of(request.param)


async def done(door: Any, processor: Processor, **answers: Any) -> None:
    """One more file, processed with these answers."""
    processor.answers = {"first": MADE, "second": MADE, **answers}
    key = f"file-{len(processor.asked)}.png"
    (receipt,) = await Ingest(door).take(messages_of({**EXAMPLE, "key": key}))
    await ended(door.of("tnt_demo"), receipt.started[0])


def test_f_a_20_metrics_have_everything_that_the_seed_names(tmp_path: Path, store: str) -> None:
    """F-A.20, F-7.2, F-9.9: success rate, PENDING dwell, top-K failing stages, retry rate, throughput, DLQ rate, usage
    per tenant; F-A.2's duplicates."""

    async def scene() -> None:
        processor = Processor()
        stages = [a_stage("first", 1, max_retries=1, retry_strategy="IMMEDIATE"), a_stage("second", 2)]
        settings = {"pipelines.rates.cpu_ms": 0.5, "pipelines.rates.llm_tokens": 1}
        async with driven(
            tmp_path, a_pipeline(stages=stages), processor=processor, store=store, settings=settings
        ) as door:
            for _ in range(3):
                await done(door, processor)
            await done(door, processor, second=BROKEN)
            tries: list[int] = []

            async def at_last() -> Any:
                tries.append(1)
                return BUSY if len(tries) == 1 else MADE

            await done(door, processor, first=at_last)
            await Ingest(door).take(messages_of({**EXAMPLE, "key": "file-0.png"}))
            door.store.send_messages(DEAD_QUEUE, [("dead", b"{}", b"\x80")], door.now())
            told = metrics(door.of("tnt_demo"))
            assert (told.ended, told.completed, told.failed, told.success_rate) == (5, 4, 1, 0.8)
            assert (told.retry_rate, told.throughput_per_minute) == (0.2, 5 / 60)
            assert (told.pending.count, told.pending.oldest_ms) == (0, None)
            assert told.pending.mean_ms is not None and told.pending.mean_ms >= 0
            (worst,) = told.failing_stages
            assert (worst.pipeline_code, worst.stage_code, worst.failures) == ("IMG_BASIC", "second", 1)
            assert (told.ingest.messages, told.ingest.duplicate) == (6, 1)
            (day,) = told.usage
            assert (day.executions, day.completed, day.failed) == (5, 4, 1)
            assert (day.cpu_ms, day.peak_rss, day.llm_tokens) == (9 * 4 + 1, 900, 9 * 7)
            assert day.cost == pytest.approx(0.5 * 37 + 63)
            mine = metrics(door)
            assert (mine.dlq.messages, mine.dlq.rate, mine.ended) == (1, 1.0, 0)
            assert {alarm.metric for alarm in told.alarms if alarm.raised} == {"pipeline_success_rate"}
            assert {alarm.metric for alarm in mine.alarms if alarm.raised} == {"pipeline_dlq_messages"}

    go(scene())


def test_f_7_2_pending_executions_are_counted_with_their_age(tmp_path: Path, store: str) -> None:
    """F-7.2, F-X.32: how long the oldest that could be picked up has waited; the alarm is at 300 s."""

    async def scene() -> None:
        async with driven(tmp_path, a_pipeline(), store=store, settings={"pipelines.slots": 0}) as door:
            await Ingest(door).take(messages_of(EXAMPLE))
            mine = door.of("tnt_demo")
            told = metrics(mine)
            assert told.pending.count == 1 and told.pending.oldest_ms is not None and told.pending.oldest_ms < 60_000
            now = door.now()
            mine.now = lambda: now + 301_000  # type: ignore[method-assign]
            later = metrics(mine)
            assert later.pending.oldest_ms is not None and later.pending.oldest_ms > 300_000
            assert [alarm.metric for alarm in later.alarms if alarm.raised] == ["pipeline_pending_oldest_seconds"]

    go(scene())


def test_f_x_32_alarms_have_configurable_thresholds() -> None:
    """F-X.32, F-9.9: success rate < 95%, oldest PENDING > 300 s, retry rate > 20%, any DLQ message."""
    usual = [(line.metric, line.below, line.threshold) for line in thresholds({})]
    assert usual == [
        ("pipeline_success_rate", True, 0.95), ("pipeline_pending_oldest_seconds", False, 300),
        ("pipeline_retry_rate", False, 0.2), ("pipeline_dlq_messages", False, 0),
    ]  # fmt: skip
    set_ = thresholds({"pipelines.alarms.success_rate": 0.5, "pipelines.alarms.dlq_messages": 10})
    assert [line.threshold for line in set_] == [0.5, 300, 0.2, 10]


def test_f_9_9_alarms_are_shown_among_the_metrics_and_sent_by_notification_config(tmp_path: Path) -> None:
    """F-9.9, F-X.32, F-7.2: raised once, told through the channels of the definitions; the scrape has every figure."""
    notify = {"on": ["FAILED"], "channels": [{"type": "webhook", "url": "https://ops.example/alarm"}]}

    async def scene() -> None:
        processor = Processor()
        document = a_pipeline(notification_config=notify)
        async with driven(tmp_path, document, processor=processor) as door:
            meter = MetricsCollector(door.store)
            meter.attach(door.host)
            await done(door, processor, second=BROKEN)
            door.store.outbox_moved([row[0] for row in door.store.outbox(door.now(), 100)], [])
            alarms = Alarms(meter, door.host)
            raised = {alarm.metric for alarm in alarms.look()}
            assert "pipeline_success_rate" in raised
            assert "pipeline_success_rate" in alarms.of("tnt_demo").open
            sent = _notices(door)
            assert any("ops.example/alarm" in text and "pipeline_success_rate" in text for text in sent)
            text = exposed(meter, "tnt_demo", door.now())
            assert "pipeline_success_rate 0" in text
            assert 'pipeline_stage_failures{pipeline="IMG_BASIC",stage="second"} 1' in text

    go(scene())


def _notices(door: Any) -> list[str]:
    return [str(bytes(row[0])) for row in door.store.c.execute("SELECT body FROM outbox").fetchall()]


def test_f_8_3_usage_costs_a_row_per_day_however_many_executions(tmp_path: Path) -> None:
    """F-8.3, F-X.35: no execution is read for it."""

    async def scene() -> None:
        processor = Processor()
        async with driven(tmp_path, a_pipeline(), processor=processor) as door:
            mine, reads = door.of("tnt_demo"), []
            plain = door.store._read

            def counted(sql: str, values: Any = ()) -> Any:
                reads.append(sql)
                return plain(sql, values)

            for many in (1, 5):
                for _ in range(many):
                    await done(door, processor)
                mine.store._read = counted
                reads.clear()
                (day,) = usage(mine)
                mine.store._read = plain
                assert [sql for sql in reads if "FROM usage" in sql] == reads[:1]
                assert not any("journal" in sql or "execution " in sql for sql in reads) and len(reads) <= 2
            assert (day.executions, day.cpu_ms) == (6, 48)

    go(scene())


def test_f_7_1_one_trace_id_leads_from_the_file_to_the_extraction(tmp_path: Path, store: str) -> None:
    """F-7.1, F-9.5, F-1.3.21, F-1.4.12, F-A.1: file, execution, stages and the event downstream have the same one."""
    extraction = {"extractionType": "text", "method": "ocr", "confidence": 0.9}

    async def scene() -> None:
        processor = Processor({"first": {**MADE, "extraction": extraction}})
        async with driven(tmp_path, a_pipeline(), processor=processor, store=store) as door:
            (receipt,) = await Ingest(door).take(messages_of(EXAMPLE))
            mine = door.of("tnt_demo")
            await ended(mine, receipt.started[0])
            await FollowUpDelivery(door).step()
            told = correlation(mine, EXAMPLE["traceId"])
            (file,), (look,), (event,) = told.files, told.executions, told.extractions
            assert (file.id, file.key) == (receipt.file_id, "path/to/object")
            assert (look.execution_id, [stage.stage_code for stage in look.stages]) == (
                receipt.started[0], ["first", "second"],
            )  # fmt: skip
            assert (event.trace_id, event.stage_code, event.confidence) == (EXAMPLE["traceId"], "first", 0.9)
            asset = door.store.file_asset("tnt_demo", receipt.file_id)
            assert asset is not None and asset.trace == EXAMPLE["traceId"]
            with pytest.raises(ExecutionNotFound):
                correlation(door, EXAMPLE["traceId"])  # another tenant's

    go(scene())


def test_f_9_9_the_dashboard_asks_for_metrics_that_there_are() -> None:
    """F-9.9, F-7.1: success rate, PENDING dwell, top-K failures, retry rate, DLQ."""
    file = json.loads((ROOT / "deploy" / "grafana" / "pipeline_dashboard.json").read_text())
    assert file == json.loads(msgspec.json.encode(grafana())), "made by measures.dashboard.grafana()"
    asked = {name for panel in PANELS for name in re.findall(r"pipeline_[a-z_]+", panel.asks)}
    assert asked <= set(HELP)
    needed = {"success_rate", "pending_oldest_seconds", "stage_failures", "retry_rate", "dlq_messages", "dlq_rate"}
    assert {f"pipeline_{name}" for name in needed} <= asked


def test_f_x_33_what_a_stage_is_asked_to_tell_is_exported(tmp_path: Path, store: str) -> None:
    """F-X.33, F-1.2.17: `metrics_config.emit` in what Prometheus reads, as the mean of its runs, for the tenant and for
    all; and in the span of the stage. A stage that is not asked tells nothing."""

    async def scene() -> None:
        processor = Processor()
        asked = a_stage("first", 1, metrics_config={"emit": ["pages", "cpu_ms"]})
        document = a_pipeline(stages=[asked, a_stage("second", 2)])
        async with driven(tmp_path, document, processor=processor, store=store) as door:
            meter, spans = MetricsCollector(door.store), Spans("http://127.0.0.1:9")
            meter.attach(door.host)
            spans.attach(door.host)
            for pages in (2, 5):
                await done(door, processor, first={**MADE, "metrics": {"pages": pages, "cpu_ms": 4, "sure": 0.5}})
            for tenant in ("tnt_demo", None):
                page = exposed(meter, tenant, door.now())
                labels = 'pipeline="IMG_BASIC",stage="first",metric='
                assert f'pipeline_stage_metric{{{labels}"pages"}} 3.5' in page
                assert f'pipeline_stage_metric{{{labels}"cpu_ms"}} 4' in page
                assert 'stage="second",metric' not in page and "duration_ms" not in page
            told = [
                {each["key"]: each["value"] for each in span["attributes"]}
                for span in spans.waiting
                if span["name"] == "first"
            ]
            assert [each["penstock.metric.pages"] for each in told] == [{"intValue": "2"}, {"intValue": "5"}]
            assert told[0]["penstock.metric.sure"] == {"doubleValue": 0.5}

    go(scene())
