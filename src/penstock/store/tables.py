"""Every table of the store, declared once, with a comment per column. Databases, references and `rebuild` use it."""

from __future__ import annotations

from penstock.store.autonomy_tables import AUTONOMY_TABLES
from penstock.store.deployment_tables import DEPLOYMENT_TABLES
from penstock.store.event_log_tables import EVENT_LOG_TABLES
from penstock.store.execution_tables import DEFINITION, EXECUTION, INGEST, STAGE, STAGE_LOG, USAGE
from penstock.store.file_tables import FILE_ASSET, FILE_SCHEDULE, QUEUE_MESSAGE
from penstock.store.job_tables import JOB_TABLES
from penstock.store.run_fit_tables import RUN_FIT_TABLES
from penstock.store.run_tables import (
    BLOB,
    CAUSE,
    FIRING,
    GATE,
    INBOX,
    INCIDENT,
    INTENT,
    ITEM,
    JOURNAL,
    MARK,
    MEMO,
    NET,
    OUTBOX,
    RUN,
    WAITING,
    WORK,
)
from penstock.store.simulation_tables import SIMULATION_TABLES
from penstock.store.table_shape import Index, Table
from penstock.store.table_shape import column as _c
from penstock.store.table_shape import word as _word
from penstock.store.task_tables import TASK_TABLES

ARTIFACT = Table(
    "artifact",
    "What tenants have registered: connections, rule packs, templates, users, secrets and more, by type.",
    (
        _c("tenant", "text", "whose it is", key=True),
        _c("type", "text", "connection, channel, template, rule_pack, user, secret, calendar, config …", key=True),
        _c("id", "text", "its name", key=True),
        _c("version", "text", "its version; empty where there is only one", key=True),
        _c("status", "text", "draft, approved, deprecated"),
        _c("body", "blob", "msgpack"),
        _c("at", "int", "milliseconds since 1970"),
    ),
    clustered=True,
)

RELEASE = Table(
    "release",
    "Versions of documents: which one is in force, who approved it. Read as workflow_versions.",
    (
        _c("tenant", "text", "whose it is", key=True),
        _c("name", "text", "the document's id", key=True),
        _c("version", "int", "grows with every change", key=True),
        _c("id", "text", "a UUID, made of the three"),
        _c("status", "text", "lifecycle: release"),
        _c("hash", "text", "sha256 of the document in canonical JSON"),
        _c("net", "int", "net.no"),
        _c("document", "blob", "canonical JSON"),
        _c("listens", "text", "source of the events that start it", null=True),
        _c("created_by", "text", "who submitted it", null=True),
        _c("created_at", "int", "milliseconds since 1970"),
        _c("approved_by", "text", "who approved it", null=True),
        _c("approved_at", "int", "milliseconds since 1970", null=True),
        _c("deprecated_at", "int", "milliseconds since 1970", null=True),
        _c("change_summary", "text", "what is new, in the author's words or ours", null=True),
        _c("feedback", "text", "why it was rejected", null=True),
        _c("kind", "text", "of a process: base, sub, mega, major, discovered; none of other documents", null=True),
        _c("bpmn", "blob", "the process as BPMN, UTF-8", null=True),
        _c("dmn", "blob", "decision tables of the process as DMN, UTF-8", null=True),
        _c("diff", "blob", "what differs from the version before, JSON", null=True),
        _c("origin", "blob", "where it comes from: text, a mined log; how sure it is, JSON", null=True),
    ),
    (
        Index("release_kind", ("tenant", "kind", "name", "version"), where="kind IS NOT NULL"),
        Index("release_active", ("tenant", "name"), unique=True, where="status = 'active'"),
        Index("release_listens", ("tenant", "listens"), where="status = 'active' AND listens IS NOT NULL"),
    ),
    clustered=True,
)

MESSAGE = Table(
    "message",
    "The local outbox: messages that a channel would have sent, kept for people to look at.",
    (
        _c("no", "int", "order of arrival", key=True),
        _c("key", "text", "the effect's key: a repetition changes nothing"),
        _c("tenant", "text", "whose it is"),
        _c("run", "text", "the run that sent it"),
        _c("channel", "text", "slack, email, sms, webhook, robot, database, pagerduty"),
        _c("target", "text", "where it would have gone"),
        _c("body", "blob", "what it says, msgpack"),
        _c("at", "int", "milliseconds since 1970"),
    ),
    (Index("message_key", ("key", "channel", "target"), unique=True), Index("message_tenant", ("tenant", "no"))),
)

