"""kill -9 in a loop: consumer, engine and worker processes die while files are processed; nothing is lost or doubled.

PENSTOCK_KILLS says how often, PENSTOCK_MESSAGES how many messages; a few of both fit into every run of the tests.
"""

from __future__ import annotations

import collections
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from penstock.app.penstock import Penstock
from penstock.app.pipeline.executions import logs, read_execution
from penstock.app.pipeline.intake.dead_queue import DEAD_QUEUE, QUEUE
from penstock.app.pipeline.intake.ingest import Ingest
from penstock.executors.processor import ProcessorExecutor
from penstock.lang.pipeline.messages import messages_of
from penstock.store.run_lists import RunFilter
from tests.app import kill_consumer as W
from tests.app.pipelines import EXAMPLE, a_pipeline, a_stage, driven, ended, until
from tests.conformance.decision.world import go
from tests.executors import processors_of_tests as on_shelf
from tests.servers.places import store_of

ROOT = Path(__file__).resolve().parents[2]
KILLS = int(os.environ.get("PENSTOCK_KILLS", "4"))
MESSAGES = int(os.environ.get("PENSTOCK_MESSAGES", "40"))
#: kills are spread over the messages
PACE = max(1.0, MESSAGES / 400)
SEED = os.environ.get("PENSTOCK_SEED", "")


