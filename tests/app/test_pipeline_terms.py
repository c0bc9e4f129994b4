"""The terms and premises of the seed, on one file that goes all the way: what each of them is here."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.app.pipeline.definitions import in_force
from penstock.app.pipeline.executions import logs
from penstock.app.pipeline.intake.ingest import Ingest
from penstock.kernel.retry import delay_ms
from penstock.lang.pipeline.messages import messages_of
from penstock.net.model import Net
from tests.app.pipelines import EXAMPLE, a_pipeline, a_stage, driven, ended
from tests.app.test_pipeline_bad_files import TENANT, plant, scene
from tests.conformance.decision.world import go
from tests.conformance.pipeline.make import lowered, node, pipeline, stage
from tests.executors.pipeline_bench import png

STAGES = [
    a_stage("check", 1, processor_type="MetadataExtractor"),
    a_stage("large", 2, processor_type="ImageThumbnail", processor_config={"size": 800}, retry_strategy="LINEAR"),
    a_stage("small", 2, processor_type="ImageThumbnail", processor_config={"size": 100}),
    a_stage("text", 3, processor_type="TestBig", processor_config={"bytes": 200_000}),
]


def test_the_terms_of_the_seed_on_one_file(tmp_path: Path) -> None:
    """F-0.1 the definition: purpose, type, resources, stages. F-0.2 a stage: order, side by side, retries. F-0.3 the
    execution of one file. F-0.4 the stage log, large data by reference. F-0.6 the idempotency key. F-0.7 the trace
    through all of it. F-1.0.1 ids: numbers inside, UUIDs outside. F-1.0.3: cold data is an object."""

    async def made() -> None:
        more = {"resource_requirements": {"memory_mb": 300}, "parallelism": 2, "priority": 5}
        async with plant(tmp_path, *STAGES, **more) as here:
            (definition,) = in_force(here.door, TENANT)
            about = definition.about
            assert (about["pipeline_code"], about["file_type"], about["pipeline_type"]) == ("ANY_FILE", "ANY", "ASYNC")
            assert about["resource_requirements"] == {"memory_mb": 300}
            stages = [(stage["code"], stage["group"], stage["processor"]) for stage in definition.stages]
            assert stages == [
                ("check", 0, "MetadataExtractor"), ("large", 1, "ImageThumbnail"), ("small", 1, "ImageThumbnail"),
                ("text", 2, "TestBig"),
            ]  # fmt: skip
            net: Net = here.door.nets.get(definition.net).net
            (large,) = [node for node in net.nodes if node.id == "large"]
            assert large.retry is not None and (large.retry.kind, large.retry.max) == ("linear", 0)

            look = await here.put("red.png", png(1600, 900), "image/png")
            assert (look.status, look.total_stages, look.completed_stages, look.retry_count) == ("COMPLETED", 4, 4, 0)
            assert look.file is not None and isinstance(look.file.id, int) and look.file.key == "red.png"
            assert len(look.execution_id) == 36 and look.execution_id.count("-") == 4
            assert str(look.idempotency_key).startswith("s3Event#inbox#red.png#ANY_FILE#")
            assert look.trace_id == "0" * 32

            told = {log.stage_code: log for log in logs(here.door, look.execution_id)}
            assert set(told) == {"check", "large", "small", "text"}
            for log in told.values():
                assert log.output_ref is not None and len(log.output_ref) <= 512
                assert log.output_ref.startswith(f"tenants/{TENANT}/executions/{look.execution_id}/")
                assert (here.artifacts / log.output_ref).is_file()
            text = told["text"]
            assert text.output == {"$ref": text.output_ref}, "200 kB are no row"
            assert len(json.loads((here.artifacts / str(text.output_ref)).read_bytes())["text"]) == 200_000
            journal = b"".join(turn.body for turn in here.door.store.journal(here.door.row(look.execution_id).no, 0))
            assert len(journal) < 50_000, "nothing of it lies in the journal"

    scene(made)


@pytest.mark.parametrize("tenant", ["tnt_demo", "t" * 50, "7d444840-9dc0-11d1-b245-5ffdce74fad2"])
def test_f_x_28_tenants_are_opaque_texts(tmp_path: Path, tenant: str) -> None:
    """F-X.28, P-X.7: a name, fifty characters, or a UUID."""

    async def made() -> None:
        async with driven(tmp_path, a_pipeline()) as door:
            (receipt,) = await Ingest(door).take(messages_of({**EXAMPLE, "tenantId": tenant}))
            look = await ended(door.of(tenant), receipt.started[0])
            assert (look.tenant_id, look.status) == (tenant, "COMPLETED")

    go(made())


@pytest.mark.parametrize(
    ("strategy", "delays"),
    [
        ("IMMEDIATE", [0, 0, 0, 0]),
        ("LINEAR", [7000, 14000, 21000, 28000]),
        ("EXPONENTIAL", [7000, 14000, 28000, 56000]),
    ],
)
def test_f_x_26_the_words_of_the_seed_are_one_component_with_those_of_workflows(
    strategy: str, delays: list[int]
) -> None:
    """F-X.26, F-X.6a: IMMEDIATE is fixed 0; seconds here, milliseconds inside; the delays are the kernel's own."""
    net = lowered(pipeline(stage("only", retry_strategy=strategy, max_retries=4), retry_delay_seconds=7))
    retry = node(net, "only").retry
    assert retry is not None and retry.kind == {"IMMEDIATE": "fixed"}.get(strategy, strategy.lower())
    assert [delay_ms(retry, attempt, "") for attempt in range(1, 5)] == delays


