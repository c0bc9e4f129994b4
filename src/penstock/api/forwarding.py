"""Requests that another process answers: about a long run the one that reads those, with a large document another."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypeVar

import msgspec
from fastapi import Depends, Request
from msgspec.structs import replace
from starlette.responses import Response

from penstock.api.long_reads import Answer, LongReads, Question, Told
from penstock.api.server_state import Caller, ServerState, caller_of, server_of
from penstock.app.own_modules import imported
from penstock.app.runs.long.read_limits import is_long
from penstock.app.runs.timeline.events import EventPage
from penstock.app.runs.waiting.environment import held_effects
from penstock.errors import ReaderTimeout, ReleaseNotFound, RunAmbiguous, RunNotFound, TrialTooLong
from penstock.executors.handler import registered_here

#: who steers a run, or answers for it, is shown it
_READ = "run.read"
#: so many effects that wait at the gate are told
_MOST_PARKED = 1_000
#: a larger body with a document is forwarded: this much is some hundred nodes, and takes some 25 ms
LOOP_BYTES = 16 * 1024
#: what a route may ask of a request beside its body
_HEADERS = ("content-type", "x-tenant-id")
T = TypeVar("T", bound=Callable[..., Any])


def forwarded_when_large(endpoint: T) -> T:
    """Marks a route that checks or keeps the document in its body, or draws or compares versions of one, and needs
    nothing of the engine for it."""
    endpoint.forwarded_when_large = True  # type: ignore[attr-defined]
    return endpoint


def answered_beside(endpoint: T) -> T:
    """Marks a route that is always answered by the process of trials, which is ended when it takes too long."""
    endpoint.answered_beside = True  # type: ignore[attr-defined]
    return endpoint


class Forwarding:
    """For one request. Where this process is the one that reads, or no run is long, everything is answered here."""

    def __init__(self, server: ServerState, caller: Caller, request: Request) -> None:
        self.server, self.caller, self.request = server, caller, request

    def long_run(self, name: str) -> str | None:
        """The id of the run that is meant, if it is long."""
        reads = self.server.long_reads
        if reads is None:
            return None
        door = self.server.door.of(self.caller.tenant)
        try:
            row = door.row(name.partition("~")[0])  # a work item is RUN~FIRING
        except (RunNotFound, RunAmbiguous):
            return None
        return row.id if is_long(door.store, row, reads.loop_facts) or door.nets.is_large(row.net) else None

    def large_definition(self, name: str, versions: list[int]) -> bool:
        """Whether one of these versions, or the one in force, takes long to be drawn or compared."""
        door = self.server.door.of(self.caller.tenant)
        if self.server.large_documents is None:
            return False
        try:
            rows = [door.releases.get(name, version) for version in versions] or [door.releases.get(name)]
        except ReleaseNotFound:
            return False
        return any(len(row.document) > LOOP_BYTES for row in rows)

    async def same(self) -> Response:
        """The answer to this very request."""
        return await self._get(_path(self.request), self.request.url.query)

    async def _get(self, path: str, query: str = "") -> Response:
        languages = self.request.headers.get("accept-language") or ""
        return _relayed(await self._ask(Question(f"/api/v1{path}", query, self.caller, languages)))

    async def document(self, body: bytes) -> Response | None:
        """The answer to this request with a document; None where it is small enough to be answered here."""
        return await self._beside(len(body), body)

    async def about(self, size: int) -> Response | None:
        """The same where it is about a document of this size that is kept."""
        return await self._beside(size, await self.request.body())

    async def _beside(self, size: int, body: bytes) -> Response | None:
        if self.server.large_documents is None or size <= LOOP_BYTES or registered_here() or imported():
            return None
        return await self.definition(body)

    async def definition(self, body: bytes = b"") -> Response:
        """The answer to this request, which is about a large document."""
        compiling = self.server.large_documents
        assert compiling is not None, "only where there is one is it asked"
        return _relayed(await compiling.ask(self._told(body)))

    async def trial(self, body: bytes) -> Response | None:
        """The answer to this request, which tries something out; None in the process that does. Raises TrialTooLong."""
        trials = self.server.trials
        if trials is None:
            return None
        try:
            return _relayed(await trials.ask(self._told(body)))
        except ReaderTimeout:
            raise TrialTooLong(seconds=f"{trials.answer_s:g}") from None

    def _told(self, body: bytes) -> Told:
        """This very request."""
        request = self.request
        headers = tuple((name, request.headers[name]) for name in _HEADERS if name in request.headers)
        asked = Question(
            f"/api/v1{_path(request)}", request.url.query, self.caller, request.headers.get("accept-language") or "",
            method=request.method, body=body, headers=headers,
        )  # fmt: skip
        return Told(asked, getattr(request.state, "trace_id", ""), [])

    async def changed(self, run: str, path: str, *, status: int = 200) -> Response | None:
        """What whoever has changed a run is shown of it, at the path that ends with its id; None: it is short."""
        id = self.long_run(run)
        if id is None:
            return None
        caller = replace(self.caller, permissions=self.caller.permissions | {_READ})
        response = await Forwarding(self.server, caller, self.request)._get(f"/{path}/{id}")
        response.status_code = status if response.status_code == 200 else response.status_code
        return response

    def pages(self, run: str) -> Callable[[int], Awaitable[EventPage]] | None:
        """The events of a long run, page by page."""
        id = self.long_run(run)
        if id is None:
            return None

        async def page(after: int) -> EventPage:
            answer = await self._ask(Question("", "", self.caller, events=(id, after)))
            return msgspec.msgpack.decode(answer.body, type=EventPage)

        return page

    async def _ask(self, question: Question) -> Answer:
        reads = self.server.long_reads
        assert isinstance(reads, LongReads), "only where there is one is a run long"
        return await reads.ask(Told(question, getattr(self.request.state, "trace_id", ""), self._parked()))

    def _parked(self) -> list[tuple[int, int, str, int | None]]:
        host = self.server.door.host_here
        waits = held_effects(host) if host is not None else {}
        return [(run, firing, what, until) for (run, firing), (what, until) in [*waits.items()][:_MOST_PARKED]]


def _path(request: Request) -> str:
    """Without its prefix: the API has two."""
    return request.url.path.removeprefix("/api/v1").removeprefix("/api")


def _relayed(answer: Answer) -> Response:
    headers = {name: value for name, value in answer.headers if name != "content-type"}
    media = next((value for name, value in answer.headers if name == "content-type"), None)
    return Response(answer.body, answer.status, headers=headers, media_type=media)


async def forwarding_of(request: Request) -> Forwarding:
    return Forwarding(server_of(request), await caller_of(request), request)


Long = Annotated[Forwarding, Depends(forwarding_of)]
