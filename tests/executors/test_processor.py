"""The executor of stages: files in, objects out, in worker processes that are limited and really stopped."""

from __future__ import annotations

import asyncio
import io
import json
import os
import shutil
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from penstock.executors import processor as processor_module
from penstock.executors.contract import Done, Failed
from penstock.executors.parts.objects import object_store
from penstock.executors.processor import ProcessorExecutor
from penstock.executors.processors import processor, processor_names, stage_output
from tests.executors import processors_of_tests as _processors
from tests.executors.pipeline_bench import PipelineBench, is_alive, png


def test_f_1_2_7_that_a_picture_becomes_a_thumbnail_object(pipeline: PipelineBench) -> None:
    file = pipeline.put("tenants/t/cat.png", png(400, 300), "image/png")
    body = pipeline.done("ImageThumbnail", file, {"size": 100})
    with Image.open(io.BytesIO(pipeline.object(body))) as small:
        assert small.size == (100, 75)
        assert small.format == "PNG"
    assert body["mime"] == "image/png"
    assert body["size"] == len(pipeline.object(body))
    assert body["output"] == {"width": 100, "height": 75, "format": "PNG", "size": body["size"]}


def test_f_x_16_keys_of_outputs(pipeline: PipelineBench) -> None:
    file = pipeline.put("cat.png", png(), "image/png")
    more = {"request": {"tenant": "tnt_demo", "run": "e-1", "attempt": 2}}
    body = pipeline.done("ImageThumbnail", file, {"format": "jpeg"}, **more)
    assert body["output_ref"] == "tenants/tnt_demo/executions/e-1/1-s1/2/output.jpg"
    assert pipeline.objects() == [body["output_ref"]]
    body = pipeline.done("Checksum", file, **more)
    assert body["output_ref"] == "tenants/tnt_demo/executions/e-1/1-s1/2/output.json"
    assert body["input_ref"] == "inbox/cat.png"


@pytest.mark.parametrize("tenant", ["..", "a/../../b", "한국" * 25, "x" * 50, "."])
def test_f_x_16_no_tenant_and_no_code_leads_out_of_the_store(pipeline: PipelineBench, tenant: str) -> None:
    file = pipeline.put("a.txt", b"a", "text/plain")
    more = {"request": {"tenant": tenant, "run": "e" * 36}}
    body = pipeline.done("Copy", file, stage="../../" + "c" * 44, **more)
    assert len(body["output_ref"]) <= 512
    assert ".." not in body["output_ref"].split("/")
    assert pipeline.object(body) == b"a"


def test_f_a_17_that_a_large_output_is_an_object_and_a_reference(pipeline: PipelineBench) -> None:
    file = pipeline.put("a.txt", b"a", "text/plain")
    body = pipeline.done("TestBig", file, {"bytes": 5 * 1024 * 1024})
    assert len(json.dumps(body)) < 2000
    assert body["output"] == {"$ref": body["output_ref"]}
    assert len(body["output_ref"]) <= 512
    assert json.loads(pipeline.object(body)) == {"text": "x" * 5 * 1024 * 1024}
    body = pipeline.done("TestBig", file, {"bytes": 5 * 1024 * 1024, "file": True})
    assert len(pipeline.object(body)) == 5 * 1024 * 1024


def test_f_x_35_usage_is_told(pipeline: PipelineBench) -> None:
    file = pipeline.put("a.txt", b"abc", "text/plain")
    body = pipeline.done("Copy", file)
    assert set(body["usage"]) == {"wall_ms", "cpu_ms", "peak_rss", "bytes_in", "bytes_out"}
    assert body["usage"]["bytes_in"] == body["usage"]["bytes_out"] == 3
    assert body["usage"]["peak_rss"] > 1024 * 1024


def test_f_x_15_that_a_stage_works_on_what_the_one_before_has_made(pipeline: PipelineBench) -> None:
    file = pipeline.put("a.txt", b"quiet", "text/plain")
    first = pipeline.done("TestShout", file)
    second = pipeline.done("Copy", file, input=first, stage="s2", seq=2)
    assert pipeline.object(second) == b"QUIET"
    assert second["input_ref"] == first["output_ref"]
    digest = pipeline.done("Checksum", file, input=second, stage="s3", seq=3)
    after = pipeline.done("Copy", file, input=digest, stage="s4", seq=4)
    assert pipeline.object(after) == b"QUIET", "what only describes hands its input on"