#: the seed's columns, and what a good execution of one stage has there
EXECUTION = [
    ("F-1.3.2", "execution_id", lambda v: len(v) == 36), ("F-1.3.3", "pipeline_id", lambda v: isinstance(v, int)),
    ("F-1.3.5", "tenant_id", lambda v: v == TENANT), ("F-1.3.6", "organization_id", lambda v: v is None),
    ("F-1.3.7", "parent_execution_id", lambda v: v is None), ("F-1.3.10", "priority", lambda v: v == 5),
    ("F-1.3.12", "total_stages", lambda v: v == 1), ("F-1.3.12", "completed_stages", lambda v: v == 1),
    ("F-1.3.13", "input_params", lambda v: json.loads(v) == {"least": 2}),
    ("F-1.3.13", "output_results", lambda v: "s1" in json.loads(v)["stages"]),
    ("F-1.3.13", "execution_context", lambda v: isinstance(json.loads(v), dict)),
    ("F-1.3.15", "error_code", lambda v: v is None), ("F-1.3.18", "worker_id", lambda v: 0 < len(v) <= 100),
    ("F-1.3.19", "resource_usage", lambda v: json.loads(v)["bytes_in"] > 0),
    ("F-1.3.19", "performance_metrics", lambda v: isinstance(json.loads(v), dict)),
    ("F-1.3.21", "trace_id", lambda v: v == "0" * 32), ("F-1.3.22", "started_at", lambda v: v.endswith("Z")),
    ("F-1.3.22", "completed_at", lambda v: v.endswith("Z")), ("F-1.3.23", "duration_ms", lambda v: v >= 0),
]  # fmt: skip
LOG = [
    ("F-1.4.2", "execution_id", lambda v: isinstance(v, int)), ("F-1.4.3", "stage_id", lambda v: isinstance(v, int)),
    ("F-1.4.4", "stage_execution_id", lambda v: len(v) == 36), ("F-1.4.5", "tenant_id", lambda v: v == TENANT),
    ("F-1.4.5", "organization_id", lambda v: v is None), ("F-1.4.7", "input_ref", lambda v: v == "inbox/a.png"),
    ("F-1.4.7", "output_ref", lambda v: v.endswith("/1-s1/1/output.png")),
    ("F-1.4.8", "stage_context", lambda v: json.loads(v)["mime"] == "image/png"),
    ("F-1.4.10", "retry_count", lambda v: v == 0), ("F-1.4.11", "resource_usage", lambda v: json.loads(v)["bytes_in"]),
    ("F-1.4.11", "performance_metrics", lambda v: json.loads(v)["width"] == 100),
    ("F-1.4.12", "trace_id", lambda v: v == "0" * 32), ("F-1.4.13", "started_at", lambda v: v.endswith("Z")),
]  # fmt: skip


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """An execution of one stage, and its log, as readers of the seed's tables see them."""
    folder = tmp_path_factory.mktemp("tables")
    only = a_stage(
        "s1", 1, processor_type="ImageThumbnail", processor_config={"size": 100},
        metrics_config={"emit": ["width", "cpu_ms"], "sample": 1},
    )  # fmt: skip
    read: dict[str, Any] = {}

    async def made() -> None:
        async with plant(folder, only, priority=5, default_params={"least": 2}) as here:
            assert (await here.put("a.png", png(200, 100), "image/png")).status == "COMPLETED"
            with sqlite3.connect(folder / "s.db") as c:
                c.row_factory = sqlite3.Row
                (read["execution"],) = c.execute("SELECT * FROM pipeline_executions").fetchall()
                (read["log"],) = c.execute("SELECT * FROM pipeline_stage_logs").fetchall()
                (read["definition"],) = c.execute("SELECT * FROM pipeline_definitions").fetchall()
                (read["stage"],) = c.execute("SELECT * FROM pipeline_stages").fetchall()

    scene(made)
    return read


