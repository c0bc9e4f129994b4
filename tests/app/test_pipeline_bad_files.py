"""Bad files, bad processors and bad stores through whole pipelines: the right end, and the next file goes on."""

from __future__ import annotations

import asyncio
import io
import shutil
import zipfile
import zlib
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from penstock.app.penstock import Penstock
from penstock.app.pipeline import steering
from penstock.app.pipeline.executions import Execution
from penstock.app.pipeline.intake.ingest import Ingest
from penstock.errors import PenstockError
from penstock.executors.processor import ProcessorExecutor
from penstock.lang.pipeline.messages import FileMessage
from tests.app.pipelines import a_pipeline, a_stage, driven, ended, until
from tests.conformance.decision.world import go
from tests.executors import processors_of_tests as _processors  # noqa: F401  (they register themselves)
from tests.executors.pipeline_bench import XLSX, is_alive, pdf, png, zipped

TENANT = "t1"
XML = "<?xml version='1.0'?><worksheet><sheetData>"


class Plant:
    """A folder as bucket, a door that drives with the real executor, and files that are put into it."""

    def __init__(self, door: Penstock, inbox: Path, artifacts: Path, executor: ProcessorExecutor) -> None:
        self.door, self.inbox, self.artifacts, self.executor = door.of(TENANT), inbox, artifacts, executor
        self.ingest = Ingest(door)

    async def begin(self, name: str, data: bytes, mime: str) -> str:
        (self.inbox / name).write_bytes(data)
        message = FileMessage(
            bucket="inbox", key=name, size=len(data), mime=mime, tenant_id=TENANT, organization_id=None,
            trace_id="0" * 32, occurred_at="2025-10-22T10:20:30Z",
        )  # fmt: skip
        (receipt,) = await self.ingest.take([message])
        (id,) = receipt.started
        return id

    async def put(self, name: str, data: bytes, mime: str) -> Execution:
        return await ended(self.door, await self.begin(name, data, mime))

    def outputs(self) -> list[str]:
        return sorted(file.name for file in self.artifacts.rglob("output.*") if file.is_file())


@asynccontextmanager
async def plant(tmp_path: Path, *stages: dict[str, Any], settings: Any = None, **more: Any) -> Any:
    inbox, artifacts = tmp_path / "inbox", tmp_path / "artifacts"
    inbox.mkdir()
    known = {"pipelines.buckets.inbox": inbox.as_uri(), "pipelines.buckets.ff-artifacts": artifacts.as_uri()}
    executor = ProcessorExecutor()
    document = a_pipeline("ANY_FILE", file_type="ANY", stages=list(stages), **more)
    try:
        async with driven(tmp_path, document, processor=executor, settings=known | (settings or {})) as door:
            yield Plant(door, inbox, artifacts, executor)
    finally:
        executor.close()


def scene(made: Callable[[], Awaitable[None]]) -> None:
    go(made())  # type: ignore[arg-type]


