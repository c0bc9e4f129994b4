"""How the contract's suite gets at the store of the simulation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.contract.store_suite import Capability, Kit
from tests.sim.store import Disk, SimStore


class SimKit(Kit):
    name = "sim"
    capabilities = frozenset({Capability.FENCED, Capability.INBOX, Capability.REBUILD, Capability.FULL})

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.disk = Disk()

    def make(self, *, engine: bool) -> SimStore:
        return SimStore(self.disk, engine=engine)

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        return sorted(self.disk.rows(table), key=repr)

    def steal(self) -> None:
        self.disk.fence += 1

    def fill(self, store: SimStore) -> Callable[[], None]:
        self.disk.room = False

        def again() -> None:
            self.disk.room = True

        return again
