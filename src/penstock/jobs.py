"""Workers for jobs of processes (P-X.28): programs outside that do activities, over HTTP.

    from penstock.jobs import BusinessError, Job, JobWorker

    worker = JobWorker("http://localhost:8080", key="…")

    @worker.handles("charge-card")
    def charge(job: Job) -> dict:
        if job.variables["amount"] > 1000:
            raise BusinessError("NO_MONEY", "the card is empty")
        return {"receipt": 7}

    worker.run()

A handler may be async; one that is not is run in a thread. While it works, its job stays locked. What it returns
becomes variables of the process; a BusinessError goes to the error event that catches its code; a JobError says how
often and when it is to be tried again; any other exception is a failure that costs one retry. A job may come a second
time, after a crash or a lost answer: `job.key` is then the same.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import inspect
import json
import logging
import os
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import httpx2
import msgspec

log = logging.getLogger("penstock.jobs")
#: seconds between two tries of a server that is not there, and at most
PAUSE_S, LONGEST_PAUSE_S = 0.2, 10.0
#: how much longer than it waits a request may take
PATIENCE_S = 15.0
_GONE = (404, 409)
#: of a body that the server will not take another time, either
_UNFIT = (400, 413, 422)

Handler = TypeVar("Handler", bound=Callable[..., Any])


class Job(msgspec.Struct, kw_only=True, frozen=True):
    """A job that this worker has. `key` is the same on every attempt: hand it to whoever must not do it twice."""

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
    locked_until: str
    attempt: int
    priority: int
    created_at: str


class JobError(Exception):
    """It did not work. `retries` are those that are left now; by default one less than before, and at 0 the run is
    stuck until an operator looks."""

    def __init__(self, message: str, *, retries: int | None = None, backoff_s: float = 0, details: Any = None) -> None:
        super().__init__(message)
        self.retries, self.backoff_s, self.details = retries, backoff_s, details


class BusinessError(Exception):
    """It worked, and came to what the process has a way for: the error event that catches this code."""

    def __init__(self, code: str, message: str = "", variables: dict[str, Any] | None = None) -> None:
        super().__init__(message or code)
        self.code, self.message, self.variables = code, message, variables or {}


class ServerRefused(Exception):
    """The server has refused a request; `code` is its word for it, `status` that of HTTP."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.status, self.code = status, code


class JobLost(ServerRefused):
    """Somebody else has the job by now, or nobody needs it any more."""


class JobClient:
    """The requests of a worker, typed. Raises ServerRefused, JobLost, and what httpx raises where no answer comes."""

    def __init__(self, url: str, *, key: str | None = None, client: httpx2.AsyncClient | None = None) -> None:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._own = client is None
        self._client = client or httpx2.AsyncClient(base_url=f"{url.rstrip('/')}/api/v1", headers=headers)

    async def activate(
        self, types: Sequence[str], *, worker: str, max_jobs: int = 1, lock_s: float = 60, wait_s: float = 0,
        variables: Sequence[str] | None = None,
    ) -> list[Job]:  # fmt: skip
        """Jobs of these types, those of the first ones first; where there is none, the first that comes in time."""
        asked = {
            "types": list(types), "worker": worker, "max_jobs": max_jobs,
            "lock_ms": _ms(lock_s), "wait_ms": _ms(wait_s),
            "variables": None if variables is None else list(variables),
        }  # fmt: skip
        told = await self._post("/jobs/activate", asked, wait_s + PATIENCE_S)
        return msgspec.convert(told["jobs"], list[Job])

    async def extend(self, job: Job, lock_s: float) -> None:
        await self._answer(job, "extend", lock_ms=_ms(lock_s))

    async def complete(self, job: Job, variables: dict[str, Any] | None = None) -> None:
        await self._answer(job, "complete", variables=variables or {})

    async def fail(self, job: Job, error: JobError) -> None:
        more = {} if error.retries is None else {"retries": error.retries}
        await self._answer(
            job, "fail", message=_short(str(error)), backoff_ms=_ms(error.backoff_s), details=error.details, **more
        )

    async def error(self, job: Job, error: BusinessError) -> None:
        await self._answer(job, "error", code=error.code, message=_short(error.message), variables=error.variables)

    async def unlock(self, job: Job) -> None:
        """Given back: somebody else may take it."""
        await self._answer(job, "unlock")

    async def _answer(self, job: Job, verb: str, **body: Any) -> None:
        await self._post(f"/jobs/{job.id}:{verb}", {"lock_token": job.lock_token, **body}, PATIENCE_S)

    async def _post(self, path: str, body: Any, timeout_s: float) -> Any:
        answer = await self._client.post(path, json=body, timeout=timeout_s)
        if answer.status_code < 400:
            return answer.json()
        told: Any = {}
        with contextlib.suppress(ValueError):
            told = answer.json()
        kind = JobLost if answer.status_code in _GONE else ServerRefused
        code, message = str(told.get("code") or answer.status_code), str(told.get("detail") or answer.reason_phrase)
        raise kind(answer.status_code, code, message)

    async def aclose(self) -> None:
        if self._own:
            await self._client.aclose()


