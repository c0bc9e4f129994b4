"""Reads of long runs are asked of a process beside this one: a fold never holds the loop that drives the engine.

One process, started when it is first needed and ended when nobody has asked for a while. Tenants take turns in it, so
many reads of one keep nobody else waiting longer than one read. Readers who ask the same while it waits share it.
Large documents have a process of the same kind: a compilation takes seconds, and keeps no read waiting.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import struct
import sys
from collections import deque
from typing import Any

import msgspec

from penstock.app.access.roles import Person
from penstock.app.runs.long.read_limits import LOOP_FACTS
from penstock.app.runs.long.reader_door import ReaderOptions
from penstock.errors import ReaderFailed, ReaderTimeout, ReadsTooMany

log = logging.getLogger("penstock.api")

#: reads of one tenant that may wait, and documents: each is held in memory
MOST_WAITING, MOST_DOCUMENTS = 64, 8
#: so long a read may take, and so long the process stays without one
ANSWER_S, IDLE_S = 120.0, 300.0
#: so long a trial may take, with the start of its process
TRIAL_S = 20.0
RETRY_S = 2
_LENGTH = struct.Struct(">I")


class Question(msgspec.Struct, frozen=True):
    """A request that needs nothing of the engine, and who has sent it; or, where `events` is set, the events of a run
    after a number."""

    path: str
    query: str
    caller: Person
    languages: str = ""
    events: tuple[str, int] | None = None
    method: str = "GET"
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()


class Told(msgspec.Struct):
    """A question with what only the process that drives knows."""

    question: Question
    trace: str
    parked: list[tuple[int, int, str, int | None]]


class Answer(msgspec.Struct):
    """`last`: the process ends after it, and the next question is for another one."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes
    last: bool = False


class _Read:
    def __init__(self, told: Told) -> None:
        self.told = told
        self.readers = 0
        self.answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()


class LongReads:
    """`loop_facts` is how many facts a read may fold without it."""

    def __init__(
        self, options: ReaderOptions, *, loop_facts: int = LOOP_FACTS, most_waiting: int = MOST_WAITING,
        idle_s: float = IDLE_S, answer_s: float = ANSWER_S,
    ) -> None:  # fmt: skip
        self.options, self.loop_facts, self.most_waiting, self.idle_s = options, loop_facts, most_waiting, idle_s
        self.answer_s = answer_s
        self.asked = 0  # how many were sent to the process
        self._queues: dict[str, deque[_Read]] = {}  # by tenant; the first is the next to be served
        self._more = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._process: asyncio.subprocess.Process | None = None

    async def ask(self, told: Told) -> Answer:
        """Raises ReadsTooMany, ReaderFailed."""
        read = self._waiting(told)
        read.readers += 1
        try:
            return await asyncio.shield(read.answer)
        finally:
            read.readers -= 1

    def _waiting(self, told: Told) -> _Read:
        """The same question that has not had its turn yet has the same answer; one that has may be older than this."""
        tenant = told.question.caller.tenant
        queue = self._queues.setdefault(tenant, deque())
        same = next((read for read in queue if read.told.question == told.question), None)
        if same is not None and told.question.method == "GET":
            return same
        if len(queue) >= self.most_waiting:
            raise ReadsTooMany(count=len(queue), retry_s=RETRY_S)
        read = _Read(told)
        queue.append(read)
        self._more.set()
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._serve())
        return read

    def _next(self) -> _Read | None:
        """The oldest of the tenant whose turn it is. Who has gone away meanwhile is passed over."""
        while self._queues:
            tenant, queue = next(iter(self._queues.items()))
            del self._queues[tenant]
            while queue:
                read = queue.popleft()
                if read.readers > 0:
                    if queue:
                        self._queues[tenant] = queue  # behind the others
                    return read
        return None

    async def _serve(self) -> None:
        try:
            while True:
                self._more.clear()
                read = self._next()
                if read is not None:
                    await self._answer(read)
                    continue
                try:
                    await asyncio.wait_for(self._more.wait(), self.idle_s)
                except TimeoutError:
                    return
        finally:
            await self._end_process()

    async def _answer(self, read: _Read) -> None:
        try:
            answer = await self._asked(read.told)
        except Exception as error:  # whoever asked hears it; the next one has a new process
            await self._end_process()
            if not isinstance(error, ReaderFailed):
                log.error("the process that reads long runs failed", exc_info=error)
                error = ReaderFailed(why="its process failed", retry_s=RETRY_S)
            if not read.answer.done():
                read.answer.set_exception(error)
                read.answer.exception()  # nobody may be there any more to hear it
        else:
            if not read.answer.done():
                read.answer.set_result(answer)

    async def _asked(self, told: Told) -> Answer:
        """A process that has ended meanwhile is started again, once."""
        for last in (False, True):
            process = self._process or await self._begin_process()
            try:
                async with asyncio.timeout(self.answer_s):
                    await _send(process, msgspec.msgpack.encode(told))
                    self.asked += 1
                    answer = msgspec.msgpack.decode(await _received(process), type=Answer)
                if answer.last:
                    await self._end_process()
                return answer
            except TimeoutError:
                raise ReaderTimeout(why=f"it took more than {self.answer_s:g} s", retry_s=RETRY_S) from None
            except (asyncio.IncompleteReadError, ConnectionError):
                await self._end_process()
                if last:
                    raise ReaderFailed(why="its process ended", retry_s=RETRY_S) from None
        raise AssertionError("the second time it is answered or raises")

    async def _begin_process(self) -> asyncio.subprocess.Process:
        paths = os.pathsep.join(path for path in sys.path if path)
        process = self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "penstock.api.reader", stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE, start_new_session=True, env={**os.environ, "PYTHONPATH": paths},
        )  # fmt: skip
        await _send(process, msgspec.msgpack.encode(self.options))
        return process

    async def _end_process(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        process._transport.close()  # type: ignore[attr-defined]  # else its pipes are closed when the loop is gone

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        for queue in self._queues.values():
            for read in queue:
                read.answer.cancel()
        self._queues.clear()


async def _send(process: asyncio.subprocess.Process, frame: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(_LENGTH.pack(len(frame)) + frame)
    await process.stdin.drain()


async def _received(process: asyncio.subprocess.Process) -> bytes:
    assert process.stdout is not None
    (length,) = _LENGTH.unpack(await process.stdout.readexactly(_LENGTH.size))
    return await process.stdout.readexactly(length)


def read_frame(stream: Any) -> bytes | None:
    """In the other process; None at the end."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    body: bytes = stream.read(length)
    return body if len(body) == length else None


def write_frame(stream: Any, frame: bytes) -> None:
    stream.write(_LENGTH.pack(len(frame)))
    stream.write(frame)
    stream.flush()
