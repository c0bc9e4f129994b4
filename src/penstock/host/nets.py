"""Compiled nets by number: loaded from the store once, shared by all runs."""

from __future__ import annotations

from penstock.net import codec
from penstock.net.compiled import Compiled
from penstock.net.model import Net
from penstock.store.run_store import NetRow, RunStore


class Nets:
    def __init__(self, store: RunStore) -> None:
        self.store = store
        self.by_number: dict[int, Compiled] = {}
        self.numbers: dict[str, int] = {}
        self._made: Compiled | None = None

    def made(self, net: Net) -> Compiled:
        """The net made ready; whoever releases it and asks about it first has it made once."""
        if self._made is None or self._made.net is not net:
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
            row = self.store.net(number)
            net = Compiled(codec.decode(row.body))
            self.by_number[number] = net
            self.numbers[net.hash] = number
        return net

    def by_hash(self, hash: str) -> tuple[int, Compiled] | None:
        number = self.numbers.get(hash)
        if number is None:
            row = self.store.net_by_hash(hash)
            if row is None:
                return None
            number = row.no
        return number, self.get(number)

    def of(self, hash: str) -> Compiled:
        """The net of a run of this store."""
        known = self.by_hash(hash)
        assert known is not None, "a run's net is in its store"
        return known[1]
