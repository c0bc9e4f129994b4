"""How a log is to be read, where its content does not say it, and how much of it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from penstock.errors import EventLogTooLarge

MAX_BYTES = 8 * 1024**3  # as they are read, after decompression
MAX_EVENTS = 20_000_000
MAX_CASE_EVENTS = 250_000  # a case is held as a whole


class LogOptions(msgspec.Struct, frozen=True, kw_only=True):
    #: of CSV: case, activity, time, start, resource, lifecycle, mode, instance → the column's name
    columns: Mapping[str, str] = {}
    zone: str | None = None  # what is meant where times have none
    encoding: str | None = None  # of CSV; UTF-8, or what its byte order mark says
    classifier: str | None = None  # of XES: the one of the log whose keys name an activity
    max_bytes: int = MAX_BYTES
    max_events: int = MAX_EVENTS

    def check_events(self, count: int, where: str) -> None:
        if count > self.max_events:
            raise EventLogTooLarge(what="events", limit=self.max_events, where=where)


def check_case_length(events: int, where: str) -> None:
    if events > MAX_CASE_EVENTS:
        raise EventLogTooLarge(what="events in one case", limit=MAX_CASE_EVENTS, where=where)
