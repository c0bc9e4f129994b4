"""How long an event log takes to become a map, and how much memory it needs.

    python bench/mining.py [--events 10000 100000 1000000] [--format xes xes.gz csv]

Each log is written to a temporary folder and read by a process of its own. What an event costs should not grow with
the log: `flatness` is the cost of an event of the longest log in that of the shortest. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import gzip
import json
import multiprocessing
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from penstock.mining.activity_map import activity_map
from penstock.mining.csv_writer import write_csv
from penstock.mining.event import Case, Event
from penstock.mining.event_logs import read_log
from penstock.mining.xes_writer import write_xes

_BEGIN = 1_767_225_600_000
_PATHS = (
    ("Register", "Check", "Decide", "Inform"),
    ("Register", "Check", "Ask", "Answer", "Check", "Decide", "Inform"),
    ("Register", "Check", "Decide", "Approve", "Pay", "Inform", "Close"),
)
_FORMATS = ("xes", "xes.gz", "csv")


def cases_of(events: int) -> Iterator[Case]:
    """Some thousand variants: mostly three paths, with steps left out and done again at random."""
    rng = random.Random(17)
    made = number = 0
    while made < events:
        number += 1
        at, done = _BEGIN + number * 60_000, []
        for step in rng.choices(_PATHS, (60, 25, 15))[0]:
            for _ in range(rng.choices((0, 1, 2), (3, 94, 3))[0]):
                at += rng.randint(60_000, 90_000_000)
                done.append(Event(step, at, None, f"user {rng.randint(1, 60)}", "MANUAL"))
        if done:
            made += len(done)
            yield Case(f"case {number}", tuple(done))


def write(file: Path, events: int, format: str) -> None:
    blocks = write_csv(cases_of(events)) if format == "csv" else write_xes(cases_of(events), "bench")
    with gzip.open(file, "wb", 3) if format == "xes.gz" else file.open("wb") as out:
        out.writelines(blocks)


def measure(file: Path) -> dict[str, float]:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began, cpu = time.perf_counter(), time.process_time()
    found = activity_map(read_log(file, file.name))
    took, busy = time.perf_counter() - began, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "events": found.events, "cases": found.cases, "variants": len(found.variants), "seconds": round(took, 2),
        "cpu_seconds": round(busy, 2), "us_per_event": round(busy * 1e6 / found.events, 2),
        "peak_mb": round(peak / 1024), "before_mb": round(before / 1024),
    }  # fmt: skip


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--events", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--format", nargs="+", choices=_FORMATS, default=["xes", "csv"])
    asked = parser.parse_args(arguments)
    spawn = multiprocessing.get_context("spawn")
    for format in asked.format:
        costs = []
        for events in sorted(asked.events):
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / f"log.{format}"
                write(file, events, format)
                with spawn.Pool(1) as pool:
                    figures = pool.apply(measure, (file,))
                size = file.stat().st_size
            costs.append(figures["us_per_event"])
            print(json.dumps({"format": format, "file_mb": round(size / 1e6, 1), **figures}), flush=True)
        print(json.dumps({"format": format, "flatness": round(costs[-1] / costs[0], 2)}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