def test_f_x_15_after_a_group_a_stage_may_say_whose_output_it_wants(pipeline: PipelineBench) -> None:
    file = pipeline.put("a.txt", b"quiet", "text/plain")
    sums = pipeline.done("Checksum", file, stage="sum")
    loud = pipeline.done("TestShout", file, stage="loud")
    skipped = pipeline.done("Copy", file, stage="earlier")
    members = {"skipped": skipped, "sum": sums, "loud": loud}
    records = {
        code: {"branch_id": code, "status": "success", "output": body, "error": None, "duration_ms": 1}
        for code, body in members.items()
    }
    for group in ({"sum": sums, "loud": loud}, [sums, loud], records):
        after = pipeline.done("TestEcho", file, input=group)
        assert set(after["output"]["input"]) == {"sum", "loud"}
        assert after["input_ref"] == loud["output_ref"]
        chosen = pipeline.done("TestEcho", file, {"input_stage": "sum"}, input=group)
        assert chosen["output"]["input"] == sums["output"]
        assert chosen["input_ref"] == "inbox/a.txt"


def test_f_x_10_input_and_output_are_validated_and_not_tried_again(pipeline: PipelineBench) -> None:
    file = pipeline.put("a.txt", b"abc", "text/plain")
    schema = {"type": "object", "properties": {"size": {"maximum": 2}}}
    failure = pipeline.failed("Copy", file, input_validation=schema)
    assert (failure.code, failure.category) == ("VALIDATION", "validation")
    assert failure.detail["pointer"] == "/size" and failure.detail["validation"] == "input_validation"
    failure = pipeline.failed("Copy", file, output_validation={"required": ["pages"]})
    assert (failure.code, failure.category) == ("VALIDATION", "validation")
    assert pipeline.objects() == [], "what is not valid is not kept"
    assert pipeline.done(
        "Copy", file, input_validation={"required": ["mime"]}, output_validation={"required": ["size"]}
    )


def test_f_x_14_an_unknown_processor_is_named_with_those_there_are(pipeline: PipelineBench) -> None:
    failure = pipeline.failed("Nonsense", pipeline.put("a.txt", b"a", "text/plain"))
    assert failure.code == "PROCESSOR_UNKNOWN" and failure.category == "validation"
    assert "ImageThumbnail" in failure.message
    assert {"Copy", "Checksum", "MetadataExtractor", "ImageResizer", "ImageThumbnail"} <= set(processor_names())


def test_f_x_14_own_processors_must_be_importable(pipeline: PipelineBench) -> None:
    with pytest.raises(ValueError, match="top of its module"):

        @processor("Hidden")
        def hidden(context: Any) -> None: ...

    with pytest.raises(ValueError, match="already"):
        processor("Copy")(_processors.shout)


@pytest.mark.parametrize("how", ["crash", "exit"])
def test_f_x_33_that_a_processor_that_crashes_hurts_nobody(pipeline: PipelineBench, how: str) -> None:
    file = pipeline.put("a.txt", b"a", "text/plain")
    failure = pipeline.failed("TestBad", file, {"how": how})
    assert failure.code == "PROCESSOR_CRASHED"
    assert failure.category == "transient", "retries count"
    assert pipeline.objects() == []
    assert pipeline.done("Copy", file)


def test_f_1_4_9_what_a_processor_raises_is_a_failure_with_its_trace_in_the_log(pipeline: PipelineBench) -> None:
    failure = pipeline.failed("TestBad", pipeline.put("a.txt", b"a", "text/plain"), {"how": "raise"})
    assert (failure.code, failure.message) == ("PROCESSOR_ERROR", "RuntimeError: it went wrong")
    assert failure.category == "transient", "F-A.6: its stage is tried again"
    log = (pipeline.artifacts / failure.detail["log_ref"]).read_text()
    assert "Traceback" in log and "it went wrong" in log


