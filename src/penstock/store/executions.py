"""Executions, stage logs, usage and definitions of pipelines as their readers ask for them (F-1.1 to F-1.4, F-X.35)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec
from msgspec.structs import astuple

from penstock.store.execution_tables import DEFINITION, EXECUTION, INGEST, STAGE, STAGE_LOG, USAGE
from penstock.store.sql import Sql, is_in, marks
from penstock.store.table_shape import Table

#: the columns of an execution that change while it lives, in the order of `Batch.execution_moved`
MOVED = (
    "status", "current_stage_id", "completed_stages", "output_results", "execution_context", "error_message",
    "error_code", "error_stage_id", "retry_count", "stage_retries", "worker_id", "resource_usage",
    "performance_metrics", "started_at", "completed_at", "duration_ms", "updated_at", "cancel_requested_at",
    "next_attempt_at",
)  # fmt: skip
#: the columns of a stage log that change while it lives
LOG_MOVED = (
    "status", "input_ref", "output_ref", "stage_context", "error_message", "error_stack_trace", "retry_count",
    "resource_usage", "performance_metrics", "completed_at", "duration_ms",
)  # fmt: skip
#: what a stage log's performance_metrics have whether the stage is asked for metrics or not
OF_EVERY_STAGE = ("duration_ms", "retries")
#: of usage the largest counts, of everything else the sum
LARGEST = "peak_rss"
ADDED = tuple(name for name in USAGE.names if name not in ("tenant", "day"))


def _insert(table: Table) -> str:
    names = ",".join(f'"{name}"' for name in table.names)
    return f'INSERT INTO "{table.name}"({names}) VALUES({marks(table.names)})'


INSERT_EXECUTION = _insert(EXECUTION)
MOVE_EXECUTION = f"UPDATE execution SET {','.join(f'{name}=?' for name in MOVED)} WHERE run=?"
INSERT_STAGE_LOG = (
    f"{_insert(STAGE_LOG)} ON CONFLICT(run,seq) DO UPDATE SET "
    f"{','.join(f'{name}=excluded.{name}' for name in LOG_MOVED)}"
)


def usage_added(larger: str) -> str:
    """What happens to the row of a day that is there; `larger` is the database's word for the larger of two."""

    def added(name: str) -> str:
        there = f"usage.{name}"
        return f"{larger}({there},excluded.{name})" if name == LARGEST else f"{there}+excluded.{name}"

    return f" ON CONFLICT(tenant,day) DO UPDATE SET {','.join(f'{name}={added(name)}' for name in ADDED)}"


_COUNTED = ",".join(f"{name}=ingest.{name}+excluded.{name}" for name in INGEST.names[2:])
COUNT_MESSAGES = f"{_insert(INGEST)} ON CONFLICT(tenant,day) DO UPDATE SET {_COUNTED}"
ADD_USAGE = _insert(USAGE) + usage_added("max")


class UsageRow(msgspec.Struct, frozen=True):
    tenant: str
    day: str
    executions: int
    completed: int
    failed: int
    wall_ms: int
    cpu_ms: int
    peak_rss: int
    bytes_in: int
    bytes_out: int
    llm_tokens: int


class IngestRow(msgspec.Struct, frozen=True):
    tenant: str
    day: str
    messages: int = 0
    duplicates: int = 0
    unmatched: int = 0
    too_large: int = 0


class FailingStage(msgspec.Struct, frozen=True, rename="camel"):
    """`pipeline_code` is none where its definition is not in the store any more."""

    pipeline_code: str | None
    stage_code: str
    failures: int


class StageMetric(msgspec.Struct, frozen=True):
    """F-X.33: a number that a stage tells of each of its runs: its mean, and of how many."""

    pipeline_code: str
    stage_code: str
    metric: str
    mean: float
    count: int


class EndedExecutions(msgspec.Struct, frozen=True):
    """Of a time: how many ended, how many of them well or badly, and how many needed another attempt."""

    ended: int = 0
    completed: int = 0
    failed: int = 0
    retried: int = 0