@pytest.mark.parametrize(("requirement", "name", "good"), EXECUTION)
def test_a_column_of_executions(rows: dict[str, Any], requirement: str, name: str, good: Callable[[Any], Any]) -> None:
    """F-2.2: RUNNING has ended COMPLETED."""
    assert rows["execution"]["status"] == "COMPLETED"
    assert good(rows["execution"][name]), rows["execution"][name]


@pytest.mark.parametrize(("requirement", "name", "good"), LOG)
def test_a_column_of_stage_logs(rows: dict[str, Any], requirement: str, name: str, good: Callable[[Any], Any]) -> None:
    """F-2.3: it began with its processor. F-X.33: what `metrics_config` asks for is in its performance_metrics."""
    assert rows["log"]["status"] == "COMPLETED"
    assert good(rows["log"][name]), rows["log"][name]


def test_f_1_0_1_rows_are_joined_by_their_numbers(rows: dict[str, Any]) -> None:
    """F-1.2.2, F-1.3.3, F-1.4.2, F-1.4.3: no foreign key holds them together, so the numbers must be the same."""
    assert rows["log"]["stage_id"] == rows["stage"]["id"]
    assert rows["log"]["execution_id"] == rows["execution"]["id"]
    assert rows["execution"]["pipeline_id"] == rows["stage"]["pipeline_id"] == rows["definition"]["id"]


def test_f_p_2_tables_have_no_foreign_keys_and_deleting_is_soft(tmp_path: Path) -> None:
    """F-P.2, F-P.3: the store that a pipeline makes has none; and the index of pick-up is there."""

    async def made() -> None:
        async with plant(tmp_path, a_stage("s1", 1)):
            with sqlite3.connect(tmp_path / "s.db") as c:
                tables = [name for (name,) in c.execute("SELECT name FROM sqlite_master WHERE type='table'")]
                keys = [(table, key) for table in tables for key in c.execute(f'PRAGMA foreign_key_list("{table}")')]
                indexes = {name for (name,) in c.execute("SELECT name FROM sqlite_master WHERE type='index'")}
            assert len(tables) > 10 and keys == []
            assert {"run_pick", "run_pending"} <= indexes

    scene(made)
