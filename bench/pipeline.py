"""What files cost: messages taken in, the next of many picked, a large file, and many small pictures.

    python -m bench.pipeline                          every workload, CI-sized
    python -m bench.pipeline ingest --full            one workload, at the size that its aim is stated for
    python -m bench.pipeline ingest pick --store postgresql://…
    python -m bench.pipeline sqs                      the same messages through SQS (ministack, a test server)

Each prints one line of JSON. Figures are never asserted; what is counted (executions begun, outputs made) is.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from penstock.app.penstock import Penstock
from penstock.app.pipeline.definitions import define
from penstock.app.pipeline.intake.consumer import QueueConsumer
from penstock.app.pipeline.intake.dead_queue import QUEUE
from penstock.app.pipeline.intake.ingest import Ingest
from penstock.app.pipeline.intake.sqs_consumer import SqsConsumer, SqsQueue
from penstock.bench.disk import fdatasync_ms
from penstock.executors.contract import Done, Outcome, Request, Services
from penstock.lang.pipeline.messages import messages_of

DUPLICATES = 0.3
_NONE = msgspec.msgpack.encode({})
_MIB = 1024 * 1024


def pipeline(code: str, *processors: str, config: dict[str, Any] | None = None) -> dict[str, Any]:
    stages = [
        {
            "stage_code": f"s{n}", "stage_name": name, "sequence_order": n, "processor_type": name,
            "processor_config": config or {}, "max_retries": 0,
        }
        for n, name in enumerate(processors, 1)
    ]  # fmt: skip
    return {"pipeline_code": code, "pipeline_name": code, "file_type": "ANY", "max_retries": 0, "stages": stages}


def message(number: int) -> dict[str, Any]:
    return {
        "type": "s3.object.created", "bucket": "bkt", "key": f"in/{number:06d}.png", "size": 123456,
        "mime": "image/png", "etag": f"{number}", "tenantId": "default", "occurredAt": "2025-10-22T10:20:30Z",
    }  # fmt: skip


def messages(count: int) -> list[dict[str, Any]]:
    """Of which 30 in a hundred are sent a second time, some of them at once and some much later."""
    distinct = count - round(count * DUPLICATES)
    again = [(7 * n) % distinct for n in range(count - distinct)]
    return [message(n) for n in (*range(distinct), *again)]


class Held:
    """Answers every stage at once, after the gate was opened; counts them by execution."""

    name = "processor"

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.asked: dict[str, int] = {}

    async def run(self, request: Request, services: Services) -> Outcome:
        await self.gate.wait()
        self.asked[request.run] = self.asked.get(request.run, 0) + 1
        return Done({"output": {}, "output_ref": None})


async def ingest(store: str, folder: Path, count: int) -> dict[str, Any]:
    """From the built-in queue into executions; then all of them are executed, by stages that cost nothing."""
    held = Held()
    bodies = [msgspec.json.encode(body) for body in messages(count)]
    async with Penstock(store or folder / "s.db", settings={"limits.open_runs": 1_000_000}) as door:
        door.add_executor(held)
        define(door, pipeline("ONE", "Copy"))
        rows = [(f"m{n}", body, _NONE) for n, body in enumerate(bodies)]
        began = time.perf_counter()
        for first in range(0, count, 500):
            door.store.send_messages(QUEUE, rows[first : first + 500], door.now())
        sent = time.perf_counter() - began
        consumer = QueueConsumer(Ingest(door))
        began = time.perf_counter()
        while await consumer.step():
            pass
        taken = time.perf_counter() - began
        began = time.perf_counter()
        held.gate.set()
        distinct = count - round(count * DUPLICATES)
        while len(held.asked) < distinct:
            await asyncio.sleep(0.01)
        executed = time.perf_counter() - began
        counts = consumer.ingest.counts
        assert (counts.started, counts.duplicate) == (distinct, count - distinct), counts
        assert set(held.asked.values()) == {1}, "none twice"
    return {
        "messages": count, "distinct": distinct, "sent_per_s": round(count / sent),
        "messages_per_s": round(count / taken), "executions_per_s": round(distinct / executed),
        "aim": {"messages_per_s": 2000},
    }  # fmt: skip


async def pick(store: str, folder: Path, count: int) -> dict[str, Any]:
    """The next of many that wait: the read of the dispatcher, and an execution from its end to the next one's stage."""
    held = Held()
    async with Penstock(store or folder / "s.db", settings={"limits.open_runs": 10_000_000}) as door:
        door.add_executor(held)
        define(door, pipeline("ONE", "Copy"))
        taking = Ingest(door)
        for first in range(0, count, 500):
            some = [file for n in range(first, min(first + 500, count)) for file in messages_of(message(n))]
            await taking.take(some)
        reads = []
        for _ in range(1000):
            began = time.perf_counter()
            assert door.store.pending_runs(None, 64)
            reads.append((time.perf_counter() - began) * 1000)
        held.gate.set()
        begun, samples = len(held.asked), 500
        began = time.perf_counter()
        while len(held.asked) < begun + samples:
            await asyncio.sleep(0.001)
        each = (time.perf_counter() - began) / (len(held.asked) - begun)
    return {
        "pending": count, "pick_p50_ms": round(statistics.median(reads), 3),
        "pick_p95_ms": round(sorted(reads)[949], 3), "execution_ms": round(each * 1000, 3),
        "aim": {"pick_p95_ms": 5},
    }  # fmt: skip


