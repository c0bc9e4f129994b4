"""Many seeds: run them, add up what happened, and say it as JSON."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from tests.sim.faults import FAULTS
from tests.sim.sim import Result, Sim

CHUNK = 100


@dataclass
class Tally:
    seeds: int = 0
    seconds: float = 0.0
    cpu: float = 0.0  # the machine may be busy with others
    violations: list[tuple[int, str]] = field(default_factory=list)
    enabled: Counter[str] = field(default_factory=Counter)  # fault → seeds that turned it on
    happened: Counter[str] = field(default_factory=Counter)  # fault → seeds in which it fired
    fired: Counter[str] = field(default_factory=Counter)  # fault → how often
    counters: Counter[str] = field(default_factory=Counter)

    def add(self, result: Result) -> None:
        self.seeds += 1
        if result.violation is not None:
            self.violations.append((result.seed, result.violation))
        self.enabled.update(result.enabled)
        self.happened.update(f for f in result.enabled if result.fired.get(f))
        self.fired.update(result.fired)
        self.counters.update(result.counters)
        self.counters.update({"facts": result.facts, "steps": result.steps})

    def merge(self, other: Tally) -> None:
        self.seeds += other.seeds
        self.seconds += other.seconds
        self.cpu += other.cpu
        self.violations += other.violations
        for name in ("enabled", "happened", "fired", "counters"):
            getattr(self, name).update(getattr(other, name))

    @property
    def never(self) -> list[str]:
        """Faults that were on in some seed and fired in none."""
        return [f for f in FAULTS if self.enabled[f] and not self.fired[f]]

    def report(self) -> dict[str, Any]:
        faults = {f: [self.enabled[f], self.happened[f], self.fired[f]] for f in FAULTS}
        return {
            "seeds": self.seeds,
            "seeds_per_s": round(self.seeds / self.seconds, 1) if self.seconds else None,
            "seeds_per_cpu_s": round(self.seeds / self.cpu, 1) if self.cpu else None,
            "violations": self.violations,
            "counters": dict(sorted(self.counters.items())),
            "faults: seeds with it on, seeds in which it fired, times": faults,
            "faults that never fired": self.never,
        }


def run_seeds(seeds: Iterable[int], **options: Any) -> Tally:
    tally = Tally()
    began, worked = time.perf_counter(), time.process_time()
    for seed in seeds:
        tally.add(Sim(seed, **options).run())
    tally.seconds, tally.cpu = time.perf_counter() - began, time.process_time() - worked
    return tally


def run_chunk(seeds: list[int], options: dict[str, Any]) -> Tally:
    return run_seeds(seeds, **options)


def run_many(seeds: range, jobs: int, **options: Any) -> Tally:
    """`seconds` is what the seeds took together, so seeds per second are per core."""
    if jobs <= 1:
        return run_seeds(seeds, **options)
    chunks = [list(seeds[i : i + CHUNK]) for i in range(0, len(seeds), CHUNK)]
    whole = Tally()
    with ProcessPoolExecutor(jobs) as pool:
        for part in pool.map(run_chunk, chunks, [options] * len(chunks)):
            whole.merge(part)
    return whole
