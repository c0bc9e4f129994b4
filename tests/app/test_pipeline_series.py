"""The last hours of executions as a few numbers: how they are counted, and that the database counts by indexes."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from penstock.app.pipeline.intake.ingest import Ingest
from penstock.app.pipeline.measures.overview import overview
from penstock.app.pipeline.measures.series import MOST_PIPELINES, PIECES, first_piece, series_of
from penstock.lang.pipeline.messages import messages_of
from penstock.store.execution_series import PIECE_MS, ExecutionPiece
from tests.app.pipelines import EXAMPLE, a_pipeline, driven, ended
from tests.conformance.decision.world import go

NOW = 1_794_000_123_456  # 2026-11-06T21:22:03.456Z
SINCE = first_piece(NOW)
TIMES = ["2026-11-06T17:3", "2026-11-06T17:4", "2026-11-06T21:2"]  # the first, the second and the last piece


def test_f_7_2_what_waited_and_ran_is_followed_from_piece_to_piece() -> None:
    """Three were there before: one ran, one of the others began in the second piece and failed in the last, one was
    dropped without having begun; a fourth came in the second piece and still waits."""
    _, second, last = TIMES
    pieces = [
        ExecutionPiece(1, "created", "", 3), ExecutionPiece(1, "begun", "", 1, 9_000),
        ExecutionPiece(1, "begun", second, 1, 1_501), ExecutionPiece(1, "created", second, 1),
        ExecutionPiece(1, "done", second, 1), ExecutionPiece(1, "dropped", last, 1),
        ExecutionPiece(1, "failed", last, 1),
    ]  # fmt: skip
    told = series_of(pieces, {1: "A"}, SINCE)
    assert (told.first_at, told.piece_s, PIECES) == (SINCE, 600, 24)
    (mine,) = told.pipelines
    assert (mine.waiting[0], mine.waiting[1], mine.waiting[-2], mine.waiting[-1]) == (2, 2, 2, 1)
    assert (mine.running[0], mine.running[1], mine.running[-2], mine.running[-1]) == (1, 1, 1, 0)
    assert (mine.ended[1], mine.ended[-1], mine.failed[-1], sum(mine.ended)) == (1, 2, 1, 3)
    assert (mine.waited_ms[0], mine.waited_ms[1], mine.waited_ms[-1]) == (None, 1501, None)
    assert told.all.waiting == mine.waiting and (told.all.code, mine.code) == (None, "A")


def test_f_7_2_the_series_are_bounded_however_many_pipelines_there_are() -> None:
    """Those with the most executions are told by themselves; all of them together, always."""
    pieces = [ExecutionPiece(n, "created", TIMES[-1], n + 1) for n in range(50)]
    told = series_of(pieces, {n: f"P{n}" for n in range(49)}, SINCE)
    assert [each.code for each in told.pipelines] == [f"P{n}" for n in range(48, 48 - MOST_PIPELINES, -1)]
    assert told.all.waiting[-1] == sum(range(1, 51))
    assert (NOW - SINCE) // PIECE_MS == PIECES - 1


def test_f_9_2_the_series_are_counted_by_indexes(tmp_path: Path) -> None:
    """One statement, whatever the number of executions: its way to them is an index, and its answer is a few rows."""
    asked: list[tuple[str, Any]] = []

    async def scene() -> None:
        async with driven(tmp_path, a_pipeline()) as door:
            mine = door.of("tnt_demo")
            for n in range(12):
                (receipt,) = await Ingest(door).take(messages_of({**EXAMPLE, "key": f"{n}.png"}))
                await ended(mine, receipt.started[0])
            plain = door.store._read

            def heard(sql: str, values: Any = ()) -> Any:
                asked.append((sql, tuple(values)))
                return plain(sql, asked[-1][1])

            door.store._read = heard
            told = await overview(mine)
            assert sum(told.lately.all.ended) == 12

    go(scene())
    ((sql, values),) = [each for each in asked if "lately" in each[0]]
    with sqlite3.connect(tmp_path / "s.db") as c:
        plan = [row[3] for row in c.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
        assert len(c.execute(sql, values).fetchall()) <= 3 * 2, "created, begun and done, of at most two pieces"
    ways = [line for line in plan if " execution" in line]
    assert len(ways) == 2 and all(line.startswith("SEARCH") for line in ways), plan
    assert any("execution_ended" in line for line in ways), plan