class JobWorker:
    """Takes jobs and hands them to functions, `at_once` of them at the same time, until it is stopped.

    `lock_s`: how long a job stays this worker's when nothing is heard of it; while its handler works it is asked for
    again in time. `wait_s`: how long one question waits for a job. `grace_s`: how long handlers have to end when the
    worker stops; what has not ended then is given back."""

    def __init__(
        self, url: str, *, key: str | None = None, worker: str | None = None, at_once: int = 1, lock_s: float = 60,
        wait_s: float = 30, grace_s: float = 30, client: httpx2.AsyncClient | None = None,
    ) -> None:  # fmt: skip
        self.url, self.key, self._given = url, key, client
        self.name = worker or f"{socket.gethostname()}-{os.getpid()}"
        self.at_once, self.lock_s, self.wait_s, self.grace_s = at_once, lock_s, wait_s, grace_s
        self._handlers: dict[str, Callable[[Job], Any]] = {}
        self._stopped: asyncio.Event | None = None
        self._working: set[asyncio.Task[None]] = set()
        self._threads: ThreadPoolExecutor | None = None

    def handles(self, type: str) -> Callable[[Handler], Handler]:
        """The function that does jobs of a type."""

        def register(function: Handler) -> Handler:
            self._handlers[type] = function
            return function

        return register

    # -- to run --------------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Work until SIGTERM or Ctrl-C. Raises ServerRefused where this worker may not work."""

        async def until_signal() -> None:
            loop = asyncio.get_running_loop()
            for each in (signal.SIGTERM, signal.SIGINT):
                with contextlib.suppress(NotImplementedError, ValueError):  # not here, or not in the main thread
                    loop.add_signal_handler(each, self.stop)
            await self.work()

        asyncio.run(until_signal())

    def stop(self) -> None:
        """Take no more jobs, and let those under way end. On the worker's own loop."""
        if self._stopped is not None:
            self._stopped.set()

    async def work(self) -> None:
        """The same on a loop that there is, until `stop`."""
        if not self._handlers:
            raise ValueError("no function handles a type of jobs: use @worker.handles(TYPE)")
        self._stopped = asyncio.Event()
        # asyncio's own threads are fewer on a small machine: jobs that wait for one would be held and not done
        self._threads = ThreadPoolExecutor(self.at_once, thread_name_prefix="penstock-job")
        async with self._client() as client:
            try:
                await self._take_jobs(client)
            finally:
                await self._end_jobs()
                self._threads.shutdown(wait=False)

    @contextlib.asynccontextmanager
    async def _client(self) -> AsyncIterator[JobClient]:
        client = JobClient(self.url, key=self.key, client=self._given)
        try:
            yield client
        finally:
            await client.aclose()

    async def _take_jobs(self, client: JobClient) -> None:
        assert self._stopped is not None
        stopped = asyncio.ensure_future(self._stopped.wait())
        pause = PAUSE_S
        while not self._stopped.is_set():
            if len(self._working) >= self.at_once:
                await asyncio.wait({stopped, *self._working}, return_when=asyncio.FIRST_COMPLETED)
                continue
            asking = asyncio.ensure_future(self._ask(client))
            await asyncio.wait({asking, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if not asking.done():
                asking.cancel()
                break
            jobs = asking.result()
            if jobs is None:
                await asyncio.wait({stopped}, timeout=pause)
                pause = min(pause * 2, LONGEST_PAUSE_S)
                continue
            pause = PAUSE_S
            for job in jobs:
                task = asyncio.ensure_future(self._do(client, job))
                self._working.add(task)
                task.add_done_callback(self._working.discard)
        stopped.cancel()

    async def _ask(self, client: JobClient) -> list[Job] | None:
        """None where the server is not there, or has too much to do. Raises ServerRefused where it will not be
        otherwise another time."""
        try:
            return await client.activate(
                list(self._handlers), worker=self.name, max_jobs=self.at_once - len(self._working), lock_s=self.lock_s,
                wait_s=self.wait_s,
            )  # fmt: skip
        except ServerRefused as refused:
            if refused.status < 500 and refused.status not in (408, 429):
                raise
            log.warning("no jobs: %s", refused)
        except httpx2.HTTPError as error:
            log.warning("no jobs: %s %s", type(error).__name__, error)
        return None

    async def _end_jobs(self) -> None:
        if self._working:
            await asyncio.wait(self._working, timeout=self.grace_s)
        for task in list(self._working):
            task.cancel()
        await asyncio.gather(*self._working, return_exceptions=True)

    # -- one job -------------------------------------------------------------------------------------------------------

    async def _do(self, client: JobClient, job: Job) -> None:
        me = asyncio.current_task()
        held = asyncio.ensure_future(self._hold(client, job, me))
        try:
            answer = await self._answer_of(job)
        except asyncio.CancelledError:
            held.cancel()
            if self._stopped is not None and self._stopped.is_set():
                with contextlib.suppress(ServerRefused, httpx2.HTTPError):
                    await client.unlock(job)
            return
        held.cancel()
        refused = await self._until_heard(job, lambda: answer(client))
        if refused is not None and refused.status in _UNFIT:
            unfit = JobError(f"its answer was not taken: {refused}", retries=0)
            await self._until_heard(job, lambda: client.fail(job, unfit))

    async def _answer_of(self, job: Job) -> Callable[[JobClient], Awaitable[None]]:
        """What is to be said of a job."""
        try:
            result = await self._called(self._handlers[job.type], job)
        except BusinessError as error:
            if wrong := _no_json(error.variables):
                return lambda client: client.fail(job, wrong)
            business = error
            return lambda client: client.error(job, business)
        except JobError as error:
            failed = error
            failed.details = str(failed.details) if _no_json(failed.details) else failed.details
            return lambda client: client.fail(job, failed)
        except Exception as error:
            log.exception("the job %s of type %s failed", job.id, job.type)
            unexpected = JobError(f"{type(error).__name__}: {error}")
            return lambda client: client.fail(job, unexpected)
        if result is not None and not isinstance(result, dict):
            no_dict = JobError(f"its handler returned {type(result).__name__}, and not a dict or None", retries=0)
            return lambda client: client.fail(job, no_dict)
        if unsendable := _no_json(result):
            return lambda client: client.fail(job, unsendable)
        return lambda client: client.complete(job, result)

    async def _called(self, handler: Callable[[Job], Any], job: Job) -> Any:
        if inspect.iscoroutinefunction(handler):
            return await handler(job)
        assert self._threads is not None, "it works"
        call = functools.partial(contextvars.copy_context().run, handler, job)
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    async def _hold(self, client: JobClient, job: Job, worker: asyncio.Task[Any] | None) -> None:
        """Keep its lock while it is done. Where it is somebody else's by now, it is dropped."""
        while True:
            await asyncio.sleep(self.lock_s / 3)
            try:
                await client.extend(job, self.lock_s)
            except JobLost as lost:
                log.warning("the job %s is lost: %s", job.id, lost)
                if worker is not None:
                    worker.cancel()
                return
            except (ServerRefused, httpx2.HTTPError) as error:
                log.warning("the job %s could not be held: %s", job.id, error)

    async def _until_heard(self, job: Job, say: Callable[[], Awaitable[None]]) -> ServerRefused | None:
        """The same answer twice is taken once, so it is said until it was heard. Gives what it was refused with."""
        pause, left = PAUSE_S, max(self.lock_s, self.grace_s)
        while True:
            try:
                await say()
                return None
            except JobLost as lost:
                log.warning("the answer to job %s came too late: %s", job.id, lost)
                return None
            except (ServerRefused, httpx2.HTTPError) as error:
                if left <= 0 or isinstance(error, ServerRefused) and error.status < 500 and error.status != 429:
                    log.error("the answer to job %s was not taken: %s", job.id, error)
                    return error if isinstance(error, ServerRefused) else None
            await asyncio.sleep(pause)
            left -= pause
            pause = min(pause * 2, LONGEST_PAUSE_S)


def _no_json(value: Any) -> JobError | None:
    """The failure of a job whose result nobody can send."""
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError) as why:
        return JobError(f"what its handler gives is no JSON: {why}", retries=0)
    return None


def _short(message: str) -> str:
    """As long as the server takes it, without halves of characters, which names of files may have."""
    return message[:4000].encode("utf-8", "replace").decode()


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


__all__ = ["BusinessError", "Job", "JobClient", "JobError", "JobLost", "JobWorker", "ServerRefused"]
