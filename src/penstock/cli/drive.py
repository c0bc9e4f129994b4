"""Opening a store to look or to drive, and driving a run until it ends or waits."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from pathlib import Path
from typing import TypeVar

from penstock.app.look import Look
from penstock.app.penstock import Penstock
from penstock.cli.settings import read_settings
from penstock.cli.view import view_of
from penstock.errors import StoreBusy, StoreMissing
from penstock.kernel.state import COMPLETED

T = TypeVar("T")
Command = Callable[[Penstock, str], Awaitable[None]]


@contextlib.contextmanager
def reading(store: Path) -> Iterator[Penstock]:
    """For looking only: takes no lock, and makes no store where there is none."""
    _there(store)
    door = Penstock(store, drive=False, create=False).open()
    try:
        yield door
    finally:
        door.close()


@contextlib.asynccontextmanager
async def driving(store: Path, *, create: bool = False, everything: bool = False) -> AsyncIterator[Penstock]:
    """For driving: the runs that are asked for, or everything that can go on."""
    if not create:
        _there(store)
    async with Penstock(store, alone=not everything, settings=read_settings(store), create=create) as door:
        yield door


def _there(store: Path) -> None:
    if not store.exists():
        raise StoreMissing(path=store)


def until_done(work: Coroutine[None, None, T]) -> T:
    """Run it; a polite end of the process (SIGTERM) is the same as Ctrl-C."""

    async def main() -> T:
        task = asyncio.current_task()
        assert task is not None
        with contextlib.suppress(NotImplementedError, ValueError):
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await work

    try:
        return asyncio.run(main())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


async def drive(door: Penstock, run: str, *, quiet: bool, first: Awaitable[None] | None = None) -> Look:
    """Until the run has ended, or only somebody outside can move it on; `first` is done when one can see it."""
    async with view_of(door, run, quiet=quiet):
        if first is not None:
            await first
        return await door.wait(run, until_waiting=True)


async def steer(store: Path, run: str, command: Command, *, on: bool, quiet: bool) -> Look:
    """Give a run a command. With `on` it is then driven like `run` does; the run that was driven.

    When another process drives the store, the command goes through its inbox, and that process drives on."""
    async with contextlib.AsyncExitStack() as stack:
        try:
            door = await stack.enter_async_context(driving(store))
        except StoreBusy:
            return await _through_inbox(store, run, command)
        target = door.row(run).id
        if on:
            top = door.go_on(target)
            seen = top if door.row(top).status < COMPLETED else target
            return await drive(door, seen, quiet=quiet, first=command(door, target))
        await command(door, target)
        return door.look(target)


async def _through_inbox(store: Path, run: str, command: Command) -> Look:
    with reading(store) as door:
        target = door.row(run).id
        try:
            await command(door, target)
        except StoreBusy as busy:
            number = busy.facts.get("inbox")
            if number is None:
                raise
            # whoever drove it has gone meanwhile: what it left is ours to do
            async with driving(store) as mine:
                if not await mine.answered(number):
                    raise
        return door.look(target)
