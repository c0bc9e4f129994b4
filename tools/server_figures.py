"""What the server withstands and what it costs, in figures: made-up requests, tenants, secrets, crashes, load.

    python -m tools.server_figures [--examples 20] [--seed 1] [--runs 100000] [--no-load]

Runs the tests that print figures, on both stores and with more made-up requests than CI, then `bench/http.py`. Quiet
machines only for the last part. Ends with 1 when a test fails.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTS = ("schemathesis", "matrix", "canary", "acknowledged")
#: what the tests print
FIGURES = ("schemathesis on", "matrix on", "canary on", "kill -9", "stop -m", "network:")


def main() -> int:
    asked = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    asked.add_argument("--examples", type=int, default=20, help="requests of each kind for every operation")
    asked.add_argument("--seed", type=int, default=1, help="another one makes up others")
    asked.add_argument("--runs", type=int, default=100_000, help="in the store while reads are timed")
    asked.add_argument("--no-load", action="store_true", help="leave out the times")
    given = asked.parse_args()
    env = {**os.environ, "PENSTOCK_EXAMPLES": str(given.examples), "PENSTOCK_SEED": str(given.seed)}
    files = [f"tests/api/test_{name}.py" for name in TESTS]
    told = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", "--timeout", "3600", *files],
        cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert told.stdout is not None
    whole: list[str] = []
    for line in told.stdout:
        whole.append(line)
        if line.startswith(FIGURES):
            print(line, end="", flush=True)
    failed = told.wait()
    print("".join(whole) if failed else whole[-1], end="", flush=True)
    if not given.no_load:
        failed = subprocess.call([sys.executable, "-m", "bench.http", "--runs", str(given.runs)], cwd=ROOT) or failed
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
