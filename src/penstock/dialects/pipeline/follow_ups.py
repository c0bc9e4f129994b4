"""What follows a stage and an execution: events, actions, notices (F-5.1, F-X.12, F-X.13, F-X.24).

It is written into the outbox with the facts that it is about, and done after that commit, at least once, under a key
that is the same each time. Whatever becomes of it, the execution stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from penstock.dialects.contract import HostServices, LiveRun
from penstock.dialects.notice import Notice
from penstock.dialects.pipeline.words import execution_status
from penstock.kernel import fact as F
from penstock.kernel.run import Run
from penstock.kernel.state import COMPLETED, DONE, STATUS
from penstock.store.follow_ups import TOPIC
from penstock.store.run_store import Batch

#: F-X.24: the event of a stage that has extracted something
EXTRACTED = "extraction.completed"
_BADLY = ("FAILED", "TIMEOUT")
_pack = msgspec.msgpack.Encoder().encode


class FollowUp(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What is to be done: tell an event, begin the pipeline `name`, see who has waited for a completed execution,
    write a line into the log, or put `text` into the object `name`. `about` has what people and programs are told,
    `file` whose it is, `chain` how many executions have begun each other before."""

    kind: Literal["event", "begin", "completed", "log", "object"]
    key: str
    tenant: str
    run: str
    name: str = ""
    file: int = 0
    about: dict[str, Any] = {}
    text: bytes = b""
    chain: int = 0


class FollowUps:
    def __init__(self, services: HostServices) -> None:
        self.notify, self.resolver = services.notify, services.resolver

    def write(self, live: LiveRun, run: Run, facts: list[F.Fact], was: int, now: int, batch: Batch) -> bool:
        """In the commit of a turn; is there anything to be done?"""
        first, written = run.st.n - len(facts) + 1, len(batch.outbox)
        for seq, fact in enumerate(facts, first):
            if fact[0] == F.SETTLED and fact[2] == DONE and fact[7] is not None:
                self._extracted(live, run, fact, seq, batch)
        if was < COMPLETED <= run.st.status:
            self._ended(live, run, now, batch)
        return len(batch.outbox) > written

    def _extracted(self, live: LiveRun, run: Run, fact: F.Fact, seq: int, batch: Batch) -> None:
        """F-5.1: what was extracted, told once for each stage and kind of it by its key."""
        body = self.resolver(live.tenant)(fact[7])
        extraction = body.get("extraction") if isinstance(body, Mapping) else None
        if not isinstance(extraction, Mapping):
            return
        stage, kind = run.net.nodes[fact[4]].id, str(extraction.get("extractionType"))
        about = {
            "executionId": live.id, "fileId": _file(run), "extractionType": kind, "method": extraction.get("method"),
            "confidence": extraction.get("confidence"), "traceId": run.st.trace or live.id, "stageCode": stage,
            "pipelineCode": run.net.net.name, "tenantId": live.tenant,
            "organizationId": run.st.options.get("organization_id"), "outputRef": body.get("output_ref"),
        }  # fmt: skip
        key = f"{live.id}:{stage}:{kind}"
        event = FollowUp(kind="event", key=key, tenant=live.tenant, run=live.id, name=EXTRACTED, about=about)
        _write(event, live, seq, batch)

    def _ended(self, live: LiveRun, run: Run, now: int, batch: Batch) -> None:
        known = run.net.net.declares.policies.get("pipeline") or {}
        failure = run.st.failure
        status = execution_status(
            STATUS[run.st.status], failure.category if failure else None, int(known.get("max_retries", 0))
        )
        about: dict[str, Any] = {
            "executionId": live.id, "pipelineCode": run.net.net.name, "version": known.get("version"),
            "tenantId": live.tenant, "organizationId": run.st.options.get("organization_id"), "fileId": _file(run),
            "status": status, "traceId": run.st.trace or live.id, "occurredAt": now,
        }  # fmt: skip
        if failure is not None and status in _BADLY:
            about["error"] = {"code": failure.code, "stage": failure.node or None}
        ending = _Ending(live, run, about, batch)
        if status == "COMPLETED":
            ending.follow("completed", "completed", run.net.net.name)
        actions = known.get("success_actions" if status == "COMPLETED" else "failure_actions") or ()
        for number, action in enumerate(actions if status in ("COMPLETED", *_BADLY) else ()):
            if action["type"] == "webhook":
                self._send(ending, f"action/{number}", "webhook", {"url": action["url"], "body": about})
            elif action["type"] == "event":
                ending.follow("event", f"action/{number}", action["name"])
            else:
                ending.follow("begin", f"action/{number}", action["code"])
        wanted = known.get("notification_config") or {}
        for number, channel in enumerate(wanted.get("channels") or () if status in (wanted.get("on") or ()) else ()):
            self._notify(ending, f"notification/{number}", channel)

    def _notify(self, ending: _Ending, place: str, channel: Mapping[str, Any]) -> None:
        if channel["type"] == "log":
            ending.follow("log", place)
        elif channel["type"] == "webhook":
            self._send(ending, place, "webhook", {"url": channel["url"], "body": ending.about})
        else:
            self._send(ending, place, "email", {"to": channel["to"], "subject": ending.subject}, ending.text)

    def _send(self, ending: _Ending, place: str, channel: str, config: dict[str, Any], text: str = "") -> None:
        """Through the channels of the tenant, by the outbox of notices."""
        live = ending.live
        args = {"channel": channel, "config": config, "message": text}
        notice = Notice(
            key=ending.key(place), tenant=live.tenant, run=live.id, subject=ending.subject, text=text, args=args
        )
        self.notify(notice, live.no, ending.run.st.n, ending.batch)


class _Ending:
    """An execution that ends in a turn, once more each time that somebody has revived it."""

    def __init__(self, live: LiveRun, run: Run, about: dict[str, Any], batch: Batch) -> None:
        self.live, self.run, self.about, self.batch = live, run, about, batch
        self.subject = f"{about['pipelineCode']} {about['status']}"

    def key(self, place: str) -> str:
        return f"{self.live.tenant}/{self.live.id}/{self.run.st.n}/{place}"

    @property
    def text(self) -> str:
        return "\n".join(f"{name}: {value}" for name, value in _lines(self.about))

    def follow(self, kind: Literal["event", "begin", "completed", "log"], place: str, name: str = "") -> None:
        live = self.live
        what = FollowUp(
            kind=kind, key=self.key(place), tenant=live.tenant, run=live.id, name=name, file=self.about["fileId"] or 0,
            about=self.about, chain=_chain(self.run),
        )  # fmt: skip
        _write(what, live, self.run.st.n, self.batch)


def keep_object(live: LiveRun, seq: int, key: str, text: bytes, batch: Batch) -> None:
    """F-X.16: what is too large for a row; it becomes an object when the row that names it is there."""
    what = FollowUp(kind="object", key=key, tenant=live.tenant, run=live.id, name=key, text=text)
    _write(what, live, seq, batch)


def _file(run: Run) -> int | None:
    file = run.st.options.get("file_id")
    return file if isinstance(file, int) else None


def _chain(run: Run) -> int:
    trigger = run.st.options.get("trigger")
    length = trigger.get("chain") if isinstance(trigger, Mapping) else None
    return length if isinstance(length, int) else 0


def _lines(about: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in about.items():
        if isinstance(value, Mapping):
            yield from _lines(value)
        elif value is not None:
            yield name, value


def _write(what: FollowUp, live: LiveRun, seq: int, batch: Batch) -> None:
    batch.outbox.append((live.no, seq, TOPIC, _pack(msgspec.to_builtins(what, builtin_types=(bytes,))), 0, 0))