EVENT = Table(
    "event",
    "News from outside, kept for waits that begin later.",
    (
        _c("no", "int", "order of arrival", key=True),
        _c("tenant", "text", "whose it is"),
        _c("id", "text", "the sender's id: the same again is the same event"),
        _c("source", "text", "what happened, such as lab.result.completed"),
        _c("body", "blob", "payload, msgpack"),
        _c("at", "int", "milliseconds since 1970"),
        _c("answer", "blob", "whom it has reached, msgpack; none until it is delivered", null=True),
    ),
    (
        Index("event_id", ("tenant", "id"), unique=True),
        Index("event_source", ("tenant", "source", "at")),
        Index("event_open", ("tenant", "no"), where="answer IS NULL"),
        Index("event_at", ("at",)),
    ),
)

SCHEDULE = Table(
    "schedule",
    "What starts runs by the clock.",
    (
        _c("tenant", "text", "whose it is", key=True),
        _c("name", "text", "the document's id", key=True),
        _c("version", "int", "release.version it starts"),
        _c("cron", "text", "five fields of cron, six with seconds; or a moment or repeating interval of ISO 8601"),
        _c("zone", "text", "IANA name"),
        _c("inputs", "blob", "one run each, msgpack"),
        _c("overlap", "text", "allow, skip, queue"),
        _c("catch_up", "text", "one, all, none: what becomes of missed times"),
        _c("paused", "int", "1: it does not fire"),
        _c("last_at", "int", "the last time that was fired", null=True),
        _c("next_at", "int", "when it fires next", null=True),
    ),
    (Index("schedule_next", ("next_at",), where="paused = 0 AND next_at IS NOT NULL"),),
    clustered=True,
)

LETTER = Table(
    "letter",
    "Dead letters: runs that ended badly, with what is needed to understand and replay them.",
    (
        _c("no", "int", "order of arrival", key=True),
        _c("tenant", "text", "whose it is"),
        _c("run", "text", "the run"),
        _c("name", "text", "the document's id"),
        _c("version", "int", "release.version"),
        _c("queue", "text", "the queue that the document names; alerts count the letters of one queue"),
        _c("status", "text", "the status the run ended with"),
        _c("code", "text", "the failure's code"),
        _c("category", "text", "the failure's category"),
        _c("body", "blob", "error, input, context_snapshot, execution_history as the document includes them, msgpack"),
        _c("replays", "int", "how often it was replayed"),
        _c("at", "int", "milliseconds since 1970"),
        _c("until", "int", "when it is purged"),
    ),
    (
        Index("letter_run", ("run",), unique=True),
        Index("letter_at", ("tenant", "queue", "at")),
        Index("letter_until", ("until",)),
        Index("letter_replayed", ("tenant", "at", "run"), where="replays > 0"),
    ),
)

JUDGMENT = Table(
    "judgment",
    "Every verdict with what it was made from, so that it can be looked up and simulated.",
    (
        _c("run", "text", "the run", key=True),
        _c("firing", "int", "number of the firing", key=True),
        _c("tenant", "text", "whose it is"),
        _c("name", "text", "the document's id"),
        _c("node", "text", "node id"),
        _c("decision", "text", "normal, warning, critical, unknown"),
        _c("needs_review", "int", "1: a person should look"),
        _c("body", "blob", "input and output, msgpack"),
        _c("at", "int", "milliseconds since 1970"),
    ),
    (Index("judgment_at", ("tenant", "at")), Index("judgment_review", ("tenant", "at"), where="needs_review = 1")),
    projection=True,
    clustered=True,
)

CHECKPOINT = Table(
    "checkpoint",
    "Checkpoints that documents ask for (policies.checkpoint). Read as workflow_checkpoints.",
    (
        _c("run", "text", "the run", key=True),
        _c("number", "int", "from 1, rising by 1", key=True),
        _c("id", "text", "UUID, made of both"),
        _c("node", "text", "node id"),
        _c("status", "text", "status of the run"),
        _c("context", "blob", "context_snapshot: JSON, or an envelope {enc, z, kid, data}, or {ref, sha256}"),
        _c("outputs", "blob", "node_outputs, likewise", null=True),
        _c("pending", "blob", "pending_events, likewise", null=True),
        _c("size", "int", "bytes after compression"),
        _c("storage", "text", "database, s3, redis: where its contents belong"),
        _c("moved", "int", "1: they are there; 0: they are still in this row"),
        _c("at", "int", "milliseconds since 1970"),
        _c("until", "int", "when it may be purged; the newest of a run that has not ended never is"),
    ),
    (
        Index("idx_checkpoint_status", ("status",)),
        Index("checkpoint_until", ("until",)),
        Index("checkpoint_moved", ("at",), where="moved = 0"),
    ),
    clustered=True,
)

