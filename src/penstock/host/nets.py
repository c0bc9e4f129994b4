"""Compiled nets by number: loaded from the store once, shared by all runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.net import codec
from penstock.net.compiled import Compiled
from penstock.net.garbage import uncollected
from penstock.net.model import Net
from penstock.store.run_store import NetRow, RunStore

if TYPE_CHECKING:
    import asyncio

#: so many nodes a net may have, or bytes in the store, that is wired and read on the loop: 40 µs a node and 250
LARGE_NODES, LARGE_BYTES = 150, 64 * 1024


class Nets:
    def __init__(self, store: RunStore) -> None:
        self.store = store
        self.by_number: dict[int, Compiled] = {}
        self.numbers: dict[str, int] = {}
        self.heads: dict[int, codec.NetHead] = {}
        self.wired = 0  # nodes, ever: what loading has cost
        self._made: Compiled | None = None
        self._large: dict[int, bool] = {}
        self._alone: asyncio.Lock | None = None

    def made(self, net: Net) -> Compiled:
        """The net made ready; whoever releases it and asks about it first has it made once."""
        if self._made is None or self._made.net is not net:
            with uncollected():
                self._made = Compiled(net)
        return self._made

    def release(self, net: Net, source: bytes | None, now: int) -> int:
        """RunStore a net if it is new; its number."""
        compiled = self.made(net)
        number = self.numbers.get(compiled.hash)
        if number is None:
            row = NetRow(0, compiled.hash, net.name, net.language, codec.encode(net), source, now)
            number = self.store.add_net(row)
            self.numbers[compiled.hash] = number
            self.by_number.setdefault(number, compiled)
        return number

    def get(self, number: int) -> Compiled:
        net = self.by_number.get(number)
        if net is None:
            net = self._keep(number, _wired(self.store.net(number).body))
        return net

    def head(self, number: int) -> codec.NetHead:
        """Of a net that need not be wired for it. Raises StoreError."""
        head = self.heads.get(number)
        if head is None:
            head = self.heads[number] = codec.decode_head(self.store.net(number).body)
        return head

    def _keep(self, number: int, net: Compiled) -> Compiled:
        self.wired += len(net.nodes)
        self.numbers[net.hash] = number
        return self.by_number.setdefault(number, net)

    def is_large(self, number: int) -> bool:
        """Takes it too long to be wired, and read, where the engine runs?"""
        large = self._large.get(number)
        if large is None:
            known = self.by_number.get(number)
            large = len(self.store.net(number).body) > LARGE_BYTES if known is None else len(known.nodes) > LARGE_NODES
            self._large[number] = large
        return large

    async def prepare(self, number: int) -> None:
        """Wires a large net in a thread, one at a time, so that `get` finds it."""
        from asyncio import Lock, to_thread  # commands that only look do not need it

        self._alone = self._alone or Lock()
        if number not in self.by_number and self.is_large(number):
            async with self._alone:
                if number not in self.by_number:
                    self._keep(number, await to_thread(_wired, self.store.net(number).body))

    def by_hash(self, hash: str) -> tuple[int, Compiled] | None:
        number = self.number_of(hash)
        return None if number is None else (number, self.get(number))

    def number_of(self, hash: str) -> int | None:
        number = self.numbers.get(hash)
        if number is None:
            row = self.store.net_by_hash(hash)
            return None if row is None else row.no
        return number

    def of(self, hash: str) -> Compiled:
        """The net of a run of this store."""
        known = self.by_hash(hash)
        assert known is not None, "a run's net is in its store"
        return known[1]


def _wired(body: bytes) -> Compiled:
    with uncollected():
        return Compiled(codec.decode(body))
