"""The tables of files: what was announced, the queues that announce it, and what begins by the clock for it."""

from __future__ import annotations

from penstock.store.table_shape import Index, Table
from penstock.store.table_shape import column as _c
from penstock.store.table_shape import word as _word

FILE_ASSET = Table(
    "file_asset",
    "Files that were announced: one row per upload of an object. Executions name it by its number (F-X.5).",
    (
        _c("id", "int", "number, the fileId of executions and events", key=True),
        _c("tenant", "text", "whose it is"),
        _c("bucket", "text", "where it lies"),
        _c("object_key", "text", "its key there"),
        _c("version", "text", "what tells this upload from others of the key: version id, etag and size, or a time"),
        _c("size", "int", "bytes"),
        _c("mime", "text", "what it is said to be"),
        _c("etag", "text", "of the object store, or empty"),
        _c("version_id", "text", "of the object store, or empty"),
        _c("organization_id", "int", "of the tenant", null=True),
        _c("uploader", "int", "who has uploaded it", null=True),
        _c("trace", "text", "trace id of the message that announced it first"),
        _c("created_at", "int", "milliseconds since 1970"),
    ),
    (
        Index("file_asset_object", ("tenant", "bucket", "object_key", "version"), unique=True),
        Index("file_asset_created", ("tenant", "created_at", "id")),
    ),
)

QUEUE_MESSAGE = Table(
    "queue_message",
    "Messages of the built-in queues: each is invisible while somebody works on it, and seen again if nobody says that"
    " it is done.",
    (
        _c("no", "int", "order of arrival", key=True),
        _c("queue", "text", "the queue that it is in; after too many receives, the queue of dead ones"),
        _c("id", "text", "its id"),
        _c("body", "blob", "as it was sent"),
        _c("attributes", "blob", "name and text of each, msgpack"),
        _c("sent_at", "int", "milliseconds since 1970"),
        _c("visible_at", "int", "not received before then"),
        _c("receives", "int", "how often it was received"),
        _c("handle", "text", "of whoever received it last: only that one can take it away", null=True),
        _c("code", "text", "why it could not be taken", null=True),
        _c("why", "text", "the same in words", null=True),
        _c("until", "int", "when it is purged, of dead ones", null=True),
        _c("replays", "int", "how often a dead one was sent again"),
    ),
    (
        Index("queue_message_id", ("id",), unique=True),
        Index("queue_message_visible", ("queue", "visible_at", "no")),
        Index("queue_message_until", ("until",), where="until IS NOT NULL"),
        Index("queue_message_dead", ("queue", "no"), where="until IS NOT NULL"),
    ),
)

FILE_SCHEDULE = Table(
    "file_schedule",
    "What begins by the clock for every file that fits: by cron, in intervals or once (F-1.5).",
    (
        _c("id", "int", "number", key=True),
        _c("tenant", "text", "whose files"),
        _c("organization_id", "int", "whose files, where only those of one organisation", null=True),
        _c("name", "text", "what people call it"),
        _c("code", "text", "the document that it begins"),
        _word("type", "CRON", "INTERVAL", "ONCE"),
        _c("cron", "text", "five fields of cron", null=True),
        _c("interval_s", "int", "seconds between two times", null=True),
        _c("filter", "text", "which files, JSON", null=True),
        _c("params", "text", "parameters over those of the document, JSON", null=True),
        _c("zone", "text", "IANA name of the zone in which cron is read"),
        _c("active", "int", "0: it was taken away"),
        _c("last_at", "int", "the last time that was fired", null=True),
        _c("next_at", "int", "when it fires next", null=True),
        _c("created_at", "int", "milliseconds since 1970"),
        _c("updated_at", "int", "milliseconds since 1970"),
    ),
    (
        Index("file_schedule_idx_active_next", ("active", "next_at")),
        Index("file_schedule_idx_scope", ("tenant", "organization_id")),
    ),
)
