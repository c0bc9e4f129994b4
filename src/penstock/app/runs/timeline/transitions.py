"""A transition of a history, and lives whose every move is one that their table names."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.expr.calendar import moment_at, text_of_moment
from penstock.lifecycle.contract import Machine


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


class Book:
    def __init__(self) -> None:
        self.found: list[Transition] = []

    def tell(
        self, of: str, at: int, event: str, before: str | None, to: str, node: str | None = None,
        reason: str | None = None, by: str | None = None, execution: str | None = None,
    ) -> None:  # fmt: skip
        moment = text_of_moment(moment_at(at))
        self.found.append(Transition(moment, of, event, before, to, node, reason or None, by, execution))

    def forget(self) -> None:
        self.found.clear()


class Life:
    """W-2.2.2: what the table does not name is not told and changes nothing. C-60: statuses are told in lower case."""

    __slots__ = ("book", "execution", "machine", "node", "of", "status")

    def __init__(
        self, book: Book, machine: Machine, of: str, node: str | None = None, execution: str | None = None
    ) -> None:
        self.book, self.machine, self.of, self.node, self.execution = book, machine, of, node, execution
        self.status = ""

    def begin(self, at: int, event: str, reason: str | None = None) -> None:
        self.status = self.machine.initial
        self.book.tell(self.of, at, event, None, self.status.lower(), self.node, reason, execution=self.execution)

    def move(
        self, at: int, event: str, node: str | None = None, reason: str | None = None, by: str | None = None
    ) -> bool:
        if not self.machine.allows(self.status, event):
            return False
        before, self.status = self.status, self.machine.next(self.status, event)
        self.book.tell(
            self.of, at, event, before.lower(), self.status.lower(), node or self.node, reason, by, self.execution
        )
        return True


def reason_of(failure: dict[str, Any] | None) -> str | None:
    if not failure:
        return None
    return ": ".join(str(failure[name]) for name in ("code", "message") if failure.get(name))
