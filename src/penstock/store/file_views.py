"""Views of what is stored about files, under the names and with the columns that the seed gives them (F-1.3 to F-1.5).

Times of executions and stage logs are texts in their tables, so that what readers ask by time is answered by an index.
"""

from __future__ import annotations

from collections.abc import Callable

FILE_VIEWS = ("pipeline_executions", "pipeline_stage_logs", "pipeline_schedules", "file_assets", "dead_letter_queue")
#: of an execution: the number of the one that it repeats
_PARENT = "(SELECT p.no FROM run p WHERE p.id = t.parent) AS parent_execution_id"
#: of a schedule: the number of the pipeline that it begins, whoever has defined it
_PIPELINE = "(SELECT min(d.id) FROM pipeline_definitions d WHERE d.pipeline_code = t.code) AS pipeline_id"
_EXECUTION = (
    "execution_id", "pipeline_id", "file_id", "tenant_id", "organization_id", _PARENT, "trigger_type", "status",
    "priority", "current_stage_id", "total_stages", "completed_stages", "input_params", "output_results",
    "execution_context", "error_message", "error_code", "error_stage_id", "retry_count", "worker_id",
    "resource_usage", "performance_metrics", "idempotency_key", "trace_id", "started_at", "completed_at",
    "duration_ms", "created_at", "updated_at", "cancel_requested_at", "next_attempt_at",
)  # fmt: skip
_LOG = (
    "stage_id", "stage_execution_id", "tenant_id", "organization_id", "status", "input_ref", "output_ref",
    "stage_context", "error_message", "error_stack_trace", "retry_count", "resource_usage", "performance_metrics",
    "trace_id", "started_at", "completed_at", "duration_ms",
)  # fmt: skip
_JSON = frozenset({
    "input_params", "output_results", "execution_context", "resource_usage", "performance_metrics", "stage_context",
})  # fmt: skip


def file_views(json: Callable[[str], str], moment: Callable[[str, str], str]) -> dict[str, str]:
    """`json` and `moment` are how a database shows a JSON text and a time in milliseconds: of a column, as a name."""

    def columns(names: tuple[str, ...]) -> str:
        return ", ".join(
            name if name.startswith("(") else json(f"t.{name}") if name in _JSON else f"t.{name}" for name in names
        )

    return {
        # leases are the store's own: one process drives it (F-X.3)
        "pipeline_executions": (
            f"SELECT t.run AS id, {columns(_EXECUTION)}, NULL AS lease_expires_at FROM execution t"
        ),
        "pipeline_stage_logs": f"SELECT t.id, t.run AS execution_id, {columns(_LOG)} FROM stage_log t",
        "pipeline_schedules": (
            f"SELECT t.id, t.name AS schedule_name, {_PIPELINE}, t.tenant AS tenant_id, t.organization_id,"
            " t.type AS schedule_type, t.cron AS cron_expression, t.interval_s AS interval_seconds,"
            " t.filter AS target_filter, t.params AS execution_params, t.zone AS timezone, t.active AS is_active,"
            f" {moment('t.last_at', 'last_execution_at')}, {moment('t.next_at', 'next_execution_at')},"
            f" {moment('t.created_at', 'created_at')}, {moment('t.updated_at', 'updated_at')} FROM file_schedule t"
        ),
        "file_assets": (
            "SELECT id, tenant AS tenant_id, organization_id, bucket, object_key, size, mime, etag, version_id,"
            f" trace AS trace_id, {moment('created_at', 'created_at')} FROM file_asset"
        ),
        # F-X.27: dead runs of every language and dead messages, each with the queue that it lies in
        "dead_letter_queue": (
            "SELECT queue AS queue_name, run AS reference, tenant AS tenant_id, code, category, replays,"
            f" {moment('at', 'created_at')}, {moment('until', 'expires_at')} FROM letter UNION ALL"
            " SELECT queue, id, CAST(NULL AS TEXT), code, 'message', replays,"
            f" {moment('visible_at', 'created_at')}, {moment('until', 'expires_at')} FROM queue_message"
            " WHERE until IS NOT NULL"
        ),
    }  # fmt: skip
