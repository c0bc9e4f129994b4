"""Event logs that cannot be read: what is wrong, and at which line or event."""

from __future__ import annotations

from penstock.errors.base import PenstockError


class EventLogUnreadable(PenstockError, code="PS-422-EVENT_LOG"):
    """The event log «{name}» cannot be read at {where}: {why}."""

    hint = "Correct the file at the place named; nothing of it was stored."


class EventLogUnknown(PenstockError, code="PS-415-EVENT_LOG"):
    """«{name}» is no event log: {why}."""

    hint = "Give XES (1.0 or 2.0), CSV with a header line, or either of them compressed with gzip."


class EventLogTruncated(PenstockError, code="PS-422-EVENT_LOG_TRUNCATED"):
    """The event log «{name}» ends too early, after {where}: {why}."""

    hint = "Export or transfer the file once more; nothing of it was stored."


class EventLogEmpty(PenstockError, code="PS-422-EVENT_LOG_EMPTY"):
    """The event log «{name}» has no completed event{why}."""

    hint = "Export the log for a longer period, with at least one case and its completed events."


class EventLogTooLarge(PenstockError, code="PS-413-EVENT_LOG"):
    """The event log has more than {limit} {what}, the limit is passed at {where}."""

    hint = (
        "Export a shorter period or fewer kinds of events; thousands of activities mean that the column of the "
        "activity holds numbers or texts of single cases."
    )


class EventLogColumns(PenstockError, code="PS-422-EVENT_LOG_COLUMNS"):
    """The event log «{name}» has no column for {what}; it has {columns}."""

    hint = (
        "Name the columns: case=…, activity=…, time=…; and start=…, resource=…, lifecycle=…, mode=… if there are any."
    )


class EventLogCaseMissing(PenstockError, code="PS-422-EVENT_LOG_CASE"):
    """The event log «{name}» does not say at {where} which case it belongs to."""

    hint = "Every row, or trace, needs the id of its case; leave out rows that belong to none."


class EventLogZones(PenstockError, code="PS-422-EVENT_LOG_ZONES"):
    """The event log «{name}» has times with a zone beside times without one, first at {where}."""

    hint = "Say which zone is meant where none is written (zone=Asia/Seoul), or export all times with their zone."
