"""The seed's tables for their readers: executions, stage logs, files, definitions and stages, on both databases."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.app.maintenance.verify import verify
from penstock.app.pipeline import steering
from penstock.app.pipeline.definitions import define
from penstock.app.pipeline.executions import execution
from penstock.app.pipeline.executions import logs as stage_logs
from penstock.app.pipeline.follow_ups import FollowUpDelivery
from penstock.app.pipeline.intake.ingest import Ingest
from penstock.app.releases.releases import Releases
from penstock.errors import StoreError
from penstock.executors.contract import failed
from penstock.executors.parts.objects import Buckets
from penstock.lang.pipeline.messages import messages_of
from penstock.store import execution_tables as T
from penstock.store.address import open_store
from penstock.store.file_tables import FILE_SCHEDULE
from penstock.store.run_tables import RUN
from penstock.store.sql import marks
from penstock.store.table_shape import Table
from tests.app.pipelines import EXAMPLE, Processor, a_pipeline, a_stage, driven, ended, until
from tests.conformance.decision.world import go

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\Z")
#: F-1.3.1 to F-1.3.24, and F-X.3
EXECUTION = (
    "id execution_id pipeline_id file_id tenant_id organization_id parent_execution_id trigger_type status priority"
    " current_stage_id total_stages completed_stages input_params output_results execution_context error_message"
    " error_code error_stage_id retry_count worker_id resource_usage performance_metrics idempotency_key trace_id"
    " started_at completed_at duration_ms created_at updated_at cancel_requested_at next_attempt_at lease_expires_at"
).split()
#: F-1.4.1 to F-1.4.14
LOG = (
    "id execution_id stage_id stage_execution_id tenant_id organization_id status input_ref output_ref stage_context"
    " error_message error_stack_trace retry_count resource_usage performance_metrics trace_id started_at completed_at"
    " duration_ms"
).split()
#: F-X.5
FILE = "id tenant_id organization_id bucket object_key size mime etag version_id trace_id created_at".split()
BROKEN = failed("IMAGE_BROKEN", "validation", "It is no picture.")
USED = {"wall_ms": 10, "cpu_ms": 4, "peak_rss": 900, "bytes_in": 100, "bytes_out": 50}
MADE = {
    "stage": "first", "output": {"a": 1}, "output_ref": "tenants/t/out.png", "input_ref": "bkt/path/to/object",
    "mime": "image/png", "size": 50, "usage": USED, "worker_id": "host:1",
}  # fmt: skip

#: F-1.1.1 to F-1.1.23
DEFINITION = (
    "id pipeline_code pipeline_name description file_type pipeline_type trigger_conditions configuration"
    " default_params max_file_size timeout_seconds max_retries retry_delay_seconds priority parallelism"
    " resource_requirements dependencies success_actions failure_actions notification_config is_active version"
    " created_at updated_at created_by"
).split()
#: F-1.2.1 to F-1.2.19
STAGE = (
    "id pipeline_id stage_code stage_name description sequence_order processor_type processor_config input_validation"
    " output_validation is_optional is_parallel condition timeout_seconds max_retries retry_strategy on_failure"
    " resource_allocation metrics_config is_active created_at updated_at"
).split()
#: what readers ask, and the index of the seed that answers (F-1.1.24, F-1.2.20, F-1.3.25, F-1.4.15, F-1.5.14)
PROMISES = {
    "SELECT id FROM pipeline_definitions WHERE pipeline_code = 'A'": "uk_pipeline_code",
    "SELECT description FROM pipeline_definitions WHERE file_type = 'PDF' AND is_active = 1": "idx_file_type",
    "SELECT description FROM pipeline_definitions WHERE pipeline_type = 'BATCH'": "idx_pipeline_type",
    "SELECT description FROM pipeline_definitions WHERE priority < 5": "idx_priority",
    "SELECT * FROM pipeline_stages WHERE pipeline_id = 1 AND stage_code = 'a'": "uk_pipeline_stage",
    "SELECT * FROM pipeline_stages WHERE pipeline_id = 1 ORDER BY sequence_order": "idx_pipeline_seq",
    "SELECT * FROM pipeline_stages WHERE processor_type = 'Copy'": "idx_processor",
    "SELECT * FROM pipeline_stages WHERE is_active = 0": "idx_stage_active",
    "SELECT * FROM pipeline_executions WHERE execution_id = 'x'": "uk_execution_uuid",
    "SELECT * FROM pipeline_executions WHERE idempotency_key = 'k'": "uk_exec_idem",
    "SELECT * FROM pipeline_executions WHERE tenant_id = 't1' AND organization_id = 1 AND created_at > '2026'":
        "idx_scope_time",
    "SELECT * FROM pipeline_executions WHERE status = 'PENDING' ORDER BY priority, created_at LIMIT 10":
        "idx_pipeline_pick",
    "SELECT * FROM pipeline_executions WHERE file_id = 1 ORDER BY created_at DESC LIMIT 1": "idx_file_recent",
    "SELECT * FROM pipeline_executions WHERE status = 'FAILED' AND created_at > '2026'": "idx_status_time",
    "SELECT * FROM pipeline_executions WHERE trace_id = 'x'": "execution_idx_trace",
    "SELECT * FROM pipeline_stage_logs WHERE stage_execution_id = 'x'": "uk_stage_exec_uuid",
    "SELECT * FROM pipeline_stage_logs WHERE execution_id = 1 ORDER BY started_at": "idx_exec_time",
    "SELECT * FROM pipeline_stage_logs WHERE stage_id = 1 AND status = 'FAILED'": "idx_stage_status",
    "SELECT * FROM pipeline_stage_logs WHERE tenant_id = 't1' AND organization_id = 1 AND started_at > '2026'":
        "idx_scope_time",
    "SELECT * FROM pipeline_stage_logs WHERE trace_id = 'x'": "stage_log_idx_trace",
    "SELECT * FROM pipeline_schedules WHERE is_active = 1": "idx_active_next",
    "SELECT * FROM pipeline_schedules WHERE tenant_id = 't1' AND organization_id = 1": "idx_scope",
}  # fmt: skip

#: columns that the seed declares as ENUM, with its values, and the tables that hold them (F-X.1)
ENUMS: dict[tuple[str, str], tuple[Table, str, str]] = {
    ("pipeline_definitions", "file_type"): (T.DEFINITION, "file_type", "IMAGE HTML PDF EXCEL ANY"),
    ("pipeline_definitions", "pipeline_type"): (T.DEFINITION, "pipeline_type", "ASYNC SYNC BATCH SCHEDULED"),
    ("pipeline_stages", "retry_strategy"): (T.STAGE, "retry_strategy", "IMMEDIATE LINEAR EXPONENTIAL"),
    ("pipeline_stages", "on_failure"): (T.STAGE, "on_failure", "FAIL SKIP CONTINUE RETRY"),
    ("pipeline_executions", "trigger_type"): (T.EXECUTION, "trigger_type", "UPLOAD MANUAL SCHEDULED DEPENDENCY RETRY"),
    ("pipeline_executions", "status"):
        (T.EXECUTION, "status", "PENDING RUNNING COMPLETED FAILED CANCELLED TIMEOUT"),
    ("pipeline_stage_logs", "status"): (T.STAGE_LOG, "status", "STARTED RUNNING COMPLETED FAILED SKIPPED TIMEOUT"),
    ("pipeline_schedules", "schedule_type"): (FILE_SCHEDULE, "type", "CRON INTERVAL ONCE"),
}  # fmt: skip

Ask = Callable[..., list[dict[str, Any]]]


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Ask]]:
    """An address of a store, and a reader of it that knows nothing but SQL."""
    if request.param == "sqlite":
        yield "", lambda sql: _ask_sqlite(tmp_path / "s.db", sql)
        return
    pytest.importorskip("psycopg", reason="the extra «postgresql» is not installed")
    from tests.servers.postgres import database

    url = database()
    yield url, lambda sql: _ask_postgres(url, sql)


def _ask_sqlite(path: Path, sql: str) -> list[dict[str, Any]]:
    with sqlite3.connect(path) as c:
        c.row_factory = sqlite3.Row
        return [dict(row) for row in c.execute(sql).fetchall()]


def _ask_postgres(url: str, sql: str) -> list[dict[str, Any]]:
    import psycopg
    from psycopg.rows import dict_row

    with psycopg.connect(url, row_factory=dict_row) as c:
        return c.execute(sql).fetchall()


def read(value: Any) -> Any:
    """JSON: text in SQLite, a value in PostgreSQL."""
    return json.loads(value) if isinstance(value, str) else value


def test_f_1_3_1_executions_and_stage_logs_have_the_columns_of_the_seed(tmp_path: Path, place: tuple[str, Ask]) -> None:
    """F-1.3.1 to F-1.3.24, F-1.4.1 to F-1.4.14, F-X.5, F-1.0.1, F-X.29, F-X.30: numbers for joins, UUIDs outside, times
    in UTC with milliseconds."""
    store, ask = place

    async def scene() -> None:
        async with driven(tmp_path, a_pipeline(), processor=Processor({"first": MADE}), store=store) as door:
            (receipt,) = await Ingest(door).take(messages_of(EXAMPLE))
            await ended(door.of("tnt_demo"), receipt.started[0])
            (row,) = ask("SELECT * FROM pipeline_executions")
            assert list(row) == EXECUTION
            assert uuid.UUID(row["execution_id"]) and row["execution_id"] == receipt.started[0]
            kept = ("tenant_id", "organization_id", "trigger_type", "status", "priority", "total_stages")
            assert [row[name] for name in kept] == ["tnt_demo", 123, "UPLOAD", "COMPLETED", 7, 2]
            assert (row["completed_stages"], row["retry_count"], row["error_code"]) == (2, 0, None)
            assert (row["trace_id"], row["worker_id"]) == (EXAMPLE["traceId"], "host:1")
            assert row["idempotency_key"].startswith("s3Event#bkt#path/to/object#IMG_BASIC#")
            assert read(row["resource_usage"]) == USED
            assert read(row["output_results"])["stages"]["first"]["output_ref"] == "tenants/t/out.png"
            for name in ("created_at", "started_at", "completed_at", "updated_at"):
                assert MOMENT.match(row[name]), name
            assert row["duration_ms"] >= 0 and row["current_stage_id"] is None and row["parent_execution_id"] is None

            logs = ask("SELECT * FROM pipeline_stage_logs ORDER BY id")
            assert [list(log) for log in logs] == [LOG, LOG]
            assert {log["execution_id"] for log in logs} == {row["id"]}
            assert [(log["status"], log["trace_id"]) for log in logs] == [("COMPLETED", EXAMPLE["traceId"])] * 2
            assert len({uuid.UUID(log["stage_execution_id"]) for log in logs}) == 2
            assert (logs[0]["input_ref"], logs[0]["output_ref"]) == ("bkt/path/to/object", "tenants/t/out.png")
            assert MOMENT.match(logs[0]["started_at"]) and logs[0]["duration_ms"] >= 0

            (file,) = ask("SELECT * FROM file_assets")
            assert list(file) == FILE
            assert (file["id"], file["object_key"], file["size"]) == (row["file_id"], "path/to/object", 123456)
            joined = ask(
                "SELECT f.object_key, s.stage_code, d.pipeline_code FROM pipeline_executions e"
                " JOIN file_assets f ON f.id = e.file_id JOIN pipeline_definitions d ON d.id = e.pipeline_id"
                " JOIN pipeline_stage_logs l ON l.execution_id = e.id JOIN pipeline_stages s ON s.id = l.stage_id"
                " ORDER BY s.sequence_order"
            )
            assert [tuple(each.values()) for each in joined] == [
                ("path/to/object", "first", "IMG_BASIC"), ("path/to/object", "second", "IMG_BASIC"),
            ]  # fmt: skip

    go(scene())


def test_f_1_3_16_the_stage_that_failed_and_earlier_attempts_are_kept(tmp_path: Path, place: tuple[str, Ask]) -> None:
    """F-1.3.14 to F-1.3.17, F-X.6, F-X.7: error fields, the stage's number, `execution_context.attempts`; a resumed one
    counts from 0 and has no error any more."""
    store, ask = place
    processor = Processor({"second": BROKEN})

    async def scene() -> None:
        document = a_pipeline(max_retries=1, retry_delay_seconds=0)
        async with driven(tmp_path, document, processor=processor, store=store) as door:
            (receipt,) = await Ingest(door).take(messages_of(EXAMPLE))
            mine, id = door.of("tnt_demo"), receipt.started[0]
            look = await ended(mine, id)
            (row,) = ask("SELECT * FROM pipeline_executions")
            (stage,) = ask("SELECT id FROM pipeline_stages WHERE stage_code = 'second'")
            assert look.status == "FAILED"
            assert (row["status"], row["error_code"], row["retry_count"]) == ("FAILED", "IMAGE_BROKEN", 1)
            assert (row["error_message"], row["error_stage_id"]) == ("It is no picture.", stage["id"])
            attempts = read(row["execution_context"])["attempts"]
            assert [each["error_code"] for each in attempts] == ["IMAGE_BROKEN"] * 2
            logs = ask("SELECT status, retry_count FROM pipeline_stage_logs ORDER BY id")
            assert [log["status"] for log in logs] == ["COMPLETED", "FAILED"] * 2

            del processor.answers["second"]
            await steering.retry(mine, id, "resume")
            await ended(mine, id)
            (row,) = ask("SELECT * FROM pipeline_executions")
            assert (row["status"], row["error_code"], row["retry_count"]) == ("COMPLETED", None, 0)
            assert len(read(row["execution_context"])["attempts"]) == 2
            failed_one, again = await run_anew(mine, door, processor)
            (row,) = ask(f"SELECT * FROM pipeline_executions WHERE execution_id = '{again}'")
            (parent,) = ask(f"SELECT id FROM pipeline_executions WHERE execution_id = '{failed_one}'")
            assert (row["parent_execution_id"], row["trigger_type"]) == (parent["id"], "RETRY")

    async def run_anew(mine: Any, door: Any, processor: Processor) -> tuple[str, str]:
        processor.answers["first"] = BROKEN
        (receipt,) = await Ingest(door).take(messages_of({**EXAMPLE, "key": "b", "occurredAt": "2026-01-01T00:00:00Z"}))
        await ended(mine, receipt.started[0])
        again = await steering.retry(mine, receipt.started[0], "rerun")
        assert again is not None
        return receipt.started[0], again

    go(scene())


def test_f_6_3_logs_and_executions_say_what_their_rows_say(tmp_path: Path, place: tuple[str, Ask]) -> None:
    """F-6.2, F-6.3, F-1.3.17, F-1.4.10: retried, skipped, warned about, cancelled while it waits for its next attempt:
    over the API and in the tables an execution has the same stages, attempts, references and errors."""
    store, ask = place
    stages = [
        a_stage("opens", 1), a_stage("maybe", 2, on_failure="SKIP", max_retries=1, retry_strategy="IMMEDIATE"),
        a_stage("never", 3, condition={"field": "size", "op": "lt", "value": 1}), a_stage("breaks", 4),
    ]  # fmt: skip
    answers = {"opens": {"output": {}, "input_ref": "in/a.png", "output_ref": "out/a.png"}}
    busy = failed("BUSY", "transient", "Later.")
    processor = Processor({**answers, "maybe": busy, "breaks": BROKEN})

    async def scene() -> None:
        document = a_pipeline(stages=stages, max_retries=1, retry_delay_seconds=3600)
        settings = {"pipelines.allow_cancel_pending": True}
        async with driven(tmp_path, document, processor=processor, store=store, settings=settings) as door:
            (receipt,) = await Ingest(door).take(messages_of(EXAMPLE))
            mine, id = door.of("tnt_demo"), receipt.started[0]
            await until(lambda: execution(mine, id).retry_count == 1)
            await agree(mine, id)
            await steering.cancel(mine, id)
            assert execution(mine, id).status == "CANCELLED"
            await agree(mine, id)

    async def agree(mine: Any, id: str) -> None:
        look, shown = execution(mine, id), stage_logs(mine, id)
        (row,) = ask("SELECT * FROM pipeline_executions")
        assert (look.status, look.retry_count) == (row["status"], row["retry_count"])
        assert (look.completed_stages, look.total_stages) == (row["completed_stages"], row["total_stages"])
        blamed = ask(f"SELECT stage_code FROM pipeline_stages WHERE id = {row['error_stage_id']}")
        assert [look.error_stage] == [stage["stage_code"] for stage in blamed] == ["breaks"]
        assert [attempt.attempt for attempt in look.attempts] == [
            attempt["attempt"] for attempt in read(row["execution_context"])["attempts"]
        ]
        columns = "status, input_ref, output_ref, retry_count, error_message"
        kept = ask(f"SELECT {columns} FROM pipeline_stage_logs ORDER BY id")
        told = [
            {
                "status": log.status, "input_ref": log.input_ref, "output_ref": log.output_ref,
                "retry_count": log.retry_count,
                "error_message": f"{log.error.code}: {log.error.message}" if log.error is not None else None,
            }
            for log in shown
        ]  # fmt: skip
        assert told == kept
        assert [log["status"] for log in kept] == ["COMPLETED", "SKIPPED", "SKIPPED", "FAILED"]
        assert (kept[0]["input_ref"], kept[1]["retry_count"]) == ("in/a.png", 1)
        assert [warning["stage"] for warning in look.warnings] == ["maybe"]

    go(scene())


def test_f_1_3_11_the_current_stage_is_the_lowest_that_runs(tmp_path: Path, place: tuple[str, Ask]) -> None:
    """F-1.3.11, F-X.15, F-S.1: with two side by side the first of them; what is PENDING has none."""
    store, ask = place
    gates = {code: asyncio.Event() for code in ("a", "b")}
    entered: list[str] = []

    def gate(code: str) -> Any:
        async def wait() -> Any:
            entered.append(code)
            await gates[code].wait()
            return {"output": {}}

        return wait

    async def scene() -> None:
        stages = [a_stage("a", 1), a_stage("b", 1), a_stage("c", 2)]
        processor = Processor({code: gate(code) for code in gates})
        document = a_pipeline(stages=stages, parallelism=2)
        async with driven(tmp_path, document, processor=processor, store=store) as door:
            (receipt,) = await Ingest(door).take(messages_of(EXAMPLE))
            async with asyncio.timeout(30):
                while len(entered) < 2:
                    await asyncio.sleep(0.01)
            numbers = {row["stage_code"]: row["id"] for row in ask("SELECT stage_code, id FROM pipeline_stages")}
            (row,) = ask("SELECT * FROM pipeline_executions")
            assert (row["status"], row["current_stage_id"], row["completed_stages"]) == ("RUNNING", numbers["a"], 0)
            assert {log["status"] for log in ask("SELECT status FROM pipeline_stage_logs")} == {"RUNNING"}
            gates["a"].set()
            async with asyncio.timeout(30):
                while ask("SELECT current_stage_id FROM pipeline_executions") != [{"current_stage_id": numbers["b"]}]:
                    await asyncio.sleep(0.02)
            gates["b"].set()
            await ended(door.of("tnt_demo"), receipt.started[0])

    go(scene())


def test_f_1_1_1_definitions_and_stages_have_the_columns_of_the_seed(tmp_path: Path, place: tuple[str, Ask]) -> None:
    """F-1.1.1 to F-1.1.23, F-1.2.1 to F-1.2.19, F-X.1, F-X.2, F-X.4: one row per code with its defaults; a newer one
    replaces it, a stage that is gone is switched off, and one out of force is not deleted."""
    store, ask = place
    least = {"pipeline_code": "A", "pipeline_name": "Alle", "file_type": "ANY", "stages": [
        {"stage_code": "s", "stage_name": "S", "sequence_order": 1, "processor_type": "Copy"},
    ]}  # fmt: skip

    async def scene() -> None:
        async with driven(tmp_path, least, store=store) as door:
            (row,) = ask("SELECT * FROM pipeline_definitions")
            assert [name for name in row if name != "tenant_id"] == DEFINITION
            usual = ("pipeline_type", "configuration", "timeout_seconds", "max_retries", "retry_delay_seconds")
            assert [row[name] for name in usual] == ["ASYNC", "{}", 300, 3, 60]
            assert [row[name] for name in ("priority", "parallelism", "is_active", "version")] == [100, 1, 1, 1]
            absent = ("description", "trigger_conditions", "default_params", "max_file_size", "dependencies")
            assert [row[name] for name in absent] == [None] * 5
            (stage,) = ask("SELECT * FROM pipeline_stages")
            assert [name for name in stage if name != "tenant_id"] == STAGE
            assert (stage["pipeline_id"], stage["processor_config"]) == (row["id"], "{}")
            usual = ("is_optional", "is_parallel", "timeout_seconds", "max_retries", "retry_strategy", "on_failure")
            assert [stage[name] for name in usual] == [0, 0, 60, 3, "EXPONENTIAL", "FAIL"]
            assert stage["is_active"] == 1 and MOMENT.match(stage["created_at"])

            changed = {**least, "priority": 5, "description": "Of all kinds.", "stages": [
                {**least["stages"][0], "stage_code": "t", "description": "Its copy.", "condition": {
                    "field": "size", "op": "gt", "value": 1}}]}  # fmt: skip
            define(door, changed)
            (newer,) = ask("SELECT * FROM pipeline_definitions")
            assert (newer["id"], newer["version"], newer["priority"]) == (row["id"], 2, 5)
            assert newer["description"] == "Of all kinds."
            stages = ask(
                "SELECT stage_code, is_active, description, condition FROM pipeline_stages ORDER BY stage_code"
            )
            assert [(each["stage_code"], each["is_active"]) for each in stages] == [("s", 0), ("t", 1)]
            assert (read(stages[1]["condition"])["op"], stages[1]["description"]) == ("gt", "Its copy.")
            Releases(door).deprecate("A", 2)
            (gone,) = ask("SELECT id, is_active FROM pipeline_definitions")
            assert gone == {"id": row["id"], "is_active": 0}

    go(scene())


def test_f_1_0_2_rows_are_the_same_when_they_are_made_again_from_the_journal(
    tmp_path: Path, place: tuple[str, Ask]
) -> None:
    """F-1.0.2, F-1.0.4: what readers see holds nothing that the facts do not hold, whoever has driven the execution."""
    store, ask = place
    tables = ("execution", "stage_log", "usage")

    async def scene() -> None:
        document = a_pipeline(max_retries=1, retry_delay_seconds=0, stages=[
            a_stage("a", 1, max_retries=1, retry_strategy="IMMEDIATE"), a_stage("b", 1),
            a_stage("never", 2, condition={"field": "size", "op": "lt", "value": 1}), a_stage("c", 3),
        ])  # fmt: skip
        slow = failed("BUSY", "transient", "Not now.", {"usage": USED})
        async with driven(tmp_path, document, processor=Processor({"a": slow, "b": MADE}), store=store) as door:
            (receipt,) = await Ingest(door).take(messages_of(EXAMPLE))
            await ended(door.of("tnt_demo"), receipt.started[0])
        async with driven(tmp_path, processor=Processor(), store=store) as door:  # another process goes on
            await steering.retry(door.of("tnt_demo"), receipt.started[0], "resume")
            await ended(door.of("tnt_demo"), receipt.started[0])
            before = {name: ask(f"SELECT * FROM {name} ORDER BY 1, 2") for name in tables}
            assert [row["executions"] for row in before["usage"]] == [1]
            assert {row["status"] for row in before["stage_log"]} >= {"COMPLETED", "FAILED", "SKIPPED"}
            door.rebuild()
            assert {name: ask(f"SELECT * FROM {name} ORDER BY 1, 2") for name in tables} == before
            assert [each for each in verify(door.store).violations if each.check == "H9"] == []

    go(scene())


def test_f_1_3_25_what_readers_ask_is_answered_by_the_indexes_of_the_seed(
    tmp_path: Path, place: tuple[str, Ask]
) -> None:
    """F-1.1.24, F-1.2.20, F-1.3.25, F-1.4.15, F-1.5.14, F-8.1, F-9.2, F-A.5: by the plan of the
    database, never by a scan."""
    store, ask = place

    async def scene() -> None:
        async with driven(tmp_path, a_pipeline(), store=store) as door:
            (receipt,) = await Ingest(door).take(messages_of(EXAMPLE))
            await ended(door.of("tnt_demo"), receipt.started[0])
        if store:
            _fill(store)
        for sql, index in PROMISES.items():
            plan = _plan(ask, sql, bool(store))
            assert index in plan, (sql, plan)
            assert not re.search(r"\bSCAN\b|Seq Scan", plan), (sql, plan)
            assert "TEMP B-TREE" not in plan, (sql, plan)

    go(scene())


def _plan(ask: Ask, sql: str, server: bool) -> str:
    if server:
        return "\n".join(str(row["QUERY PLAN"]) for row in ask("EXPLAIN " + sql))
    return "\n".join(row["detail"] for row in ask("EXPLAIN QUERY PLAN " + sql))


def test_f_x_16_what_is_too_large_for_a_row_lies_under_the_key_that_stands_there(
    tmp_path: Path, place: tuple[str, Ask]
) -> None:
    """F-X.16, F-1.0.3, F-9.7: parameters and results over 16 KiB are objects; the row and its rebuilding name them."""
    store, ask = place
    params = {"words": ["세금계산서"] * 2000}
    long = "tenants/tnt_demo/" + "x" * 480
    stages = [a_stage(f"s{n:02d}", n) for n in range(40)]
    answers = {stage["stage_code"]: {"output": {}, "output_ref": long, "size": 1} for stage in stages}

    async def scene() -> None:
        document = a_pipeline(default_params=params, stages=stages)
        async with driven(tmp_path, document, processor=Processor(answers), store=store) as door:
            (receipt,) = await Ingest(door).take(messages_of(EXAMPLE))
            await ended(door.of("tnt_demo"), receipt.started[0])
            delivery = FollowUpDelivery(door)
            while await delivery.step():
                pass
            (row,) = ask("SELECT input_params, output_results FROM pipeline_executions")
            folder = f"tenants/tnt_demo/executions/{receipt.started[0]}/"
            artifacts = Buckets(door.host.dispatch.services).artifacts
            told = []
            for column in ("input_params", "output_results"):
                assert list(read(row[column])) == ["$ref"]
                key = read(row[column])["$ref"]
                assert key.startswith(folder) and len(key) <= 512
                told.append(json.loads(await artifacts.read(key, 10_000_000)))
            assert told[0] == params
            assert len(told[1]["stages"]) == 40 and told[1]["stages"]["s39"]["output_ref"] == long

    go(scene())


@pytest.mark.parametrize("column", ENUMS, ids=".".join)
def test_f_x_1_the_database_holds_the_words_of_the_seed_and_no_others(
    place: tuple[str, Ask], tmp_path: Path, column: tuple[str, str]
) -> None:
    """F-X.1, F-1.1.5, F-1.1.6, F-1.2.15, F-1.2.16, F-1.3.8, F-1.3.9, F-1.4.6, F-1.5.5: each of them, and nothing else,
    whoever writes."""
    store, table, name, words = open_store(place[0] or tmp_path / "s.db"), *ENUMS[column]
    try:
        for word in words.split():
            _write(store, table, name, word)
        with pytest.raises(StoreError):
            _write(store, table, name, "ODD")
        with pytest.raises(StoreError):
            _write(store, table, name, words.split()[0].lower())
    finally:
        store.close()
    assert [row["word"] for row in place[1](f"SELECT {column[1]} AS word FROM {column[0]}")] == [words.split()[-1]]


def _write(store: Any, table: Table, name: str, word: str) -> None:
    """One row, in place of the one before."""
    values = [
        word if each.name == name else each.words[0] if each.words else {"int": 1, "text": "x"}[each.type]
        for each in table.columns
    ]  # fmt: skip
    names = ",".join(f'"{each}"' for each in table.names)
    with store.transaction():
        store._execute(f'DELETE FROM "{table.name}"')
        store._execute(f'INSERT INTO "{table.name}"({names}) VALUES({marks(values)})', tuple(values))


def _fill(url: str) -> None:
    """A server with a handful of rows would read them all."""
    import psycopg

    value = {"status": "CASE n % 100 WHEN 0 THEN 'PENDING' WHEN 1 THEN 'FAILED' ELSE 'COMPLETED' END"}
    value |= {
        "is_active": "sign(n % 100)",
        "active": "1 - sign(n % 100)",
        "tenant": "'t' || n % 50",
        "tenant_id": "'t' || n % 50",
        "organization_id": "n % 20",
        "completed_at": "NULL",
        "pipeline_id": "n % 100",
    }
    with psycopg.connect(url, autocommit=True) as c:
        for table in (T.DEFINITION, T.STAGE, T.EXECUTION, T.STAGE_LOG, FILE_SCHEDULE, RUN):
            plain = {"int": "n", "text": "'x' || n", "blob": "NULL"}
            own = value if table is not RUN else {}
            if table is T.STAGE_LOG:
                own = {**own, "status": value["status"].replace("PENDING", "STARTED")}
            columns = [
                own.get(each.name, f"'{each.words[0]}'" if each.words else plain[each.type]) for each in table.columns
            ]
            names = ", ".join(f'"{name}"' for name in table.names)
            c.execute(
                f'INSERT INTO "{table.name}"({names}) SELECT {", ".join(columns)} FROM generate_series(1000, 9000) n'
            )
        c.execute("ANALYZE")


def test_f_1_3_6_rows_keep_the_organisation_of_the_message(tmp_path: Path, place: tuple[str, Ask]) -> None:
    """F-1.3.6, F-1.4.5, F-1.0.2: of the execution and of each of its stages; none where the message names none."""
    store, ask = place

    async def scene() -> None:
        async with driven(tmp_path, a_pipeline(), store=store) as door:
            for key, organization in (("ours.png", 123), ("nobodys.png", None)):
                (receipt,) = await Ingest(door).take(
                    messages_of({**EXAMPLE, "key": key, "organizationId": organization})
                )
                await ended(door.of("tnt_demo"), receipt.started[0])
            rows = ask("SELECT tenant_id, organization_id FROM pipeline_executions ORDER BY id")
            assert [tuple(row.values()) for row in rows] == [("tnt_demo", 123), ("tnt_demo", None)]
            rows = ask("SELECT tenant_id, organization_id FROM pipeline_stage_logs ORDER BY id")
            assert [tuple(row.values()) for row in rows] == [("tnt_demo", 123)] * 2 + [("tnt_demo", None)] * 2

    go(scene())


def test_f_1_1_20_rows_say_whether_the_definition_is_switched_on(tmp_path: Path, place: tuple[str, Ask]) -> None:
    """F-1.1.20: by the definition's own word, though its version is in force; a stage's by its own."""
    store, ask = place

    async def scene() -> None:
        stages = [a_stage("first", 1, is_active=0), a_stage("second", 2)]
        async with driven(tmp_path, a_pipeline("ON"), a_pipeline("OFF", is_active=0, stages=stages), store=store) as d:
            asked = "SELECT pipeline_code, is_active FROM pipeline_definitions ORDER BY pipeline_code"
            assert [tuple(row.values()) for row in ask(asked)] == [("OFF", 0), ("ON", 1)]
            rows = ask(
                "SELECT s.stage_code, s.is_active FROM pipeline_stages s JOIN pipeline_definitions d"
                " ON d.id = s.pipeline_id WHERE d.pipeline_code = 'OFF' ORDER BY s.sequence_order"
            )
            assert [tuple(row.values()) for row in rows] == [("first", 0), ("second", 1)]
            define(d, a_pipeline("OFF", is_active=1))
            define(d, a_pipeline("ON", is_active=0))
            assert [tuple(row.values()) for row in ask(asked)] == [("OFF", 1), ("ON", 0)]

    go(scene())


def test_f_1_2_12_stages_are_passed_over_where_their_condition_does_not_hold(tmp_path: Path) -> None:
    """F-1.2.12, F-X.9: by the file, and by what a stage before has made."""
    small = {"field": "size", "op": "lt", "value": 1000}
    blue = {"field": "stages.first.output.colour", "op": "eq", "value": "blue"}
    stages = [a_stage("first", 1), a_stage("small", 2, condition=small), a_stage("blue", 3, condition=blue)]

    async def scene() -> None:
        processor = Processor({"first": {"output": {"colour": "blue"}}})
        async with driven(tmp_path, a_pipeline(stages=stages), processor=processor) as door:
            (receipt,) = await Ingest(door).take(messages_of(EXAMPLE))
            look = await ended(door.of("tnt_demo"), receipt.started[0])
            assert (look.status, processor.asked) == ("COMPLETED", ["first", "blue"])
            assert [stage.status for stage in look.stages] == ["COMPLETED", "SKIPPED", "COMPLETED"]

    go(scene())