def image_bomb() -> bytes:
    """A picture of 50,000 × 50,000 pixels in a few bytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")

    header = (50_000).to_bytes(4, "big") * 2 + bytes([8, 2, 0, 0, 0])
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


def zip_bomb() -> bytes:
    return zipped(**{f"{n}.bin": b"\0" * 50_000_000 for n in range(3)})


def sheet_bomb() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("xl/workbook.xml", "<workbook/>")
        archive.writestr("xl/worksheets/sheet1.xml", XML + " " * 120_000_000)
    return out.getvalue()


def pdf_bomb() -> bytes:
    """A page of five kilometres on each side."""
    return pdf("large", size=(14_000_000, 14_000_000))


def pdf_stream_bomb() -> bytes:
    """A few bytes that unfold to hundreds of megabytes when the text of the page is read."""
    packed = zlib.compress(b"\0" * 300_000_000, 9)
    body = pdf("x")
    begins, ends = body.index(b"<< /Length "), body.index(b"endstream") + len(b"endstream")
    content = b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(packed), packed)
    return body[:begins] + content + body[ends:]


BAD_FILES = {
    "a text that says it is a picture": ("ImageThumbnail", {}, b"no picture at all", "image/png", "FILE_INVALID"),
    "half a picture": ("ImageThumbnail", {}, png(300, 300)[:200], "image/png", "FILE_INVALID"),
    "a picture that says it is a PDF": ("TextExtractor", {}, png(), "application/pdf", "FILE_INVALID"),
    "a picture that says it is a sheet": ("CsvToJson", {}, png(), XLSX, "FILE_INVALID"),
    "half an archive": ("Archive", {}, zipped(a=b"a")[:30], "application/zip", "FILE_INVALID"),
    "nothing at all": ("ImageThumbnail", {}, b"", "image/png", "FILE_INVALID"),
    "an image bomb": ("ImageThumbnail", {}, image_bomb(), "image/png", "FILE_LIMIT"),
    "a zip bomb": ("Archive", {}, zip_bomb(), "application/zip", "FILE_LIMIT"),
    "a sheet bomb": ("CsvToJson", {}, sheet_bomb(), XLSX, "FILE_LIMIT"),
    "a PDF of too large a page": ("PdfPages", {"page": 1}, pdf_bomb(), "application/pdf", "FILE_LIMIT"),
    "a PDF that unfolds": ("TextExtractor", {}, pdf_stream_bomb(), "application/pdf", "FILE_LIMIT"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_f_2_4_files_that_are_bad_fail_for_good_and_the_next_one_goes_on(tmp_path: Path, name: str) -> None:
    """F-2.4, F-X.6: not what their mime says, broken, or made to unfold without end; never tried again in vain."""
    processor, config, data, mime, code = BAD_FILES[name]
    stage = a_stage("work", 1, processor_type=processor, processor_config=config, max_retries=2)
    after = a_stage("after", 2, processor_type="Checksum")

    async def made() -> None:
        limits = {"memory_mb": 256, "cpu_seconds": 30}
        async with plant(tmp_path, stage, after, resource_requirements=limits) as here:
            look = await here.put("bad", data, mime)
            assert look.error is not None and (look.status, look.error.code) == ("FAILED", code), look.error
            assert (look.error_stage, look.stages[0].retry_count, look.stages[1].status) == ("work", 0, None)
            assert here.outputs() == [] and here.executor.workers.pids() == []
            good = GOOD[processor]
            look = await here.put("good", *good)
            assert (look.status, len(here.outputs())) == ("COMPLETED", 2), look.error

    scene(made)


GOOD = {
    "ImageThumbnail": (png(), "image/png"), "TextExtractor": (pdf("text"), "application/pdf"),
    "CsvToJson": (b"a,b\n1,2\n", "text/csv"), "Archive": (zipped(a=b"a"), "application/zip"),
    "PdfPages": (pdf("text"), "application/pdf"),
}  # fmt: skip

BAD_PROCESSORS = {
    "hang": ({}, "TIMEOUT", "TIMEOUT"),
    "crash": ({}, "FAILED", "PROCESSOR_CRASHED"),
    "exit": ({}, "FAILED", "PROCESSOR_CRASHED"),
    "leak": ({"memory_mb": 64}, "FAILED", "RESOURCE_LIMIT"),
    "spin": ({"cpu_seconds": 1}, "FAILED", "RESOURCE_LIMIT"),
    "flood": ({}, "FAILED", "RESOURCE_LIMIT"),
    "outside": ({}, "FAILED", "OUTPUT_INVALID"),
    "raise": ({}, "FAILED", "PROCESSOR_ERROR"),
}


@pytest.mark.parametrize("how", BAD_PROCESSORS)
def test_f_x_33_processors_that_are_bad_are_stopped_and_the_next_file_goes_on(tmp_path: Path, how: str) -> None:
    """F-A.8, F-X.33: at its time-out or its limit the process is gone, with all that it has started."""
    limits, status, code = BAD_PROCESSORS[how]
    pids = tmp_path / "pids"
    bad = a_stage(
        "work", 1, processor_type="TestBad", processor_config={"how": how, "pids": str(pids)},
        timeout_seconds=1 if how == "hang" else 60, condition={"field": "key", "op": "eq", "value": "bad"},
        resource_allocation=limits,
    )  # fmt: skip

    async def made() -> None:
        settings = {"pipelines.max_output_bytes": 4_000_000}
        async with plant(tmp_path, bad, a_stage("copy", 2), settings=settings) as here:
            look = await here.put("bad", b"data", "text/plain")
            assert look.error is not None and look.status == status, look.error
            if code != "TIMEOUT":
                assert look.error.code == code
            assert look.stages[0].status == ("TIMEOUT" if status == "TIMEOUT" else "FAILED")
            assert here.outputs() == []
            worker, *started = [int(word) for word in pids.read_text().split()]
            assert not is_alive(worker), "when its stage has ended, its process has"
            await until(lambda: not any(map(is_alive, started)))
            look = await here.put("good", b"data", "text/plain")
            assert (look.status, [stage.status for stage in look.stages]) == ("COMPLETED", ["SKIPPED", "COMPLETED"])

    scene(made)


def test_f_10_6_that_an_output_store_that_refuses_fails_with_io_and_goes_on_when_it_is_mended(tmp_path: Path) -> None:
    """F-10.6, F-A.13: a file stands where the tenants' folder would be; resumed, the same execution ends."""

    async def made() -> None:
        async with plant(tmp_path, a_stage("copy", 1)) as here:
            here.artifacts.mkdir()
            (here.artifacts / "tenants").write_text("in the way")
            look = await here.put("one", b"data", "text/plain")
            assert look.error is not None and (look.status, look.error.code) == ("FAILED", "PP-500-IO")
            assert "Traceback" not in look.error.message and str(tmp_path) not in look.error.message
            (here.artifacts / "tenants").unlink()
            await steering.retry(here.door, look.execution_id)
            await until(lambda: here.outputs() == ["output.txt"] or len(here.outputs()) == 1)
            assert (await ended(here.door, look.execution_id)).status == "COMPLETED"
            assert (await here.put("two", b"data", "text/plain")).status == "COMPLETED"

    scene(made)


