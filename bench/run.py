"""All workloads in one run, as JSON lines, with a profile of where the time goes.

    python bench/run.py                 every workload, CI-sized
    python bench/run.py chain --full    one workload, full size
    python bench/run.py --store postgresql://postgres@localhost/bench
    python bench/run.py chain --profile also the functions that take most of the time, in a second pass

Figures are printed beside what the disk did meanwhile and are never asserted. See docs/howto/tune-speed.md.
"""

from __future__ import annotations

import argparse
import json
import platform
import sqlite3
import sys
from typing import Any

from penstock.bench import workloads as bench

SMALL: dict[str, dict[str, Any]] = {
    "chain": {"runs": 1000},
    "latency": {"runs": 50},
    "fan": {"width": 1000},
    "loop": {"rounds": 2000},
    "waiting": {"runs": 10_000},
}
FULL: dict[str, dict[str, Any]] = {
    "chain": {"runs": 5000},
    "latency": {"runs": 300},
    "fan": {"width": 1000},
    "loop": {"rounds": 10_000},
    "waiting": {"runs": 100_000},
}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("workloads", nargs="*", default=[], help=", ".join(SMALL))
    parser.add_argument("--full", action="store_true", help="the sizes the aims are stated for")
    parser.add_argument(
        "--passes", type=int, default=1, help="repeat, interleaved; best and median are printed at the end"
    )
    parser.add_argument(
        "--store", help="where: a file, or postgresql://user@host/database; else one that is thrown away"
    )
    parser.add_argument("--profile", action="store_true", help="print the functions that take most of the time")
    chosen = parser.parse_args(arguments)
    names = chosen.workloads or list(SMALL)
    sizes = FULL if chosen.full else SMALL
    print(json.dumps({"python": platform.python_version(), "sqlite": sqlite3.sqlite_version, "cores": _cores()}))
    found: dict[str, list[dict[str, Any]]] = {}
    for _ in range(chosen.passes):
        for name in names:
            figures = bench.run(name, store=chosen.store, profile=chosen.profile, **sizes[name])
            found.setdefault(name, []).append(figures)
            print(json.dumps(figures), flush=True)
    if chosen.passes > 1:
        for name, passes in found.items():
            speeds = sorted(p["steps_per_s"] for p in passes)
            print(
                json.dumps(
                    {"workload": name, "best": speeds[-1], "median": speeds[len(speeds) // 2], "passes": len(speeds)}
                )
            )
    return 0


def _cores() -> int:
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
