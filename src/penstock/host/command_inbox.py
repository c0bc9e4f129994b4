"""The inbox: commands that other processes leave in the store, answered in the commit that has their turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from penstock.errors import PenstockError, Refused
from penstock.host.loaded_run import InboxReply, Reply
from penstock.host.turn import Turns
from penstock.kernel import command as C
from penstock.kernel.failure import Failure
from penstock.store.run_store import Batch, RunStore

NO_COMMAND = Refused(why="it is no command that this version knows")
_unpack = msgspec.msgpack.decode


class AnswerOfJob(msgspec.Struct, array_like=True, tag=True):
    """The answer of a worker to a job of a run: the firing, its attempt, and what has become of it. It lies in the
    inbox whole; what is large in it is stored by reference when it is taken."""

    tenant: str
    firing: int
    attempt: int
    body: Any = None
    failure: Failure | None = None
    meta: dict[str, Any] = {}


class Inbox:
    """`resume_run` loads a run before its command is sent, where the host drives only what it is asked for; `shelve`
    puts large values aside."""

    def __init__(
        self, store: RunStore, turns: Turns, shelve: Callable[[str, Any], Any],
        resume_run: Callable[[int], None] | None = None,
    ) -> None:  # fmt: skip
        self.store, self.turns, self.shelve, self.resume_run = store, turns, shelve, resume_run
        self.taken: set[int] = set()  # commands that wait for their turn

    def poll(self) -> bool:
        """Take the commands that are new; False when there are none."""
        rows = [row for row in self.store.inbox() if row[0] not in self.taken]
        for no, run, body in rows:
            self.take(no, run, body)
        return bool(rows)

    def take(self, no: int, run: int, body: bytes, heard: Reply | None = None) -> None:
        """`heard` is told what became of it."""
        command = self._command(body)
        if command is None:
            self.reply(no, NO_COMMAND)
            return
        if self.resume_run is not None:
            self.resume_run(run)
        self.taken.add(no)
        self.turns.send(run, command, InboxReply(no, self.taken.discard, heard))

    def reply(self, no: int, error: PenstockError | None) -> None:
        """Answer a command that no run takes, in a commit of its own."""
        batch, reply = Batch(), InboxReply(no, self.taken.discard)
        batch.inbox_answered.append(reply.answer(error))
        try:
            self.store.commit(batch)
        finally:
            reply(error)  # when it failed, the command is where it was

    def _command(self, body: bytes) -> C.Command | None:
        """A command that somebody left; None when it is none that this version knows: it must not reach a run."""
        try:
            command = _unpack(body)
        except msgspec.MsgspecError:
            return None
        if type(command) is not list or not command:
            return None
        if type(command[0]) is int:
            return tuple(command) if 0 <= command[0] < len(C.NAMES) else None
        try:
            return self._outcome(_unpack(body, type=AnswerOfJob))
        except msgspec.MsgspecError:
            return None

    def _outcome(self, given: AnswerOfJob) -> C.Command:
        if given.failure is not None:
            return C.failed(given.firing, given.attempt, given.failure)
        body = self.shelve(given.tenant, given.body)
        return (C.OUTCOME, given.firing, given.attempt, 0, C.OK, body, None, given.meta)