@pytest.mark.parametrize(
    ("how", "limits"), [("leak", {"memory_mb": 100}), ("spin", {"cpu_seconds": 1})], ids=["memory", "cpu"]
)
def test_f_x_33_that_a_breach_of_a_limit_is_resource_limit(pipeline: PipelineBench, how: str, limits: Any) -> None:
    file = pipeline.put("a.txt", b"a", "text/plain")
    failure = pipeline.failed("TestBad", file, {"how": how}, limits=limits)
    assert failure.code == "RESOURCE_LIMIT"
    assert pipeline.objects() == [] or all(key.endswith("log.txt") for key in pipeline.objects())
    assert pipeline.done("Copy", file)


def test_f_x_33_that_a_flood_of_output_is_resource_limit(pipeline: PipelineBench) -> None:
    pipeline.bench.settings["pipelines.max_output_bytes"] = 5 * 1024 * 1024
    failure = pipeline.failed("TestBad", pipeline.put("a.txt", b"a", "text/plain"), {"how": "flood"})
    assert failure.code == "RESOURCE_LIMIT"


def test_f_x_33_less_than_a_second_of_processor_time_is_a_limit_too(pipeline: PipelineBench) -> None:
    file = pipeline.put("a.txt", b"a", "text/plain")
    failure = pipeline.failed("TestBad", file, {"how": "spin"}, limits={"cpu_seconds": 0.5})
    assert failure.code == "RESOURCE_LIMIT"
    assert pipeline.failed("TestBad", file, {"how": "spin"}, limits={"cpu_seconds": 1.5}).code == "RESOURCE_LIMIT"


def test_f_x_33_metrics_that_a_stage_is_asked_for_are_told_of_the_share_that_is_sampled(
    pipeline: PipelineBench,
) -> None:
    """Of what the stage has used, and of the numbers that it has answered; what it does not know is left out."""
    file = pipeline.put("a.png", png(40, 30), "image/png")
    emit = ["wall_ms", "bytes_in", "width", "format", "nonsense"]
    body = pipeline.done("ImageThumbnail", file, metrics={"emit": emit, "sample": 1})
    assert set(body["metrics"]) == {"wall_ms", "bytes_in", "width"}
    assert (body["metrics"]["bytes_in"], body["metrics"]["width"]) == (file["size"], 40)
    assert "metrics" not in pipeline.done("ImageThumbnail", file)
    assert "metrics" not in pipeline.done("ImageThumbnail", file, metrics={"emit": emit, "sample": 0})
    text = pipeline.put("a.txt", b"a", "text/plain")
    told = [
        "metrics" in pipeline.done("Copy", text, metrics={"emit": ["size"], "sample": 0.5}, request={"run": f"e{n}"})
        for n in range(30)
        for _ in range(2)
    ]
    assert told[::2] == told[1::2], "an execution is sampled or not, whatever its attempt"
    assert 5 <= sum(told[::2]) <= 25


@pytest.mark.parametrize("how", ["setsid", "daemon", "forks"])
@pytest.mark.parametrize("end", ["hang", "exit", "good"])
def test_f_x_33_what_a_processor_has_started_is_gone_with_it_whatever_it_did_to_stay(
    pipeline: PipelineBench, tmp_path: Path, how: str, end: str
) -> None:
    """In a session of its own, forked twice, or forked again and again."""
    pids = tmp_path / "pids"
    file = pipeline.put("a.txt", b"a", "text/plain")
    args = pipeline.args("TestLeave", file, {"how": how, "end": end, "pids": str(pids)})

    async def main() -> None:
        task = asyncio.create_task(pipeline.executor.run(pipeline.bench.request(args), pipeline.bench.services))
        while not pids.exists() or len(pids.read_text().split()) < 2:
            await asyncio.sleep(0.01)
        if end == "hang":
            task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())
    numbers = [int(word) for word in pids.read_text().split()]
    _until(lambda: not any(map(is_alive, numbers)))
    assert pipeline.done("Copy", file)


def test_f_x_33_labels_select_workers(pipeline: PipelineBench) -> None:
    file = pipeline.put("a.txt", b"a", "text/plain")
    assert pipeline.failed("Copy", file, limits={"labels": ["gpu"]}).code == "RESOURCE_LABELS"
    pipeline.bench.settings["pipelines.labels"] = ["gpu", "big"]
    assert pipeline.done("Copy", file, limits={"labels": ["gpu"]})


