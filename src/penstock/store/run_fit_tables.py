"""Tables of live conformance: how every run that has completed fits its own version."""

from __future__ import annotations

from penstock.store.table_shape import Index, Table, word
from penstock.store.table_shape import column as _c

DEVIATIONS = ("", "skipped", "repeated", "unknown", "order", "missing_end")

RUN_FIT = Table(
    "run_fit",
    "How a completed run of a process fits the version that it ran by. Read out of the journals, and again.",
    (
        _c("tenant", "text", "whose it is", key=True),
        _c("run", "int", "run.no", key=True),
        _c("run_id", "text", "run.id"),
        _c("process", "text", "release.name"),
        _c("version", "int", "release.version that it ended by"),
        _c("at", "int", "run.updated_at, milliseconds since 1970"),
        word("kind", *DEVIATIONS),  # of its first deviation; empty: it fits
        _c("activity", "text", "of its first deviation"),
        _c("before", "text", "the activity before it in the run"),
        _c("after", "text", "the activity after it in the run"),
        _c("bounded", "int", "1: the search for the deviation was ended"),
    ),
    (Index("run_fit_of", ("tenant", "process", "version", "kind", "activity", "before", "after", "run")),),
    clustered=True,
)

RUN_FIT_MARK = Table(
    "run_fit_mark",
    "How far the runs of a tenant were held against their versions.",
    (
        _c("tenant", "text", "whose runs", key=True),
        _c("at", "int", "run.updated_at of the last one, milliseconds since 1970"),
    ),
    clustered=True,
)

RUN_FIT_TABLES: tuple[Table, ...] = (RUN_FIT, RUN_FIT_MARK)
