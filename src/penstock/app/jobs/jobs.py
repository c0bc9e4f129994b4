"""Jobs of a tenant (P-X.28): workers take them by type, extend their locks, and answer each of them once."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.errors import BadInput, JobLockLost, JobNotFound, JobOver, PenstockError
from penstock.host.command_inbox import AnswerOfJob
from penstock.host.embedded import ReplyWaiter
from penstock.host.jobs import LONGEST_TYPE, MOST_RETRIES
from penstock.kernel.failure import Failure
from penstock.store.job_tables import STATES
from penstock.store.jobs import Activation, Answer, JobRow, Verdict

if TYPE_CHECKING:
    from penstock.app.penstock import Penstock

log = logging.getLogger("penstock.jobs")
MOST_TYPES, MOST_AT_ONCE, MOST_NAMES = 50, 200, 500
LONGEST_LOCK_MS, LONGEST_WAIT_MS, LONGEST_DELAY_MS = 7 * 86_400_000, 60_000, 30 * 86_400_000
LONGEST_NAME, LONGEST_MESSAGE = 200, 4000
#: how often the store is told that a worker has asked
SEEN_MS = 10_000
#: seconds after which a worker looks again where another process makes the jobs
LOOK_S = 0.25
#: seconds that an answer waits for the turn of its run; it is kept all the same
TURN_S = 10.0
_json = msgspec.json.Encoder(order="sorted").encode


class ActivatedJob(msgspec.Struct, kw_only=True):
    """A job that a worker has now. `key` is the same however often it is taken: hand it to whoever must not do it
    twice. `attempt` grows with every taking."""

    id: str
    type: str
    key: str
    run: str
    definition: str
    version: int
    node: str
    name: str
    variables: dict[str, Any]
    headers: dict[str, str]
    retries: int
    lock_token: str
    locked_until: int
    attempt: int
    priority: int
    created_at: int


class JobState(msgspec.Struct, kw_only=True):
    """A job as operators see it. `why` is what it waits for, in one word: worker, lock, delay, pause, operator; ""
    when it is over."""

    id: str
    type: str
    state: str
    why: str
    run: str
    definition: str
    version: int
    node: str
    name: str
    retries: int
    attempt: int
    priority: int
    created_at: int
    worker: str | None = None
    due_at: int | None = None
    message: str | None = None
    ended_at: int | None = None


class SeenWorker(msgspec.Struct):
    worker: str
    since: int
    at: int


class JobType(msgspec.Struct, kw_only=True):
    """How the jobs of a type stand, and who has asked for them. `waits`: somebody waits for one right now."""

    type: str
    waiting: int = 0
    locked: int = 0
    delayed: int = 0
    held: int = 0
    oldest_at: int | None = None
    last_asked_at: int | None = None
    waits: bool = False
    workers: list[SeenWorker] = []


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker asks for. `variables`: only these; None: all."""

    types: Sequence[str]
    worker: str
    max_jobs: int = 1
    lock_ms: int = 60_000
    wait_ms: int = 0
    variables: Sequence[str] | None = None


