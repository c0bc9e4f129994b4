"""What scenarios cost: the examples, played again and again in one process, each on a store of its own.

    python -m bench.scenarios [--count 1000]

Nothing is asserted. Aim: 1,000 scenarios in under 60 s.
"""

from __future__ import annotations

import argparse
import asyncio
import time

from penstock.testing.scenario import play, read_scenarios
from tests.house.files import ROOT


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="scenarios that are played")
    parser.add_argument("--only", default="", help="only files that have this in their path")
    count, only = parser.parse_args().count, parser.parse_args().only
    paths = [path for path in sorted(ROOT.glob("examples/**/*.scenario.yaml")) if only in str(path)]
    began = time.perf_counter()
    files = [read_scenarios(path) for path in paths]
    scenarios = [(file, scenario) for file in files for scenario in file.scenarios]
    read_s = time.perf_counter() - began
    began, slowest, wrong, virtual_ms = time.perf_counter(), ("", 0.0), 0, 0
    for number in range(count):
        file, scenario = scenarios[number % len(scenarios)]
        result = asyncio.run(play(file, scenario))
        wrong += not result.ok
        virtual_ms += result.virtual_ms
        if number >= len(scenarios) and result.wall_s > slowest[1]:
            slowest = (result.name, result.wall_s)
    took = time.perf_counter() - began
    print(f"{len(files)} files read in {read_s:.2f} s")
    print(f"{count} scenarios in {took:.1f} s: {took / count * 1000:.1f} ms each, {count / took:.0f} a second")
    print(f"{virtual_ms / 86_400_000:.0f} virtual days; {wrong} not as expected")
    if slowest[0]:
        print(f"the slowest, once warm: {slowest[1] * 1000:.0f} ms, «{slowest[0]}»")


if __name__ == "__main__":
    main()
