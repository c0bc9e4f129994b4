"""What an analysis costs: a trend over a million rows of a file, through the executor as a node runs it.

    python -m bench.bi                        a Parquet file of 1,000,000 rows
    python -m bench.bi --rows 100000 --file csv

Prints one line of JSON per analysis; the aim is a trend over 1,000,000 rows under one second. What is counted (rows in
the points) is asserted, figures never.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import duckdb

from penstock.executors.bi import BiExecutor
from penstock.executors.contract import Done, Request, Services, Tenant

RANGE = {"start": "2026-01-01T00:00:00Z", "end": "2026-12-31T00:00:00Z"}
ANALYSES: dict[str, dict[str, Any]] = {
    "trend": {"type": "trend", "metrics": ["rate"], "dimensions": ["line_id"], "time_grain": "day",
              "time_range": RANGE},
    "trend_p95": {"type": "trend", "metrics": ["rate"], "time_grain": "day", "time_range": RANGE,
                  "aggregation": {"rate": "p95"}},
    "distribution": {"type": "distribution", "bucket_config": {"field": "rate", "count": 20}},
    "correlation": {"type": "correlation", "correlation_pairs": [["rate", "amount"]]},
    "anomaly": {"type": "anomaly", "metrics": ["rate"], "time_range": RANGE,
                "anomaly_config": {"algorithm": "mad", "threshold": 3}},
}  # fmt: skip


class Plant:
    """A tenant with one file and two metrics."""

    id = "bench"

    def __init__(self, root: Path, table: str) -> None:
        base = {"connection": "files", "table": table, "time_column": "at"}
        self.things: dict[tuple[str, str], Mapping[str, Any]] = {
            ("connection", "files"): {"type": "file", "root": str(root)},
            ("calendar", "default"): {"timezone": "Asia/Seoul"},
            ("metric", "rate"): {**base, "column": "rate"},
            ("metric", "amount"): {**base, "column": "amount", "default_agg": "sum"},
        }

    def find(self, type: str, id: str, version: str | None = None) -> Mapping[str, Any] | None:
        return self.things.get((type, id))

    def each(self, type: str) -> Mapping[str, Mapping[str, Any]]:
        return {id: body for (kind, id), body in self.things.items() if kind == type}

    def secret(self, name: str) -> str | None:
        return None


def write_rows(file: Path, count: int) -> None:
    with duckdb.connect() as base:
        base.execute("SELECT setseed(0.5)")
        format = "(FORMAT parquet)" if file.suffix == ".parquet" else "(HEADER)"
        base.execute(
            f"COPY (SELECT 'L' || lpad((i % 20)::VARCHAR, 2, '0') AS line_id, i % 50 AS amount, random() * 0.1 AS rate,"
            f" TIMESTAMPTZ '2026-01-01 00:00:00+00' + INTERVAL 1 SECOND * (i * 31000000 // {count}) AS at"
            f" FROM range({count}) t(i)) TO '{file}' {format}"
        )


def measure(name: str, services: Services, count: int, file: str) -> dict[str, Any]:
    args = {"analysis": ANALYSES[name], "format": "table"}
    request = Request(key="k", tenant="bench", run="r", node="n", executor="bi", args=args, timeout_ms=120_000)
    began = time.perf_counter()
    outcome = asyncio.run(BiExecutor().run(request, services))
    seconds = time.perf_counter() - began
    assert isinstance(outcome, Done), outcome
    if name == "distribution":
        assert sum(row["count"] for row in outcome.body["rows"]) == count
    rows = len(outcome.body["rows"])
    return {"analysis": name, "file": file, "rows": count, "points": rows, "seconds": round(seconds, 3)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--file", choices=("parquet", "csv"), default="parquet")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_rows(root / f"facts.{given.file}", given.rows)
        plant = cast(Tenant, Plant(root, f"facts.{given.file}"))
        services = Services(output_dir=root, input_dir=root, tenant=lambda who: plant)
        for name in ANALYSES:
            print(json.dumps(measure(name, services, given.rows, given.file)))


if __name__ == "__main__":
    main()