def test_f_a_8_that_a_processor_that_hangs_is_gone_when_its_stage_is_cancelled(
    pipeline: PipelineBench, tmp_path: Path
) -> None:
    """With everything that it has started, and without a trace in the store."""
    pids = tmp_path / "pids"
    file = pipeline.put("a.txt", b"a", "text/plain")
    args = pipeline.args("TestBad", file, {"how": "hang", "pids": str(pids)})

    async def main() -> list[int]:
        task = asyncio.create_task(pipeline.executor.run(pipeline.bench.request(args), pipeline.bench.services))
        while not pids.exists() or len(pids.read_text().split()) < 2:
            await asyncio.sleep(0.01)
        numbers = [int(word) for word in pids.read_text().split()]
        assert all(map(is_alive, numbers))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return numbers

    numbers = asyncio.run(main())
    assert not is_alive(numbers[0]), "when the stage has ended, its process has"
    _until(lambda: not is_alive(numbers[1]))
    assert pipeline.objects() == []
    assert pipeline.done("Copy", file)


def test_f_a_18_workers_end_with_the_engine(pipeline: PipelineBench, tmp_path: Path) -> None:
    """Whoever loses the engine's end of the socket kills what it has begun."""
    pids = tmp_path / "pids"
    args = pipeline.args("TestBad", pipeline.put("a.txt", b"a", "text/plain"), {"how": "hang", "pids": str(pids)})
    outcomes: list[Any] = []

    def stage() -> None:
        run = pipeline.executor.run(pipeline.bench.request(args), pipeline.bench.services)
        outcomes.append(asyncio.run(run))

    thread = threading.Thread(target=stage)
    thread.start()
    _until(lambda: pids.exists() and len(pids.read_text().split()) == 2)
    pipeline.executor.close()
    thread.join(20)
    assert isinstance(outcomes[0], Failed) and outcomes[0].failure.code == "PROCESSOR_CRASHED"
    _until(lambda: not any(is_alive(int(word)) for word in pids.read_text().split()))


def test_f_x_33_that_a_lost_fork_server_is_started_again(pipeline: PipelineBench) -> None:
    file = pipeline.put("a.txt", b"a", "text/plain")
    assert pipeline.done("Copy", file)
    server = pipeline.executor.workers._server
    assert server is not None
    os.kill(server.pid, 9)
    server.wait()
    _until(lambda: pipeline.executor.workers._server is None)
    assert pipeline.done("Copy", file)


def test_both_cores_work_side_by_side(pipeline: PipelineBench) -> None:
    """Counted, not timed: several workers exist at the same moment."""
    file = pipeline.put("a.txt", b"a", "text/plain")

    async def main() -> int:
        requests = [pipeline.bench.request(pipeline.args("TestBad", file, {"how": "hang"})) for _ in range(3)]
        tasks = [asyncio.create_task(pipeline.executor.run(made, pipeline.bench.services)) for made in requests]
        most = 0
        for _ in range(2000):
            most = max(most, len(pipeline.executor.workers.pids()))
            if most == 3:
                break
            await asyncio.sleep(0.01)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return most

    assert asyncio.run(main()) == 3


def test_f_10_6_that_a_bucket_that_vanishes_or_is_unknown_is_an_io_error(pipeline: PipelineBench) -> None:
    file = pipeline.put("a.txt", b"a", "text/plain")
    missing = pipeline.failed("Copy", {**file, "key": "gone.txt"})
    assert (missing.code, missing.category) == ("PP-500-IO", "external")
    pipeline.inbox.rename(pipeline.inbox.with_name("elsewhere"))
    vanished = pipeline.failed("Copy", file)
    assert (vanished.code, vanished.category) == ("PP-500-IO", "transient")
    unknown = pipeline.failed("Copy", {**file, "bucket": "nowhere"})
    assert unknown.code == "PP-500-IO" and "[pipelines.buckets]" in unknown.message
    assert pipeline.objects() == []


@pytest.mark.skipif(os.geteuid() == 0, reason="a folder refuses nothing to root")
def test_f_10_6_that_a_store_that_refuses_to_write(pipeline: PipelineBench) -> None:
    file = pipeline.put("a.txt", b"a", "text/plain")
    pipeline.artifacts.mkdir()
    pipeline.artifacts.chmod(0o500)
    failure = pipeline.failed("Copy", file)
    pipeline.artifacts.chmod(0o700)
    assert (failure.code, failure.category) == ("PP-500-IO", "transient")


