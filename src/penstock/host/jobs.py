"""Jobs (P-X.28): effects that no executor of ours performs. Each is a row of the store, which a worker outside takes.

The row is made in the commit of the turn that asks, and withdrawn in the commit that drops the effect; no task, queue
or slot is taken meanwhile. What the worker answers lies in the inbox until the run's turn has it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from penstock.executors.contract import Outcome, failed
from penstock.host.loaded_run import Ask, LoadedRun
from penstock.kernel import fact as F
from penstock.kernel.run import Run
from penstock.kernel.state import EFFECT, Firing
from penstock.net.author import author
from penstock.net.compiled import CNode
from penstock.store.jobs import JobRow, JobStore
from penstock.store.run_store import Batch

#: the name of the effect, where others have that of an executor
JOB = "job"
LONGEST_TYPE, MOST_RETRIES = 200, 1000
#: of a text that is taken for a number: Python refuses to read thousands of digits
_LONGEST_NUMBER = 20
#: what a job's own priority adds to that of its run; the smaller ones are taken first
PRIORITY = {"high": -500, "normal": 0, "low": 500}
_pack = msgspec.msgpack.Encoder().encode


#: whoever is told of every commit
OnFacts = list[Callable[[LoadedRun, list[F.Fact], int, int], None]]


class Jobs:
    """`answer` takes the outcome of a job that cannot be made; who waits for jobs of a type is told of new ones.
    `on_facts` tells of every commit: asked for only while somebody waits."""

    def __init__(self, store: JobStore, answer: Callable[[Ask, Outcome, int], None], now: Callable[[], int]) -> None:
        self.store, self.answer, self.now = store, answer, now
        self.waiting: dict[tuple[str, str], dict[asyncio.Future[None], None]] = {}  # by tenant and type
        self.on_facts: OnFacts = []
        self.closing = False
        self.asked_at: dict[tuple[str, str, str], int] = {}  # by tenant, type and worker: as the store has it

    # -- the rows ------------------------------------------------------------------------------------------------------

    def write(self, live: LoadedRun, run: Run, facts: Iterable[F.Fact], now: int, batch: Batch) -> None:
        """Of one turn: the jobs that it has asked for, and those that it has dropped."""
        st, no = run.st, live.no
        for firing in run.stops:
            _withdraw(batch, no, firing, now)
        for fact in facts:
            if fact[0] == F.PAUSED:
                batch.job_paused.append((int(fact[1]), no))
        for number in run.asks:
            firing_asked = st.firings.get(number)
            if firing_asked is None or firing_asked.phase != EFFECT or not run.net.nodes[firing_asked.node].job:
                continue
            row = job_row(live, run, firing_asked, now)
            if isinstance(row, JobRow):
                if row.attempt > 1:  # the one before has failed, and an operator has had it tried again
                    _withdraw(batch, no, number, now)
                batch.job_new.append(msgspec.structs.astuple(row))

    def asked(self, ask: Ask) -> None:
        """Committed: whoever waits for such a job looks. One that cannot be made fails; one that was asked for before
        is there, unless the run was forked or its answer was lost."""
        run = ask.loaded.run
        assert run is not None
        row = job_row(ask.loaded, run, ask.firing, self.now())
        if not isinstance(row, JobRow):
            self.answer(ask, row, 0)
            return
        if ask.again:
            self._again(row)
        self.ring(row.tenant, row.type)

    def _again(self, row: JobRow) -> None:
        known = self.store.job(row.tenant, row.id)
        if known is None:
            self.store.add_job(row)
        elif known.ended_at is not None:
            self.store.reopen_job(known.id)

    def told(self, live: LoadedRun, facts: list[F.Fact], _last: int, _now: int) -> None:
        """Committed: whoever waits for jobs of a run that goes on after a pause looks."""
        if live.run is None or not live.run.net.has_jobs:
            return
        if any(fact[0] == F.PAUSED and not fact[1] for fact in facts):
            for type in dict.fromkeys(row.type for row in self.store.jobs_of(live.no) if row.state == "WAITING"):
                self.ring(live.tenant, type)

    # -- those who wait ------------------------------------------------------------------------------------------------

    def ring(self, tenant: str, type: str) -> None:
        """There may be a job: the one who has waited longest for it looks."""
        for future in self.waiting.get((tenant, type), ()):
            if not future.done():
                future.set_result(None)
                return

    def close(self) -> None:
        """Nobody waits any longer."""
        self.closing = True
        for futures in self.waiting.values():
            for future in futures:
                if not future.done():
                    future.set_result(None)

    def next_of(self, tenant: str, types: Iterable[str]) -> asyncio.Future[None]:
        """Done when there may be a job; asked for before looking, so that none is missed."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if not self.waiting:
            self.on_facts.append(self.told)
        for type in types:
            self.waiting.setdefault((tenant, type), {})[future] = None
        return future

    def not_any_more(self, tenant: str, types: Iterable[str], future: asyncio.Future[None]) -> None:
        had = bool(self.waiting)
        for type in types:
            held = self.waiting.get((tenant, type))
            if held is not None:
                held.pop(future, None)
                if not held:
                    del self.waiting[tenant, type]
        if had and not self.waiting:
            self.on_facts.remove(self.told)


def job_row(live: LoadedRun, run: Run, firing: Firing, now: int) -> JobRow | Outcome:
    """The job of a firing that has asked for one; where its arguments make none, how the effect fails."""
    node = run.net.nodes[firing.node]
    assert node.effect is not None
    args = node.effect.args if node.args_static else firing.args
    type, retries = args.get("type"), _retries(args.get("retries", 0))
    if not isinstance(type, str) or not 0 < len(type) <= LONGEST_TYPE:
        return failed("JOB_TYPE", "validation", f"the type of the job of «{node.label}» is {_told(type)}, and no name")
    if retries is None:
        message = f"the retries of the job of «{node.label}» are {_told(args.get('retries'))}, and no whole number"
        return failed("JOB_RETRIES", "validation", message)
    variables = args.get("variables")
    body = {"variables": variables if isinstance(variables, dict) else {}, "headers": args.get("headers") or {}}
    net = run.net.net
    return JobRow(
        id=f"{live.id}~{firing.no}.{firing.attempt}", tenant=live.tenant, run=live.no, run_id=live.id, firing=firing.no,
        attempt=firing.attempt, type=type, state="HELD" if run.st.paused else "WAITING", created_at=now,
        priority=live.priority + _priority(args), paused=int(bool(run.st.paused)),
        document=net.name, version=net.declares.version, node=author(node), name=_name(node),
        key=run.effect_key(firing), retries=retries, fence=0, token=None, worker=None, due_at=None, body=_pack(body),
        message=None, answer=None, inbox=None, ended_at=None,
    )  # fmt: skip


def _priority(args: dict[str, Any]) -> int:
    return PRIORITY.get(str(args.get("priority")), 0)


def _name(node: CNode) -> str:
    """Of the author's node."""
    return node.net.by_id.get(author(node), node).label


def _retries(value: Any) -> int | None:
    if isinstance(value, str) and len(value) <= _LONGEST_NUMBER and value.strip().isdecimal():
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 <= value <= MOST_RETRIES else None


def _told(value: Any) -> str:
    text = "nothing" if value is None else f"«{value}»"
    return text if len(text) <= 60 else f"{text[:60]}…»"


def _withdraw(batch: Batch, run: int, firing: int, now: int) -> None:
    """A job that the same batch makes is not made at all."""
    if batch.job_new:
        batch.job_new = [row for row in batch.job_new if (row[2], row[4]) != (run, firing)]
    batch.job_gone.append((now, run, firing))
