"""What is kept of files: no personal data in texts of the engine, nothing large in rows (F-7.3, F-7.4, F-X.16)."""

from __future__ import annotations

import hashlib
import logging
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.app.metrics.collector import MetricsCollector
from penstock.app.metrics.series import exposed
from penstock.app.pipeline.executions import execution, logs
from penstock.app.pipeline.intake.consumer import MAX_RECEIVES, QueueConsumer
from penstock.app.pipeline.intake.dead_queue import DEAD_QUEUE, QUEUE
from penstock.app.pipeline.measures.metrics import metrics
from penstock.app.pipeline.starts import ExecutionStarts
from penstock.errors import BadInput
from penstock.executors.parts.personal_data import masked
from tests.app.pipelines import EXAMPLE, a_stage
from tests.app.test_pipeline_bad_files import plant, scene

#: a mail address, phone numbers of two kinds, a resident number: whoever finds one has looked into a file
CANARIES = ("hong.gildong@example.co.kr", "010-2345-6789", "+82 10 2345 6789", "02-312-4567", "900101-1234567")
CANARY = "Call " + " or ".join(CANARIES) + " now."
TENANT = "t1"


@pytest.mark.parametrize("canary", CANARIES)
def test_f_x_34_mail_addresses_phone_and_resident_numbers_are_masked(canary: str) -> None:
    """F-X.34, F-7.4; sizes, ids and codes stay as they are."""
    text = masked(f"It says «{canary}».")
    assert canary not in text and "[" in text
    assert not any(part in text for part in canary.replace("@", " ").split() if len(part) > 3)


@pytest.mark.parametrize(
    "text",
    [
        "the file has 123456789 bytes, more than 1048576", "2026-11-16T17:40:00.123Z", "version 1.2.3", "20260101",
        "execution 0199a8b2-1111-7abc-8def-123456789abc", "s3Event#sha256:ab12#IMG", "65535x65535 pixels",
        "tenants/t1/executions/01a1e6d1-2345-7890-90ec-cc9f4a717f87/1-fails/1/log.txt",
    ],
)  # fmt: skip
def test_f_x_34_what_is_no_personal_data_stays(text: str) -> None:
    """F-X.34."""
    assert masked(text) == text