class Jobs:
    """The jobs of one door. Everything is in the store when it returns."""

    def __init__(self, door: Penstock) -> None:
        self.door, self.store, self.tenant = door, door.store, door.tenant

    # -- to take -------------------------------------------------------------------------------------------------------

    async def activate(
        self, asked: Asked, *, resting: Callable[[], AbstractContextManager[None]] = nullcontext,
        gone: Callable[[], Awaitable[bool]] | None = None,
    ) -> list[ActivatedJob]:  # fmt: skip
        """Jobs that wait, and those whose lock is over; where there is none, the first that comes within `wait_ms`.
        Nobody looks meanwhile: a new job wakes whoever waits for it. `resting` is around the time in which it only
        waits; `gone`: whoever asked does not listen any more, and gets nothing."""
        _check(asked)
        self._seen(asked)
        loop = asyncio.get_running_loop()
        until = loop.time() + asked.wait_ms / 1000
        jobs = self._take(asked)
        while not jobs and (left := until - loop.time()) > 0 and not self._closing:
            with resting():
                bell = await self._rung(asked, left)
            try:
                if gone is not None and await gone():
                    self._ring(asked)
                    return []
                jobs = self._take(asked)
            finally:
                self._forget(asked, bell)
        if asked.wait_ms and not jobs:  # it may have been the only one who knew when a lock is over
            self._ring(asked)
        return jobs

    @property
    def _closing(self) -> bool:
        host = self.door.host_here
        return host is not None and (host.closing or host.jobs.closing)

    async def _rung(self, asked: Asked, left: float) -> asyncio.Future[None] | None:
        """Until there may be a job. Who is stopped meanwhile leaves it to the next who waits."""
        host = self.door.host_here
        if host is None:
            await asyncio.sleep(min(left, LOOK_S))
            return None
        self.door.begin()
        bell = host.jobs.next_of(self.tenant, asked.types)
        try:
            await asyncio.wait([bell], timeout=min(left, self._due_in()))
        except BaseException:
            self._forget(asked, bell)
            self._ring(asked)
            raise
        return bell

    def _forget(self, asked: Asked, bell: asyncio.Future[None] | None) -> None:
        host = self.door.host_here
        if host is not None and bell is not None:
            host.jobs.not_any_more(self.tenant, asked.types, bell)

    def _ring(self, asked: Asked) -> None:
        if (host := self.door.host_here) is not None:
            for type in asked.types:
                host.jobs.ring(self.tenant, type)

    def _due_in(self) -> float:
        """Seconds until a lock or a delay is over."""
        now = self.door.now()
        due = self.store.next_job_due(now)
        return 3600.0 if due is None else max(0.005, (due - now) / 1000)

    def _take(self, asked: Asked) -> list[ActivatedJob]:
        given = Activation(
            self.tenant, asked.types, asked.worker, asked.max_jobs, asked.lock_ms, secrets.token_urlsafe(12)
        )
        rows = self.store.activate_jobs(given, self.door.now())
        if rows:  # there may be more, and whoever waits is to know when these locks are over
            self._ring(asked)
        return [_activated(row, asked.variables) for row in rows]

    def _seen(self, asked: Asked) -> None:
        """Workers are known by what they ask for; the store is told now and then."""
        now, host = self.door.now(), self.door.host_here
        known = host.jobs.asked_at if host is not None else {}
        new = [
            (self.tenant, type, asked.worker, now)
            for type in asked.types
            if now - known.get((self.tenant, type, asked.worker), -SEEN_MS) >= SEEN_MS
        ]
        if new:
            self.store.put_job_workers(new)
            if len(known) > 10_000:
                known.clear()
            known.update({row[:3]: now for row in new})

    # -- to answer -----------------------------------------------------------------------------------------------------

    def extend(self, id: str, token: str, lock_ms: int) -> int:
        """Until when it is locked now."""
        _within("lock_ms", lock_ms, 1, LONGEST_LOCK_MS)
        until = self.door.now() + lock_ms
        verdict = self.store.extend_job(self.tenant, id, token, until)
        if verdict != "taken":
            raise self._refusal(id, verdict, self.store.job(self.tenant, id))
        host = self.door.host_here
        if host is not None and host.jobs.waiting:  # it may be over sooner than whoever waits believes
            host.jobs.ring(self.tenant, self._row(id).type)
        return until

    async def complete(self, id: str, token: str, variables: dict[str, Any] | None = None) -> JobState:
        """Done: its result goes to the run. The same again is the same answer."""
        row = self._row(id)
        result = variables or {}
        brought = AnswerOfJob(self.tenant, row.firing, row.attempt, result, None, {"worker": row.worker, "job": id})
        return await self._answer(row, token, "DONE", ["complete", result], brought)

    async def fail(
        self, id: str, token: str, message: str, *, retries: int | None = None, backoff_ms: int = 0, details: Any = None
    ) -> JobState:  # fmt: skip
        """It did not work. `retries` are those that are left now, one less than before by default: without any the run
        is stuck, and an operator who has it tried again makes the job anew."""
        row = self._row(id)
        _within("backoff_ms", backoff_ms, 0, LONGEST_DELAY_MS)
        left = max(0, row.retries - 1) if retries is None else retries
        _within("retries", left, 0, MOST_RETRIES)
        message = _short(message or "the worker did not say why")
        said = ["fail", message, retries, backoff_ms, details]
        if left > 0:
            return await self._answer(row, token, "WAITING", said, None, retries=left, delay=backoff_ms, why=message)
        detail = {"job": id, "type": row.type, "worker": row.worker, "details": details}
        failure = Failure("JOB_FAILED", "permanent", message, row.node, detail)
        brought = AnswerOfJob(self.tenant, row.firing, row.attempt, None, failure)
        return await self._answer(row, token, "FAILED", said, brought, retries=0, why=message)

    async def error(
        self, id: str, token: str, code: str, message: str = "", variables: dict[str, Any] | None = None
    ) -> JobState:
        """A business error: the error event that catches its code goes on, with these variables."""
        row = self._row(id)
        _named("code", code)
        message = _short(message or f"the worker of «{row.name}» reports {code}")
        failure = Failure(code, "business", message, row.node, {"output": variables} if variables else None)
        brought = AnswerOfJob(self.tenant, row.firing, row.attempt, None, failure)
        return await self._answer(row, token, "ERROR", ["error", code, message, variables], brought, why=message)

    async def unlock(self, id: str, token: str) -> JobState:
        """Given back: somebody else may take it."""
        return await self._answer(self._row(id), token, "WAITING", ["unlock"], None)

    async def _answer(
        self, row: JobRow, token: str, state: Any, said: list[Any], brought: AnswerOfJob | None, *,
        retries: int | None = None, delay: int = 0, why: str | None = None,
    ) -> JobState:  # fmt: skip
        digest = hashlib.sha256(_json(said)).hexdigest()[:32]
        command = None if brought is None else msgspec.msgpack.encode(brought)
        answer = Answer(self.tenant, row.id, token, f"{said[0]} {digest}", state, command, retries, delay, why)
        verdict, now = self.store.answer_job(answer, self.door.now())
        if now is None or verdict not in ("taken", "same"):
            raise self._refusal(row.id, verdict, now)
        host = self.door.host_here
        if host is not None and command is None:
            host.jobs.ring(self.tenant, row.type)
        elif host is not None and verdict == "taken" and command is not None and now.inbox is not None:
            await self._heard(now.inbox, row.run, command)
        return state_of(now)

    async def _heard(self, number: int, run: int, command: bytes) -> None:
        """Until its run has it, so that whoever asks next sees what came of it. It is in the store already, and what
        keeps the run from it now is not the worker's business."""
        host = self.door.host
        self.door.begin()
        waiter = ReplyWaiter(1)
        host.inbox.take(number, run, command, waiter)
        try:
            async with asyncio.timeout(TURN_S):
                await self.door.heard(waiter)
        except (PenstockError, TimeoutError) as error:
            log.warning("the answer %s of a job waits for its run: %s", number, error)

    def close(self) -> None:
        """Whoever waits for jobs here is told that there are none."""
        host = self.door.host_here
        if host is not None:
            host.jobs.close()

    def _row(self, id: str) -> JobRow:
        row = self.store.job(self.tenant, id)
        if row is None:
            raise JobNotFound(job=_short(id, LONGEST_NAME))
        return row

    def _refusal(self, id: str, verdict: Verdict, row: JobRow | None) -> PenstockError:
        if row is None or verdict == "missing":
            return JobNotFound(job=_short(id, LONGEST_NAME))
        if verdict == "over":
            return JobOver(job=id, how=_OVER[row.state])
        taken = row.state == "LOCKED" and row.worker is not None
        return JobLockLost(job=id, holder=f"{row.worker} has it" if taken else "nobody has it")

    # -- to look at ----------------------------------------------------------------------------------------------------

    def get(self, id: str) -> JobState:
        return state_of(self._row(id))

    def find(
        self, *, type: str | None = None, state: str | None = None, run: str | None = None,
        after: tuple[int, str] = (0, ""), limit: int = 50,
    ) -> list[JobState]:  # fmt: skip
        """By age; those behind one. Raises RunNotFound for a run that there is not."""
        if state is not None and state not in STATES:
            raise BadInput(what="«state»", why=f"it is one of {', '.join(STATES)}")
        number = None if run is None else self.door.row(run).no
        rows = self.store.find_jobs(self.tenant, type=type, state=state, run=number, after=after, limit=limit)
        return [state_of(row) for row in rows]

    def types(self) -> list[JobType]:
        """Types that have open jobs, or that somebody has asked for."""
        types: dict[str, JobType] = {}
        for count in self.store.job_counts(self.tenant):
            kind = types.setdefault(count.type, JobType(type=count.type, workers=[]))
            setattr(kind, count.state.lower(), count.count)
            kind.oldest_at = min(count.oldest, kind.oldest_at or count.oldest)
        for seen in self.store.job_workers(self.tenant):
            kind = types.setdefault(seen.type, JobType(type=seen.type, workers=[]))
            kind.workers.append(SeenWorker(seen.worker, seen.since, seen.at))
            kind.last_asked_at = max(seen.at, kind.last_asked_at or 0)
        host = self.door.host_here
        for kind in types.values():
            kind.waits = host is not None and (self.tenant, kind.type) in host.jobs.waiting
        return [types[name] for name in sorted(types)]