async def sqs(store: str, folder: Path, count: int) -> dict[str, Any]:
    """Through SQS into the built-in queue, beside what the test server itself gives when nothing is done with it."""
    from tests.servers.aws import KEYS, aws, ministack

    os.environ |= {"AWS_ACCESS_KEY_ID": KEYS["aws_access_key_id"], "AWS_SECRET_ACCESS_KEY": "WORD"}
    client = aws("sqs")
    bodies = [json.dumps(body) for body in messages(count)]

    def filled(name: str) -> str:
        url: str = client.create_queue(QueueName=name)["QueueUrl"]
        for first in range(0, count, 10):
            entries = [{"Id": str(n), "MessageBody": body} for n, body in enumerate(bodies[first : first + 10])]
            client.send_message_batch(QueueUrl=url, Entries=entries)
        return url

    bare = filled("bare")
    began, got = time.perf_counter(), 0
    while got < count:
        some = client.receive_message(QueueUrl=bare, MaxNumberOfMessages=10, WaitTimeSeconds=0).get("Messages", [])
        entries = [{"Id": str(n), "ReceiptHandle": one["ReceiptHandle"]} for n, one in enumerate(some)]
        if entries:
            client.delete_message_batch(QueueUrl=bare, Entries=entries)
        got += len(some)
    limit = count / (time.perf_counter() - began)
    path = Path(store) if store else folder / "s.db"
    async with Penstock(path) as door:
        queue = SqsQueue(filled("ff-pipeline-ingest"), endpoint=ministack())
        consumer = SqsConsumer(path, queue)
        began = time.perf_counter()
        while consumer.moved < count:
            await asyncio.to_thread(consumer.step, door.store, 0)
        moved = count / (time.perf_counter() - began)
    return {
        "messages": count, "messages_per_s": round(moved), "server_alone_per_s": round(limit),
        "share": round(moved / limit, 2),
    }  # fmt: skip


def watched(folder: Path, definition: dict[str, Any]) -> dict[str, Any]:
    """`penstock pipeline watch --once` in a process of its own: its time, processor time and memory with those of all
    that it has started."""
    (folder / "pipeline.json").write_text(json.dumps(definition))
    line = [
        sys.executable, "-m", "penstock", "pipeline", "watch", "inbox", "--definition", "pipeline.json", "--once",
        "--json",
    ]  # fmt: skip
    began = time.perf_counter()
    with (folder / "out.json").open("wb") as out:
        process = subprocess.Popen(line, cwd=folder, stdout=out)
        _, status, used = os.wait4(process.pid, 0)
    took = time.perf_counter() - began
    assert os.waitstatus_to_exitcode(status) == 0, (folder / "out.json").read_text()[-2000:]
    ended = json.loads((folder / "out.json").read_text())["ended"]
    assert all(each["status"] == "COMPLETED" for each in ended)
    return {
        "files": len(ended), "seconds": took, "cpu_seconds": used.ru_utime + used.ru_stime,
        "peak_rss": used.ru_maxrss * 1024,
    }  # fmt: skip