def test_f_10_6_that_a_store_that_refuses_an_output_leaves_nothing_half_written(pipeline: PipelineBench) -> None:
    """A file stands where the folder of the tenants would be."""
    file = pipeline.put("a.txt", b"a", "text/plain")
    pipeline.artifacts.mkdir()
    (pipeline.artifacts / "tenants").write_text("in the way")
    failure = pipeline.failed("Copy", file)
    assert (failure.code, failure.category) == ("PP-500-IO", "transient")
    assert pipeline.objects() == ["tenants"]


@pytest.mark.parametrize(("setting", "may"), [
    ("pipelines.bucket_tenants.inbox", False), ("pipelines.watch.inbox", False), ("pipelines.bucket_tenants.o", True),
])  # fmt: skip
def test_f_9_8_buckets_of_another_tenant_are_not_read(pipeline: PipelineBench, setting: str, may: bool) -> None:
    """F-6.6: whatever bucket a message names, the operator has said whose it is."""
    file = pipeline.put("a.txt", b"a", "text/plain")
    pipeline.bench.settings |= {setting: "other"}
    if may:
        assert pipeline.done("Copy", file)["output_ref"]
    else:
        assert pipeline.failed("Copy", file).code == "PP-403-SCOPE"


@pytest.mark.parametrize("bucket", ["ff-artifacts", "inbox"])
def test_f_9_8_nobody_works_on_the_file_of_another_tenant(pipeline: PipelineBench, bucket: str) -> None:
    file = pipeline.put("tenants/other/a.txt", b"a", "text/plain")
    failure = pipeline.failed("Copy", {**file, "bucket": bucket})
    assert (failure.code, failure.category) == ("PP-403-SCOPE", "authorization")


@pytest.mark.parametrize(
    "key", ["../a.txt", "/etc/hostname", "x/../../a.txt", "a\x00b", "", ".penstock-work/x", "lin/a"]
)
def test_a_key_that_leaves_its_bucket_is_refused(pipeline: PipelineBench, key: str) -> None:
    pipeline.put("a.txt", b"a", "text/plain")
    (pipeline.inbox / "lin").symlink_to("/etc")
    failure = pipeline.failed("Copy", {"bucket": "inbox", "key": key, "size": 1, "mime": "text/plain"})
    assert failure.code in ("PP-500-IO", "INPUT_INVALID")
    assert pipeline.objects() == []


def test_a_processor_may_only_hand_over_a_file_of_its_folder(pipeline: PipelineBench) -> None:
    failure = pipeline.failed("TestBad", pipeline.put("a.txt", b"a", "text/plain"), {"how": "outside"})
    assert failure.code == "OUTPUT_INVALID"


def test_f_x_8_rollback_is_called_with_what_the_stage_had_answered(pipeline: PipelineBench, tmp_path: Path) -> None:
    file = pipeline.put("a.txt", b"a", "text/plain")
    mark = tmp_path / "mark"
    body = pipeline.done("TestUndo", file, {"mark": str(mark)})
    assert mark.exists()
    back = pipeline.outcome("TestUndo", file, {"mark": str(mark)}, undo=True, request={"result": body})
    assert isinstance(back, Done) and back.body["output"] == {"undone": True}
    assert not mark.exists()
    back = pipeline.outcome("Copy", file, undo=True, request={"result": {}})
    assert isinstance(back, Done), "a processor without a way back takes nothing back"