_OVER = {
    "DONE": "it was completed", "ERROR": "it ended with a business error", "FAILED": "it has failed for good",
    "WITHDRAWN": "its run does not need it any more",
}  # fmt: skip
_WHY = {"WAITING": "worker", "LOCKED": "lock", "DELAYED": "delay", "HELD": "pause", "FAILED": "operator"}


def state_of(row: JobRow) -> JobState:
    return JobState(
        id=row.id, type=row.type, state=row.state, why=_WHY.get(row.state, ""), run=row.run_id, definition=row.document,
        version=row.version, node=row.node, name=row.name, retries=row.retries, attempt=row.fence,
        priority=row.priority, created_at=row.created_at, worker=row.worker, due_at=row.due_at, message=row.message,
        ended_at=row.ended_at,
    )  # fmt: skip


def _activated(row: JobRow, names: Sequence[str] | None) -> ActivatedJob:
    body = msgspec.msgpack.decode(row.body)
    variables = body["variables"]
    if names is not None:
        variables = {name: variables[name] for name in names if name in variables}
    return ActivatedJob(
        id=row.id, type=row.type, key=row.key, run=row.run_id, definition=row.document, version=row.version,
        node=row.node, name=row.name, variables=variables, headers=body["headers"], retries=row.retries,
        lock_token=row.token or "", locked_until=row.due_at or 0, attempt=row.fence, priority=row.priority,
        created_at=row.created_at,
    )  # fmt: skip


def _check(asked: Asked) -> None:
    if not 1 <= len(asked.types) <= MOST_TYPES:
        raise BadInput(what="«types»", why=f"there are 1 to {MOST_TYPES} of them")
    for type in asked.types:
        _named("type", type)
    _named("worker", asked.worker)
    _within("max_jobs", asked.max_jobs, 1, MOST_AT_ONCE)
    _within("lock_ms", asked.lock_ms, 1, LONGEST_LOCK_MS)
    _within("wait_ms", asked.wait_ms, 0, LONGEST_WAIT_MS)


def _within(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise BadInput(what=f"«{name}»", why=f"it is a whole number from {least} to {most}")


def _named(name: str, value: str) -> None:
    if not value.strip() or len(value) > LONGEST_TYPE:
        raise BadInput(what=f"«{name}»", why=f"it is a text of 1 to {LONGEST_TYPE} characters")


def _short(text: str, most: int = LONGEST_MESSAGE) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
