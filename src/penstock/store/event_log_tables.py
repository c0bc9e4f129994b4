"""The table of event logs that were brought from elsewhere, for process mining."""

from __future__ import annotations

from penstock.store.table_shape import Index, Table
from penstock.store.table_shape import column as _c

EVENT_LOG = Table(
    "event_log",
    "Event logs of cases that ran elsewhere, as they were brought. The same file again is the same log.",
    (
        _c("tenant", "text", "whose it is", key=True),
        _c("id", "text", "the beginning of its hash", key=True),
        _c("name", "text", "what people call it"),
        _c("process", "text", "release.name of the process that it is of; none: nobody has said", null=True),
        _c("sha256", "text", "of the file as it was brought"),
        _c("size", "int", "bytes of the file as it was brought"),
        _c("cases", "int", "how many"),
        _c("events", "int", "how many"),
        _c("begin_at", "int", "the first event, milliseconds since 1970", null=True),
        _c("end_at", "int", "the last event, milliseconds since 1970", null=True),
        _c("reading", "text", "columns and zone that it is read with, JSON; none: as its content says", null=True),
        _c("added_by", "text", "who has brought it", null=True),
        _c("added_at", "int", "milliseconds since 1970"),
        _c("body", "blob", "the file, gzip"),
    ),
    (
        Index("event_log_at", ("tenant", "added_at", "id")),
        Index("event_log_process", ("tenant", "process", "added_at"), where="process IS NOT NULL"),
    ),
)

EVENT_LOG_TABLES: tuple[Table, ...] = (EVENT_LOG,)
