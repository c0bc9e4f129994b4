"""Tables of jobs: work of runs that workers outside take, and who has asked for it."""

from __future__ import annotations

from penstock.store.table_shape import Index, Table, word
from penstock.store.table_shape import column as _c

#: of those, a worker takes WAITING ones; the first four are open
STATES = ("WAITING", "LOCKED", "DELAYED", "HELD", "DONE", "ERROR", "FAILED", "WITHDRAWN")
OPEN = "state IN ('WAITING','LOCKED','DELAYED','HELD')"

JOB = Table(
    "job",
    "Jobs for workers outside: one per attempt of an effect that no process of ours performs.",
    (
        _c("id", "text", "RUN~FIRING.ATTEMPT", key=True),
        _c("tenant", "text", "whose it is"),
        _c("run", "int", "run.no"),
        _c("run_id", "text", "run.id"),
        _c("firing", "int", "number of the firing in its run"),
        _c("attempt", "int", "attempt of the effect"),
        _c("type", "text", "which workers take it"),
        word("state", *STATES),
        _c("priority", "int", "smaller first"),
        _c("created_at", "int", "milliseconds since 1970"),
        _c("document", "text", "name of the document"),
        _c("version", "int", "its version"),
        _c("node", "text", "the author's node"),
        _c("name", "text", "what people call the node"),
        _c("key", "text", "the same on every attempt: to be handed to whoever must not do it twice"),
        _c("retries", "int", "failures that are left before an operator must look at it"),
        _c("fence", "int", "how often it was taken"),
        _c("token", "text", "of the one who has it, or had it last", null=True),
        _c("worker", "text", "who has it, or had it last", null=True),
        _c("due_at", "int", "when a lock is over, or a delay", null=True),
        _c("body", "blob", "variables and headers, msgpack"),
        _c("message", "text", "what the last failure said", null=True),
        _c("answer", "text", "the last answer: its token, what it said, and a digest", null=True),
        _c("inbox", "int", "the command that brings the answer to the run: inbox.no", null=True),
        _c("ended_at", "int", "when it was answered or withdrawn", null=True),
        _c("paused", "int", "1 while its run is paused: nobody is given it"),
    ),
    (
        Index("job_next", ("tenant", "type", "priority", "created_at", "id"), where="state = 'WAITING'"),
        Index("job_due", ("due_at",), where="due_at IS NOT NULL"),
        Index("job_run", ("run", "firing")),
        Index("job_open", ("tenant", "type", "state", "created_at"), where=OPEN),
        Index("job_list", ("tenant", "created_at", "id")),
        Index("job_ended", ("ended_at",), where="ended_at IS NOT NULL"),
    ),
)

JOB_WORKER = Table(
    "job_worker",
    "Who has asked for jobs, by type.",
    (
        _c("tenant", "text", "whose jobs", key=True),
        _c("type", "text", "of which type", key=True),
        _c("worker", "text", "the worker's own name", key=True),
        _c("since", "int", "when it has asked first, milliseconds since 1970"),
        _c("at", "int", "when it has asked last, to about ten seconds"),
    ),
    (Index("job_worker_at", ("at",)),),
    clustered=True,
)

JOB_TABLES: tuple[Table, ...] = (JOB, JOB_WORKER)
