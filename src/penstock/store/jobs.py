"""Jobs (P-X.28): rows that workers outside take by type, and answer once.

A job is made in the commit of the turn that asks for it, and withdrawn in the commit that drops it. To take, to extend
and to answer one is a commit of its own, which changes nothing where another has it by now: an answer and the command
that brings it to the run are written together, so a crash between them and the run's turn loses neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, Protocol

import msgspec

from penstock.kernel.state import FAILED
from penstock.store.job_tables import JOB, OPEN
from penstock.store.sql import Sql, marks

#: how long the answer of a job is kept for those who send it again
ANSWERS_KEPT_MS = 86_400_000
#: a worker that has not asked for so long is not listed any more
WORKERS_KEPT_MS = 30 * 86_400_000
#: one that has failed is kept as long as its run is stuck by it
FORGET_JOBS = (
    f"DELETE FROM job WHERE ended_at IS NOT NULL AND ended_at<?-{ANSWERS_KEPT_MS} AND NOT (state='FAILED' AND EXISTS"
    f" (SELECT 1 FROM run r WHERE r.no=job.run AND r.status={FAILED}))"
)
FORGET_WORKERS = f"DELETE FROM job_worker WHERE at<?-{WORKERS_KEPT_MS}"
#: whoever has a job of a run that is paused may end it; what comes back meanwhile rests with the others
FREED = "CASE paused WHEN 1 THEN 'HELD' ELSE 'WAITING' END"
#: what a batch does: an open job, or one that has failed, goes with its firing; those of a run that is paused rest
WITHDRAW = (
    f"UPDATE job SET state='WITHDRAWN',due_at=NULL,ended_at=? WHERE run=? AND firing=? AND ({OPEN} OR state='FAILED')"
)
PAUSED = (
    "paused={0},state=CASE WHEN {0}=1 AND state IN ('WAITING','DELAYED') THEN 'HELD' WHEN {0}=0 AND state='HELD'"
    " THEN 'WAITING' ELSE state END,due_at=CASE WHEN state='LOCKED' THEN due_at END"
)
PAUSE = f"UPDATE job SET {PAUSED.format('?1')} WHERE run=?2"
_COLUMNS = ",".join(JOB.names)
INSERT_JOB = f"INSERT INTO job({_COLUMNS}) VALUES({marks(JOB.names)}) ON CONFLICT DO NOTHING"


class JobRow(msgspec.Struct, frozen=True):
    id: str
    tenant: str
    run: int
    run_id: str
    firing: int
    attempt: int
    type: str
    state: str
    priority: int
    created_at: int
    document: str
    version: int
    node: str
    name: str
    key: str
    retries: int
    fence: int
    token: str | None
    worker: str | None
    due_at: int | None
    body: bytes
    message: str | None
    answer: str | None
    inbox: int | None
    ended_at: int | None
    paused: int = 0


class Activation(msgspec.Struct, frozen=True):
    """What a worker asks for; `nonce` makes the tokens of this time, which nobody else can guess."""

    tenant: str
    types: Sequence[str]
    worker: str
    limit: int
    lock_ms: int
    nonce: str


class Answer(msgspec.Struct, frozen=True):
    """What becomes of a job that a worker has. `said` is the same when the same is said again. `command` is for its
    run; without one the job waits on, `delay_ms` from now."""

    tenant: str
    id: str
    token: str
    said: str
    state: Literal["DONE", "ERROR", "FAILED", "WAITING"]
    command: bytes | None = None
    retries: int | None = None
    delay_ms: int = 0
    message: str | None = None


class TypeCount(msgspec.Struct, frozen=True):
    """Open jobs of a type in one state."""

    tenant: str
    type: str
    state: str
    count: int
    oldest: int


class WorkerRow(msgspec.Struct, frozen=True):
    type: str
    worker: str
    since: int
    at: int


#: what became of an answer: it was taken, it is the same as before, another has the job, or it is not open any more
Verdict = Literal["taken", "same", "stale", "over", "missing"]


class JobStore(Protocol):
    def activate_jobs(self, asked: Activation, now: int) -> list[JobRow]:
        """Jobs that wait, the most urgent and then the oldest first: from now on the worker has them. Costs those that
        it gets, and those whose locks or delays are over."""
        ...

    def extend_job(self, tenant: str, id: str, token: str, until: int) -> Verdict: ...

    def answer_job(self, answer: Answer, now: int) -> tuple[Verdict, JobRow | None]:
        """With the job as it is then. The command is in the inbox when this returns."""
        ...

    def add_job(self, row: JobRow) -> None:
        """Nothing changes where there is such a job."""
        ...

    def reopen_job(self, id: str) -> None:
        """An answer that its run has not taken, and that is not on its way, is forgotten: the job waits again."""
        ...

    def job(self, tenant: str, id: str) -> JobRow | None: ...

    def job_of(self, run: int, firing: int, attempt: int) -> JobRow | None: ...

    def jobs_of(self, run: int) -> list[JobRow]:
        """The open jobs of a run, and those that have failed for good."""
        ...

    def find_jobs(
        self, tenant: str, *, type: str | None, state: str | None, after: tuple[int, str], limit: int,
        run: int | None = None,
    ) -> list[JobRow]:  # fmt: skip
        """By age."""
        ...

    def next_job_due(self, now: int) -> int | None:
        """When the next lock or delay is over, of all tenants."""
        ...

    def job_counts(self, tenant: str | None) -> list[TypeCount]:
        """By type and state; None: of all tenants."""
        ...

    def job_workers(self, tenant: str, type: str | None = None) -> list[WorkerRow]:
        """By type and name."""
        ...

    def put_job_workers(self, rows: Iterable[tuple[str, str, str, int]]) -> None:
        """Tenant, type, worker, and when it has asked."""
        ...


class SqlJobs(Sql):
    def activate_jobs(self, asked: Activation, now: int) -> list[JobRow]:
        taken = list[JobRow]()
        with self.transaction():
            self._execute(f"UPDATE job SET state={FREED},due_at=NULL WHERE due_at IS NOT NULL AND due_at<=?", (now,))
            for type in asked.types:
                if (room := asked.limit - len(taken)) <= 0:
                    break
                sql = (
                    f"SELECT {_COLUMNS} FROM job WHERE tenant=? AND type=? AND state='WAITING'"
                    f" ORDER BY priority,created_at,id LIMIT ?{self.SKIP_LOCKED}"
                )
                taken += [JobRow(*row) for row in self._execute(sql, (asked.tenant, type, room)).fetchall()]
            until = now + asked.lock_ms
            taken = [
                msgspec.structs.replace(
                    row, state="LOCKED", fence=row.fence + 1, token=f"{row.fence + 1}.{asked.nonce}",
                    worker=asked.worker, due_at=until,
                )
                for row in taken
            ]  # fmt: skip
            if taken:
                self._many(
                    "UPDATE job SET state='LOCKED',fence=?,token=?,worker=?,due_at=? WHERE id=?",
                    [(row.fence, row.token, row.worker, row.due_at, row.id) for row in taken],
                )
        return taken

    def extend_job(self, tenant: str, id: str, token: str, until: int) -> Verdict:
        with self.transaction():
            row = self._held(tenant, id)
            verdict = _verdict(row, token, "")
            if verdict == "taken":
                self._execute("UPDATE job SET state='LOCKED',due_at=? WHERE id=?", (until, id))
        return verdict

    def answer_job(self, answer: Answer, now: int) -> tuple[Verdict, JobRow | None]:
        with self.transaction():
            row = self._held(answer.tenant, answer.id)
            verdict = _verdict(row, answer.token, answer.said)
            if row is None or verdict != "taken":
                return verdict, row
            row = self._answered(row, answer, now)
        return verdict, row

    def _answered(self, row: JobRow, answer: Answer, now: int) -> JobRow:
        number = None
        if answer.command is not None:
            sql = "INSERT INTO inbox(run,command,at) VALUES(?,?,?) RETURNING no"
            number = int(self._execute(sql, (row.run, answer.command, now)).fetchone()[0])
        waits = answer.state == "WAITING"
        due = now + answer.delay_ms if waits and answer.delay_ms > 0 and not row.paused else None
        back = "HELD" if row.paused else "DELAYED" if due is not None else "WAITING"
        row = msgspec.structs.replace(
            row, state=back if waits else answer.state, token=None if waits else answer.token,
            retries=row.retries if answer.retries is None else answer.retries, due_at=due,
            message=answer.message if answer.message is not None else row.message,
            answer=_said(answer.token, answer.said), inbox=number,
            ended_at=None if waits else now,
        )  # fmt: skip
        sql = "UPDATE job SET state=?,token=?,retries=?,due_at=?,message=?,answer=?,inbox=?,ended_at=? WHERE id=?"
        values = (
            row.state, row.token, row.retries, row.due_at, row.message, row.answer, row.inbox, row.ended_at, row.id
        )  # fmt: skip
        self._execute(sql, values)
        return row

    def _held(self, tenant: str, id: str) -> JobRow | None:
        sql = f"SELECT {_COLUMNS} FROM job WHERE tenant=? AND id=?{self.FOR_UPDATE}"
        row = self._execute(sql, (tenant, id)).fetchone()
        return None if row is None else JobRow(*row)

    def add_job(self, row: JobRow) -> None:
        self._put(INSERT_JOB, msgspec.structs.astuple(row))

    def reopen_job(self, id: str) -> None:
        self._put(
            f"UPDATE job SET state={FREED},token=NULL,answer=NULL,inbox=NULL,ended_at=NULL WHERE id=?"
            " AND ended_at IS NOT NULL"
            " AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.no=job.inbox AND i.answer IS NULL)",
            (id,),
        )

    def job(self, tenant: str, id: str) -> JobRow | None:
        return self._row(JobRow, f"SELECT {_COLUMNS} FROM job WHERE tenant=? AND id=?", (tenant, id))

    def job_of(self, run: int, firing: int, attempt: int) -> JobRow | None:
        sql = f"SELECT {_COLUMNS} FROM job WHERE run=? AND firing=? AND attempt=?"
        return self._row(JobRow, sql, (run, firing, attempt))

    def jobs_of(self, run: int) -> list[JobRow]:
        sql = f"SELECT {_COLUMNS} FROM job WHERE run=? AND ({OPEN} OR state='FAILED') ORDER BY firing,attempt"
        return [JobRow(*row) for row in self._rows(sql, (run,))]

    def find_jobs(
        self, tenant: str, *, type: str | None, state: str | None, after: tuple[int, str], limit: int,
        run: int | None = None,
    ) -> list[JobRow]:  # fmt: skip
        where, values = "tenant=?", list[str | int]([tenant])
        for column, wanted in (("type", type), ("state", state), ("run", run)):
            if wanted is not None:
                where, values = f"{where} AND {column}=?", [*values, wanted]
        sql = f"SELECT {_COLUMNS} FROM job WHERE {where} AND (created_at,id)>(?,?) ORDER BY created_at,id LIMIT ?"
        return [JobRow(*row) for row in self._rows(sql, (*values, *after, limit))]

    def next_job_due(self, now: int) -> int | None:
        due: int | None = self._one("SELECT min(due_at) FROM job WHERE due_at IS NOT NULL")
        return due

    def job_counts(self, tenant: str | None) -> list[TypeCount]:
        one, values = (" AND tenant=?", (tenant,)) if tenant is not None else ("", ())
        sql = f"SELECT tenant,type,state,count(*),min(created_at) FROM job WHERE {OPEN}{one} GROUP BY tenant,type,state"
        return [TypeCount(*row) for row in self._rows(f"{sql} ORDER BY 1,2,3", values)]

    def job_workers(self, tenant: str, type: str | None = None) -> list[WorkerRow]:
        where, values = ("tenant=?", (tenant,)) if type is None else ("tenant=? AND type=?", (tenant, type))
        sql = f"SELECT type,worker,since,at FROM job_worker WHERE {where} ORDER BY type,worker"
        return [WorkerRow(*row) for row in self._rows(sql, values)]

    def put_job_workers(self, rows: Iterable[tuple[str, str, str, int]]) -> None:
        sql = (
            "INSERT INTO job_worker(tenant,type,worker,since,at) VALUES(?,?,?,?,?)"
            " ON CONFLICT(tenant,type,worker) DO UPDATE SET at=excluded.at"
        )
        with self.transaction():
            self._many(sql, [(tenant, type, worker, at, at) for tenant, type, worker, at in rows])


def _said(token: str, said: str) -> str:
    return f"{token} {said}"


def _verdict(row: JobRow | None, token: str, said: str) -> Verdict:
    """A lock that is over is still its worker's as long as nobody else has taken the job."""
    if row is None:
        return "missing"
    if row.answer is not None and row.answer == _said(token, said):
        return "same"
    if row.state in ("DONE", "ERROR", "FAILED", "WITHDRAWN"):
        return "over"
    return "taken" if row.token == token else "stale"
