"""`penstock pipeline`: a folder is watched, killed in a stage, goes on; executions are listed and shown."""

from __future__ import annotations

import contextlib
import json
import signal
import time
import uuid
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.app.pipeline.intake.dead_queue import DEAD_QUEUE
from penstock.store.address import DEFAULT_TENANT, open_store
from penstock.store.queues import Buried
from tests.api.serving import serving, until
from tests.app.pipelines import EXAMPLE, a_pipeline, a_stage
from tests.cli.shell import ROOT, Shell
from tests.servers.aws import KEYS, aws, ministack

IMAGES = ROOT / "examples/pipeline/images.json"
WATCH = ("pipeline", "watch", "inbox")


@pytest.fixture
def inbox(penstock: Shell) -> Path:
    folder = penstock.folder / "inbox"
    folder.mkdir()
    return folder


def defined(penstock: Shell, document: dict[str, Any]) -> Path:
    return penstock.write("pipeline.json", json.dumps(document))


def test_a_picture_is_checked_thumbnailed_and_described(penstock: Shell, inbox: Path) -> None:
    """F-A.1, F-X.20: dropped into the folder, its results lie beside it, and it is listed with its stages."""
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    image.new("RGB", (1600, 900), (200, 30, 30)).save(inbox / "red.png")
    (inbox / "half.png.part").write_bytes(b"1")
    printed = penstock(*WATCH, "--definition", IMAGES, "--once").out
    assert "red.png" in printed and "COMPLETED" in printed
    results = inbox / "red.png.results"
    sizes = {name: image.open(results / f"3-{name}.png").size for name in ("small", "large")}
    assert sizes["small"][0] == 200 and sizes["large"][0] == 800
    assert json.loads((results / "2-check.json").read_text())["width"] == 1600
    (line,) = penstock("pipeline", "ls", "--json").json()
    assert (line["status"], line["pipelineCode"]) == ("COMPLETED", "IMAGES")
    shown = penstock("pipeline", "show", line["executionId"], "--json").json()
    assert [stage["status"] for stage in shown["stages"]] == ["COMPLETED"] * 5
    assert "✓ small" in penstock("pipeline", "ls").out
    assert "red.png" in penstock("pipeline", "show", line["executionId"][:13]).out
    assert len(penstock("pipeline", "logs", line["executionId"], "--json").json()) == 5
    assert penstock(*WATCH, "--once", "--json").json() == {"ended": [], "unmatched": []}
    assert "0 violations" in penstock("verify").out


def test_f_a_18_killed_in_a_stage_it_goes_on(penstock: Shell, inbox: Path) -> None:
    """F-A.18, F-X.20: the same command again ends the same execution; no stage that was done is done again."""
    stages = [a_stage(f"s{n}", n, processor_type="Checksum") for n in range(8)]
    document = defined(penstock, a_pipeline(file_type="ANY", stages=stages))
    with (inbox / "large.bin").open("wb") as file:
        file.truncate(150_000_000)
    process = penstock.start(*WATCH, "--definition", document)
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if "✓ s1" in line:
                break
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    (before,) = penstock("pipeline", "ls", "--json").json()
    assert before["status"] == "RUNNING"
    done = penstock("pipeline", "show", before["executionId"], "--json").json()["completedStages"]
    assert 2 <= done < 8
    ended = penstock(*WATCH, "--once", "--json").json()["ended"]
    assert [(each["executionId"], each["status"]) for each in ended] == [(before["executionId"], "COMPLETED")]
    logs = penstock("pipeline", "logs", before["executionId"], "--json").json()
    assert [(log["stageCode"], log["status"]) for log in logs] == [(f"s{n}", "COMPLETED") for n in range(8)]
    assert (inbox / "large.bin.results" / "IMG_BASIC.json").exists()


