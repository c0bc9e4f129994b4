"""Figures of executions for the endpoint of metrics and for alarms (F-7.2, F-X.32)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.app.pipeline.measures.metrics import (
    HELP,
    DeadLetters,
    Figures,
    IngestTotals,
    Pending,
    read_figures,
    thresholds,
)
from penstock.store.address import DEFAULT_TENANT
from penstock.store.contract import Store
from penstock.store.executions import FailingStage, StageMetric

_BADLY = frozenset({"FAILED", "TIMEOUT"})


class PipelineFigures:
    """Asked every few seconds, of some tenants together."""

    help = HELP

    def __init__(self, store: Store, settings: Mapping[str, Any]) -> None:
        self.store, self.thresholds = store, thresholds(settings)

    def read(self, versions: Mapping[str, Any], now: int) -> Figures:
        return together([read_figures(self.store, tenant, now) for tenant in versions])

    def channels(self, tenant: str) -> list[Mapping[str, Any]]:
        """F-X.32: those that definitions in force name for executions that end badly, each once."""
        named: list[Mapping[str, Any]] = []
        for config in self.store.notification_configs((tenant, DEFAULT_TENANT)):
            if _BADLY & set(config.get("on") or ()):
                named += [channel for channel in config.get("channels") or () if channel not in named]
        return named


def together(many: Sequence[Figures]) -> Figures:
    every = Figures(pending=Pending(0, None, None), dlq=DeadLetters(0, None), ingest=IngestTotals())
    for one in many:
        every.ended += one.ended
        every.completed += one.completed
        every.failed += one.failed
        every.retried += one.retried
        every.pending.count += one.pending.count
        every.pending.oldest_ms = _larger(every.pending.oldest_ms, one.pending.oldest_ms)
        every.pending.mean_ms = _larger(every.pending.mean_ms, one.pending.mean_ms)
        every.dlq.messages = max(every.dlq.messages, one.dlq.messages)
        every.dlq.rate = _larger(every.dlq.rate, one.dlq.rate)
        every.ingest.messages += one.ingest.messages
        every.ingest.duplicate += one.ingest.duplicate
        every.failing = _most([*every.failing, *one.failing])
        every.stage_metrics = _means([*every.stage_metrics, *one.stage_metrics])
    return every


def _most(stages: list[FailingStage]) -> list[FailingStage]:
    counts: dict[tuple[str | None, str], int] = {}
    for each in stages:
        at = (each.pipeline_code, each.stage_code)
        counts[at] = counts.get(at, 0) + each.failures
    return [FailingStage(*at, count) for at, count in sorted(counts.items(), key=lambda pair: -pair[1])[:5]]


def _means(metrics: list[StageMetric]) -> list[StageMetric]:
    """Of several tenants together: each counts as often as its stages have told it."""
    sums: dict[tuple[str, str, str], tuple[float, int]] = {}
    for each in metrics:
        at = (each.pipeline_code, each.stage_code, each.metric)
        total, count = sums.get(at, (0.0, 0))
        sums[at] = (total + each.mean * each.count, count + each.count)
    return [StageMetric(*at, total / count, count) for at, (total, count) in sorted(sums.items())]


def _larger(left: Any, right: Any) -> Any:
    return max((each for each in (left, right) if each is not None), default=None)
