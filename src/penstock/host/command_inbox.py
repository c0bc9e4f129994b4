"""The inbox: commands that other processes leave in the store, answered in the commit that has their turn."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from penstock.errors import PenstockError, Refused
from penstock.host.loaded_run import InboxReply
from penstock.host.turn import Turns
from penstock.kernel import command as C
from penstock.store.run_store import Batch, RunStore

NO_COMMAND = Refused(why="it is no command that this version knows")
_unpack = msgspec.msgpack.decode


class Inbox:
    """`resume_run` loads a run before its command is sent, where the host drives only what it is asked for."""

    def __init__(self, store: RunStore, turns: Turns, resume_run: Callable[[int], None] | None = None) -> None:
        self.store, self.turns, self.resume_run = store, turns, resume_run
        self.taken: set[int] = set()  # commands that wait for their turn

    def poll(self) -> bool:
        """Take the commands that are new; False when there are none."""
        rows = [row for row in self.store.inbox() if row[0] not in self.taken]
        for no, run, body in rows:
            self.take(no, run, body)
        return bool(rows)

    def take(self, no: int, run: int, body: bytes) -> None:
        command = _command(body)
        if command is None:
            self.reply(no, NO_COMMAND)
            return
        if self.resume_run is not None:
            self.resume_run(run)
        self.taken.add(no)
        self.turns.send(run, command, InboxReply(no, self.taken.discard))

    def reply(self, no: int, error: PenstockError | None) -> None:
        """Answer a command that no run takes, in a commit of its own."""
        batch, reply = Batch(), InboxReply(no, self.taken.discard)
        batch.inbox_answered.append(reply.answer(error))
        try:
            self.store.commit(batch)
        finally:
            reply(error)  # when it failed, the command is where it was


def _command(body: bytes) -> C.Command | None:
    """A command that somebody left; None when it is none that this version knows: it must not reach a run."""
    try:
        command = _unpack(body)
    except msgspec.MsgspecError:
        return None
    known = type(command) is list and command and type(command[0]) is int and 0 <= command[0] < len(C.NAMES)
    return tuple(command) if known else None
