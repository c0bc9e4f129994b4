"""The dashboard of W-10.3.1: its panels by row, what Grafana asks for them, and their values now (C-66)."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.app.metrics.histogram import quantile
from penstock.app.metrics.readings import Readings

NAME = "workflow_dashboard"


class Panel(msgspec.Struct, frozen=True):
    """`printed` is the query of the seed. `query` asks the same of the aggregates: `count()` of them would count
    series (C-62)."""

    id: str
    row: str
    title: str
    type: str
    printed: str
    query: str = ""
    unit: str = "short"
    id_of_seed: str = "W-10.3.1"

    @property
    def asks(self) -> str:
        return self.query or self.printed


PANELS = (
    Panel(
        "active_workflows", "Overview", "Active Workflows", "stat", "count(workflow_versions{status='active'})",
        "sum(workflow_versions{status='active'})",
    ),
    Panel(
        "running_instances", "Overview", "Running Instances", "stat", "count(workflow_instances{status='running'})",
        "sum(workflow_instances{status='running'})",
    ),
    Panel(
        "success_rate", "Overview", "Success Rate (24h)", "gauge",
        "sum(rate(workflow_success_total[24h])) / sum(rate(workflow_execution_total[24h]))",
        "sum(rate(workflow_success_total[24h]))"
        " / sum(rate(workflow_execution_total{status=~'completed|failed|compensated'}[24h]))", "percentunit",
    ),
    Panel(
        "executions_by_status", "Execution Metrics", "Executions by Status", "timeseries",
        "sum by (status) (rate(workflow_execution_total[5m]))", unit="reqps",
    ),
    Panel(
        "duration_distribution", "Execution Metrics", "Duration Distribution", "histogram",
        "histogram_quantile(0.95, workflow_duration_bucket)", unit="s",
    ),
    Panel(
        "slowest_nodes", "Node Performance", "Slowest Nodes", "table",
        "topk(10, avg by (node_type) (node_duration_seconds))", unit="s",
    ),
    Panel(
        "node_error_rate", "Node Performance", "Node Error Rate", "timeseries",
        "sum by (node_type) (rate(node_error_total[5m]))", unit="reqps",
    ),
    Panel(
        "pending_approvals", "Approvals & Waiting", "Pending Approvals", "stat",
        "count(approval_requests{status='pending'})", "sum(approval_requests{status='pending'})",
    ),
    Panel(
        "approval_response_time", "Approvals & Waiting", "Approval Response Time", "timeseries",
        "histogram_quantile(0.5, approval_response_time_bucket)", unit="s",
    ),
)  # fmt: skip


class PanelValue(msgspec.Struct, kw_only=True):
    """`values` has one entry for each label that the query keeps; `value` is that of a query that keeps none."""

    id: str
    row: str
    title: str
    type: str
    unit: str
    query: str
    value: float | None = None
    values: dict[str, float] | None = None


def values(read: Readings) -> list[PanelValue]:
    executions, errors = read.per_second()
    means = {
        kind.type: round(ms / 1000, 6) for kind in read.of.kinds.values() if (ms := kind.spread.mean_ms()) is not None
    }
    slowest = dict(sorted(means.items(), key=lambda item: -item[1])[:10])
    duration, response = read.of.duration, read.of.response
    figures: dict[str, Any] = {
        "active_workflows": float(read.versions()["active"]), "running_instances": float(read.instances()["running"]),
        "success_rate": read.success_rate(), "executions_by_status": executions,
        "duration_distribution": _seconds(quantile(duration.bounds, duration.recent(), 0.95)),
        "slowest_nodes": slowest, "node_error_rate": errors, "pending_approvals": float(read.pending_approvals()),
        "approval_response_time": _seconds(quantile(response.bounds, response.recent(), 0.5)),
    }  # fmt: skip
    return [_shown(panel, figures[panel.id]) for panel in PANELS]


def _shown(panel: Panel, value: Any) -> PanelValue:
    many = isinstance(value, dict)
    return PanelValue(
        id=panel.id, row=panel.row, title=panel.title, type=panel.type, unit=panel.unit, query=panel.asks,
        value=None if many else value, values=value if many else None,
    )  # fmt: skip


def _seconds(ms: float | None) -> float | None:
    return None if ms is None else ms / 1000


def grafana(name: str = NAME, drawn: tuple[Panel, ...] = PANELS) -> dict[str, Any]:
    """A dashboard as Grafana imports it; the files in `deploy/grafana` are this."""
    panels: list[dict[str, Any]] = []
    rows = list(dict.fromkeys(panel.row for panel in drawn))
    y = number = 0
    for row in rows:
        number += 1
        panels.append({"id": number, "type": "row", "title": row, "collapsed": False, "panels": [],
                       "gridPos": {"x": 0, "y": y, "w": 24, "h": 1}})  # fmt: skip
        mine = [panel for panel in drawn if panel.row == row]
        for i, panel in enumerate(mine):
            number += 1
            at = {"x": i * (24 // len(mine)), "y": y + 1, "w": 24 // len(mine), "h": 8}
            panels.append(_panel(panel, number, at))
        y += 9
    source = {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"}
    return {
        "uid": name.replace("_", "-"), "title": name, "tags": ["penstock"], "timezone": "browser", "editable": True,
        "schemaVersion": 39, "version": 1, "refresh": "30s", "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [source]}, "annotations": {"list": []}, "panels": panels,
    }  # fmt: skip


def _panel(panel: Panel, number: int, at: dict[str, int]) -> dict[str, Any]:
    source = {"type": "prometheus", "uid": "${datasource}"}
    target: dict[str, Any] = {"refId": "A", "datasource": source, "expr": panel.asks}
    if panel.type == "table":
        target |= {"instant": True, "format": "table"}
    # what Grafana calls a histogram makes buckets of raw values; ours are made already, so their quantile is a line
    kind = "timeseries" if panel.type == "histogram" else panel.type
    return {
        "id": number, "type": kind, "title": panel.title, "description": f"{panel.id_of_seed}: {panel.printed}",
        "datasource": source, "gridPos": at, "targets": [target],
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []}, "options": {},
    }  # fmt: skip