def test_f_10_6_that_a_bucket_that_vanishes_in_the_middle_is_io_and_what_was_done_stays(tmp_path: Path) -> None:
    """F-10.6: between two stages; back again, the execution goes on where it was."""
    stages = [
        a_stage("sum", 1, processor_type="Checksum"),
        a_stage("gone", 2, processor_type="TestRemove", processor_config={"folder": str(tmp_path / "inbox")}),
        a_stage("copy", 3),
    ]

    async def made() -> None:
        async with plant(tmp_path, *stages) as here:
            look = await here.put("one", b"data", "text/plain")
            assert look.error is not None and (look.status, look.error.code) == ("FAILED", "PP-500-IO"), look.error
            assert [stage.status for stage in look.stages] == ["COMPLETED", "COMPLETED", "FAILED"]
            assert look.error_stage == "copy"
            shutil.move(tmp_path / "inbox.away", tmp_path / "inbox")
            await steering.retry(here.door, look.execution_id)
            look = await ended(here.door, look.execution_id)
            assert (look.status, [stage.status for stage in look.stages]) == ("COMPLETED", ["COMPLETED"] * 3)

    scene(made)


def test_f_x_8_own_processors_take_back_what_they_did_when_their_execution_is_cancelled(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """F-X.8, F-2.6, F-S.4, F-A.10: the stage that works may end, no other begins; then all that were done are taken
    back in reverse. One that fails is logged, and holds up neither the others nor CANCELLED."""
    trail, until_there = tmp_path / "trail", tmp_path / "go"

    def own(code: str, order: int, **config: Any) -> dict[str, Any]:
        return a_stage(code, order, processor_type="TestTrail", processor_config={"trail": str(trail), **config})

    stages = [own("a", 1), own("b", 2, broken=True), own("c", 3), own("d", 4, until=str(until_there)), own("e", 5)]

    async def made() -> None:
        async with plant(tmp_path, *stages) as here:
            id = await here.begin("one", b"data", "text/plain")
            await until(lambda: trail.exists() and "+d" in trail.read_text())
            await steering.cancel(here.door, id)
            assert "-" not in trail.read_text(), "not before the boundary"
            until_there.touch()
            look = await ended(here.door, id)
            assert (look.status, look.error) == ("CANCELLED", None)
            assert [stage.status for stage in look.stages][:4] == ["COMPLETED"] * 4
            assert trail.read_text().split() == ["+a", "+b", "+c", "+d", "-d", "-c", "-b", "-a"]
            (row,) = here.door.store._read("SELECT code FROM incident").fetchall()
            assert row[0] == "COMPENSATION_STEP_FAILED"
            with pytest.raises(PenstockError) as refused:
                await steering.retry(here.door, id)
            assert refused.value.code == "PP-409-STATE"
            (line,) = [each.getMessage() for each in caplog.records if "taken back" in each.getMessage()]
            assert id in line and "«b»" in line and "hong.gildong" not in line

    scene(made)


def test_f_2_5_many_bad_files_at_once_hold_up_no_good_one(tmp_path: Path) -> None:
    """Crashes among the good: each has its own end."""
    bad = a_stage(
        "work", 1, processor_type="TestBad", processor_config={"how": "crash"},
        condition={"field": "key", "op": "glob", "value": "bad*"},
    )  # fmt: skip

    async def made() -> None:
        async with plant(tmp_path, bad, a_stage("copy", 2)) as here:
            names = [f"{'bad' if n % 3 == 0 else 'good'}-{n}" for n in range(24)]
            ids = [await here.begin(name, name.encode(), "text/plain") for name in names]
            looks = await asyncio.gather(*(ended(here.door, id) for id in ids))
            assert [look.status for look in looks] == [
                "FAILED" if name.startswith("bad") else "COMPLETED" for name in names
            ]

    scene(made)
