"""The shelf of executors: the caller's own first, then those that come with the house."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.executors import BUILTIN
from penstock.executors.contract import Executor


class Shelf(Mapping[str, Executor]):
    """The caller's executors first, then those that come with the house, made when they are first asked for."""

    def __init__(self, own: dict[str, Executor]) -> None:
        self.own = own
        self.made: dict[str, Executor] = {}

    def __getitem__(self, name: str) -> Executor:
        if name in self.own:
            return self.own[name]
        if name not in self.made:
            self.made[name] = BUILTIN[name]()
        return self.made[name]

    def __iter__(self) -> Any:
        return iter({**BUILTIN, **self.own})

    def __len__(self) -> int:
        return len({**BUILTIN, **self.own})