class Killing:
    """Consumers on one store, one after another, until all is done and there were enough kills of both kinds."""

    def __init__(self, folder: Path, seed: str, store: str) -> None:
        self.store, self.inbox = store or str(folder / "store.db"), folder / "inbox"
        self.inbox.mkdir()
        self.random, self.count = random.Random(seed), collections.Counter[str]()
        self.sent = 0
        self.files: list[str] = []

    def send(self, messages: int) -> None:
        """30 of 100 are sent again."""
        rows = []
        for _ in range(messages):
            if not self.files or self.random.random() >= 0.3:
                name = f"{len(self.files)}.txt"
                (self.inbox / name).write_text(f"file {name}\n")
                self.files.append(name)
            else:
                name = self.random.choice(self.files)
            size = (self.inbox / name).stat().st_size
            body = {**EXAMPLE, "key": name, "mime": "text/plain", "etag": f"e{name}", "size": size}
            rows.append((f"m{self.sent}", json.dumps(body).encode(), b"\x80"))
            self.sent += 1

        async def put() -> None:
            async with Penstock(self.store, settings=W.settings_of(self.inbox)) as door:
                door.store.send_messages(QUEUE, rows, door.now())

        go(put())

    def go(self, kills: int, messages: int) -> None:
        self.send(messages)
        while True:
            may_kill = self.count["engine"] + self.count["worker"] < kills
            done = self._one(kills if may_kill else 0)
            if done and not may_kill:
                return
            if done:
                self.send(max(10, messages // 10))

    def _one(self, kills: int) -> bool:
        """One process, until it has done all or is killed; workers below it are killed while it goes on."""
        env = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"}
        args = [sys.executable, "-m", "tests.app.kill_consumer", self.store, str(self.inbox)]
        process = subprocess.Popen(args, env=env, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None and process.stdout.readline() == "open\n", process.wait()
            engine_dies = self.random.random() < 0.5
            while kills and self.count["engine"] + self.count["worker"] < kills:
                try:
                    return process.wait(self.random.uniform(0.1, 0.6) * PACE) == 0
                except subprocess.TimeoutExpired:
                    pass
                if engine_dies:
                    process.send_signal(signal.SIGKILL)
                    process.wait()
                    self.count["engine"] += 1
                    return False
                engine_dies = self.random.random() < 0.3
                self.count["worker"] += self._kill_worker(process.pid)
            assert process.wait(300 + MESSAGES) == 0
            return True
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()

    def _kill_worker(self, engine: int) -> bool:
        """Of the processes below the engine: the server that forks, or one of its workers."""
        below = descendants(engine)
        if not below:
            return False
        try:
            os.kill(self.random.choice(below), signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True


def descendants(pid: int) -> list[int]:
    parents: dict[int, list[int]] = collections.defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError):
                continue
            parents[parent].append(int(entry.name))
    below, todo = [], [pid]
    while todo:
        children = parents[todo.pop()]
        below += children
        todo += children
    return below


@pytest.mark.slow
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="worker processes are found in /proc, which is not here")
@pytest.mark.timeout(600 + KILLS * 20 + 2 * MESSAGES)
def test_f_a_18_f_x_3_whoever_is_killed_nothing_is_lost_or_doubled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], database: str
) -> None:
    """F-A.18, F-S.1, F-X.19: one execution per distinct message, each COMPLETED; each stage has one output and, of each
    attempt, one log; no message is dead."""
    seed = SEED or str(time.time_ns())
    killing = Killing(tmp_path, seed, store_of(database))
    killing.go(KILLS, MESSAGES)
    outputs = collections.Counter[tuple[str, str]]()

    async def look() -> None:
        async with Penstock(killing.store, settings=W.settings_of(killing.inbox)) as door:
            assert (door.store.queue_size(QUEUE), door.store.queue_size(DEAD_QUEUE)) == (0, 0)
            mine = door.of(W.TENANT)
            assets = door.store.file_assets(W.TENANT, limit=1_000_000)
            assert sorted(asset.object_key for asset in assets) == sorted(killing.files)
            wanted = RunFilter(tenant=W.TENANT, below=door.store.last_run() + 1)
            rows = door.store.find_runs(wanted, 1_000_000)
            shown = [read_execution(mine, row) for row in rows]
        assert {each.status for each, _ in shown} == {"COMPLETED"}
        assert sorted(each.file.key for each, _ in shown if each.file) == sorted(killing.files), "lost or doubled"
        for each, rows_of in shown:
            by_attempt = collections.Counter((log.attempt, log.stage_code) for log in rows_of)
            assert set(by_attempt.values()) == {1}, (seed, each.execution_id)
            assert [log.stage_code for log in rows_of if log.status == "COMPLETED"] == list(W.STAGES)

    go(look())
    for path in (tmp_path / "artifacts").rglob("executions/*/*/*/output.*"):
        outputs[path.parents[2].name, path.parents[1].name] += 1
    assert len(outputs) == 3 * len(killing.files) and set(outputs.values()) == {1}, seed
    with capsys.disabled():
        killed = f"{killing.count['engine']} engines, {killing.count['worker']} workers"
        told = f"{killing.sent} messages of {len(killing.files)} files"
        print(f"  {database}: killed (seed {seed}): {killed}; {told}: 0 lost, 0 doubled")


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_f_a_18_workers_killed_in_stage_two_are_replaced(tmp_path: Path, database: str) -> None:
    """F-A.18, F-X.3: with no retries at all it is taken up by another worker; each stage has one log, and retry_count
    stays 0."""
    pids = tmp_path / "pids"
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    (inbox / "a.txt").write_text("a")
    slow = {"processor_type": "TestLost", "processor_config": {"pids": str(pids), "times": 1}}
    assert on_shelf.lost.__name__ == "lost"
    stages = [a_stage("s1", 1, processor_type="Checksum"), a_stage("s2", 2, **slow), a_stage("s3", 3)]

    async def scene() -> None:
        document = a_pipeline(file_type="ANY", stages=stages)
        executor = ProcessorExecutor()
        more: dict[str, Any] = {"store": store_of(database), "settings": W.settings_of(inbox)}
        async with driven(tmp_path, document, processor=executor, **more) as door:
            message = messages_of({**EXAMPLE, "key": "a.txt", "mime": "text/plain", "size": 1})
            (receipt,) = await Ingest(door).take(message)
            mine, id = door.of(W.TENANT), receipt.started[0]
            await until(lambda: pids.exists() and len(pids.read_text().split()) == 1)
            os.kill(int(pids.read_text()), signal.SIGKILL)
            look = await ended(mine, id)
            assert (look.status, look.retry_count) == ("COMPLETED", 0)
            told = [(log.stage_code, log.status, log.retry_count) for log in logs(mine, id)]
            assert told == [("s1", "COMPLETED", 0), ("s2", "COMPLETED", 0), ("s3", "COMPLETED", 0)]
        executor.close()

    go(scene())