def test_f_a_2_messages_from_several_processes_are_one_execution(penstock: Shell, inbox: Path) -> None:
    """F-A.2: put ten times, from processes of their own; the work of one drives the store."""
    document = defined(penstock, a_pipeline(file_type="ANY", stages=[a_stage("sum", 1, processor_type="Checksum")]))
    penstock("pipeline", "define", document)
    message = penstock.write("message.json", json.dumps(EXAMPLE))
    for _ in range(10):
        assert penstock("pipeline", "ingest", message, "--json").json() == {"sent": 1}
    penstock("work", "--until-idle")
    (line,) = penstock("pipeline", "ls", "--json", "--tenant", "tnt_demo").json()
    assert line["status"] == "FAILED", "there is no such bucket on this machine"
    shown = penstock("pipeline", "show", line["executionId"], "--tenant", "tnt_demo").out
    assert "bkt" in shown


def test_a_folder_that_is_none_and_a_definition_that_is_none_are_told(penstock: Shell, inbox: Path) -> None:
    assert penstock("pipeline", "watch", "nowhere", "--json", code=2).error()["code"] == "PS-400-INPUT"
    wrong = defined(penstock, a_pipeline(stages=[a_stage("x", 1, processor_type="Chekcsum")]))
    error = penstock(*WATCH, "--definition", wrong, "--once", "--json", code=2).json()
    assert "Checksum" in json.dumps(error)
    assert penstock("pipeline", "ls", "--status", "ODD", "--json", code=2).error()["hint"]


def test_a_file_that_comes_later_is_processed_while_it_watches(penstock: Shell, inbox: Path) -> None:
    document = defined(penstock, a_pipeline(file_type="ANY", stages=[a_stage("sum", 1, processor_type="Checksum")]))
    process = penstock.start(*WATCH, "--definition", document)
    try:
        assert process.stdout is not None and "watching" in process.stdout.readline()
        (inbox / "late.txt").write_text("hello")
        ends = time.monotonic() + 60
        while not (inbox / "late.txt.results" / "IMG_BASIC.json").exists():
            assert time.monotonic() < ends and process.poll() is None
            time.sleep(0.05)
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert process.returncode == 0


def test_f_a_13_whoever_drives_the_store_reads_a_folder_that_was_watched(penstock: Shell, inbox: Path) -> None:
    """F-A.13, F-X.20: what failed goes on under `work`, where nobody has set up a bucket; two folders of one name stay
    two buckets, and one that was moved keeps its files."""
    a_command = a_stage("sort", 1, processor_type="Command", processor_config={"command": ["sort", "{input}"]})
    document = defined(penstock, a_pipeline(file_type="ANY", stages=[a_command]))
    (inbox / "a.txt").write_text("b\na\n")
    penstock(*WATCH, "--definition", document, "--once", code=3)
    (line,) = penstock("pipeline", "ls", "--json").json()
    assert line["status"] == "FAILED"
    (penstock.store.parent / "settings.toml").write_text('[pipelines]\ncommands = ["sort"]\n')
    penstock("pipeline", "retry", line["executionId"])
    penstock("work", "--until-idle")
    shown = penstock("pipeline", "show", line["executionId"], "--json").json()
    assert (shown["status"], shown["file"]["bucket"]) == ("COMPLETED", "inbox"), shown["error"]

    other = penstock.folder / "other" / "inbox"
    other.mkdir(parents=True)
    (other / "a.txt").write_text("d\nc\n")
    (ended,) = penstock("pipeline", "watch", "other/inbox", "--once", "--json").json()["ended"]
    assert penstock("pipeline", "show", ended["executionId"], "--json").json()["file"]["bucket"].startswith("inbox-")
    assert penstock(*WATCH, "--once", "--json").json()["ended"] == []
    (penstock.folder / "new").mkdir()
    inbox.rename(penstock.folder / "new" / "inbox")
    assert penstock("pipeline", "watch", "new/inbox", "--once", "--json").json()["ended"] == []


