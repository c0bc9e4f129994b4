"""Folding where the engine runs, in slices: after each everybody else has a turn, and one fold goes on at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from penstock.store.run_store import JournalRow

if TYPE_CHECKING:
    import asyncio

#: so many facts are folded before others have their turn
SLICE = 500


async def in_slices(alone: asyncio.Lock, turns: Iterable[JournalRow], take: Callable[[JournalRow], object]) -> None:
    """`alone` is shared by all folds of an engine, so that many of them take no longer slices than one."""
    from asyncio import sleep  # commands that only look do not need it

    async with alone:
        folded = 0
        for turn in turns:
            take(turn)
            folded += turn.seq_to - turn.seq_from + 1
            if folded >= SLICE:
                folded = 0
                await sleep(0)