def _until(happened: Any, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


@pytest.mark.parametrize(("times", "code"), [(1, ""), (2, ""), (3, "WORKER_LOST")])
def test_f_x_3_workers_that_are_killed_are_replaced_before_a_retry_counts(
    pipeline: PipelineBench, tmp_path: Path, times: int, code: str
) -> None:
    """F-X.3, F-A.18: another worker takes the stage up, in the same attempt; after three the stage has failed."""
    pids = tmp_path / "pids"
    file = pipeline.put("a.txt", b"a", "text/plain")
    args = pipeline.args("TestLost", file, {"pids": str(pids), "times": times})

    async def main() -> Any:
        task = asyncio.create_task(pipeline.executor.run(pipeline.bench.request(args), pipeline.bench.services))
        for number in range(times):
            while not pids.exists() or len(pids.read_text().split()) <= number:
                await asyncio.sleep(0.01)
            os.kill(int(pids.read_text().split()[number]), signal.SIGKILL)
        return await task

    outcome = asyncio.run(main())
    assert len(pids.read_text().split()) == times
    if code:
        assert isinstance(outcome, Failed)
        assert (outcome.failure.code, outcome.failure.category) == (code, "transient") and pipeline.objects() == []
    else:
        assert isinstance(outcome, Done) and outcome.body["output"] == {"after": times}


def test_f_x_18_files_that_were_replaced_since_they_came_are_not_read(pipeline: PipelineBench) -> None:
    """The new one has its own event, and so its own execution; an etag that somebody made up says nothing."""
    file = pipeline.put("a.txt", b"first", "text/plain")
    store = object_store(pipeline.bench.settings["pipelines.buckets.inbox"])
    file["etag"] = asyncio.run(store.info("a.txt")).etag
    assert pipeline.done("Checksum", file)["size"]
    pipeline.put("a.txt", b"second!", "text/plain")
    failure = pipeline.failed("Checksum", file)
    assert (failure.code, failure.category) == ("FILE_CHANGED", "validation")
    pipeline.done("Checksum", {**file, "etag": "made-up"})


def test_f_1_1_10_the_size_that_counts_is_that_of_the_file_and_not_of_its_message(pipeline: PipelineBench) -> None:
    file = {**pipeline.put("a.txt", b"four", "text/plain"), "size": 1}
    failure = pipeline.failed("Checksum", file, max_file_size=3)
    assert (failure.code, failure.category) == ("FILE_TOO_LARGE", "validation")
    pipeline.done("Checksum", file, max_file_size=4)


def test_f_x_35_usage_that_is_no_number_is_said_so_and_not_tried_again(pipeline: PipelineBench) -> None:
    failure = pipeline.failed("TestUsage", pipeline.put("a.txt", b"a", "text/plain"))
    assert (failure.code, failure.category) == ("OUTPUT_INVALID", "permanent")
    assert "usage" in failure.message


def test_f_1_2_7_stages_that_only_wait_for_a_server_take_no_place_of_those_that_compute() -> None:
    """F-X.14: a script computes in a process of the engine's, and a way back is a worker's, so both count."""
    executor = ProcessorExecutor()
    lanes = {name: executor.lane({"processor": name, "file": {"$expr": "input.file"}}) for name in processor_names()}
    assert {name for name, lane in lanes.items() if lane.name} == {"HttpCall", "LlmExtractor"}
    assert {lane.width for lane in lanes.values() if not lane.name} == {executor.width}
    assert lanes["HttpCall"].width > 4 * executor.width
    assert executor.lane({"processor": "HttpCall", "undo": None}).name == "" == executor.lane(None).name


def test_f_x_16_what_a_processor_answers_is_read_and_its_folder_is_emptied_beside_the_loop(
    pipeline: PipelineBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, set[bool]] = {}

    def beside(module: Any, name: str) -> None:
        whole = getattr(module, name)

        def call(*args: Any, **more: Any) -> Any:
            # A temporary folder of an earlier test may be collected, and removed, at any moment.
            if name != "rmtree" or Path(args[0]).is_relative_to(pipeline.artifacts):
                seen.setdefault(name, set()).add(threading.current_thread() is threading.main_thread())
            return whole(*args, **more)

        monkeypatch.setattr(module, name, call)

    for module, name in (
        (stage_output, "decode"), (stage_output, "json_value"), (processor_module, "schema_failure"),
        (shutil, "rmtree"),
    ):  # fmt: skip
        beside(module, name)
    file = pipeline.put("a.csv", b"a,b\n1,2\n", "text/csv")
    pipeline.done("CsvToJson", file, output_validation={"type": "object"})
    assert seen == {"decode": {False}, "json_value": {False}, "schema_failure": {False}, "rmtree": {False}}
    assert [path for path in pipeline.artifacts.rglob("*") if path.name.startswith(f"{os.getpid()}-")] == []
