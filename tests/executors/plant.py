"""A plant with 400 measurements in four kinds of places, and the same measurements for whoever computes them again."""

from __future__ import annotations

import json
import math
import random
import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import psycopg

from penstock.executors.bi import BiExecutor
from penstock.executors.contract import Done
from tests.executors.desk import Desk
from tests.servers import postgres

PLACES = ("sqlite", "postgresql", "csv", "jsonl", "parquet")
COLUMNS = ("line_id", "shift", "at", "rate", "amount")
BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
RANGE = {"start": "2026-03-01T00:00:00Z", "end": "2026-04-10T00:00:00Z"}
#: Rows whose rate is no number: one NaN, one null.
NOT_A_NUMBER, NOTHING = 17, 41


@dataclass(frozen=True)
class Measurement:
    line_id: str
    shift: str
    at: datetime
    rate: float | None
    amount: int

    @property
    def known(self) -> bool:
        return self.rate is not None and math.isfinite(self.rate)


def measurements() -> list[Measurement]:
    """Over 40 days, in which the clocks of New York change."""
    dice = random.Random(11)
    made = []
    for i in range(400):
        at = BEGIN + timedelta(seconds=dice.randrange(40 * 86_400))
        rate: float | None = round(dice.gauss(0.03, 0.01), 5)
        rate = math.nan if i == NOT_A_NUMBER else None if i == NOTHING else rate
        made.append(
            Measurement(f"L0{i % 3 + 1}", ("day", "evening", "night")[i // 3 % 3], at, rate, dice.randrange(50))
        )
    return made


ROWS = measurements()


class Plant:
    """A desk whose metrics `rate` and `amount` lie in one kind of place."""

    def __init__(self, folder: Path, place: str, rows: list[Measurement] = ROWS) -> None:
        self.desk, self.place = Desk(folder), place
        self.table = "facts" if place in ("sqlite", "postgresql") else f"facts.{place}"
        self.connection = getattr(self, f"_{place}")(rows)
        self.desk.register("connection", "plant", **self.connection)
        self.desk.register("calendar", "default", timezone="Asia/Seoul")
        self.metric("rate", column="rate", default_agg="avg")
        self.metric("amount", column="amount", default_agg="sum")
        self.metric("double", sql="amount * 2.0 + CASE WHEN line_id = 'L01' THEN 1 ELSE 0 END", default_agg="sum")

    def metric(self, name: str, **body: Any) -> None:
        base = {"connection": "plant", "table": self.table, "time_column": "at"}
        self.desk.register("metric", name, **{**base, **body})

    def zone(self, name: str) -> ZoneInfo:
        self.desk.register("calendar", "default", timezone=name)
        return ZoneInfo(name)

    def ask(self, *, format: str = "table", visualization: Any = None, **analysis: Any) -> Any:
        args = {"analysis": analysis, "format": format, "visualization": visualization}
        done: Done = self.desk.done(BiExecutor(), args)
        return done.body

    def rows(self, **analysis: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.ask(**analysis)["rows"]
        return found

    def failure(self, *, format: Any = "table", visualization: Any = None, **analysis: Any) -> Any:
        return self.desk.failed(BiExecutor(), {"analysis": analysis, "format": format, "visualization": visualization})

    # -- places --------------------------------------------------------------------------------------------------------

    def _sqlite(self, rows: list[Measurement]) -> dict[str, Any]:
        with sqlite3.connect(self.desk.input_dir / "plant.db") as base:
            base.execute("CREATE TABLE facts (line_id TEXT, shift TEXT, at TEXT, rate REAL, amount INTEGER)")
            base.executemany("INSERT INTO facts VALUES (?, ?, ?, ?, ?)", [_texts(row) for row in rows])
        return {"type": "sqlite", "path": "plant.db"}

    def _postgresql(self, rows: list[Measurement]) -> dict[str, Any]:
        url = postgres.database()
        with psycopg.connect(url) as base:
            base.execute("CREATE TABLE facts (line_id text, shift text, at timestamptz, rate float8, amount integer)")
            with base.cursor() as cursor:
                values = [(row.line_id, row.shift, row.at, row.rate, row.amount) for row in rows]
                cursor.executemany("INSERT INTO facts VALUES (%s, %s, %s, %s, %s)", values)
        return {"type": "postgresql", "url": url}

    def _csv(self, rows: list[Measurement]) -> dict[str, Any]:
        lines = [",".join(COLUMNS), *(",".join("" if v is None else str(v) for v in _texts(row)) for row in rows)]
        return self._file("\n".join(lines))

    def _jsonl(self, rows: list[Measurement]) -> dict[str, Any]:
        objects = [dict(zip(COLUMNS, _texts(row), strict=True)) for row in rows]
        for entry in objects:
            entry["rate"] = None if entry["rate"] is None or math.isnan(entry["rate"]) else entry["rate"]
        return self._file("\n".join(json.dumps(entry) for entry in objects))

    def _file(self, text: str) -> dict[str, Any]:
        (self.desk.input_dir / "files").mkdir()
        (self.desk.input_dir / "files" / self.table).write_text(text, encoding="utf-8")
        return {"type": "file", "root": "files"}

    def _parquet(self, rows: list[Measurement]) -> dict[str, Any]:
        (self.desk.input_dir / "files").mkdir()
        with duckdb.connect() as base:
            base.execute('CREATE TABLE f (line_id TEXT, shift TEXT, "at" TIMESTAMPTZ, rate DOUBLE, amount INTEGER)')
            base.executemany("INSERT INTO f VALUES (?, ?, ?, ?, ?)", [_texts(row) for row in rows])
            base.execute(f"COPY f TO '{self.desk.input_dir / 'files' / self.table}' (FORMAT parquet)")
        return {"type": "file", "root": "files"}


def _texts(row: Measurement) -> list[Any]:
    return [row.line_id, row.shift, row.at.strftime("%Y-%m-%dT%H:%M:%SZ"), row.rate, row.amount]