def idle_seconds() -> float:
    """Of all cores, since the machine began; where others work, the share of the rest is what can be compared."""
    stat = Path("/proc/stat")
    return int(stat.read_text().split()[4]) / os.sysconf("SC_CLK_TCK") if stat.exists() else 0.0


def large(folder: Path, megabytes: int) -> dict[str, Any]:
    """One large file, copied and summed, and a small one: memory is the same."""
    peaks = {}
    for name, size in (("small", _MIB), ("large", megabytes * _MIB)):
        place = folder / name
        (place / "inbox").mkdir(parents=True)
        with (place / "inbox/a.bin").open("wb") as file:
            for _ in range(size // _MIB):
                file.write(os.urandom(_MIB))
        peaks[name] = watched(place, pipeline("BIG", "Copy", "Checksum"))
    big, little = peaks["large"], peaks["small"]
    return {
        "megabytes": megabytes, "seconds": round(big["seconds"] - little["seconds"], 2),
        "megabytes_per_s": round(megabytes / (big["seconds"] - little["seconds"])),
        "peak_rss_mb": round(big["peak_rss"] / _MIB), "peak_rss_mb_of_1_mb": round(little["peak_rss"] / _MIB),
        "ratio": round(big["peak_rss"] / little["peak_rss"], 2), "aim": {"ratio": 1},
    }  # fmt: skip


def thumbnails(folder: Path, count: int) -> dict[str, Any]:
    """Many pictures of a camera's size, each made small."""
    from PIL import Image

    inbox = folder / "inbox"
    inbox.mkdir()
    noise = Image.effect_noise((1600, 1200), 60).convert("RGB")
    for n in range(count):
        noise.putpixel((0, 0), (n % 256, n // 256 % 256, 0))
        noise.save(inbox / f"{n:05d}.jpg", quality=80) if n < 8 else os.link(
            inbox / f"{n % 8:05d}.jpg", inbox / f"{n:05d}.jpg"
        )
    idle = idle_seconds()
    used = watched(folder, pipeline("SMALL", "ImageThumbnail", config={"size": 200}))
    idle = idle_seconds() - idle
    assert used["files"] == count
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return {
        "pictures": count, "seconds": round(used["seconds"], 1), "per_s": round(count / used["seconds"], 1),
        "cpu_ms_each": round(used["cpu_seconds"] / count * 1000, 1), "cores": cores,
        "cores_used_percent": round(used["cpu_seconds"] / used["seconds"] / cores * 100),
        "of_what_was_free_percent": round(used["cpu_seconds"] / (used["cpu_seconds"] + idle) * 100),
        "aim": {"cores_used_percent": 80},
    }  # fmt: skip


SMALL = {"ingest": 1000, "pick": 2000, "sqs": 500, "large": 64, "thumbnails": 60}
FULL = {"ingest": 5000, "pick": 100_000, "sqs": 5000, "large": 1024, "thumbnails": 1000}
IN_STORE: dict[str, Callable[..., Any]] = {"ingest": ingest, "pick": pick, "sqs": sqs}
OF_FOLDER: dict[str, Callable[..., Any]] = {"large": large, "thumbnails": thumbnails}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("workloads", nargs="*", help=", ".join(SMALL))
    parser.add_argument("--full", action="store_true", help="the sizes the aims are stated for")
    parser.add_argument("--store", default="", help="postgresql://…; else a file that is thrown away")
    parser.add_argument("--size", type=int, help="another number of messages, files or megabytes")
    parser.add_argument("--folder", type=Path, help="where to work")
    chosen = parser.parse_args(arguments)
    for name in chosen.workloads or list(SMALL):
        size = chosen.size or (FULL if chosen.full else SMALL)[name]
        with tempfile.TemporaryDirectory(dir=chosen.folder) as made:
            folder = Path(made)
            work = IN_STORE.get(name)
            figures = asyncio.run(work(chosen.store, folder, size)) if work else OF_FOLDER[name](folder, size)
            disk = {"fdatasync_ms": fdatasync_ms(folder)}
        print(json.dumps({"workload": f"pipeline {name}", **figures, **disk}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
