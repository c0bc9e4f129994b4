"""The history of a run as transitions of lifecycle tables: what moved, from where, to where, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import msgspec

from penstock.expr.calendar import moment_at, text_of_moment
from penstock.kernel.fact_lines import FactReader
from penstock.lifecycle.contract import Machine
from penstock.net.author import author
from penstock.net.compiled import Compiled


class Transition(msgspec.Struct, frozen=True, rename={"from_": "from"}):
    """`of` is what has moved: instance, node or approval; `execution` is the firing of the node, for a node may be
    executed more than once. The first transition of a life comes from nowhere. Statuses are in the language's words."""

    at: str
    of: str
    event: str
    from_: str | None
    to: str
    node_id: str | None = None
    reason: str | None = None
    by: str | None = None
    execution: str | None = None


class TransitionLog:
    def __init__(self) -> None:
        self.transitions: list[Transition] = []

    def add(
        self, of: str, at: int, event: str, before: str | None, to: str, node: str | None = None,
        reason: str | None = None, by: str | None = None, execution: str | None = None,
    ) -> None:  # fmt: skip
        moment = text_of_moment(moment_at(at))
        self.transitions.append(Transition(moment, of, event, before, to, node, reason or None, by, execution))

    def clear(self) -> None:
        self.transitions.clear()


class TrackedMachine:
    """One state machine whose moves are logged.

    W-2.2.2: what the table does not name is not told and changes nothing. C-60: statuses are told in lower case.
    """

    __slots__ = ("execution", "log", "machine", "node", "of", "status")

    def __init__(
        self, log: TransitionLog, machine: Machine, of: str, node: str | None = None, execution: str | None = None
    ) -> None:
        self.log, self.machine, self.of, self.node, self.execution = log, machine, of, node, execution
        self.status = ""

    def begin(self, at: int, event: str, reason: str | None = None) -> None:
        self.status = self.machine.initial
        self.log.add(self.of, at, event, None, self.status.lower(), self.node, reason, execution=self.execution)

    def move(
        self, at: int, event: str, node: str | None = None, reason: str | None = None, by: str | None = None
    ) -> bool:
        if not self.machine.allows(self.status, event):
            return False
        before, self.status = self.status, self.machine.next(self.status, event)
        self.log.add(
            self.of, at, event, before.lower(), self.status.lower(), node or self.node, reason, by, self.execution
        )
        return True


class RunHistory(Protocol):
    """Folds a journal turn by turn into transitions, oldest first."""

    @property
    def transitions(self) -> list[Transition]: ...

    def turn(self, at: int, facts: Iterable[Any]) -> None: ...


class PlainHistory:
    """The moves of a run alone, in the words of its language."""

    def __init__(self, net_of: Callable[[str], Compiled], words: Mapping[str, str]) -> None:
        self.reader, self.log, self.words = FactReader(net_of), TransitionLog(), words

    @property
    def transitions(self) -> list[Transition]:
        return self.log.transitions

    def turn(self, at: int, facts: Iterable[Any]) -> None:
        for line in self.reader.turn(at, facts):
            if line.fact == "run.started":
                self.log.clear()
                self.log.add("instance", line.at, "start", None, self._word("RUNNING"))
            elif line.fact == "run.moved":
                failure, before = line.data.get("failure"), self.log.transitions[-1].to
                to, node = self._word(line.data["to"]), self._author((failure or {}).get("node"))
                self.log.add("instance", line.at, line.data["event"], before, to, node, reason_of(failure))

    def _word(self, status: str) -> str:
        return self.words.get(status, status)

    def _author(self, id: str | None) -> str | None:
        assert self.reader.net is not None, "a run begins with its net"
        node = self.reader.net.by_id.get(id) if id else None
        return author(node) if node is not None else id or None


def reason_of(failure: dict[str, Any] | None) -> str | None:
    if not failure:
        return None
    return ": ".join(str(failure[name]) for name in ("code", "message") if failure.get(name))