def whole_store(path: Path) -> str:
    """Every row of every table, as whoever opens the file sees it."""
    with sqlite3.connect(path) as c:
        names = [name for (name,) in c.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        rows = [row for name in names for row in c.execute(f'SELECT * FROM "{name}"').fetchall()]
    return "\n".join(
        value.decode(errors="replace") if isinstance(value, bytes) else str(value) for row in rows for value in row
    )


def test_f_7_4_canaries_in_a_file_are_nowhere_but_in_the_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """F-7.4, F-X.34, F-9.5: the engine's logs, stage logs, error texts, metrics and causes of dead messages; the file's
    own name is hashed in the engine's logs."""
    caplog.set_level(logging.DEBUG)

    async def life() -> None:
        stages = (
            a_stage("says", 1, processor_type="TestTalks"),
            a_stage("fails", 2, processor_type="TestTalks", processor_config={"fails": True}),
        )
        async with plant(tmp_path, *stages) as made:
            look = await made.put("secret-name.txt", CANARY.encode(), "text/plain")
            assert look.status == "FAILED" and look.error is not None and "[e-mail]" in look.error.message
            meter = MetricsCollector(made.door.store)
            meter.attach(made.door.host)
            dead = {**EXAMPLE, "tenantId": TENANT, "size": CANARY, "key": "secret-name.txt"}
            made.door.store.send_messages(QUEUE, [("m", msgspec.json.encode(dead), b"\x80")], made.door.now())
            consumer = QueueConsumer(made.ingest)
            at = made.door.now()
            for n in range(MAX_RECEIVES):
                made.ingest.door.now = lambda n=n: at + n * 100_000
                await consumer.step()
            (letter,) = made.door.store.queued(DEAD_QUEUE)
            assert letter.code == "PP-400-JSON"
            shown = [look, logs(made.door, look.execution_id), metrics(made.door), letter.why]
            texts = [str(each) for each in shown]
            texts += [exposed(meter, None, at), caplog.text, whole_store(tmp_path / "s.db").replace(dead["size"], "")]
            texts += [file.read_text() for file in made.artifacts.rglob("log.txt")]
            for text in texts:
                assert [canary for canary in CANARIES if canary in text] == []
            assert "secret-name" not in caplog.text
            assert "message m was not taken: PP-400-JSON" in caplog.text

    scene(life)


def test_f_x_34_the_engines_log_names_a_file_by_the_hash_of_its_name(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-X.34: a message that can be read and is not taken: whoever knows the name finds the line, and nobody learns the
    name from it. The hash is the SHA-256 that any program makes."""
    caplog.set_level(logging.DEBUG)
    key = "orders/홍길동-900101-1234567.pdf"

    def refuse(*_: Any, **__: Any) -> None:
        raise BadInput(what="the file", why=f"«{key}» of hong.gildong@example.co.kr is not for us")

    monkeypatch.setattr(ExecutionStarts, "begin", refuse)

    async def life() -> None:
        async with plant(tmp_path, a_stage("copy", 1)) as made:
            body = msgspec.json.encode({**EXAMPLE, "tenantId": TENANT, "key": key})
            made.door.store.send_messages(QUEUE, [("m", body, b"\x80")], made.door.now())
            assert await QueueConsumer(made.ingest).step() == 1
            (waiting,) = made.door.store.queued(QUEUE)
            assert waiting.code == "PS-400-INPUT" and "[e-mail]" in str(waiting.why)
            assert "[resident number]" in str(waiting.why)

    scene(life)
    (line,) = [record.getMessage() for record in caplog.records if "was not taken" in record.getMessage()]
    assert line.endswith(f"file sha256:{hashlib.sha256(key.encode()).hexdigest()[:16]}")
    assert "홍길동" not in caplog.text and "orders/" not in caplog.text


def test_f_x_16_error_texts_are_cut_and_the_rest_is_in_the_log(tmp_path: Path) -> None:
    """F-X.16, F-1.4.9, F-9.7: 4 KiB in the row, all of it in the object that the row names."""

    async def life() -> None:
        config = {"fails": True, "times": 2000}
        stage = a_stage("fails", 1, processor_type="TestTalks", processor_config=config)
        async with plant(tmp_path, stage) as made:
            look = await made.put("a.txt", b"no good ", "text/plain")
            assert look.error is not None and 3000 < len(look.error.message) <= 4096
            with sqlite3.connect(tmp_path / "s.db") as c:
                ((message, log, context),) = c.execute(
                    "SELECT error_message, error_stack_trace, stage_context FROM pipeline_stage_logs"
                ).fetchall()
            assert len(message.encode()) <= 4096 and len(log) <= 512 and len(context) < 16384
            assert (made.artifacts / log).read_text().count("no good") >= 2000

    scene(life)


def test_f_a_17_large_outputs_are_references_and_can_be_read_by_them(tmp_path: Path) -> None:
    """F-A.17, F-7.3, F-X.16, F-9.7: 5 MiB of output: no row is over 16 KiB, the key is at most 512 characters long, and
    the object is readable by it."""

    async def life() -> None:
        big: dict[str, Any] = {"bytes": 5 * 1024 * 1024}
        stages = (
            a_stage("json", 1, processor_type="TestBig", processor_config=big),
            a_stage("file", 2, processor_type="TestBig", processor_config={**big, "file": True}),
        )
        async with plant(tmp_path, *stages) as made:
            look = await made.put("a.txt", b"small", "text/plain")
            assert look.status == "COMPLETED"
            told = execution(made.door, look.execution_id)
            for stage in told.stages:
                assert stage.output_ref is not None and len(stage.output_ref) <= 512
                assert (made.artifacts / stage.output_ref).stat().st_size >= big["bytes"]
            with sqlite3.connect(tmp_path / "s.db") as c:
                for table in ("execution", "stage_log", "journal", "run", "firing", "outbox", "blob"):
                    for row in c.execute(f"SELECT * FROM {table}"):
                        assert all(len(value) <= 16384 for value in row if isinstance(value, str | bytes)), table

    scene(life)