def test_f_9_5_one_trace_id_leads_to_everything_and_what_was_used_is_summed(penstock: Shell, inbox: Path) -> None:
    """F-9.5, F-7.1, F-8.3: `pipeline trace` and `pipeline usage`, for people and for programs."""
    stages = [a_stage("sum", 1, processor_type="Checksum"), a_stage("text", 2, processor_type="TextExtractor")]
    (inbox / "a.txt").write_text("hello")
    document = defined(penstock, a_pipeline(file_type="ANY", stages=stages))
    penstock("pipeline", "define", document)
    assert "Nothing was used" in penstock("pipeline", "usage").out
    penstock(*WATCH, "--once")
    (line,) = penstock("pipeline", "ls", "--json").json()
    trace = penstock("pipeline", "show", line["executionId"], "--json").json()["traceId"]
    told = penstock("pipeline", "trace", trace, "--json").json()
    assert [(file["bucket"], file["key"], file["size"]) for file in told["files"]] == [("inbox", "a.txt", 5)]
    (look,) = told["executions"]
    assert (look["executionId"], look["status"]) == (line["executionId"], "COMPLETED")
    assert [(stage["stageCode"], stage["status"]) for stage in look["stages"]] == [
        ("sum", "COMPLETED"), ("text", "COMPLETED"),
    ]  # fmt: skip
    assert [each["stageCode"] for each in told["extractions"]] == ["text"]
    printed = penstock("pipeline", "trace", trace).out
    for part in ("inbox/a.txt", "5 bytes", line["executionId"], "IMG_BASIC", "COMPLETED", "extraction  text"):
        assert part in printed
    assert penstock("pipeline", "trace", "0" * 32, "--json", code=2).error()["code"] == "PP-404-EXEC"
    (day,) = penstock("pipeline", "usage", "--json").json()
    assert (day["tenantId"], day["executions"], day["completed"], day["failed"]) == (DEFAULT_TENANT, 1, 1, 0)
    assert day["bytesIn"] >= 10 and day["wallMs"] > 0
    assert "1 executions" in penstock("pipeline", "usage", "--days", 1).out
    assert penstock("pipeline", "usage", "--json", "--tenant", "other").json() == []


def test_f_10_6_the_watched_folder_vanishes_and_comes_back(penstock: Shell, inbox: Path) -> None:
    """F-10.6, F-X.20: a clear word and no traceback; what was there is not processed again, and what is new is."""
    document = defined(penstock, a_pipeline(file_type="ANY", stages=[a_stage("sum", 1, processor_type="Checksum")]))
    (inbox / "a.txt").write_text("hello")
    process = penstock.start(*WATCH, "--definition", document)
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if "COMPLETED" in line:
                break
        inbox.rename(penstock.folder / "away")
        _, error = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 2 and "Traceback" not in (error or "")
    (penstock.folder / "away").rename(inbox)
    (inbox / "b.txt").write_text("hello")
    ended = penstock(*WATCH, "--once", "--json").json()["ended"]
    assert [(each["key"], each["status"]) for each in ended] == [("b.txt", "COMPLETED")]


def test_f_6_2_what_is_watched_is_in_the_console(penstock: Shell, inbox: Path) -> None:
    """F-X.20, F-6.2: one process watches the folder, drives the store and answers over HTTP."""
    document = defined(penstock, a_pipeline(file_type="ANY", stages=[a_stage("sum", 1, processor_type="Checksum")]))
    (inbox / "here.txt").write_text("hello")
    with serving(penstock.folder, *WATCH, "--definition", str(document), "--console") as server:
        with contextlib.closing(server.client("admin@example.com")) as client:
            ended = until(
                lambda: client.get("/pipelines/executions").json()["items"],
                lambda items: bool(items) and items[0]["status"] == "COMPLETED",
            )
            assert len(ended) == 1
            assert "<html" in client.get(server.url).text
        assert (inbox / "here.txt.results" / "IMG_BASIC.json").exists()