API_KEY = Table(
    "api_key",
    "Keys of programs and people. Of the secret only a hash is kept.",
    (
        _c("id", "text", "the middle part of ps_ID_SECRET", key=True),
        _c("tenant", "text", "whose it is"),
        _c("name", "text", "what it is for"),
        _c("user", "text", "whom it acts for"),
        _c("hash", "text", "sha256 of the secret, which has 256 random bits"),
        _c("roles", "blob", "roles that it has besides those of its user, msgpack"),
        _c("scopes", "blob", "the only permissions that it may use, msgpack", null=True),
        _c("rate", "int", "requests per minute", null=True),
        _c("created_at", "int", "milliseconds since 1970"),
        _c("created_by", "text", "who made it"),
        _c("expires_at", "int", "milliseconds since 1970", null=True),
        _c("revoked_at", "int", "milliseconds since 1970", null=True),
        _c("last_used_at", "int", "to the minute, milliseconds since 1970", null=True),
        _c("approves", "int", "1: its holder may be the second pair of eyes; else who made it says so", null=True),
    ),
    (Index("api_key_tenant", ("tenant", "created_at")),),
    clustered=True,
)

ENDED_SESSION = Table(
    "ended_session",
    "Sessions of the console that were ended before their time: a copy of their cookie opens nothing.",
    (
        _c("id", "text", "of the session", key=True),
        _c("until", "int", "when it would have ended by itself, milliseconds since 1970"),
    ),
    (Index("ended_session_until", ("until",)),),
    clustered=True,
)

AUDIT = Table(
    "audit",
    "Who changed what: appended, never changed. Each row holds the hash of the one before.",
    (
        _c("tenant", "text", "whose it is; each tenant has a chain of its own", key=True),
        _c("no", "int", "1, 2, 3 … without a hole", key=True),
        _c("at", "int", "milliseconds since 1970"),
        _c("actor", "text", "who did it"),
        _c("action", "text", "what was done, such as key.create"),
        _c("target", "text", "to what, such as key:ID"),
        _c("body", "blob", "the particulars, canonical JSON, secrets masked"),
        _c("prev", "text", "hash of the row before; zeros for the first"),
        _c("hash", "text", "sha256 of prev and of everything in this row"),
    ),
    (Index("audit_target", ("tenant", "target", "no")),),
    clustered=True,
)

REQUEST = Table(
    "request",
    "Requests with an idempotency key, and what was answered: the same again gets the same answer. Kept for a day.",
    (
        _c("tenant", "text", "whose it is", key=True),
        _c("key", "text", "the caller's key", key=True),
        _c("fingerprint", "text", "sha256 of who asks for what"),
        _c("holder", "text", "who works on it, or did"),
        _c("at", "int", "when it came, milliseconds since 1970"),
        _c("status", "int", "HTTP status of the answer; none while it is worked on", null=True),
        _c("headers", "blob", "of the answer, msgpack", null=True),
        _c("body", "blob", "of the answer", null=True),
    ),
    (Index("request_at", ("at",)),),
    clustered=True,
)

DRAFT = Table(
    "draft",
    "What people have begun to write and not sent yet.",
    (
        _c("tenant", "text", "whose it is", key=True),
        _c("user", "text", "who writes it", key=True),
        _c("key", "text", "what it is about", key=True),
        _c("number", "int", "grows with every change"),
        _c("body", "blob", "msgpack"),
        _c("at", "int", "milliseconds since 1970"),
    ),
    (Index("draft_at", ("at",)),),
    clustered=True,
)

DOCUMENT_DRAFT = Table(
    "document_draft",
    "Files that somebody has brought and that are not complete yet: the text as it came, and the answers since.",
    (
        _c("tenant", "text", "whose it is", key=True),
        _c("id", "text", "made of tenant, language, subject and how many there were before", key=True),
        _c("language", "text", "the language that reads it"),
        _c("subject", "text", "id of the first document in it: the same file again is the same draft"),
        _c("name", "text", "its title"),
        _c("file", "text", "the name of the file"),
        _word("status", "open", "finished", "released"),
        _c("number", "int", "grows with every change"),
        _c("digest", "text", "sha256 of the text"),
        _c("summary", "blob", "what lists show of it, msgpack"),
        _c("created_by", "text", "who has brought it", null=True),
        _c("created_at", "int", "milliseconds since 1970"),
        _c("updated_by", "text", "who has changed it last", null=True),
        _c("updated_at", "int", "milliseconds since 1970"),
        _c("body", "blob", "the answers in their order, and the numbers of the to-dos, msgpack"),
        _c("source", "blob", "the text as it came, UTF-8"),
    ),
    (
        Index("document_draft_subject", ("tenant", "language", "subject"), unique=True, where="status <> 'released'"),
        Index("document_draft_released", ("tenant", "language", "subject", "updated_at")),
        Index("document_draft_tenant", ("tenant", "language", "updated_at")),
        Index("document_draft_at", ("updated_at",)),
    ),
    clustered=True,
)