class ExecutionStore(Protocol):
    def usage_days(self, tenant: str, since: str = "", until: str = "9") -> list[UsageRow]:
        """By day, the oldest first, from a day and before another one. Costs a row per day."""
        ...

    def executions_ended(self, tenant: str, since: str) -> EndedExecutions:
        """Since a time (ISO 8601)."""
        ...

    def executions_pending(self, tenant: str, now: str) -> tuple[int, str | None]:
        """How many may be picked up now, and since when the oldest of them could be."""
        ...

    def executions_begun(self, tenant: str, since: str) -> list[tuple[str, str]]:
        """When those that ended since a time were asked for and picked up."""
        ...

    def failing_stages(self, tenant: str, since: str, limit: int) -> list[FailingStage]:
        """The stages that failed most often since a time."""
        ...

    def stage_metrics(self, tenant: str, since: str, first: int) -> list[StageMetric]:
        """What stages that are asked for metrics have told since a time, of runs from a number on. Costs nothing where
        no stage is asked."""
        ...

    def count_messages(self, rows: Sequence[IngestRow]) -> None:
        """Add to what is known of a tenant's day."""
        ...

    def ingest_days(self, tenant: str, since: str = "") -> list[IngestRow]:
        """From a day on, the oldest first."""
        ...

    def ended_by_code(self, tenant: str, since: str) -> list[tuple[str, str | None, int]]:
        """Of those that ended since a time: status, code of the failure, how many."""
        ...

    def open_by_status(self, tenant: str) -> dict[str, int]:
        """How many wait and how many run now."""
        ...

    def begun_by_trigger(self, tenant: str, first: int) -> list[tuple[str, int]]:
        """Of those from a number on: trigger, how many. Costs these rows."""
        ...

    def by_trace(self, tenant: str, trace: str) -> list[tuple[str, str]]:
        """The executions with a trace id, and how they stand; the oldest first."""
        ...

    def events_of(self, tenant: str, execution: str, source: str) -> list[bytes]:
        """The bodies of an execution's events, which begin with its id."""
        ...

    def notification_configs(self, tenants: tuple[str, str]) -> list[dict[str, Any]]:
        """Of the definitions that are in force for a tenant: its own, and those of the one that defines for all."""
        ...

    def completed_for(self, tenant: str, file: int) -> dict[str, str]:
        """By pipeline, the newest execution that is completed for a file."""
        ...

    def put_definition(self, definition: Sequence[Any], stages: Sequence[Sequence[Any]]) -> None:
        """Rows in the order of the tables. Stages that are not named any more are switched off."""
        ...


