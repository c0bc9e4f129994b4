"""Metrics of executions (F-7.2, F-9.9, F-A.20) and their alarms (F-X.32), from rows: nothing is folded for them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from penstock.app.language import MetricThreshold
from penstock.app.pipeline.intake.dead_queue import DEAD_QUEUE
from penstock.app.pipeline.measures.usage import DayUsage, usage
from penstock.app.runs.queries import Queries
from penstock.dialects.pipeline.stage_rows import moment
from penstock.errors import PenstockError
from penstock.lang.pipeline.messages import messages_of
from penstock.store.address import DEFAULT_TENANT
from penstock.store.contract import Store
from penstock.store.executions import FailingStage, StageMetric
from penstock.store.queues import QueueMessage

#: rates are of the last hour
WINDOW_MS = 3_600_000
_DAY_MS = 86_400_000
TOP = 5
#: runs of the store whose stages are looked at for their own metrics, the newest, and series of them
_NEWEST_RUNS, MOST_SERIES = 2000, 500
#: dead messages that are looked into for whose they are
_LOOKED = 500
_SETTING = "pipelines.alarms."
#: F-X.32: name of the metric, name of the setting, whether it should not fall below, the usual line, its unit
_LINES = (
    ("pipeline_success_rate", "success_rate", True, 0.95, "ratio"),
    ("pipeline_pending_oldest_seconds", "pending_seconds", False, 300.0, "s"),
    ("pipeline_retry_rate", "retry_rate", False, 0.2, "ratio"),
    ("pipeline_dlq_messages", "dlq_messages", False, 0.0, "messages"),
)


class Pending(msgspec.Struct, rename="camel"):
    """Executions that could be picked up now. `oldest_ms`: how long the oldest could have been; `mean_ms`: how long
    those that have ended in the last hour had waited."""

    count: int
    oldest_ms: int | None
    mean_ms: int | None


class DeadLetters(msgspec.Struct, rename="camel"):
    """`rate`: of the messages of a day, those that could not be taken."""

    messages: int
    rate: float | None


class IngestTotals(msgspec.Struct, rename="camel"):
    """Of today and yesterday."""

    messages: int = 0
    duplicate: int = 0
    unmatched: int = 0
    too_large: int = 0


class PipelineAlarm(msgspec.Struct, rename="camel"):
    metric: str
    threshold: float
    comparison: str
    unit: str
    value: float | None
    raised: bool


class PipelineMetrics(msgspec.Struct, rename="camel"):
    """F-A.20. Rates are none where nothing has ended yet."""

    tenant_id: str
    window_ms: int
    ended: int
    completed: int
    failed: int
    success_rate: float | None
    retry_rate: float | None
    throughput_per_minute: float
    pending: Pending
    failing_stages: list[FailingStage]
    dlq: DeadLetters
    ingest: IngestTotals
    usage: list[DayUsage]
    alarms: list[PipelineAlarm]


def metrics(door: Queries, *, top: int = TOP, days: int = 30) -> PipelineMetrics:
    """Of the door's tenant, now."""
    now, figures = door.now(), read_figures(door.store, door.tenant, door.now())
    values = figures.values()
    alarms = [
        PipelineAlarm(
            line.metric, line.threshold, "<" if line.below else ">", line.unit, values[line.metric],
            (value := values[line.metric]) is not None and line.beyond(value),
        )
        for line in thresholds(door.settings)
    ]  # fmt: skip
    return PipelineMetrics(
        door.tenant, WINDOW_MS, figures.ended, figures.completed, figures.failed, values["pipeline_success_rate"],
        values["pipeline_retry_rate"], figures.ended * 60_000 / WINDOW_MS, figures.pending,
        door.store.failing_stages(door.tenant, moment(now - _DAY_MS), top), figures.dlq, figures.ingest,
        usage(door, since=now - days * _DAY_MS), alarms,
    )  # fmt: skip


