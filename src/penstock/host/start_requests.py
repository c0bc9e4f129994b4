"""Start requests: runs that other processes ask for in the store's inbox, started by the host that drives it."""

from __future__ import annotations

import secrets
from typing import Any

import msgspec

from penstock.errors import BadInput, KeyConflict, PenstockError
from penstock.host.command_inbox import Inbox
from penstock.host.embedded import Host
from penstock.host.loaded_run import InboxReply, Reply
from penstock.host.run_ids import RANDOM_BITS, run_id

#: Commands of the inbox are for a run by its number; those that are for none ask for a new one.
NO_RUN = 0


class Start(msgspec.Struct, array_like=True):
    """A run to be started: its net by hash, and the id that whoever asks will look for."""

    id: str
    net: str
    input: Any
    tenant: str
    key: str | None = None
    options: dict[str, Any] = {}
    priority: int = 1000
    parent: str = ""
    trace: str = ""


def new_id(now: int) -> str:
    """An id in the form of the host's own, for a run that is started elsewhere."""
    return run_id(now, secrets.randbits(RANDOM_BITS))


class StartInbox(Inbox):
    """The inbox of a host that also starts runs."""

    def __init__(self, host: Host) -> None:
        super().__init__(host.store, host.turns, host.blobs.shelve, host.resume_run if host.alone else None)
        self.host = host

    def take(self, no: int, run: int, body: bytes, heard: Reply | None = None) -> None:
        if run != NO_RUN:
            super().take(no, run, body, heard)
            return
        self.taken.add(no)
        try:
            self._start(no, msgspec.msgpack.decode(body, type=Start))
        except (PenstockError, msgspec.MsgspecError) as error:
            self.reply(no, error if isinstance(error, PenstockError) else BadInput(what="it", why=error))

    def _start(self, no: int, request: Start) -> None:
        """The answer is committed with the run's first turn: a crash in between leaves the request where it was."""
        net = self.host.nets.by_hash(request.net)
        if net is None:
            raise BadInput(what="the release", why=f"no net has the hash {request.net}")
        if request.key is not None and self._is_known(request, net[0]):
            self.reply(no, None)
            return
        self.host.start_limits.check(request.tenant, request.parent)
        self.turns.start(
            request.id or self.host.new_id(), net[0], request.input, tenant=request.tenant, key=request.key,
            options=request.options, priority=request.priority, parent=request.parent, trace=request.trace,
            reply=InboxReply(no, self.taken.discard),
        )  # fmt: skip

    def _is_known(self, request: Start, net: int) -> bool:
        """Somebody was first with the same key: then it is that run that goes on."""
        key = request.key or ""
        starting = self.turns.starting.get((request.tenant, key))
        row = self.store.run_by_key(request.tenant, key)
        if starting is None and row is None:
            return False
        if net != (starting.net_no if starting is not None else row.net if row is not None else net):
            raise KeyConflict(key=key, run=starting.id if starting is not None else row.id if row is not None else "")
        if row is not None:
            self.host.resume_run(row.no)
        return True


class ServingHost(Host):
    """A host that also starts the runs which other processes ask for."""

    def _connect(self) -> None:
        super()._connect()
        self.inbox = StartInbox(self)
