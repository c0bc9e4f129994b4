"""A host that also starts the runs which other processes leave for it in the store's inbox."""

from __future__ import annotations

import secrets
from typing import Any

import msgspec

from penstock.errors import BadInput, KeyConflict, PenstockError
from penstock.host.embedded import Host
from penstock.host.engine_loop import ALPHABET
from penstock.host.loaded_run import InboxReply
from penstock.store.contract import Batch

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
    number = now << 30 | secrets.randbits(30)
    return "r" + "".join(ALPHABET[number >> 5 * place & 31] for place in reversed(range(15)))


class Serving(Host):
    def _poll_inbox(self) -> bool:
        starts = [(no, body) for no, run, body in self.store.inbox() if run == NO_RUN and no not in self._taken]
        for no, body in starts:
            self._taken.add(no)
            try:
                self._start(no, msgspec.msgpack.decode(body, type=Start))
            except (PenstockError, msgspec.MsgspecError) as error:
                self._reply(no, error if isinstance(error, PenstockError) else BadInput(what="it", why=error))
        return super()._poll_inbox() or bool(starts)

    def _start(self, no: int, asked: Start) -> None:
        """The answer is committed with the run's first turn: a crash in between leaves the request where it was."""
        found = self.nets.by_hash(asked.net)
        if found is None:
            raise BadInput(what="the release", why=f"no net has the hash {asked.net}")
        if asked.key is not None and self._known(asked, found[0]):
            self._reply(no, None)
            return
        self.start(
            found[0], asked.input, id=asked.id, tenant=asked.tenant, key=asked.key, options=asked.options,
            priority=asked.priority, parent=asked.parent, trace=asked.trace,
            reply=InboxReply(no, self._taken.discard),
        )  # fmt: skip

    def _reply(self, no: int, error: PenstockError | None) -> None:
        batch, receipt = Batch(), InboxReply(no, self._taken.discard)
        batch.inbox_answered.append(receipt.answer(error))
        try:
            self.store.commit(batch)
        finally:
            receipt(error)  # when it failed, the request is where it was

    def _known(self, asked: Start, net: int) -> bool:
        """Somebody was first with the same key: then it is that run that goes on."""
        key = asked.key or ""
        starting = self.turns.starting.get((asked.tenant, key))
        row = self.store.run_by_key(asked.tenant, key)
        if starting is None and row is None:
            return False
        if net != (starting.net_no if starting is not None else row.net if row is not None else net):
            raise KeyConflict(key=key, run=starting.id if starting is not None else row.id if row is not None else "")
        if row is not None:
            self.go_on(row.no)
        return True
