"""Tables that drive runs, with a comment per column."""

from __future__ import annotations

from penstock.store.table_shape import Column, Index, Table
from penstock.store.table_shape import column as _c

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
        Index("run_pending", ("status", "priority", "created_at", "no"), where="status = 1 AND wake_at IS NULL"),
        Index("run_wake", ("wake_at",), where="wake_at IS NOT NULL"),
        Index("run_parent", ("parent",), where="parent IS NOT NULL"),
        Index("run_updated", ("updated_at", "no")),
        Index("run_priority", ("priority", "no")),
        Index("run_open", ("tenant", "net", "status", "created_at"), where="status < 5"),
        Index("run_quiet", ("tenant", "updated_at"), where="status < 5"),
        Index("run_live", ("tenant", "no", "status"), where="status < 5"),
        Index("run_ended", ("tenant", "status", "updated_at"), where="status >= 5"),
    ),
)

JOURNAL = Table(
    "journal",
    "What happened: one row per turn of a run, appended, never changed.",
    (
        Column("lsn", "int", "append order of the whole store (SQLite only)", key=True, arrival=True),
        _c("run", "int", "run.no"),
        _c("seq_from", "int", "number of the first fact of the turn; unique per run, so a turn is committed once"),
        _c("seq_to", "int", "number of the last fact"),
        _c("at", "int", "time of the turn, milliseconds since 1970"),
        _c("body", "blob", "the facts, msgpack"),
        _c("checksum", "int", "CRC-32 of the row; none of rows that are older than it", null=True),
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
        _c("tenant", "text", "whose run it is", key=True),
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

WORK = Table(
    "work",
    "Work items of processes, as lists ask for them; what is asked stands in item.",
    (
        _c("run", "int", "run.no", key=True),
        _c("firing", "int", "number of the firing", key=True),
        _c("tenant", "text", "whose it is"),
        _c("status", "text", "lifecycle: work_item"),
        _c("agent", "text", "the agent that may do it", null=True),
        _c("assignee", "text", "who has it: a person, or the agent", null=True),
        _c("mode", "text", "MANUAL, SUPERVISED, AUTONOMOUS", null=True),
        _c("version", "int", "number of the fact that changed it last"),
    ),
    (
        Index("work_status", ("tenant", "status", "run", "firing")),
        Index("work_assignee", ("tenant", "assignee", "status", "run", "firing"), where="assignee IS NOT NULL"),
    ),
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

CAUSE = Table(
    "cause",
    "Why runs ended badly: lists count by it and find by it. A run that is taken up again has none.",
    (
        _c("run", "int", "run.no", key=True),
        _c("tenant", "text", "whose it is"),
        _c("status", "int", "how it ended; lifecycle: run"),
        _c("at", "int", "when it ended, milliseconds since 1970"),
        _c("net", "int", "net.no"),
        _c("node", "text", "node id, or empty"),
        _c("code", "text", "the failure's code"),
        _c("message", "text", "the beginning of what the failure says"),
    ),
    (Index("cause_ended", ("tenant", "status", "at", "net", "node", "code", "run")),),
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
        _c(
            "topic",
            "text",
            "event name; no sink sees notice (a message to people) and follow-up (done after an end)",
        ),
        _c("body", "blob", "msgpack"),
        _c("tries", "int", "deliveries tried so far"),
        _c("due_at", "int", "not before this time"),
    ),
    (Index("outbox_topic", ("topic", "due_at", "no")),),
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
