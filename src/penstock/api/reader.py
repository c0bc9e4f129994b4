"""A process that reads long runs, or compiles large documents: the server's routes on a door that drives nothing.

It answers one request at a time, and ends with the process that has started it, whose pipe it reads. Its memory is
bounded: beyond that a request is refused, and the process that follows begins with none.
"""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import sys
from typing import Any

import msgspec
from fastapi import FastAPI
from starlette.types import Message

from penstock.api import problems
from penstock.api.locale import set_languages
from penstock.api.long_reads import Answer, Question, Told, read_frame, write_frame
from penstock.api.options import Options
from penstock.api.request_share import RequestShare
from penstock.api.route_table import ROUTES
from penstock.api.server_state import ServerState
from penstock.app.penstock import Penstock
from penstock.app.runs.long.reader_door import ReaderOptions, open_reader
from penstock.app.runs.timeline.events import EventPages

#: what one process may use; a fold takes about a kilobyte per fact at its widest
MEMORY = 4 * 1024**3
#: beyond this it starts again after its answer
KEPT_MEMORY = 768 * 1024**2
#: what whoever asked gets beside the body
_DROPPED = ("content-length", "etag")
_OUT_OF_MEMORY = {
    "type": "about:blank", "title": "Not available", "status": 503, "code": "PS-503-READER",
    "detail": "It could not be done: it takes more memory than one request may use.",
    "hint": "Ask for an earlier fact or a smaller page, or divide the document.",
}  # fmt: skip


def reading_app(door: Penstock) -> FastAPI:
    """The routes alone: whoever sends here is known already, and the edge and the audit are those of the server."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    app.state.server = server = ServerState(door, Options())
    server.is_reader = True
    server.request_share = RequestShare(lambda tenant: 1.0)  # the server has let it in
    problems.install(app)
    for router in ROUTES:
        app.include_router(router, prefix="/api/v1")
    return app


class Reader:
    def __init__(self, options: ReaderOptions) -> None:
        self.door, self.folds = open_reader(options)
        self.app = reading_app(self.door)
        self.events = EventPages()

    async def answer(self, told: Told) -> Answer:
        question = told.question
        self.door.tell_parked({(run, firing): (what, until) for run, firing, what, until in told.parked})
        if question.events is not None:
            run, after = question.events
            page = self.events.page(self.door.of(question.caller.tenant), run, after)
            return Answer(200, [], msgspec.msgpack.encode(page))
        answer = await self._requested(question, told.trace)
        if answer.status >= 500:
            self.forget()
        return answer

    def forget(self) -> None:
        self.folds.forget()
        self.events.forget()

    async def _requested(self, question: Question, trace: str) -> Answer:
        set_languages(question.languages)
        headers = (("host", "reader"), ("accept-language", question.languages), *question.headers)
        scope = {
            "type": "http", "http_version": "1.1", "method": question.method, "scheme": "http", "path": question.path,
            "raw_path": question.path.encode(), "root_path": "", "query_string": question.query.encode(),
            "headers": [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers],
            "app": self.app, "state": {"caller": question.caller, "trace_id": trace},
        }  # fmt: skip
        answer, body = Answer(500, [], b""), bytearray()

        async def receive() -> Message:
            return {"type": "http.request", "body": question.body, "more_body": False}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer.status = message["status"]
                headers = ((name.decode("latin-1"), value.decode("latin-1")) for name, value in message["headers"])
                answer.headers = [(name, value) for name, value in headers if name not in _DROPPED]
            else:
                body.extend(message.get("body", b""))

        await self.app(scope, receive, send)
        answer.body = bytes(body)
        return answer


async def serve(given: Any, out: Any) -> None:
    frame = read_frame(given)
    if frame is None:
        return
    reader = Reader(msgspec.msgpack.decode(frame, type=ReaderOptions))
    while (frame := read_frame(given)) is not None:
        try:
            answer = await reader.answer(msgspec.msgpack.decode(frame, type=Told))
        except MemoryError:
            reader.forget()
            answer = Answer(503, [("content-type", problems.MEDIA)], msgspec.json.encode(_OUT_OF_MEMORY))
        answer.last = memory_here() > KEPT_MEMORY
        write_frame(out, msgspec.msgpack.encode(answer))
        if answer.last:
            return


def memory_here() -> int:
    """What this process holds. The system's own peak is also that of the process that has started it."""
    try:
        with open("/proc/self/statm", encoding="ascii") as statm:
            return int(statm.read().split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # in bytes where there is no /proc


def main() -> None:
    os.nice(5)  # the engine goes first
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    given, out = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what somebody prints is no answer
    gc.freeze()
    asyncio.run(serve(given, out))


if __name__ == "__main__":
    main()
