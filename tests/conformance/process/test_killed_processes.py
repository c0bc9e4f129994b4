"""kill -9 at every commit of P-A.13: real processes on real stores die right before and right after each of them."""

from __future__ import annotations

import collections
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock import Penstock
from penstock.app.maintenance.verify import verify
from penstock.app.process.definitions import Processes
from penstock.app.process.work_items import folded
from penstock.dialects.process.instance import Instance
from penstock.kernel import fact as F
from tests.conformance.decision.stores import NAMES, Base
from tests.conformance.decision.stores import base as kind_of_store
from tests.conformance.process.kill_worker import CANCELLED, KEY

ROOT = Path(__file__).resolve().parents[3]
EFFECTS = {*"PABCD", "undo_p", "undo_a", "undo_b"}
KILLED = -9


@pytest.fixture(params=NAMES)
def base(request: pytest.FixtureRequest) -> Iterator[Base]:
    yield from kind_of_store(request.param)


class Mother:
    """A warm process that forks the ones that die."""

    def __init__(self) -> None:
        env = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"}
        args = [sys.executable, "-m", "tests.conformance.process.kill_worker"]
        pipe = subprocess.PIPE
        self.real = subprocess.Popen(args, cwd=ROOT, env=env, stdin=pipe, stdout=pipe, text=True)

    def run(self, store: Path, ledger: Path, at: int | None = None, when: str = "") -> int:
        assert self.real.stdin is not None and self.real.stdout is not None
        asked = {"store": str(store), "ledger": str(ledger), "at": at, "when": when}
        self.real.stdin.write(json.dumps(asked) + "\n")
        self.real.stdin.flush()
        return int(self.real.stdout.readline())

    def close(self) -> None:
        assert self.real.stdin is not None
        self.real.stdin.close()
        self.real.wait(60)


@pytest.fixture(scope="module")
def mother() -> Iterator[Mother]:
    one = Mother()
    yield one
    one.close()


class Story:
    """What a store and the world tell afterwards."""

    def __init__(self, store: Path, ledger: Path) -> None:
        lines = [line.split("\t") for line in ledger.read_text().splitlines()] if ledger.exists() else []
        self.told = [(pid, name, key) for pid, name, key in lines]
        door = Penstock(store, drive=False).open()
        try:
            row = door.store.run_by_key(door.tenant, KEY)
            assert row is not None
            self.inst: Instance = folded(door, row)
            self.facts = [self._plain(f, row.id) for j in door.store.journal(row.no) for f in F.decode_facts(j.body)]
            self.versions = [(one.version, one.status) for one in Processes(door).versions("saga")]
            self.violations = verify(door.store).violations
            self.left = [door.store.unfinished(), door.store.outbox_left(), door.store.items(), door.store.intents()]
            self.runs = len(door.runs())
        finally:
            door.close()

    def _plain(self, fact: Any, run: str) -> str:
        """Without the run's own name, and without times."""
        return json.dumps(_timeless(F.fields_of(fact)), default=str, sort_keys=True).replace(run, "RUN")


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):  # `ms` is how long an effect took, where it took any time
        return {name: _timeless(one) for name, one in value.items() if name != "ms"} or None
    if isinstance(value, list | tuple):
        return [_timeless(one) for one in value]
    return "a time" if type(value) is int and value > 10**12 else value


def as_it_must_be(story: Story) -> None:
    """P-A.13."""
    items = {one.activity_id: one for one in story.inst.items.values()}
    assert {name: one.status for name, one in items.items()} == {
        "P": "COMPENSATED", "A": "COMPENSATED", "B": "COMPENSATED", "C": "CANCELLED", "D": "CANCELLED",
    }  # fmt: skip
    assert (items["C"].cancel_reason, items["D"].cancel_reason) == (CANCELLED, "execution failed")
    assert "broken" in (items["D"].error or "") and items["C"].error is None
    times = {name: items[name].compensated_at or 0 for name in "PAB"}
    assert 0 < max(times["A"], times["B"]) <= times["P"]
    assert (story.inst.status, story.inst.compensation_status) == ("TERMINATED", "COMPLETE")
    steps = {one.activity_id: one.status for one in story.inst.undone.values()}
    assert steps == dict.fromkeys("PAB", "EXECUTED")
    assert story.versions == [(1, "active")] and story.runs == 1
    assert story.violations == [] and story.left == [[], False, [], []], "nothing is stuck"
    keys = collections.defaultdict(set)
    for _, name, key in story.told:
        keys[name].add(key)
    assert keys.keys() - {"C was stopped"} == EFFECTS and all(len(one) == 1 for one in keys.values()), keys
    assert len({key for name in EFFECTS for key in keys[name]}) == len(EFFECTS)
    again = collections.Counter(story.told)
    assert max(again.values()) == 1, "an effect was repeated although nobody had died"
    last = story.told[-1][0]
    names = [name for pid, name, _ in story.told if pid == last]
    assert ("C was stopped" in names) == ("C" in names), "an agent that runs is told to stop"
    order = [name for _, name, _ in story.told]
    assert order.index("undo_p") > max(order.index("undo_a"), order.index("undo_b"))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_kill_9_at_every_commit_of_a_saga(
    base: Base, mother: Mother, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """P-A.13, P-5.5.2, P-5.5.8, P-X.20, P-X.21, H8, C7, E2: one process dies, another goes on: the same end, the same
    journal, nothing undone twice, and every effect under one key."""
    ledger, store = tmp_path / "ledger", base.make(tmp_path)
    assert mother.run(store, ledger) == 0
    undisturbed = Story(store, ledger)
    as_it_must_be(undisturbed)
    assert len(undisturbed.told) == len(EFFECTS) + 1
    base.drop(store)
    count: collections.Counter[str] = collections.Counter()
    for at, when in itertools.islice(_moments(), None, None, base.every):
        folder = tmp_path / f"{when}_{at}"
        folder.mkdir()
        ledger, store = folder / "ledger", base.make(folder)
        ended = mother.run(store, ledger, at, when)
        if ended == 0:  # there were not so many commits
            base.drop(store)
            break
        assert ended == KILLED
        assert mother.run(store, ledger) == 0, f"killed {when} commit {at}, the next one did not come to the end"
        story = Story(store, ledger)
        as_it_must_be(story)
        assert story.facts == undisturbed.facts, f"killed {when} commit {at}"
        count["kills"] += 1
        count["repeated"] += len(story.told) - len({(name, key) for _, name, key in story.told})
        base.drop(store)
    assert count["kills"] >= 20 // base.every and count["repeated"]
    with capsys.disabled():
        print(f"\nkill -9 at every commit of P-A.13 on {base.name}: {dict(count)}, 0 lost, 0 twice, 0 stuck")


def _moments() -> Iterator[tuple[int, str]]:
    for at in range(1, 1000):
        yield at, "before"
        yield at, "after"
