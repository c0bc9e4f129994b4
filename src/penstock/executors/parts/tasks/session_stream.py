"""Follows the output of one session: transcript, listeners, budget; nothing of a secret gets out by it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from penstock.executors.parts.agent_streams import Shape, StreamEvent, StreamParser, StreamSummary, Transcript
from penstock.executors.parts.agent_streams.contract import cut
from penstock.executors.parts.sessions.session import SessionState, read_state

SECRET_CHARS = 8  # what is shorter stands in texts by chance
LINE_CHARS = 160
_KINDS = {"result": "complete", "error": "error", "progress": "progress"}
_LOG = logging.getLogger(__name__)


class SessionEvent(msgspec.Struct, frozen=True, kw_only=True):
    """`kind` is started, stream, progress, heartbeat, complete, error or ended; `name` the seed's word for it, if any.
    `at` is milliseconds since the epoch."""

    kind: str
    session: str
    run: str
    tenant: str
    project: str
    task: str
    agent: str
    at: int = 0
    name: str = ""
    data: dict[str, Any] = {}


Listener = Callable[[SessionEvent], None]


class Budget(msgspec.Struct, frozen=True):
    cost_usd: float | None = None
    tokens: float | None = None

    def exceeded(self, summary: StreamSummary) -> str:
        """What was exceeded, in words; empty: nothing."""
        if self.cost_usd is not None and summary.cost_usd > self.cost_usd:
            return f"{summary.cost_usd:.4f} USD of {self.cost_usd:g}"
        tokens = summary.tokens_in + summary.tokens_out
        if self.tokens is not None and tokens > self.tokens:
            return f"{tokens} tokens of {self.tokens:g}"
        return ""


class SessionStream:
    """`about` has the fields of every event; `over` is called once, with what was exceeded; `erred` at an error."""

    def __init__(
        self, shape: Shape, folder: Path, about: SessionEvent, listeners: Sequence[Listener], *, secrets: Sequence[str],
        budget: Budget, over: Callable[[str], None], erred: Callable[[], None],
    ) -> None:  # fmt: skip
        self.parser, self.transcript = StreamParser(shape), Transcript(folder)
        self.folder, self.about, self.listeners = folder, about, listeners
        self.secrets = [secret for secret in secrets if len(secret) >= SECRET_CHARS]
        self.budget, self._over, self._erred = budget, over, erred
        self.exceeded = self.last_line = ""
        self._announced = self.transcript.known > 0
        self._began, self._beat, self._told_start = time.monotonic(), 0, False

    @property
    def summary(self) -> StreamSummary:
        return self.parser.summary

    def feed(self, chunk: bytes) -> None:
        if not self._told_start:
            self.tell_started(read_state(self.folder))
        self._add(self.parser.feed(chunk))

    def close(self) -> None:
        self._add(self.parser.close())
        self.transcript.close()

    def now(self) -> int:
        return self.about.at + int((time.monotonic() - self._began) * 1000)

    def tell(self, kind: str, data: dict[str, Any], name: str = "") -> None:
        """A listener that fails is not the session's fault."""
        if not self.listeners:
            return
        event = msgspec.structs.replace(self.about, kind=kind, name=name, at=self.now(), data=data)
        for listener in self.listeners:
            try:
                listener(event)
            except Exception:
                _LOG.exception("A listener of sessions has failed.")

    def tell_started(self, state: SessionState) -> bool:
        """Once, and before anything that it says. False: it has not started."""
        if state.pid is not None and not self._told_start:
            self._told_start = True
            known = {"pid": state.pid, "pid_started_at": state.pid_started_at, "started_at": state.started_at}
            self.tell("started", {**known, "landlock": state.landlock})
        return self._told_start

    def beat(self, state: SessionState) -> None:
        """Told when the session was heard of since."""
        if state.last_heartbeat_at is None or state.last_heartbeat_at <= self._beat:
            return
        self._beat, summary = state.last_heartbeat_at, self.summary
        self.tell("heartbeat", {
            "last_heartbeat_at": self._beat, "progress": int(summary.percent), "tokens_in": summary.tokens_in,
            "tokens_out": summary.tokens_out, "cost_usd": summary.cost_usd, "last_line": self.last_line,
        })  # fmt: skip

    def scrubbed(self, text: str) -> str:
        for secret in self.secrets:
            if secret in text:
                text = text.replace(secret, "***")
        return text

    def _add(self, events: list[StreamEvent]) -> None:
        if not events:
            return
        if self.secrets:
            events = [self._without_secrets(event) for event in events]
        for number, event in self.transcript.write(events, self.now()):
            self._tell_event(number, event)
        if self.summary.has_error:
            self._erred()
        if not self.exceeded and not self.summary.has_result and (over := self.budget.exceeded(self.summary)):
            self.exceeded = over
            self._over(over)

    def _tell_event(self, number: int, event: StreamEvent) -> None:
        if event.text and event.kind != "tool":
            self.last_line = cut(event.text.strip().rpartition("\n")[2], LINE_CHARS)
        if not self._announced and event.kind != "started":  # programs that never say so have started all the same
            self.tell("stream", {"number": number, "kind": "started", "text": "", "data": None}, "claude:started")
        self._announced = True
        data = {"number": number, "kind": event.kind, "text": event.text, "data": event.data}
        if event.kind in ("result", "progress"):
            data["progress"] = int(self.summary.percent)
        self.tell(_KINDS.get(event.kind, "stream"), data, event.name)

    def _without_secrets(self, event: StreamEvent) -> StreamEvent:
        data = event.data
        if isinstance(data, dict):
            data = {name: self.scrubbed(value) if isinstance(value, str) else value for name, value in data.items()}
        return StreamEvent(event.kind, self.scrubbed(event.text), data)
