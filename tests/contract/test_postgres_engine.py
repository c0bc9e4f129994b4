"""The engine on PostgreSQL: killed in a loop, its server stopped under it, and every command of the command line."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.app.maintenance.verify import verify
from penstock.app.penstock import Penstock
from penstock.errors import StoreAway, StoreBusy
from penstock.kernel import fact as F
from penstock.kernel.state import STATUS
from penstock.store.address import open_store
from tests.contract.store_suite import ROOT, PostgresKit
from tests.host import kill_worker as W
from tests.host.test_kill import _settled, effects

KILLS = int(os.environ.get("PENSTOCK_KILLS_PG", "8"))
STOPS = 3

pytest.importorskip("psycopg", reason="the extra «postgresql» is not installed")


@pytest.fixture
def kit(tmp_path: Path) -> Iterator[PostgresKit]:
    one = PostgresKit(tmp_path)
    yield one
    one.close()


@contextlib.contextmanager
def worker(url: str, ledger: Path, runs: int) -> Iterator[subprocess.Popen[str]]:
    env = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"}
    args = [sys.executable, "-m", "tests.host.kill_worker", url, str(ledger), str(runs)]
    process = subprocess.Popen(args, env=env, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def held(url: str, ledger: Path, runs: int, deaths: int) -> dict[str, Any]:
    """Every run complete, every step settled exactly once, one key per effect; effects repeated only by a death."""
    store = open_store(url, engine=False)
    try:
        assert verify(store).violations == []  # K1, K2, K4, K5, E4 and the others that a store can show
        rows = store.runs(limit=100_000)
        journals: dict[str, list[Any]] = {
            row.id: [f for j in store.journal(row.no) for f in F.decode_facts(j.body)] for row in rows
        }
        names = {row.id: store.net(row.net).name for row in rows}
    finally:
        store.close()
    stuck = [row.id for row in rows if STATUS[row.status] != "COMPLETED"]
    assert stuck == [] and len(rows) == 2 * runs
    expected = {(row.id, node) for row in rows for node in W.STEPS[names[row.id]]}
    settled = _settled(journals, names)
    lost, twice = expected - set(settled), [one for one, times in settled.items() if times > 1]
    assert not lost and not twice
    told = effects(ledger)
    keys = collections.defaultdict(set)
    for _, run, node, _, key in told:
        keys[run, node].add(key)
    assert set(keys) == expected and all(len(one) == 1 for one in keys.values())
    repeated = sum(n - 1 for n in collections.Counter((key, attempt) for *_, attempt, key in told).values())
    assert repeated <= deaths * 2 * W.AT_ONCE
    return {
        "runs": len(rows), "facts": sum(map(len, journals.values())), "effects": len(expected), "calls": len(told),
        "repeated": repeated, "lost": 0, "dup_commit": 0, "stuck": 0,
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(120 + KILLS * 10)
def test_kill_9_in_a_loop(kit: PostgresKit, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """H1, H2, H8, R1, D-12.8, D-X.23, C-74: the engine is killed at random moments, also while it opens the store; the
    next one takes it at once."""
    seed = os.environ.get("PENSTOCK_SEED") or str(time.time_ns())
    chance, ledger, runs = random.Random(seed), tmp_path / "ledger", 10
    count: collections.Counter[str] = collections.Counter()
    complete = False
    while count["kills"] < KILLS or not complete:
        may_kill = count["kills"] < KILLS
        if may_kill and complete:
            runs, complete = runs + 10, False
        with worker(kit.url, ledger, runs) as one:
            count["processes"] += 1
            assert one.stdout is not None
            if not may_kill or chance.random() > 0.2:
                assert one.stdout.readline() == "open\n", f"a worker could not open the store: {one.wait()}"
            try:
                one.wait(chance.uniform(0.05, 0.6) if may_kill else 90)
            except subprocess.TimeoutExpired:
                assert may_kill, "a worker that nobody killed did not come to an end"
                one.send_signal(signal.SIGKILL)
                one.wait()
                count["kills"] += 1
                continue
        assert one.returncode == 0
        complete = True
    found = {
        "test": "kill",
        "store": "postgresql",
        "seed": seed,
        **count,
        **held(kit.url, ledger, runs, count["kills"]),
    }
    with capsys.disabled():
        print("\n" + json.dumps(found))


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_the_server_is_stopped_in_a_loop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """H5, H8, H13, R3: `pg_ctl stop -m immediate` under a working engine. It says so, waits, and goes on by itself:
    nothing acknowledged is lost, no step is settled twice, and as nobody has died, no effect is repeated."""
    from tests.servers.postgres import own

    server = own()
    url, ledger = server.database("p"), tmp_path / "ledger"

    async def scene() -> int:
        world, troubles = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT), 0
        door = Penstock(url, output_dir=tmp_path)

        @door.executor("step")
        async def _step(request: Any) -> Any:
            line = f"{os.getpid()}\t{request.run}\t{request.node}\t{request.attempt}\t{request.key}\n"
            os.write(world, line.encode())
            await asyncio.sleep(W.slow(request))
            return W.answer(request)

        door.add_executor(_named("block", door))
        async with door:

            def trouble(error: Any) -> None:
                nonlocal troubles
                troubles += error is not None

            door.host.on_trouble.append(trouble)
            door.release(W.CHILD)
            release = door.release(W.net())
            runs = await door.start_many(release, range(20), keys=[f"run-{n}" for n in range(20)])
            for _ in range(STOPS):
                await asyncio.sleep(0.4)
                await asyncio.to_thread(server.stop, signal.SIGQUIT)
                await asyncio.sleep(0.3)
                await asyncio.to_thread(server.start)
            await asyncio.gather(*(door.wait(run) for run in runs))
        os.close(world)
        return troubles

    troubles = asyncio.run(scene())
    found = {"test": "server stops", "stops": STOPS, "troubles": troubles, **held(url, ledger, 20, 0)}
    server.stop()
    assert troubles >= 1, "nobody noticed"
    with capsys.disabled():
        print("\n" + json.dumps(found))


async def _waited(door: Penstock, run: str) -> None:
    """Whoever asks while the server is still on its way up is told so, and asks again."""
    while True:
        try:
            await door.wait(run)
            return
        except StoreAway:
            await asyncio.sleep(0.1)


def _named(name: str, door: Penstock) -> Any:
    """The same executor under another name."""
    inner = door._engine.executors["step"]

    class Same:
        def __init__(self) -> None:
            self.name = name

        async def run(self, request: Any, services: Any) -> Any:
            return await inner.run(request, services)

    return Same()


# ---- the command line ------------------------------------------------------------------------------------------------


def penstock(*arguments: str, folder: Path, code: int = 0, **more: str) -> str:
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **more}
    asked = [sys.executable, "-m", "penstock", *arguments]
    done = subprocess.run(asked, cwd=folder, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


LOOK: tuple[str, ...] = (
    "ps", "ps --all", "show one", "trace one", "replay one", "draw one", "verify", "rebuild", "inbox", "outbox",
    "events ls", "dlq ls", "registry ls", "releases ls", "schedules ls", "rules ls", "work --until-idle",
    "events send lab.done", "pause two", "resume two",
)  # fmt: skip


@pytest.mark.slow
def test_commands_work_with_a_server(kit: PostgresKit, tmp_path: Path) -> None:
    """Everything that takes --store: run, look, steer, fork, verify, rebuild; and no file takes its place."""
    examples, where = ROOT / "examples", {"PENSTOCK_STORE": kit.url}

    def say(*arguments: str, code: int = 0) -> str:
        return penstock(*arguments, folder=tmp_path, code=code, **where)

    assert "PS-404-STORE" in say("ps", code=2)
    say("check", str(examples / "decision" / "defect_alert.json"))
    out = say("run", str(examples / "diagram" / "loop.yaml"), "--key", "one", "--json")
    assert json.loads(out)["status"].lower() == "completed"
    out = say("run", str(examples / "diagram" / "ask.yaml"), "--key", "two", code=4)
    assert kit.url in out, "what it says to do next names the store"
    for line in LOOK:
        assert "Traceback" not in say(*line.split(), code=4 if line == "resume two" else 0), line
    say("fork", "one", "--at", "3")
    assert json.loads(say("verify", "--json"))["violations"] == []
    assert not list(tmp_path.rglob("*.db")) and not list(tmp_path.rglob("postgresql*"))


def test_a_second_process_is_told_who_drives(kit: PostgresKit) -> None:
    """R12: with its process id; and whoever only looks needs nothing."""
    kit.open()
    with pytest.raises(StoreBusy, match=str(os.getpid())):
        kit.make(engine=True)
    from penstock.store.address import driver_of, place

    assert driver_of(place(kit.url)) == str(os.getpid())
    kit.close()
    assert driver_of(place(kit.url)) is None


def test_errors_are_said_in_words_and_without_the_password(tmp_path: Path) -> None:
    """Code and hint, no traceback, and the password nowhere."""
    away = "postgresql://kim:geheim@127.0.0.1:1/p"
    for arguments in (["ps"], ["run", str(ROOT / "examples" / "diagram" / "loop.yaml")], ["verify", "--json"]):
        out = penstock(*arguments, "--store", away, folder=tmp_path, code=2)
        assert "PS-503-STORE-AWAY" in out and "geheim" not in out and "Traceback" not in out
    out = penstock("ps", "--store", "postgresql://kim:geheim/x@h/p", folder=tmp_path, code=2)
    assert "PS-400-INPUT" in out and "geheim" not in out
