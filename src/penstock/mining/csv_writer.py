"""Writes event logs as CSV in UTF-8, a row per event, in pieces; the columns are called as pm4py calls them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

from penstock.mining.event import Case
from penstock.mining.log_times import written

HEADER = (
    "case:concept:name", "concept:name", "time:timestamp", "start_timestamp", "org:resource", "axiom:agent_mode",
    "penstock:paused",
)  # fmt: skip
_PIECE = 64 * 1024  # characters


def write_csv(cases: Iterable[Case]) -> Iterator[bytes]:
    piece = io.StringIO(newline="")
    rows = csv.writer(piece)
    rows.writerow(HEADER)
    for case in cases:
        rows.writerows(
            (case.id, e.activity, written(e.at), "" if e.started is None else written(e.started), e.resource, e.mode,
             e.paused or "")
            for e in case.events
        )  # fmt: skip
        if piece.tell() >= _PIECE:
            yield piece.getvalue().encode()
            piece.seek(0)
            piece.truncate()
    yield piece.getvalue().encode()
