"""A watched folder: whole files are told once, those being written are left alone, results are laid beside them."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from penstock.app.penstock import Penstock
from penstock.app.pipeline import steering
from penstock.app.pipeline.background import Consuming
from penstock.app.pipeline.intake.folder_pipeline import FolderPipeline, Moved
from penstock.app.pipeline.intake.folder_watch import FolderWatch, is_temporary
from penstock.app.pipeline.intake.ingest import Ingest
from penstock.errors import BadInput
from penstock.executors.contract import failed
from penstock.executors.parts.objects import Buckets
from penstock.lang.pipeline.messages import messages_of
from tests.app.pipelines import EXAMPLE, Processor, a_pipeline, driven, executions, until
from tests.conformance.decision.world import go

#: well after every file of a test was written
LATER = 4_000_000_000_000


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    folder = tmp_path / "inbox"
    folder.mkdir()
    return folder


def keys(watch: FolderWatch, now: int = LATER) -> list[str]:
    messages = watch.look(now)
    for message in messages:
        watch.done(message)
    return [message.key for message in messages]


def test_f_x_20_that_a_file_is_told_once_when_it_is_whole(inbox: Path) -> None:
    watch = FolderWatch(inbox, "inbox", "t")
    (inbox / "a.png").write_bytes(b"12")
    assert keys(watch) == [], "nobody knows yet whether it still grows"
    (inbox / "a.png").write_bytes(b"1234")
    assert keys(watch) == [], "it has grown"
    (message,) = watch.look(LATER)
    assert (message.bucket, message.key, message.size, message.mime) == ("inbox", "a.png", 4, "image/png")
    assert (message.tenant_id, len(message.trace_id)) == ("t", 32) and message.etag
    assert keys(watch) == ["a.png"], "until it is in the store it is told again"
    assert keys(watch) == [] and not watch.settling
    (inbox / "a.png").write_bytes(b"other")
    assert keys(watch) == [] and keys(watch) == ["a.png"], "a new upload of the same key"


def test_f_x_20_that_a_file_that_was_touched_a_moment_ago_is_left_alone(inbox: Path) -> None:
    watch = FolderWatch(inbox, "inbox", "t", quiet_ms=500)
    (inbox / "a.png").write_bytes(b"12")
    os.utime(inbox / "a.png", ns=(10**18, 10**18))
    at = 10**12
    assert keys(watch, at) == [] and keys(watch, at + 499) == [] and keys(watch, at + 500) == ["a.png"]


def test_f_x_20_what_is_not_a_whole_file_is_never_told(inbox: Path) -> None:
    """Temporary names, results, links, pipes; folders below are part of the key."""
    for name in (".hidden", "a.png.part", "b.crdownload", "~$book.xlsx", "c.tmp", "d~", "bad\\name", "new\nline"):
        assert is_temporary(name)
        (inbox / name).write_bytes(b"1")
    (inbox / "a.png.results").mkdir()
    (inbox / "a.png.results" / "1-x.json").write_bytes(b"1")
    (inbox / "below" / "deep").mkdir(parents=True)
    (inbox / "below" / "deep" / "한글.pdf").write_bytes(b"1")
    (inbox / "link.png").symlink_to("/etc/passwd")
    (inbox / "out").symlink_to("/etc")
    os.mkfifo(inbox / "pipe.png")
    watch = FolderWatch(inbox, "inbox", "t")
    assert keys(watch) == [] and keys(watch) == ["below/deep/한글.pdf"]


def test_f_x_20_that_a_folder_that_vanishes_is_told(inbox: Path) -> None:
    watch = FolderWatch(inbox, "inbox", "t")
    inbox.rmdir()
    with pytest.raises(OSError, match="No such file"):
        watch.look(LATER)


async def stepped(pipeline: FolderPipeline) -> list[Moved]:
    pipeline.watch.quiet_ms = 0
    moved: list[Moved] = []
    for _ in range(3):
        moved += await pipeline.step()
    for _ in range(2000):
        if pipeline.idle:
            break
        await until(lambda: bool(pipeline.moved))
        moved += await pipeline.step()
    return moved


async def put_artifact(door: Penstock, key: str, data: bytes) -> None:
    await Buckets(door.host.dispatch.services).artifacts.put(key, data)


def test_f_x_7_results_of_a_re_run_stay_when_the_folder_is_watched_again(tmp_path: Path, inbox: Path) -> None:
    """F-X.7, F-X.20: what the execution before it came to is not laid over them by the next process."""

    async def scene() -> None:
        (inbox / "a.png").write_bytes(b"12")
        processor = Processor({"second": failed("IMAGE_BROKEN", "validation", "It is no picture.")})
        async with driven(tmp_path, a_pipeline(), processor=processor) as door:
            pipeline = FolderPipeline(door, inbox, "inbox")
            (before,) = {each.execution.execution_id for each in await stepped(pipeline)}
            del processor.answers["second"]
            again = await steering.retry(door, before, "rerun")
            moved = await stepped(pipeline)
            assert (moved[-1].execution.execution_id, moved[-1].execution.status) == (again, "COMPLETED")
        async with driven(tmp_path, processor=Processor()) as door:
            assert await stepped(FolderPipeline(door, inbox, "inbox")) == []
        kept = json.loads((inbox / "a.png.results" / "IMG_BASIC.json").read_bytes())
        assert (kept["executionId"], kept["status"]) == (again, "COMPLETED")

    go(scene())


def test_f_x_20_results_lie_beside_the_file(tmp_path: Path, inbox: Path) -> None:
    """F-9.1: one execution per file, also when the folder is looked at by the next process."""

    async def scene() -> None:
        (inbox / "a.png").write_bytes(b"12")
        ref = "tenants/default/executions/x/2-second/1/output.png"
        answers = {"second": {"output": {}, "output_ref": ref, "mime": "image/png", "size": 3}}
        async with driven(tmp_path, a_pipeline(), processor=Processor(answers)) as door:
            await put_artifact(door, ref, b"png")
            pipeline = FolderPipeline(door, inbox, "inbox")
            moved = await stepped(pipeline)
            assert moved[-1].delivered == ["1-first.json", "2-second.png"]
            results = inbox / "a.png.results"
            assert sorted(path.name for path in results.iterdir()) == [
                "1-first.json", "2-second.png", "IMG_BASIC.json",
            ]  # fmt: skip
            assert (results / "2-second.png").read_bytes() == b"png"
            (results / "IMG_BASIC.json").unlink()  # as if it had died before
            (results / "2-second.png").unlink()
        async with driven(tmp_path, processor=Processor()) as door:
            pipeline = FolderPipeline(door, inbox, "inbox")
            assert [each.delivered for each in await stepped(pipeline)] == [["1-first.json", "2-second.png"]]
            assert len(executions(door)) == 1 and pipeline.ingest.counts.duplicate == 1
            assert await stepped(FolderPipeline(door, inbox, "inbox")) == []

    go(scene())


def test_f_4_4_many_files_at_once_are_looked_at_some_at_a_time(
    tmp_path: Path, inbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.app.pipeline.intake.folder_pipeline._LOOKS", 2)

    async def scene() -> None:
        for number in range(5):
            (inbox / f"{number}.png").write_bytes(b"12")
        async with driven(tmp_path, a_pipeline(), processor=Processor()) as door:
            pipeline = FolderPipeline(door, inbox, "inbox")
            seen: set[str] = set()
            async with asyncio.timeout(30):
                while len(seen) < 5 or not pipeline.idle:
                    looks = await pipeline.step()
                    assert len(looks) <= 2
                    seen |= {each.execution.execution_id for each in looks if each.delivered is not None}
                    await asyncio.sleep(0.01)
            assert len(list(inbox.glob("*.results/IMG_BASIC.json"))) == 5

    go(scene())


def test_f_x_6_what_failed_says_so_beside_its_file_and_the_next_file_goes_on(tmp_path: Path, inbox: Path) -> None:
    async def scene() -> None:
        for name in ("a.png", "b.png", "notes.txt"):
            (inbox / name).write_bytes(b"12")
        count = 0

        async def first() -> Any:
            nonlocal count
            count += 1
            return failed("IMAGE_BROKEN", "validation", "It is no picture.") if count == 1 else {"output": {"n": count}}

        async with driven(tmp_path, a_pipeline(), processor=Processor({"first": first})) as door:
            pipeline = FolderPipeline(door, inbox, "inbox")
            looks = {each.execution.file.key: each.execution for each in await stepped(pipeline) if each.execution.file}
            assert sorted(look.status for look in looks.values()) == ["COMPLETED", "FAILED"]
            bad = next(look for look in looks.values() if look.status == "FAILED")
            assert bad.error is not None and (bad.error.code, bad.error_stage) == ("IMAGE_BROKEN", "first")
            assert [(stage.stage_code, stage.status) for stage in bad.stages] == [("first", "FAILED"), ("second", None)]
            assert '"IMAGE_BROKEN"' in (inbox / f"{bad.file.key}.results" / "IMG_BASIC.json").read_text()  # type: ignore[union-attr]
            assert pipeline.unmatched == ["notes.txt"]

    go(scene())


def test_f_x_20_folders_of_settings_are_watched_for_their_tenants(tmp_path: Path, inbox: Path) -> None:
    """F-1.0.2: beside the engine, as in a server; a folder that is away for a while is found again."""

    async def scene() -> None:
        settings = {"pipelines.buckets.inbox": inbox.as_uri(), "pipelines.watch.inbox": "acme"}
        inbox.rename(tmp_path / "away")
        async with driven(tmp_path, a_pipeline(), processor=Processor(), settings=settings) as door:
            beside = Consuming(door)
            beside.open()
            try:
                await asyncio.sleep(0.05)
                (tmp_path / "away" / "a.png").write_bytes(b"12")
                (tmp_path / "away").rename(inbox)
                await until(lambda: any(each.status == "COMPLETED" for each in executions(door.of("acme"))))
            finally:
                await beside.close()
            assert executions(door) == []

    go(scene())


@pytest.mark.parametrize("key", ["../outside/a.png", "/absolute/a.png", "link/a.png", ".penstock-work/a.png"])
def test_f_x_20_nothing_is_laid_outside_of_the_folder_whatever_a_message_names(
    tmp_path: Path, inbox: Path, key: str
) -> None:
    """F-S.1: a message over HTTP may name any key of the watched bucket, and a folder may hold links."""

    async def scene() -> None:
        outside = tmp_path / "outside"
        outside.mkdir()
        (inbox / "link").symlink_to(outside)
        named = key.replace("/absolute", str(outside))
        told = {**EXAMPLE, "bucket": "inbox", "key": named, "tenantId": "default"}
        async with driven(tmp_path, a_pipeline(), processor=Processor()) as door:
            pipeline = FolderPipeline(door, inbox, "inbox")
            await Ingest(door).take(messages_of(told))
            (inbox / "b.png").write_bytes(b"12")
            await stepped(pipeline)
            assert list(outside.iterdir()) == []
            assert (inbox / "b.png.results" / "IMG_BASIC.json").is_file()

    go(scene())


def test_f_x_20_results_are_not_laid_behind_a_link_in_their_place(tmp_path: Path, inbox: Path) -> None:
    async def scene() -> None:
        outside = tmp_path / "outside"
        outside.mkdir()
        (inbox / "a.png.results").symlink_to(outside)
        (inbox / "c.png.results").write_bytes(b"no folder")
        for name in ("a.png", "b.png", "c.png"):
            (inbox / name).write_bytes(b"12")
        async with driven(tmp_path, a_pipeline(), processor=Processor()) as door:
            await stepped(FolderPipeline(door, inbox, "inbox"))
            assert list(outside.iterdir()) == []
            assert (inbox / "b.png.results" / "IMG_BASIC.json").is_file()

    go(scene())


def test_f_9_8_executions_of_other_tenants_neither_stop_a_watched_folder_nor_write_into_it(
    tmp_path: Path, inbox: Path
) -> None:
    async def scene() -> None:
        settings = {"pipelines.buckets.inbox": inbox.as_uri(), "pipelines.watch.inbox": "acme"}
        async with driven(tmp_path, a_pipeline(), processor=Processor(), settings=settings) as door:
            beside = Consuming(door)
            beside.open()
            try:
                (inbox / "a.png").write_bytes(b"12")
                told = {**EXAMPLE, "bucket": "inbox", "key": "a.png", "tenantId": "stranger"}
                await Ingest(door).take(messages_of(told))
                strange = door.of("stranger")
                await until(lambda: any(each.status == "COMPLETED" for each in executions(strange)))
                (inbox / "b.png").write_bytes(b"12")
                await until((inbox / "b.png.results" / "IMG_BASIC.json").is_file)
            finally:
                await beside.close()
            ids = [each.execution_id for each in executions(strange)]
            told_of = (inbox / "a.png.results" / "IMG_BASIC.json").read_text()
            assert ids and not any(id in told_of for id in ids)

    go(scene())


@pytest.mark.parametrize(("bucket", "tenant"), [("s3://bucket", "acme"), ("file:///nowhere", "a/b"), (None, "acme")])
def test_f_x_20_what_cannot_be_watched_is_told_at_the_start(tmp_path: Path, bucket: str | None, tenant: str) -> None:
    async def scene() -> None:
        settings = {"pipelines.watch.inbox": tenant} | ({"pipelines.buckets.inbox": bucket} if bucket else {})
        async with driven(tmp_path, a_pipeline(), processor=Processor(), settings=settings) as door:
            with pytest.raises(BadInput, match=r"inbox|tenant"):
                Consuming(door)

    go(scene())