def thresholds(settings: Mapping[str, Any]) -> list[MetricThreshold]:
    """F-X.32: `[pipelines.alarms]` in the settings, else the usual ones."""
    lines = []
    for metric, name, below, usual, unit in _LINES:
        value = settings.get(_SETTING + name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            usual = float(value)
        lines.append(MetricThreshold(metric, below, usual, unit))
    return lines


class Figures(msgspec.Struct, kw_only=True):
    """Of one tenant, or of several together."""

    ended: int = 0
    completed: int = 0
    failed: int = 0
    retried: int = 0
    pending: Pending
    dlq: DeadLetters
    ingest: IngestTotals
    failing: list[FailingStage] = []
    stage_metrics: list[StageMetric] = []

    def values(self) -> dict[str, float | None]:
        """By the names of their metrics. What was cancelled says nothing about success."""
        tried = self.completed + self.failed
        oldest = self.pending.oldest_ms
        return {
            "pipeline_success_rate": self.completed / tried if tried else None,
            "pipeline_retry_rate": self.retried / self.ended if self.ended else None,
            "pipeline_throughput_per_minute": self.ended * 60_000 / WINDOW_MS,
            "pipeline_pending_executions": float(self.pending.count),
            "pipeline_pending_oldest_seconds": None if oldest is None else oldest / 1000,
            "pipeline_pending_mean_seconds": None if self.pending.mean_ms is None else self.pending.mean_ms / 1000,
            "pipeline_dlq_messages": float(self.dlq.messages),
            "pipeline_dlq_rate": self.dlq.rate,
            "pipeline_messages": float(self.ingest.messages),
            "pipeline_duplicates": float(self.ingest.duplicate),
        }

    def counters(self) -> dict[str, float]:
        return {}

    def families(self) -> dict[str, list[tuple[dict[str, str], float]]]:
        rows = [
            ({"pipeline": each.pipeline_code or "", "stage": each.stage_code}, float(each.failures))
            for each in self.failing
        ]
        told = [
            ({"pipeline": each.pipeline_code, "stage": each.stage_code, "metric": each.metric}, each.mean)
            for each in self.stage_metrics[:MOST_SERIES]
        ]
        return {"pipeline_stage_failures": rows, "pipeline_stage_metric": told}


#: what is said about each metric
HELP = {
    "pipeline_success_rate": "Completed of completed, failed and timed out executions, the last hour.",
    "pipeline_retry_rate": "Executions that needed another attempt, of those that ended in the last hour.",
    "pipeline_throughput_per_minute": "Executions that ended per minute, the last hour.",
    "pipeline_pending_executions": "Executions that wait to be picked up.",
    "pipeline_pending_oldest_seconds": "How long the oldest of them could have been picked up.",
    "pipeline_pending_mean_seconds": "How long executions that ended in the last hour had waited.",
    "pipeline_dlq_messages": "Messages that could not be taken.",
    "pipeline_dlq_rate": "Messages that could not be taken, of those of today and yesterday.",
    "pipeline_messages": "Messages of today and yesterday.",
    "pipeline_duplicates": "Executions that messages of today and yesterday asked for and that were there already.",
    "pipeline_stage_failures": "The stages that failed most often, 24 hours.",
    "pipeline_stage_metric": "Mean of a number that a stage's metrics_config names, the newest of the last hour.",
}


def read_figures(store: Store, tenant: str, now: int) -> Figures:
    since = moment(now - WINDOW_MS)
    ended = store.executions_ended(tenant, since)
    count, oldest = store.executions_pending(tenant, moment(now))
    waits = [_ms(began) - _ms(asked) for asked, began in store.executions_begun(tenant, since)]
    ingest = IngestTotals()
    for row in store.ingest_days(tenant, moment(now - _DAY_MS)[:10]):
        ingest.messages += row.messages
        ingest.duplicate += row.duplicates
        ingest.unmatched += row.unmatched
        ingest.too_large += row.too_large
    dead, fresh = _dead(store, tenant, now - _DAY_MS)
    every = ingest.messages + fresh
    return Figures(
        ended=ended.ended, completed=ended.completed, failed=ended.failed, retried=ended.retried,
        pending=Pending(
            count, None if oldest is None else max(0, now - _ms(oldest)), sum(waits) // len(waits) if waits else None
        ),
        dlq=DeadLetters(dead, fresh / every if every else None), ingest=ingest,
        failing=store.failing_stages(tenant, moment(now - _DAY_MS), TOP),
        stage_metrics=store.stage_metrics(tenant, since, store.last_run() - _NEWEST_RUNS),
    )  # fmt: skip


def _dead(store: Store, tenant: str, since: int) -> tuple[int, int]:
    """Messages in the queue of dead ones: those that name the tenant, of the first tenant all; and how many of them
    came there since a time."""
    size = store.queue_size(DEAD_QUEUE)
    if not size:
        return 0, 0
    looked = store.queued(DEAD_QUEUE, limit=_LOOKED)
    mine = looked if tenant == DEFAULT_TENANT else [each for each in looked if _names(each, tenant)]
    fresh = sum(each.visible_at >= since for each in mine)
    return (size if tenant == DEFAULT_TENANT else len(mine)), fresh


def _names(message: QueueMessage, tenant: str) -> bool:
    try:
        attributes = msgspec.msgpack.decode(message.attributes, type=dict[str, str])
        return any(each.tenant_id == tenant for each in messages_of(message.body, attributes))
    except PenstockError:
        return False


def _ms(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000)
