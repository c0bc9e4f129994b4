"""Every table of the store, declared once, with a comment per column. Databases, references and `rebuild` use it."""

from __future__ import annotations

from typing import Literal

import msgspec

Type = Literal["int", "text", "blob"]


class Column(msgspec.Struct, frozen=True):
    name: str
    type: Type
    comment: str
    null: bool = False
    key: bool = False


class Index(msgspec.Struct, frozen=True):
    name: str
    columns: tuple[str, ...]
    unique: bool = False
    where: str = ""


class Table(msgspec.Struct, frozen=True):
    name: str
    comment: str
    columns: tuple[Column, ...]
    indexes: tuple[Index, ...] = ()
    #: a projection holds nothing that the journal does not hold; `rebuild` drops it and folds it again
    projection: bool = False
    #: rows lie in key order, without a row number of their own
    clustered: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.columns)


def _c(name: str, type: Type, comment: str, null: bool = False, key: bool = False) -> Column:
    return Column(name, type, comment, null, key)


MARK = Table(
    "mark",
    "Numbers that belong to the store itself.",
    (
        _c("name", "text", "schema_version, fence, sequence", key=True),
        _c("value", "int", "its value"),
    ),
    clustered=True,
)

NET = Table(
    "net",
    "Released nets. A run is pinned to the content hash of its net.",
    (
        _c("no", "int", "number, used by run.net", key=True),
        _c("hash", "text", "sha256 of the canonical form, source map excluded"),
        _c("name", "text", "the document's name"),
        _c("language", "text", "diagram, decision, process, plan, pipeline or net"),
        _c("body", "blob", "canonical form of the net, source map included"),
        _c("source", "blob", "the document as it was written", null=True),
        _c("released_at", "int", "milliseconds since 1970"),
    ),
    (Index("net_hash", ("hash",), unique=True),),
)

RUN = Table(
    "run",
    "One life of a net. Written when the status changes or a checkpoint is due, not on every turn.",
    (
        _c("no", "int", "number, used inside", key=True),
        _c("id", "text", "the id people use"),
        _c("tenant", "text", "who may see it"),
        _c("net", "int", "net.no"),
        _c("key", "text", "the caller's own key: the same key again goes on with the same run", null=True),
        _c("status", "int", "lifecycle: run"),
        _c("priority", "int", "smaller first"),
        _c("created_at", "int", "milliseconds since 1970"),
        _c("updated_at", "int", "last time this row was written"),
        _c("wake_at", "int", "when the next timer is due", null=True),
        _c("parent", "text", "the run that called or was forked into this one", null=True),
        _c("checkpoint_seq", "int", "number of facts folded into the checkpoint"),
        _c("checkpoint", "blob", "folded state; newer facts are in the journal", null=True),
    ),
    (
        Index("run_id", ("id",), unique=True),
        Index("run_key", ("tenant", "key"), unique=True, where="key IS NOT NULL"),
        Index("run_pick", ("status", "priority", "created_at"), where="status < 5"),
        Index("run_wake", ("wake_at",), where="wake_at IS NOT NULL"),
    ),
)

JOURNAL = Table(
    "journal",
    "What happened: one row per turn of a run, appended, never changed.",
    (
        _c("lsn", "int", "append order of the whole store", key=True),
        _c("run", "int", "run.no"),
        _c("seq_from", "int", "number of the first fact of the turn; unique per run, so a turn is committed once"),
        _c("seq_to", "int", "number of the last fact"),
        _c("at", "int", "time of the turn, milliseconds since 1970"),
        _c("body", "blob", "the facts, msgpack"),
    ),
    (Index("journal_run", ("run", "seq_from"), unique=True),),
)

FIRING = Table(
    "firing",
    "Firings that asked something of the world and have settled; open ones are in the state.",
    (
        _c("run", "int", "run.no", key=True),
        _c("no", "int", "number of the firing in its run", key=True),
        _c("node", "int", "number of the node in its net"),
        _c("epoch", "int", "loop round of a loop controller"),
        _c("visit", "int", "how often the node had fired in this scope and epoch"),
        _c("attempt", "int", "attempts it took"),
        _c("status", "int", "done, failed, skipped, interrupted"),
        _c("started_at", "int", "milliseconds since 1970"),
        _c("ended_at", "int", "milliseconds since 1970"),
    ),
    projection=True,
    clustered=True,
)