def test_f_x_11_that_a_schedule_is_made_listed_fired_and_ended(penstock: Shell, inbox: Path) -> None:
    """F-X.11, F-0.5: whoever works through the store fires what is due, once for each file."""
    document = defined(
        penstock,
        a_pipeline(file_type="ANY", pipeline_type="SCHEDULED", stages=[a_stage("sum", 1, processor_type="Checksum")]),
    )
    (inbox / "a.txt").write_text("hello")
    assert penstock(*WATCH, "--definition", document, "--once", "--json").json()["unmatched"] == ["a.txt"]
    often = {"schedule_name": "often", "pipeline_code": "IMG_BASIC", "schedule_type": "INTERVAL", "interval_seconds": 1}
    made = penstock("pipeline", "schedule", penstock.write("often.json", json.dumps(often)), "--json").json()
    assert made["next_execution_at"].endswith("Z") and made["is_active"] is True
    assert "often" in penstock("pipeline", "schedules").out
    wrong = penstock.write("wrong.json", json.dumps({**often, "interval_seconds": 0}))
    assert "interval_seconds" in json.dumps(penstock("pipeline", "schedule", wrong, "--json", code=2).json())
    process = penstock.start(*WATCH)
    try:
        ends = time.monotonic() + 60
        while not (fired := penstock("pipeline", "ls", "--status", "COMPLETED", "--json").json()):
            assert time.monotonic() < ends and process.poll() is None
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate()
    shown = penstock("pipeline", "show", fired[0]["executionId"], "--json").json()
    assert shown["triggerType"] == "SCHEDULED" and shown["idempotencyKey"].startswith(f"schedule#{made['id']}#")
    assert penstock("pipeline", "schedules", "--end", made["id"], "--json").json()["is_active"] is False
    assert penstock("pipeline", "schedules", "--json").json() == []
    assert penstock("pipeline", "schedules", "--end", made["id"], "--json", code=2).error()["code"] == "PS-404-SCHEDULE"


def test_f_x_15_that_a_batch_of_a_folder_is_processed_and_its_results_lie_beside_its_files(
    penstock: Shell, inbox: Path
) -> None:
    stages = [a_stage("sum", 1, processor_type="Checksum")]
    configuration = {"batch_size": 2, "batch_window_seconds": 1}
    document = a_pipeline(file_type="ANY", pipeline_type="BATCH", configuration=configuration, stages=stages)
    for name in "abc":
        (inbox / f"{name}.txt").write_text(name)
    ended = penstock(*WATCH, "--definition", defined(penstock, document), "--once", "--json").json()
    assert sorted(each["key"] for each in ended["ended"]) == ["a.txt", "b.txt", "c.txt"] and not ended["unmatched"]
    assert all((inbox / f"{name}.txt.results" / "IMG_BASIC.json").exists() for name in "abc")


def test_f_8_4_dead_messages_are_counted_by_cause_sampled_and_sent_again(penstock: Shell, inbox: Path) -> None:
    """F-8.4, F-A.4, F-S.6: one, and those of a cause; the second time there is nothing to send."""
    document = defined(penstock, a_pipeline(file_type="ANY", stages=[a_stage("sum", 1, processor_type="Checksum")]))
    penstock("pipeline", "define", document)
    dead = [("one", "PP-500-IO"), ("two", "PP-400-JSON"), ("three", "PP-400-JSON")]
    store = open_store(penstock.store, engine=False, create=False)
    try:
        body, none = json.dumps({**EXAMPLE, "tenantId": DEFAULT_TENANT}).encode(), msgspec.msgpack.encode({})
        rows = [Buried(id, body, none, 5, code, "why") for id, code in dead]
        assert store.bury_messages(DEAD_QUEUE, rows, round(time.time() * 1000)) == 3
    finally:
        store.close()
    causes = penstock("pipeline", "dlq", "--causes", "--json").json()
    assert [(cause["code"], cause["count"], len(cause["sample"])) for cause in causes] == [
        ("PP-400-JSON", 2, 2), ("PP-500-IO", 1, 1),
    ]  # fmt: skip
    assert "PP-400-JSON" in penstock("pipeline", "dlq", "--causes").out
    assert len(penstock("pipeline", "dlq", "--json").json()) == 3
    assert penstock("pipeline", "dlq", "--redrive", "one", "--json").json()["sent"] == 1
    penstock("work", "--until-idle")
    assert len(penstock("pipeline", "ls", "--json").json()) == 1
    again = penstock("pipeline", "dlq", "--redrive-all", "--code", "PP-400-JSON", "--json").json()
    assert again == {"sent": 2, "duplicate": 2, "failed": 0}
    penstock("work", "--until-idle")
    assert len(penstock("pipeline", "ls", "--json").json()) == 1 and penstock("pipeline", "dlq", "--json").json() == []
    assert penstock("pipeline", "dlq", "--redrive", "one", "--json", code=2).error()["hint"]


