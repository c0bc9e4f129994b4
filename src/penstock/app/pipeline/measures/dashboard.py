"""The dashboard of executions (F-7.1, F-9.9): its panels, as Grafana imports them."""

from __future__ import annotations

from typing import Any

from penstock.app.metrics.dashboard import Panel
from penstock.app.metrics.dashboard import grafana as drawn

NAME = "pipeline_dashboard"


def _panel(id: str, row: str, title: str, type: str, query: str, unit: str = "short") -> Panel:
    return Panel(id, row, title, type, query, unit=unit, id_of_seed="F-9.9")


PANELS = (
    _panel("success", "Executions", "Success rate", "gauge", "pipeline_success_rate", "percentunit"),
    _panel("throughput", "Executions", "Throughput per minute", "timeseries", "pipeline_throughput_per_minute"),
    _panel("retries", "Executions", "Retry rate", "timeseries", "pipeline_retry_rate", "percentunit"),
    _panel("pending", "PENDING", "PENDING executions", "timeseries", "pipeline_pending_executions"),
    _panel("oldest", "PENDING", "Oldest PENDING", "timeseries", "pipeline_pending_oldest_seconds", "s"),
    _panel("dwell", "PENDING", "Mean PENDING dwell", "timeseries", "pipeline_pending_mean_seconds", "s"),
    _panel("stages", "Failures", "Top failing stages", "table", "topk(5, pipeline_stage_failures)"),
    _panel("dlq", "Failures", "DLQ messages", "stat", "pipeline_dlq_messages"),
    _panel("dlq_rate", "Failures", "DLQ rate", "timeseries", "pipeline_dlq_rate", "percentunit"),
    _panel("duplicates", "Failures", "Duplicates dropped", "stat", "pipeline_duplicates"),
    _panel("told", "Stages", "Stage metrics", "timeseries", "pipeline_stage_metric"),
)


def grafana() -> dict[str, Any]:
    return drawn(NAME, PANELS)
