"""The tests end what they start: at their end, when they are interrupted, when one of their processes is killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers import processes

ROOT = Path(__file__).resolve().parents[2]
#: it starts what hears neither a hang-up nor a polite word, in a session of its own
STARTS = """
import os, signal, subprocess, sys, time
from pathlib import Path

import pytest

from tests.servers import processes

CODE = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(600)"

def start(**how):
    child = subprocess.Popen([sys.executable, "-c", CODE], start_new_session=True, stdout=subprocess.PIPE, **how)
    child.stdout.readline()
    with open("pids", "a") as file:
        print(child.pid, file=file)
    return child

def test_leaves_one():
    start()

def test_leaves_one_without_an_environment():
    start(env=processes.mark())

def test_shares_one():
    child = start()
    processes.at_end(lambda: (child.kill(), child.wait()))

def test_waits():
    start()
    Path(f"waits-{os.getpid()}").touch()
    time.sleep(600)

def test_is_killed():
    start()
    os.kill(os.getpid(), signal.SIGKILL)
"""

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are looked for in /proc")


class Suite:
    """A folder with tests of its own and the conftest of ours."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "conftest.py").write_text("from tests.conftest import *\nprocesses.PATIENCE = 0.5\n")
        (folder / "test_it.py").write_text(STARTS)
        (folder / "pytest.ini").write_text("[pytest]\n")

    def start(self, *names: str, workers: int = 0) -> subprocess.Popen[str]:
        asked = [f"{self.folder}/test_it.py::{name}" for name in names]
        plugins = ["--disable-plugin-autoload", "-p", "xdist", "-p", "no:cacheprovider"]
        return subprocess.Popen(
            [sys.executable, "-m", "pytest", *plugins, "-q", *(["-n", str(workers)] if workers else []), *asked],
            cwd=self.folder, env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def started(self) -> list[int]:
        file = self.folder / "pids"
        return [int(line) for line in file.read_text().split()] if file.exists() else []

    def waits(self, process: subprocess.Popen[str]) -> int:
        """The process that runs the waiting test, once it waits."""
        while not (files := list(self.folder.glob("waits-*"))):
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        return int(files[0].name.removeprefix("waits-"))

    def all_end(self) -> bool:
        """The guard needs a moment: it looks whether its parent lives, and is polite first."""
        until = time.monotonic() + 60
        while any(map(alive, self.started())):
            if time.monotonic() > until:
                return False
            time.sleep(0.05)
        return True


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.fixture
def suite(tmp_path: Path) -> Iterator[Suite]:
    made = Suite(tmp_path)
    yield made
    for pid in made.started():
        if alive(pid):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("workers", [0, 1])
def test_what_is_left_is_ended_and_fails_the_run(suite: Suite, workers: int) -> None:
    names = ("test_leaves_one", "test_leaves_one_without_an_environment", "test_shares_one")
    process = suite.start(*names, workers=workers)
    out, _ = process.communicate(timeout=120)
    first, second, shared = suite.started()
    assert process.returncode == 1 and re.search(r"3 passed, 1 error", out), out
    for pid, test in ((first, "test_leaves_one"), (second, "test_leaves_one_without_an_environment")):
        assert re.search(rf"^{pid} .*started by .*::{test}\)$", out, re.MULTILINE), out
    assert f"\n{shared} " not in out
    assert not any(map(alive, suite.started()))


@pytest.mark.parametrize("workers", [0, 1])
def test_a_run_that_leaves_nothing_says_nothing(suite: Suite, workers: int) -> None:
    process = suite.start("test_shares_one", workers=workers)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0 and "outlived" not in out, out
    assert not any(map(alive, suite.started()))


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda how: how.name)
def test_interrupted(suite: Suite, how: signal.Signals, workers: int) -> None:
    """Whoever ends the run ends all of it, the workers of xdist, too."""
    process = suite.start("test_leaves_one", "test_waits", workers=workers)
    waiting = suite.waits(process)
    process.send_signal(how)
    out, _ = process.communicate(timeout=120)
    assert process.returncode != 0
    assert len(suite.started()) == 2 and suite.all_end(), out
    until = time.monotonic() + 60
    while alive(waiting) and time.monotonic() < until:
        time.sleep(0.05)
    assert not alive(waiting)


def test_a_killed_worker(suite: Suite) -> None:
    process = suite.start("test_is_killed", workers=1)
    out, _ = process.communicate(timeout=120)
    (pid,) = suite.started()
    assert process.returncode == 1 and f"\n{pid} " in out, out
    assert not alive(pid)


def test_files_of_servers_go_with_the_run() -> None:
    """Also those of a run inside a run, which knows its own only."""
    outer = os.environ[processes.VARIABLE]
    run = processes.Run()
    (processes.folder() / "data").mkdir()
    assert processes.folder() == Path(run.home) and os.environ[processes.VARIABLE] == f"{outer}:{run.home}"
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        assert [left.pid for left in processes.living(run.name)] == [child.pid]
        assert child.pid in [left.pid for left in processes.living(outer)]
    finally:
        child.kill()
        child.wait()
    assert run.close(0) == [] and not Path(run.home).exists() and os.environ[processes.VARIABLE] == outer
