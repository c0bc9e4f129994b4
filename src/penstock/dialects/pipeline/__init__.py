"""Pipelines while they live: the statuses of executions and stages (seed 003)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.dialects.contract import Dialect, HostServices, ProjectedRun, Runtime
from penstock.dialects.pipeline.definition_snapshot import definition_snapshot
from penstock.dialects.pipeline.labels import LABELS
from penstock.dialects.pipeline.words import WORDS
from penstock.errors import ExecutionState
from penstock.net.model import Net
from penstock.store.projection import Projector


class Pipeline(Dialect):
    name = "pipeline"
    words = WORDS
    labels = LABELS
    synthetic_types = frozenset({"start", "end", "merge", "condition", "rollback"})

    conflict = ExecutionState

    def node_types(self) -> dict[str, Any]:
        """F-X.14: processors that decorators and installed packages bring; each may have something to undo."""
        from penstock.executors.processors import processor_names
        from penstock.lang.pipeline.processors import PROCESSORS, ProcessorType

        return {name: ProcessorType(name, rollback=True) for name in processor_names() if name not in PROCESSORS}

    def runtime(self, services: HostServices) -> Runtime:
        from penstock.dialects.pipeline.runtime import PipelineRuntime

        return PipelineRuntime(services)

    def projector(self, of: ProjectedRun) -> Projector:
        from penstock.dialects.pipeline.execution_rows import ExecutionRows

        return ExecutionRows(of)

    def span_attributes(self, answer: Mapping[str, Any]) -> dict[str, int | float]:
        """F-X.33: what `metrics_config` asks a stage for."""
        metrics = answer.get("metrics")
        told = metrics.items() if isinstance(metrics, Mapping) else ()
        return {f"penstock.metric.{name}": value for name, value in told if isinstance(value, int | float)}

    def title(self, net: Net, source: Callable[[], bytes | None]) -> str:
        return str(definition_snapshot(net).get("pipeline_name") or "")


DIALECT = Pipeline()

__all__ = ["DIALECT", "Pipeline", "definition_snapshot"]
