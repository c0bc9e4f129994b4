"""kill -9 in a loop: a worker drives slow and flaky steps, dies at random moments, and nothing is lost or done twice.

PENSTOCK_KILLS says how often it is killed; 20 fit into every run of the tests.
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

from penstock.kernel import fact as F
from penstock.kernel.state import STATUS
from penstock.store.sqlite import Sqlite
from tests.host import kill_worker as W
from tests.host.rig import Rig

ROOT = Path(__file__).resolve().parents[2]
KILLS = int(os.environ.get("PENSTOCK_KILLS", "20"))
SEED = os.environ.get("PENSTOCK_SEED", "")


class Loop:
    """Workers on one store, one after another, until all runs have ended and there were enough kills."""

    def __init__(self, folder: Path, kills: int, seed: str) -> None:
        self.store, self.ledger, self.kills = folder / "store.db", folder / "ledger", kills
        self.random = random.Random(seed)
        self.runs = 10
        self.count: collections.Counter[str] = collections.Counter()
        self.facts = 0

    def go(self) -> None:
        while self.count["kills"] < self.kills or not self.count["complete"]:
            may_kill = self.count["kills"] < self.kills
            if may_kill and self.count["complete"]:
                self.runs += 10
                self.count["complete"] = 0
            self._one(may_kill)

    def _one(self, may_kill: bool) -> None:
        env = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"}
        args = [sys.executable, "-m", "tests.host.kill_worker", str(self.store), str(self.ledger), str(self.runs)]
        worker = subprocess.Popen(args, env=env, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        self.count["processes"] += 1
        assert worker.stdout is not None
        delay_s = self.random.uniform(0.05, 0.4)
        if self.random.random() < 0.2:  # also while it starts, opens the store and recovers
            self.count["aimed at the opening"] += 1
        elif worker.stdout.readline() != "open\n":
            pytest.fail(f"a worker could not open the store: {worker.wait()}")
        try:
            worker.wait(delay_s if may_kill else 60)
        except subprocess.TimeoutExpired:
            if not may_kill:
                worker.kill()
                pytest.fail("a worker that nobody killed did not come to an end")
            worker.send_signal(signal.SIGKILL)
            worker.wait()
            self.count["kills"] += 1
            facts = self._facts()
            self.count["kills after a fact of its own"] += facts > self.facts
            self.facts = facts
            return
        assert worker.returncode == 0, worker.returncode
        self.count["complete"] = 1
        self.facts = self._facts()

    def _facts(self) -> int:
        if not self.store.exists():
            return 0
        store = Sqlite(self.store, engine=False)
        try:
            return int(store.c.execute("SELECT coalesce(max(lsn), 0) FROM journal").fetchone()[0])
        finally:
            store.close()


def effects(ledger: Path) -> list[tuple[str, str, str, int, str]]:
    """Process, run, node, attempt, key of every effect that reached the world."""
    rows = [line.split("\t") for line in ledger.read_text().splitlines()]
    return [(pid, run, node, int(attempt), key) for pid, run, node, attempt, key in rows]


@pytest.mark.slow
@pytest.mark.timeout(60 + KILLS * 6)
def test_kill_9_in_a_loop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """D-12.8, D-X.23, C-74, R1, R11: every run complete, every step settled exactly once, numbers dense, one key per
    effect, and effects repeated only where a process died."""
    seed = SEED or str(time.time_ns())
    loop = Loop(tmp_path, KILLS, seed)
    began = time.monotonic()
    loop.go()
    rig = Rig(loop.store)
    rig.sound()  # K1, K2, K4, K5, E4 and the others that a store can show

    with rig.reading() as store:
        rows = store.runs(limit=100_000)
        journals = {row.id: [f for j in store.journal(row.no) for f in F.decode_facts(j.body)] for row in rows}
        nets = {row.id: store.net(row.net) for row in rows}
    stuck = [row.id for row in rows if STATUS[row.status] != "COMPLETED"]
    assert stuck == [] and len([row for row in rows if row.parent is None]) == loop.runs == len(rows) // 2

    settled = _settled(journals, {id: net.name for id, net in nets.items()})
    expected = {(row.id, node) for row in rows for node in W.STEPS[nets[row.id].name]}
    lost, twice = expected - set(settled), [one for one, times in settled.items() if times > 1]
    assert not lost and not twice and set(settled) == expected

    told = effects(loop.ledger)
    keys = collections.defaultdict(set)
    for _, run, node, _, key in told:
        keys[run, node].add(key)
    assert set(keys) == expected and all(len(one) == 1 for one in keys.values())
    assert len({key for one in keys.values() for key in one}) == len(expected)
    assert max(attempt for *_, attempt, _ in told) <= 1 + W.AGAIN.max

    tries = collections.Counter((key, attempt) for *_, attempt, key in told)
    in_one_process = collections.Counter((pid, key, attempt) for pid, *_, attempt, key in told)
    repeated = sum(n - 1 for n in tries.values())
    assert max(in_one_process.values()) == 1, "an effect was repeated although nobody had died"
    assert repeated <= loop.count["kills"] * 2 * W.AT_ONCE
    assert loop.count["kills"] >= KILLS and loop.count["kills after a fact of its own"] >= KILLS // 3

    counters: dict[str, Any] = {
        "test": "kill", "seed": seed, **loop.count, "runs": len(rows), "facts": sum(map(len, journals.values())),
        "effects": len(expected), "calls": len(told), "repeated": repeated,
        "flaky": sum(f[0] == F.ATTEMPT_FAILED for facts in journals.values() for f in facts),
        "lost": len(lost), "dup_commit": len(twice), "stuck": len(stuck), "seconds": round(time.monotonic() - began, 1),
    }  # fmt: skip
    with capsys.disabled():
        print("\n" + json.dumps(counters))


def _settled(journals: dict[str, list[Any]], names: dict[str, str]) -> collections.Counter[tuple[str, str]]:
    """How often each step of each run has settled, done."""
    nodes = {"parent": [n.id for n in W.net().nodes], "child": [n.id for n in W.CHILD.nodes]}
    count: collections.Counter[tuple[str, str]] = collections.Counter()
    for run, facts in journals.items():
        for fact in facts:
            if fact[0] == F.SETTLED and fact[2] == 0:
                node = nodes[names[run]][fact[4]]
                if node in W.STEPS[names[run]]:
                    count[run, node] += 1
    return count
