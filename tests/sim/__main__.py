"""`python -m tests.sim`: one seed as a readable trace, many seeds as figures, planted bugs, crashes at every call."""

from __future__ import annotations

import argparse
import json
import sys
import time

from tests.sim.mutants import MUTANTS, planted
from tests.sim.nth import SCENARIOS, VARIANTS, crashes
from tests.sim.shrink import shrink
from tests.sim.sim import Sim
from tests.sim.tally import run_many


def one(seed: int, options: dict[str, object]) -> int:
    sim = Sim(seed, tell=True, **options)  # type: ignore[arg-type]
    result = sim.run()
    print("\n".join(result.trace))
    works = ", ".join(w.name for w in sim.works)
    print(f"\nseed {seed}: {works}; {result.kind}; {result.steps} steps, {result.facts} facts, {result.hash[:12]}")
    print(json.dumps({"on": sim.plan.on, "fired": result.fired, "idle": result.idle, "counters": result.counters}))
    print(result.violation or "no violation")
    return 1 if result.violation else 0


def many(seeds: range, jobs: int) -> int:
    tally = run_many(seeds, jobs)
    print(json.dumps(tally.report(), indent=1))
    return 1 if tally.violations else 0


def bugs(most: int) -> int:
    missed = 0
    for name, (what, _) in MUTANTS.items():
        began = time.perf_counter()
        found = None
        with planted(name):
            for seed in range(most):
                found = Sim(seed).run().violation
                if found:
                    break
        missed += found is None
        told = f"seed {seed:<5} {found[:90]}" if found else f"NOT FOUND in {most} seeds"
        print(f"{name:<16} {time.perf_counter() - began:5.1f} s  {told}   ({what})", flush=True)
    return 1 if missed else 0


def every_call() -> int:
    runs = wrong = 0
    for scenario in SCENARIOS:
        for variant in VARIANTS:
            for n, result in crashes(scenario, variant):
                runs += 1
                if result.violation:
                    wrong += 1
                    print(f"«{scenario.name}», crash {variant} call {n}: {result.violation}")
    print(json.dumps({"scenarios": len(SCENARIOS), "runs": runs, "violations": wrong}))
    return 1 if wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.sim", description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--seed", type=int, metavar="N", help="one seed, with its trace")
    what.add_argument("--seeds", metavar="A:B", help="many seeds: figures as JSON")
    what.add_argument("--shrink", type=int, metavar="N", help="options under which a failing seed is smaller")
    what.add_argument("--mutants", action="store_true", help="each planted bug, and the first seed that finds it")
    what.add_argument("--nth", action="store_true", help="a crash at every host call of the fixed scenarios")
    parser.add_argument("--jobs", type=int, default=1, help="processes for --seeds")
    parser.add_argument("--most", type=int, default=2000, help="seeds per planted bug")
    parser.add_argument("--options", type=json.loads, default={}, help="of --seed, as --shrink prints them")
    given = parser.parse_args()
    if given.seed is not None:
        options = {k: tuple(v) if k == "keep" else v for k, v in given.options.items()}
        return one(given.seed, options)
    if given.seeds is not None:
        first, _, last = given.seeds.partition(":")
        return many(range(int(first), int(last)), given.jobs)
    if given.shrink is not None:
        print(json.dumps(shrink(given.shrink)))
        return 0
    return bugs(given.most) if given.mutants else every_call()


if __name__ == "__main__":
    sys.exit(main())
