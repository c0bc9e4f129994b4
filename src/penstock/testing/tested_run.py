"""A run in a test: how it stands, the way it has gone, what it waits for, what it has sent and undone."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.app.runs.run_view import RunView
from penstock.app.runs.waiting.environment import read_environment
from penstock.app.runs.waiting.why import why
from penstock.dialects.net_nodes import is_synthetic
from penstock.kernel.fact_lines import FactLine
from penstock.kernel.state import COMPLETED
from penstock.net.author import author
from penstock.net.compiled import Compiled
from penstock.testing.contract import Scene
from penstock.testing.messages import SentMessage

#: kinds of reasons why a run rests → what it waits for
_FOR = {
    "work": "person", "event": "event", "timer": "time", "backoff": "retry", "child": "run", "limit": "room",
    "failed": "operator", "breaker": "breaker", "paused": "operator",
    "job": "worker", "no_worker": "worker",
}  # fmt: skip


class OpenWait(msgspec.Struct, frozen=True, kw_only=True):
    """What a run waits for: `for_` is person, event, time, retry, run, room, operator, breaker or worker; `until` in
    milliseconds, and `then` what happens by itself at that moment; `who` may move it on."""

    node: str
    for_: str = msgspec.field(name="for")
    what: str = ""
    who: list[str] = []
    until: int | None = None
    then: str = ""


class TestedRun:
    """One run; everything is read from the store when it is asked for."""

    __test__ = False  # for pytest, which would take it for a test

    def __init__(self, scene: Scene, id: str) -> None:
        self._scene, self.id = scene, id
        self._view: tuple[int, RunView] | None = None

    def __repr__(self) -> str:
        return f"<TestedRun {self.id} {self.status}>"

    @property
    def view(self) -> RunView:
        """The run as every command and screen shows it."""
        if self._view is None or self._view[0] != self._scene.facts:
            self._view = (self._scene.facts, self._scene.door.view(self.id))
        return self._view[1]

    @property
    def status(self) -> str:
        """In the words of its language: waiting, completed, escalated …"""
        return self.view.status

    @property
    def ended(self) -> bool:
        return self._scene.door.row(self.id).status >= COMPLETED

    @property
    def output(self) -> Any:
        return self.view.output

    @property
    def variables(self) -> dict[str, Any]:
        return self.view.variables

    @property
    def failure(self) -> dict[str, Any] | None:
        return self.view.failure

    @property
    def nodes(self) -> dict[str, str]:
        """How each node of the document stands."""
        return self.view.nodes

    @property
    def path(self) -> list[str]:
        """The author's nodes in the order in which they have begun, each as often as it has."""
        return [firing.node for firing in self.view.firings]

    @property
    def waits(self) -> list[OpenWait]:
        door = self._scene.door
        reasons = why(door, door.reading(self.id), read_environment(door))
        return [
            OpenWait(
                node=reason.node or "", for_=_FOR.get(reason.kind, reason.kind), what=reason.what or "",
                who=reason.who, until=reason.until, then=reason.then.kind if reason.then is not None else "",
            )
            for reason in reasons
        ]  # fmt: skip

    @property
    def messages(self) -> list[SentMessage]:
        """What it has sent to people and systems, oldest first."""
        return [message for message in self._scene.messages if message.run == self.id]

    @property
    def compensated(self) -> list[str]:
        """Nodes whose work was undone, in the order in which it was."""
        lines = self._scene.door.lines(self.id)
        ledger: dict[int, str] = {}
        undone = []
        for line in lines:
            if line.fact == "ledger.added":
                ledger[len(ledger)] = self._author(line.node)
            elif line.fact == "undo.step" and line.data.get("status") == "EXECUTED":
                undone.append(ledger.get(int(line.data["entry"]), str(line.data["entry"])))
        return undone

    def lines(self) -> list[FactLine]:
        """Every fact, as `penstock trace` shows it."""
        return self._scene.door.lines(self.id)

    def timeline(self) -> str:
        """What happened, with virtual times since the test began: the same text in every run of the test."""
        from penstock.testing.timeline import timeline_text

        return timeline_text(self)

    def _author(self, node: str) -> str:
        known = self.net.by_id.get(node)
        return node if known is None else author(known)

    @property
    def net(self) -> Compiled:
        return self._scene.door.reading(self.id).net

    @property
    def node_ids(self) -> list[str]:
        """The nodes of the document."""
        nodes = (node for node in self.net.nodes if not is_synthetic(node))
        return list(dict.fromkeys(author(node) for node in nodes))

    @property
    def siblings(self) -> list[TestedRun]:
        """All runs of the test, itself included, in the order in which they have started."""
        return self._scene.runs

    @property
    def folder(self) -> str:
        """Where the store of the test lies."""
        return str(self._scene.door.path.parent)

    @property
    def began_at(self) -> int:
        return self._scene.began_at