WAITING = Table(
    "waiting",
    "Who waits for which news.",
    (
        _c("name", "text", "name of the signal", key=True),
        _c("run", "int", "run.no", key=True),
        _c("wait", "int", "number of the wait in its run", key=True),
    ),
    projection=True,
    clustered=True,
)

ITEM = Table(
    "item",
    "Work items: what a person or an agent must do.",
    (
        _c("run", "int", "run.no", key=True),
        _c("firing", "int", "number of the firing", key=True),
        _c("node", "int", "number of the node"),
        _c("status", "text", "lifecycle: work_item"),
        _c("prompt", "blob", "what is asked, msgpack"),
        _c("candidates", "blob", "who may do it, msgpack", null=True),
        _c("by", "text", "who moved it last", null=True),
        _c("opened_at", "int", "milliseconds since 1970"),
        _c("moved_at", "int", "milliseconds since 1970"),
    ),
    (Index("item_open", ("status", "opened_at"), where="status IN ('TODO','IN_PROGRESS','SUBMITTED','REWORK')"),),
    projection=True,
    clustered=True,
)

INCIDENT = Table(
    "incident",
    "What an operator should look at.",
    (
        _c("run", "int", "run.no", key=True),
        _c("seq", "int", "number of the fact", key=True),
        _c("code", "text", "what it is"),
        _c("node", "text", "node id, or empty"),
        _c("at", "int", "milliseconds since 1970"),
    ),
    projection=True,
    clustered=True,
)

OUTBOX = Table(
    "outbox",
    "What leaves the house: written with its facts, delivered at least once, in order per run.",
    (
        _c("no", "int", "order of delivery", key=True),
        _c("run", "int", "run.no"),
        _c("seq", "int", "number of the fact that asks for it"),
        _c("topic", "text", "event name"),
        _c("body", "blob", "msgpack"),
        _c("tries", "int", "deliveries tried so far"),
        _c("due_at", "int", "not before this time"),
    ),
)

INTENT = Table(
    "intent",
    "Effects that may happen once, marked before the call: a crash leaves a doubt.",
    (
        _c("key", "text", "tenant/run/firing", key=True),
        _c("run", "int", "run.no"),
        _c("firing", "int", "number of the firing"),
        _c("attempt", "int", "attempt that was started"),
        _c("state", "text", "lifecycle: effect (started, in_doubt); gone with the answer"),
        _c("at", "int", "milliseconds since 1970"),
    ),
    (Index("intent_run", ("run",)),),
    clustered=True,
)

INBOX = Table(
    "inbox",
    "Commands from other processes, waiting for the one that drives the store.",
    (
        _c("no", "int", "order of arrival", key=True),
        _c("run", "int", "run.no"),
        _c("command", "blob", "msgpack"),
        _c("at", "int", "milliseconds since 1970"),
        _c("answer", "blob", "what became of it, msgpack", null=True),
    ),
    (Index("inbox_open", ("no",), where="answer IS NULL"),),
)

GATE = Table(
    "gate",
    "What the gate remembers: breakers and rates.",
    (
        _c("name", "text", "breaker:NAME or rate:NAME", key=True),
        _c("body", "blob", "msgpack"),
        _c("at", "int", "milliseconds since 1970"),
    ),
    clustered=True,
)

MEMO = Table(
    "memo",
    "Answers kept by the cache, and keys seen by dedupe.",
    (
        _c("key", "text", "cache:… or dedupe:…", key=True),
        _c("body", "blob", "msgpack", null=True),
        _c("until", "int", "milliseconds since 1970"),
    ),
    (Index("memo_until", ("until",)),),
    clustered=True,
)

BLOB = Table(
    "blob",
    "Large values, by content.",
    (
        _c("hash", "text", "sha256", key=True),
        _c("size", "int", "bytes"),
        _c("body", "blob", "the value, msgpack"),
    ),
    clustered=True,
)

TABLES: tuple[Table, ...] = (
    MARK,
    NET,
    RUN,
    JOURNAL,
    FIRING,
    WAITING,
    ITEM,
    INCIDENT,
    OUTBOX,
    INTENT,
    INBOX,
    GATE,
    MEMO,
    BLOB,
)
PROJECTIONS: tuple[Table, ...] = tuple(t for t in TABLES if t.projection)
