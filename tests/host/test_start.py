"""Starting: when `start` has returned, the run is in the store."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from penstock.app.blocking import Blocking
from penstock.app.penstock import Penstock
from penstock.errors import BadInput, KeyConflict, StoreFull
from penstock.kernel.state import WAITING
from penstock.store.sqlite import Sqlite
from tests.host.rig import chain, go, task, wait

ROOT = Path(__file__).resolve().parents[2]
KILLED = """
import asyncio, os, signal, sys
from penstock.app.penstock import Penstock
from tests.host.rig import chain, wait

async def main():
    async with Penstock(sys.argv[1]) as penstock:
        release = penstock.release(chain(wait("w")))
        ids = [await penstock.start(release, 1, key="one"), *await penstock.start_many(release, range(700))]
        print(*ids, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


def test_h8_a_start_that_has_returned_survives_a_kill(tmp_path: Path) -> None:
    """H8, R8: killed in the very next line, every run that was acknowledged is there."""
    path = tmp_path / "store.db"
    env = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"}
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], env=env, cwd=ROOT, text=True, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    ids = done.stdout.split()
    store = Sqlite(path, engine=False)
    try:
        assert len(ids) == 701 and {store.run_by_id(id).status for id in ids} == {WAITING}
    finally:
        store.close()


def test_h8_each_start_waits_for_its_commit_and_many_share_one(tmp_path: Path) -> None:
    """H8: one commit at least for one start; a batch of them for a whole list."""

    async def scene() -> None:
        async with Penstock(tmp_path / "store.db") as penstock:
            release = penstock.release(chain(wait("w")))
            for n in range(5):
                run = await penstock.start(release)
                assert penstock.store.run_by_id(run).status == WAITING
                assert penstock.host.store.commits >= n + 1  # type: ignore[attr-defined]
            penstock.host.turns.holds_ns = 1 << 62  # however slow the machine is
            before: int = penstock.host.store.commits  # type: ignore[attr-defined]
            runs = await penstock.start_many(release, range(1000))
            assert len(set(runs)) == 1000
            assert penstock.host.store.commits - before <= 4  # type: ignore[attr-defined]
            assert await penstock.start_many(release, []) == []

    go(scene())


def test_the_same_key_at_the_same_time_is_one_run_and_both_wait_for_it(tmp_path: Path) -> None:
    async def scene() -> None:
        async with Penstock(tmp_path / "store.db") as penstock:
            release = penstock.release(chain(wait("w")))
            runs = await asyncio.gather(*(penstock.start(release, 1, key="k") for _ in range(5)))
            assert len(set(runs)) == 1 and penstock.store.run_by_key(penstock.tenant, "k") is not None
            known = await penstock.start_many(release, [1, 2], keys=["k", "l"])
            assert known[0] == runs[0] and len(penstock.runs()) == 2
            with pytest.raises(KeyConflict):
                await penstock.start_many(release, [3, 2], keys=["m", "k"])
            for keys in (["n", "n"], ["n"]):
                with pytest.raises(BadInput):
                    await penstock.start_many(release, [1, 1], keys=keys)
            assert len(penstock.runs()) == 2  # nothing was started with what is refused

    go(scene())


def test_h13_a_start_that_could_not_be_committed_says_so(tmp_path: Path) -> None:
    """H8, H13: no id is given out for a run that is not in the store; with room the same start is taken."""

    async def scene() -> None:
        async with Penstock(tmp_path / "store.db") as penstock:
            release = penstock.release(chain(task("a", "echo")))
            right, room = penstock.store.commit, False

            def commit(batch: Any) -> None:
                if not room:
                    raise StoreFull
                right(batch)

            penstock.store.commit = commit  # type: ignore[method-assign]
            with pytest.raises(StoreFull):
                await penstock.start(release, key="k")
            assert penstock.store.run_by_key(penstock.tenant, "k") is None
            room = True
            run = await penstock.start(release, key="k")
            await penstock.wait(run, timeout=60)

    go(scene())


def test_without_a_loop(tmp_path: Path) -> None:
    with Blocking(tmp_path / "store.db") as penstock:
        release = penstock.release(chain(wait("w")))
        one, two = penstock.start_many(release, [1, 2], keys=["a", "b"])
        assert penstock.start(release, 1, key="a") == one != two
