"""Two thousand seeds without a violation, half of them the same every time and half drawn from the commit."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.sim import corpus
from tests.sim.faults import FAULTS, NEEDS, SUITS, Plan
from tests.sim.nets import by_hand
from tests.sim.sim import Sim
from tests.sim.tally import run_seeds

ROOT = Path(__file__).resolve().parents[2]
SEEDS = int(os.environ.get("PENSTOCK_SEEDS", "2000"))
CHUNKS = 8
SLOWEST = 8.0  # seeds per second of a core
Record = Any


def of_this_commit() -> int:
    """The first of the seeds that nobody has run before."""
    asked = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    commit = asked.stdout.strip() if asked.returncode == 0 else "no commit"
    return 1_000_000 + int(hashlib.sha256(commit.encode()).hexdigest()[:8], 16)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_no_seed_violates_anything(chunk: int, record_property: Record) -> None:
    """H1, H2, H8, H9, H10, E1, E2, K17: under crashes, lost answers and doubled deliveries, and all runs end."""
    half, first = SEEDS // 2, of_this_commit()
    tally = run_seeds([*range(chunk, half, CHUNKS), *range(first + chunk, first + half, CHUNKS)])
    record_property("sim", {
        "seeds": tally.seeds, "cpu": tally.cpu, "violations": len(tally.violations), "fired": dict(tally.fired),
        "counters": dict(tally.counters), "idle": tally.enabled.total() - tally.happened.total(),
    })  # fmt: skip
    told = [f"python -m tests.sim --seed {seed}   # {what}" for seed, what in tally.violations]
    assert not told, "\n" + "\n".join(told)
    assert tally.counters["zombie_rejected"] and tally.counters["dup_effects"]
    assert tally.seeds / tally.cpu > SLOWEST


@pytest.mark.parametrize("kept", corpus.read(), ids=lambda kept: kept.name)
def test_what_once_failed(kept: corpus.Kept) -> None:
    violation = Sim(kept.seed, **kept.options).run().violation
    if kept.known and violation is not None:
        pytest.xfail(violation)
    assert violation is None


def test_a_seed_is_the_same_everywhere() -> None:
    """K19: fifty seeds in two processes with different hash seeds: the same trace, byte for byte."""
    code = "from tests.sim.sim import Sim\nfor n in range(50): print(n, Sim(n).run().hash)"
    traces = []
    for hash_seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"}
        told = subprocess.check_output([sys.executable, "-c", code], env=env, cwd=ROOT, text=True)
        traces.append(told.splitlines())
    assert len(traces[0]) == 50 and traces[0] == traces[1]


def test_the_trace_does_not_change_what_happens() -> None:
    quiet, told = Sim(11).run(), Sim(11, tell=True).run()
    assert told.trace and (quiet.violation, quiet.facts, quiet.steps) == (told.violation, told.facts, told.steps)


def test_a_quarter_of_the_seeds_has_no_fault_a_quarter_one_and_half_have_many() -> None:
    sizes = [len(Sim(seed).plan.enabled) for seed in range(400)]
    assert 60 < sum(n == 0 for n in sizes) < 140
    assert 60 < sum(n in (1, 2) for n in sizes) < 140  # a fault may need another one to happen at all
    assert sum(n > 2 for n in sizes) > 160


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_that_never_fires_proves_nothing(fault: str) -> None:
    """Turned on, it happens; and what it needs to happen is turned on with it."""
    on = {fault: 0.4, **({NEEDS[fault]: 0.4} if fault in NEEDS else {})}
    for seed in range(40):
        names = SUITS.get(fault, ("fan", "timers", "saga"))
        sim = Sim(seed, plan=dict(on), works=[by_hand(name) for name in names])
        assert sim.run().violation is None
        if sim.plan.fired[fault]:
            return
    raise AssertionError(f"{fault} never fired")


def test_every_fault_can_be_turned_on_and_off() -> None:
    drawn = {fault for seed in range(400) for fault in Sim(seed).plan.enabled}
    assert drawn == set(FAULTS)
    plan = Plan(Sim(0).fork("test"), dict.fromkeys(FAULTS, 1.0))
    assert all(plan.hit(fault) for fault in FAULTS) and not plan.idle
    plan.healed = True
    assert not any(plan.hit(fault) for fault in FAULTS)


def test_streams_do_not_disturb_each_other() -> None:
    """A draw more in one part leaves every other part as it was."""
    one, other = Sim(7), Sim(7)
    other.world.rng.random()
    assert [one.fork("people").random() for _ in range(3)] == [other.fork("people").random() for _ in range(3)]
    assert one.rng.random() == other.rng.random()
    assert Sim(7).fork("a").random() != Sim(7).fork("b").random() != Sim(8).fork("b").random()