class SqlExecutions(Sql):
    def usage_days(self, tenant: str, since: str = "", until: str = "9") -> list[UsageRow]:
        sql = f"SELECT {','.join(USAGE.names)} FROM usage WHERE tenant=? AND day>=? AND day<? ORDER BY day"
        return [UsageRow(*row) for row in self._read(sql, (tenant, since, until))]

    def executions_ended(self, tenant: str, since: str) -> EndedExecutions:
        sql = (
            "SELECT count(*),count(CASE WHEN status='COMPLETED' THEN 1 END),"
            "count(CASE WHEN status IN ('FAILED','TIMEOUT') THEN 1 END),"
            "count(CASE WHEN retry_count+stage_retries>0 THEN 1 END)"
            " FROM execution WHERE tenant_id=? AND completed_at>=?"
        )
        return EndedExecutions(*self._read(sql, (tenant, since)).fetchone())

    def executions_pending(self, tenant: str, now: str) -> tuple[int, str | None]:
        sql = (
            "SELECT count(*),min(coalesce(next_attempt_at,created_at)) FROM execution"
            " WHERE status='PENDING' AND tenant_id=? AND (next_attempt_at IS NULL OR next_attempt_at<=?)"
        )
        count, oldest = self._read(sql, (tenant, now)).fetchone()
        return int(count), oldest

    def executions_begun(self, tenant: str, since: str) -> list[tuple[str, str]]:
        sql = (
            "SELECT created_at,started_at FROM execution WHERE tenant_id=? AND completed_at>=?"
            " AND started_at IS NOT NULL LIMIT 10000"
        )
        return [(row[0], row[1]) for row in self._read(sql, (tenant, since))]

    def failing_stages(self, tenant: str, since: str, limit: int) -> list[FailingStage]:
        pipeline = (
            "SELECT min(d.pipeline_code) FROM pipeline_stages s JOIN pipeline_definitions d ON d.id=s.pipeline_id"
            " WHERE s.id=l.stage_id"
        )
        sql = (
            f"SELECT ({pipeline}),min(stage_code),count(*) FROM stage_log l WHERE tenant_id=? AND completed_at>=?"
            " AND status IN ('FAILED','TIMEOUT') GROUP BY stage_id ORDER BY 3 DESC,2 LIMIT ?"
        )
        return [FailingStage(*row) for row in self._read(sql, (tenant, since, limit))]

    def stage_metrics(self, tenant: str, since: str, first: int) -> list[StageMetric]:
        asked = (
            "SELECT s.id,min(d.pipeline_code),min(s.stage_code) FROM pipeline_stages s JOIN pipeline_definitions d"
            " ON d.id=s.pipeline_id WHERE s.metrics_config IS NOT NULL AND s.is_active=1 GROUP BY s.id"
        )
        stages = {row[0]: (row[1], row[2]) for row in self._read(asked)}
        if not stages:
            return []
        sql = (
            "SELECT stage_id,performance_metrics FROM stage_log WHERE run>=?"
            f" AND {self.PLAIN}tenant_id=? AND {self.PLAIN}status='COMPLETED' AND {self.PLAIN}completed_at>=?"
            f" AND {is_in(f'{self.PLAIN}stage_id', stages)}"
        )
        told: dict[tuple[str, str, str], list[float]] = {}
        for stage, text in self._read(sql, (first, tenant, since, *stages)):
            for name, value in msgspec.json.decode(text or "{}").items():
                if name not in OF_EVERY_STAGE and isinstance(value, int | float):
                    told.setdefault((*stages[stage], name), []).append(value)
        return [StageMetric(*key, sum(values) / len(values), len(values)) for key, values in sorted(told.items())]

    def count_messages(self, rows: Sequence[IngestRow]) -> None:
        if rows:
            with self.transaction():
                for row in rows:
                    self._execute(COUNT_MESSAGES, astuple(row))

    def ingest_days(self, tenant: str, since: str = "") -> list[IngestRow]:
        sql = f"SELECT {','.join(INGEST.names)} FROM ingest WHERE tenant=? AND day>=? ORDER BY day"
        return [IngestRow(*row) for row in self._read(sql, (tenant, since))]

    def ended_by_code(self, tenant: str, since: str) -> list[tuple[str, str | None, int]]:
        sql = (
            "SELECT status,error_code,count(*) FROM execution WHERE tenant_id=? AND completed_at>=?"
            " GROUP BY status,error_code ORDER BY 3 DESC,2"
        )
        return [(row[0], row[1], row[2]) for row in self._read(sql, (tenant, since))]

    def open_by_status(self, tenant: str) -> dict[str, int]:
        sql = (
            "SELECT status,count(*) FROM execution WHERE status IN ('PENDING','RUNNING')"
            f" AND {self.PLAIN}tenant_id=? GROUP BY status"
        )
        return dict(self._read(sql, (tenant,)).fetchall())

    def begun_by_trigger(self, tenant: str, first: int) -> list[tuple[str, int]]:
        sql = (
            f"SELECT trigger_type,count(*) FROM execution WHERE run>=? AND {self.PLAIN}tenant_id=?"
            " GROUP BY trigger_type ORDER BY 2 DESC,1"
        )
        return [(row[0], row[1]) for row in self._read(sql, (first, tenant))]

    def by_trace(self, tenant: str, trace: str) -> list[tuple[str, str]]:
        sql = "SELECT execution_id,status FROM execution WHERE trace_id=? AND tenant_id=? ORDER BY created_at,run"
        return [(row[0], row[1]) for row in self._read(sql, (trace, tenant))]

    def events_of(self, tenant: str, execution: str, source: str) -> list[bytes]:
        sql = "SELECT body FROM event WHERE tenant=? AND id>=? AND id<? AND source=? ORDER BY no"
        values = (tenant, f"{execution}:", f"{execution};", source)  # the character after the colon
        return [bytes(row[0]) for row in self._read(sql, values)]

    def notification_configs(self, tenants: tuple[str, str]) -> list[dict[str, Any]]:
        sql = (
            "SELECT notification_config FROM pipeline_definitions WHERE is_active=1 AND notification_config IS NOT NULL"
            " AND tenant_id IN (?,?) ORDER BY pipeline_code,tenant_id"
        )
        return [msgspec.json.decode(row[0]) for row in self._read(sql, tenants)]

    def completed_for(self, tenant: str, file: int) -> dict[str, str]:
        sql = (
            "SELECT n.name,e.execution_id FROM execution e JOIN run r ON r.no=e.run JOIN net n ON n.no=r.net"
            f" WHERE e.file_id=? AND {self.PLAIN}e.tenant_id=? AND {self.PLAIN}e.status='COMPLETED'"
            " ORDER BY e.created_at,e.run"
        )
        return dict(self._read(sql, (file, tenant)).fetchall())

    def put_definition(self, definition: Sequence[Any], stages: Sequence[Sequence[Any]]) -> None:
        put = {table.name: _upsert(table) for table in (DEFINITION, STAGE)}
        row = dict(zip(DEFINITION.names, definition, strict=True))
        with self.transaction():
            self._execute(put[DEFINITION.name], tuple(definition))
            self._execute(
                "UPDATE pipeline_stages SET is_active=0 WHERE pipeline_id=? AND tenant_id=?",
                (row["id"], row["tenant_id"]),
            )
            for stage in stages:
                self._execute(put[STAGE.name], tuple(stage))


def _upsert(table: Table) -> str:
    """A row again: what was known of its beginning stays."""
    keys = [column.name for column in table.columns if column.key]
    over = [name for name in table.names if name not in (*keys, "created_at", "created_by")]
    new = ",".join(f'"{name}"=excluded."{name}"' for name in over)
    return f"{_insert(table)} ON CONFLICT({','.join(keys)}) DO UPDATE SET {new}"