REMARK = Table(
    "remark",
    "What people say about a work item besides deciding it: who takes it, gives it back or passes it on.",
    (
        _c("tenant", "text", "whose it is", key=True),
        _c("item", "text", "RUN/NODE, as the inbox names it", key=True),
        _c("no", "int", "1, 2, 3 … of its item", key=True),
        _c("by", "text", "who says it"),
        _c("at", "int", "milliseconds since 1970"),
        _c("kind", "text", "comment, claim, release, delegate"),
        _c("body", "blob", "text; of a delegation to whom and for which target, msgpack"),
    ),
    (Index("remark_at", ("at",)),),
    clustered=True,
)

BATCH = Table(
    "batch",
    "One verb for many runs: what was asked for, and how far it is. It goes on after a restart.",
    (
        _c("tenant", "text", "whose it is", key=True),
        _c("id", "text", "its id", key=True),
        _c("verb", "text", "what is done to each run"),
        _c("by", "text", "who has asked for it"),
        _c("state", "text", "running, paused, done, cancelled, failed"),
        _c("asked", "blob", "which runs, how, and what whoever asked may do, msgpack"),
        _c("place", "text", "where the search goes on; none when there are no more", null=True),
        _c("slice", "blob", "the runs that come next, each with its number of facts before it, msgpack"),
        _c("total", "int", "how many runs fitted at the beginning; none where only looking tells", null=True),
        _c("looked", "int", "runs that fitted so far"),
        _c("done", "int", "to how many of them it was done"),
        _c("refused", "int", "how many have refused"),
        _c("refusals", "blob", "the first of these with their reasons, msgpack"),
        _c("started_at", "int", "milliseconds since 1970"),
        _c("ended_at", "int", "milliseconds since 1970", null=True),
        _c("code", "text", "why it has failed, or has stopped by itself", null=True),
        _c("message", "text", "the same in words", null=True),
        _c("through", "int", "of those that it was done to and whose end is watched: how many came through"),
        _c("back", "int", "how many have failed again"),
        _c("watched", "blob", "the others, and how the last ones ended, msgpack"),
    ),
    (
        Index("batch_started", ("tenant", "started_at", "id")),
        Index("batch_open", ("started_at", "id"), where="state = 'running'"),
    ),
    clustered=True,
)

WORKER = Table(
    "worker",
    "Who drives the store (PostgreSQL only). A commit names the fence it holds; with an old one it changes nothing.",
    (
        _c("id", "int", "number of the worker", key=True),
        _c("fence", "int", "grows by one whenever the row is taken, by anybody"),
        _c("who", "text", "process id, and the machine it runs on"),
        _c("commit_id", "text", "of its last batch: was it only the answer that was lost?"),
        _c("beat", "int", "time of its last commit by the server's clock, milliseconds since 1970"),
    ),
    clustered=True,
)

TABLES: tuple[Table, ...] = (
    MARK, NET, RUN, JOURNAL, FIRING, WAITING, ITEM, WORK, INCIDENT, CAUSE, OUTBOX, INTENT, INBOX, GATE, MEMO, BLOB,
    ARTIFACT, RELEASE, MESSAGE, EVENT, SCHEDULE, LETTER, JUDGMENT, CHECKPOINT, API_KEY, ENDED_SESSION, AUDIT,
    REQUEST, DRAFT, DOCUMENT_DRAFT, REMARK, BATCH, FILE_ASSET, QUEUE_MESSAGE, FILE_SCHEDULE, EXECUTION, STAGE_LOG,
    USAGE, INGEST, DEFINITION, STAGE, *TASK_TABLES, *DEPLOYMENT_TABLES, *SIMULATION_TABLES, *JOB_TABLES,
    *AUTONOMY_TABLES, *EVENT_LOG_TABLES, *RUN_FIT_TABLES,
)  # fmt: skip
PROJECTIONS: tuple[Table, ...] = tuple(t for t in TABLES if t.projection)
#: what a store on a server has besides
SERVER_TABLES: tuple[Table, ...] = (WORKER,)