def test_f_x_12_killed_again_and_again_each_file_has_each_execution_once(penstock: Shell, inbox: Path) -> None:
    """F-X.12, F-X.13, F-X.15: a pipeline, one that waits for it, one that an action begins and one that collects; the
    process is killed between any two of their steps, and nothing is lost or done twice."""

    def a_document(code: str, **more: Any) -> Path:
        stages = [a_stage("sum", 1, processor_type="Checksum")]
        return penstock.write(f"{code}.json", json.dumps(a_pipeline(code, file_type="ANY", stages=stages, **more)))

    documents = [
        a_document("A", success_actions=[{"type": "pipeline", "code": "LAST"}, {"type": "event", "name": "done"}]),
        a_document("B", dependencies={"after": ["A", "C"]}),
        a_document("C", pipeline_type="BATCH", configuration={"batch_size": 4, "batch_window_seconds": 1}),
        a_document("LAST", pipeline_type="SCHEDULED"),
    ]
    for document in documents:
        penstock("pipeline", "define", document)
    for number in range(10):
        (inbox / f"{number}.txt").write_text(str(number))
    for kill in range(6):
        process = penstock.start(*WATCH)
        try:
            assert process.stdout is not None and "watching" in process.stdout.readline()
            time.sleep(0.3 + 0.25 * kill)  # however far it has come
        finally:
            process.send_signal(signal.SIGKILL)
            process.communicate()
    ended = penstock(*WATCH, "--once", "--json").json()
    assert all(each["status"] == "COMPLETED" for each in ended["ended"])
    lines = penstock("pipeline", "ls", "--json", "--limit", 500).json()
    assert sorted((line["pipelineCode"], line["status"]) for line in lines) == sorted(
        (code, "COMPLETED") for code in ("A", "B", "C", "LAST") for _ in range(10)
    )
    assert len({line["idempotencyKey"] for line in lines}) == 40
    events = penstock("events", "ls", "--json").json()
    assert len({event["id"] for event in events if event["source"] == "done"}) == 10


def test_f_3_1_consumers_of_sqs_in_processes_of_their_own_are_killed_and_nothing_is_lost(
    penstock: Shell, inbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-3.1, F-3.3, F-A.2: two consumers and whoever drives the store, killed while messages come; every distinct
    message is one execution, however often it was sent."""
    url, sqs = ministack(), aws("sqs")
    name = f"ff-{uuid.uuid4().hex[:8]}"
    queue = sqs.create_queue(QueueName=name)["QueueUrl"]
    sqs.create_queue(QueueName=f"{name}-dlq")
    penstock("pipeline", "define", defined(penstock, a_pipeline(file_type="ANY", stages=[a_stage("copy", 1)])))
    settings = f'[pipelines.sqs]\nurl = "{queue}"\nendpoint = "{url}"\nregion = "us-east-1"\nvisibility_s = 5\n'
    (penstock.store.parent / "settings.toml").write_text(settings)
    for number in range(60):
        body = json.dumps({**EXAMPLE, "tenantId": DEFAULT_TENANT, "key": f"{number % 40}.bin"})
        sqs.send_message(QueueUrl=queue, MessageBody=body)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEYS["aws_access_key_id"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEYS["aws_secret_access_key"])
    for _ in range(3):
        processes = [penstock.start("pipeline", "ingest", "--sqs") for _ in range(2)] + [penstock.start("work")]
        time.sleep(2)
        for process in processes:
            process.send_signal(signal.SIGKILL)
            process.communicate()
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    consumer = penstock.start("pipeline", "ingest", "--sqs", "--json")
    try:
        ends = time.monotonic() + 60
        while sum(map(int, sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=names)["Attributes"].values())):
            assert time.monotonic() < ends and consumer.poll() is None
            time.sleep(0.1)
    finally:
        consumer.kill()
        consumer.communicate()
    assert penstock("pipeline", "dlq", "--json").json() == []
    penstock("work", "--until-idle")
    lines = penstock("pipeline", "ls", "--json", "--limit", 500).json()
    assert len(lines) == len({line["idempotencyKey"] for line in lines}) == 40
