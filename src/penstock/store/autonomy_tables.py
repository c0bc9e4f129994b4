"""Tables of learned autonomy: what became of agents' drafts, how far they were read, and what is proposed."""

from __future__ import annotations

from penstock.lifecycle.autonomy_proposal import AUTONOMY_PROPOSAL as LIFE
from penstock.store.table_shape import Index, Table, word
from penstock.store.table_shape import column as _c

OUTCOMES = ("unchanged", "corrected", "rejected", "undone")

AUTONOMY_CASE = Table(
    "autonomy_case",
    "What became of the first draft that an agent has made for a work item. Read out of the journals, and again.",
    (
        _c("tenant", "text", "whose it is", key=True),
        _c("run", "int", "run.no", key=True),
        _c("firing", "int", "number of the firing in its run", key=True),
        _c("item", "text", "the work item: RUN~FIRING"),
        _c("process", "text", "release.name"),
        _c("version", "int", "release.version it was done by"),
        _c("activity", "text", "the author's activity"),
        _c("agent", "text", "who has made the draft; empty where the activity names nobody"),
        word("mode", "SUPERVISED", "AUTONOMOUS"),
        word("outcome", *OUTCOMES),
        _c("at", "int", "when that was clear, milliseconds since 1970"),
        _c("rework_ms", "int", "of a mistake: until the item was done after it; none: nobody knows", null=True),
        _c("compensated", "int", "1: its outcome was compensated"),
    ),
    (Index("autonomy_case_of", ("tenant", "process", "activity", "agent", "at", "run", "firing")),),
    clustered=True,
)

AUTONOMY_MARK = Table(
    "autonomy_mark",
    "How far the runs of a tenant were read for their agents' drafts.",
    (
        _c("tenant", "text", "whose runs", key=True),
        _c("at", "int", "run.updated_at of the last one, milliseconds since 1970"),
    ),
    clustered=True,
)

AUTONOMY_PROPOSAL = Table(
    "autonomy_proposal",
    "Proposals to raise or lower the mode of an agent in an activity. Nobody but a person accepts one.",
    (
        _c("tenant", "text", "whose it is", key=True),
        _c("id", "text", "its id", key=True),
        _c("process", "text", "release.name"),
        _c("version", "int", "release.version that was in force"),
        _c("activity", "text", "the author's activity"),
        _c("name", "text", "what people call the activity"),
        _c("agent", "text", "whose mode it is"),
        _c("mode", "text", "MANUAL, SUPERVISED, AUTONOMOUS: as it is"),
        _c("proposed", "text", "MANUAL, SUPERVISED, AUTONOMOUS: as it should be"),
        word("status", *LIFE.statuses),
        _c("number", "int", "grows with every change"),
        _c("body", "blob", "counts, bounds, costs and cases behind it, msgpack"),
        _c("since", "int", "when it was proposed, milliseconds since 1970"),
        _c("ended_at", "int", "when it was accepted, dismissed or withdrawn", null=True),
        _c("ended_by", "text", "who has decided; none: the evidence has", null=True),
        _c("reason", "text", "why it was dismissed or withdrawn", null=True),
        _c("made_version", "int", "release.version that accepting has made", null=True),
    ),
    (
        Index("autonomy_open", ("tenant", "process", "activity"), unique=True, where="status = 'open'"),
        Index("autonomy_since", ("tenant", "since", "id")),
    ),
    clustered=True,
)

AUTONOMY_TABLES: tuple[Table, ...] = (AUTONOMY_CASE, AUTONOMY_MARK, AUTONOMY_PROPOSAL)
