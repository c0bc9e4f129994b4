"""The last hours of executions as a few numbers each: what waited, what ran, how long they waited (F-7.2, F-9.9)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import msgspec

from penstock.store.execution_series import PIECE_MS, ExecutionPiece

#: pieces of ten minutes: four hours
PIECES = 24
#: pipelines that are told by themselves at most, those with the most executions
MOST_PIPELINES = 20


class Series(msgspec.Struct, rename="camel"):
    """A number for each piece of time, the newest last. `waiting` and `running` are as they stood at its end: an
    execution waits until it is begun for the first time, and runs from then to its end; `waited_ms` is the mean of
    those that were begun in it. `code` is none for all pipelines together."""

    code: str | None
    waiting: list[int]
    running: list[int]
    ended: list[int]
    failed: list[int]
    waited_ms: list[int | None]


class SeriesOfHours(msgspec.Struct, rename="camel"):
    first_at: int
    piece_s: int
    all: Series
    pipelines: list[Series]


def first_piece(now: int) -> int:
    return now - now % PIECE_MS - (PIECES - 1) * PIECE_MS


def series_of(pieces: Sequence[ExecutionPiece], codes: dict[int, str], since: int) -> SeriesOfHours:
    """`codes`: those that are told by themselves, by their number."""
    by_pipeline: dict[int, list[ExecutionPiece]] = {}
    for piece in pieces:
        if piece.pipeline in codes:
            by_pipeline.setdefault(piece.pipeline, []).append(piece)
    most = sorted(by_pipeline, key=lambda each: -_created(by_pipeline[each]))[:MOST_PIPELINES]
    return SeriesOfHours(
        since, PIECE_MS // 1000, _series(None, pieces, since),
        [_series(codes[number], by_pipeline[number], since) for number in most],
    )  # fmt: skip


def _created(pieces: Iterable[ExecutionPiece]) -> int:
    return sum(piece.count for piece in pieces if piece.what == "created")


def _series(code: str | None, pieces: Iterable[ExecutionPiece], since: int) -> Series:
    names = ["", *(_name(since + n * PIECE_MS) for n in range(PIECES))]
    counts: dict[tuple[str, str], int] = {}
    waits: dict[str, float] = {}
    for piece in pieces:
        at = (piece.what, piece.piece)
        counts[at] = counts.get(at, 0) + piece.count
        if piece.what == "begun":
            waits[piece.piece] = waits.get(piece.piece, 0) + piece.waited_ms
    told = Series(code, [], [], [], [], [])
    waiting = running = 0
    for name in names:
        created, begun, done, failed, dropped = (
            counts.get((what, name), 0) for what in ("created", "begun", "done", "failed", "dropped")
        )
        waiting += created - begun - dropped
        running += begun - done - failed
        if name:
            told.waiting.append(waiting)
            told.running.append(running)
            told.ended.append(done + failed + dropped)
            told.failed.append(failed)
            told.waited_ms.append(round(waits[name] / begun) if begun else None)
    return told


def _name(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="minutes")[:15]
