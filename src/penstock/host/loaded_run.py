"""A run in memory: its state, the commands that wait for its next turn, and the replies to them."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from penstock.errors import PenstockError, Refused
from penstock.kernel import command as C
from penstock.kernel.run import Run
from penstock.kernel.state import Firing

TAKEN = msgspec.msgpack.encode({"ok": True})  # the answer to a command of the inbox
_pack = msgspec.msgpack.Encoder().encode

#: called with what became of a command: None when it was committed, else why it was refused. After a StoreError the
#: command is not kept: the sender may send it again
Reply = Callable[[PenstockError | None], None]


class InboxReply:
    """The reply to a command of the store's inbox: committed with the turn that took the command (H9); a commit that
    fails leaves the command where it was."""

    __slots__ = ("gone", "heard", "no")

    def __init__(self, no: int, gone: Callable[[int], None], heard: Reply | None = None) -> None:
        self.no, self.gone, self.heard = no, gone, heard

    def __call__(self, error: PenstockError | None) -> None:
        self.gone(self.no)
        if self.heard is not None:
            self.heard(error)

    def answer(self, error: PenstockError | None) -> tuple[bytes, int]:
        if error is None:
            return TAKEN, self.no
        return _pack({"code": error.code, "message": str(error), "hint": error.hint}), self.no


class InternalReply:
    """The engine's own command, which nobody would send again: it stays until a turn with it is committed."""

    __slots__ = ("reply",)

    def __init__(self, reply: Reply) -> None:
        self.reply = reply

    def __call__(self, error: PenstockError | None) -> None:
        self.reply(error)


class EventReply(InternalReply):
    """A message out of the store's events: that this run has taken it, `row`, is committed with the turn that uses it,
    and where none does it is still anybody's."""

    __slots__ = ("id", "row", "used")

    def __init__(self, reply: Reply, id: str, row: tuple[bytes, int]) -> None:
        super().__init__(reply)
        self.id, self.row, self.used = id, row, False

    def __call__(self, error: PenstockError | None) -> None:
        self.reply(error if error is not None or self.used else Refused(why="it does not wait for it any more"))


class Ask(msgspec.Struct, eq=False):
    """An effect that may go out now: everything an executor needs can be read from the firing and its net."""

    loaded: LoadedRun
    firing: Firing
    attempt: int
    probe: int
    again: bool = False  # it was asked before; whoever was asked may be gone


class LoadedRun:
    """A run in memory, and the commands that wait for its next turn."""

    __slots__ = (
        "checkpoint_seq",
        "checkpoint_size",
        "commands",
        "id",
        "key",
        "wait_names",
        "net_no",
        "no",
        "parent",
        "priority",
        "replies",
        "in_store",
        "run",
        "started_at",
        "tenant",
        "unsaved_bytes",
        "wake_at",
    )

    def __init__(self, no: int) -> None:
        self.no = no
        self.run: Run | None = None  # None until it is loaded with its batch
        self.commands: list[C.Command] = []
        self.replies: dict[int, Reply] = {}
        self.in_store = False  # has it a row there?
        self.id, self.tenant, self.key, self.parent = "", "", None, None  # type: tuple[str, str, str | None, str | None]
        self.net_no, self.priority, self.checkpoint_seq = 0, 1000, 0
        self.checkpoint_size = self.unsaved_bytes = 0  # unsaved: of journal since the checkpoint
        self.started_at = 0
        self.wake_at: int | None = None
        self.wait_names: dict[int, str] = {}  # of open waits

    def has_answer(self, firing: Firing) -> bool:
        """Does the answer to this effect wait for its turn?"""
        at = (firing.no, firing.attempt, firing.probe)
        return any(c[0] in (C.OUTCOME, C.DOUBT) and c[1:4] == at for c in self.commands)
