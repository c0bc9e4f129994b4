"""Driving a run until it ends or waits: in this process, or by following it in the one that drives the store."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from penstock.app.access.starters import UNNAMED, check_may_start
from penstock.app.penstock import Penstock
from penstock.app.releases.documents import Release
from penstock.app.runs.queries import waits_for_outside
from penstock.app.runs.run_view import RunView
from penstock.cli.live_view import view_of
from penstock.cli.open_store import require_store
from penstock.cli.options import SelectedTenant
from penstock.cli.settings import read_settings
from penstock.dialects import dialect_of
from penstock.errors import BadInput, NotTaken, StoreBusy
from penstock.kernel.state import COMPLETED, STATUS
from penstock.lang.contract import Compiled as Document
from penstock.store.address import driver_of

T = TypeVar("T")


class RunRequest(NamedTuple):
    """A run to be started."""

    document: Document
    source: bytes
    input: Any
    key: str | None
    max_concurrent: int | None
    profile: str | None = None
    by: str | None = None
    speed: float | None = None
    environment: str = ""
    input_dir: Path | None = None

    @property
    def more(self) -> dict[str, Any]:
        """Who asks for it is what has started it: where a document wants two persons, it is not theirs to approve."""
        trigger = None if self.by is None else {"type": "manual", "source": f"user:{self.by}"}
        if trigger is not None:
            trigger |= dialect_of(self.document.language).started_by(str(self.by))
        more = {"key": self.key, "max_concurrent": self.max_concurrent, "trigger": trigger}
        return {**more, "environment": self.environment} if self.environment else more


class Started:
    """The run under way, for the message of an interruption, with notes and JSON members that are printed with it."""

    def __init__(self, run: str = "") -> None:
        self.run = run
        self.notes: list[str] = []
        self.more: dict[str, Any] = {}


Command = Callable[[Penstock, str], Awaitable[None]]
_LOOK_S = 0.1  # seconds between two readings of a run that another process drives


@contextlib.asynccontextmanager
async def driving(
    store: Path, *, create: bool = False, everything: bool = False, profile: str | None = None,
    speed: float | None = None, input_dir: Path | None = None,
) -> AsyncIterator[Penstock]:  # fmt: skip
    """The store, to drive the runs that are named, or every run that can go on."""
    if not create:
        require_store(store)
    settings = read_settings(store)
    whose = SelectedTenant.tenant
    async with Penstock(
        store, alone=not everything, settings=settings, create=create, profile=profile, tenant=whose, speed=speed,
        input_dir=input_dir,
    ) as door:  # fmt: skip
        yield door


@contextlib.contextmanager
def attached(store: Path) -> Iterator[Penstock]:
    """The store, to read it and to put commands into the inbox of the process that drives it."""
    require_store(store)
    settings = read_settings(store)
    door = Penstock(store, drive=False, create=False, tenant=SelectedTenant.tenant, settings=settings).open()
    try:
        yield door
    finally:
        door.close()


async def driving_or_attached(
    stack: contextlib.AsyncExitStack, store: Path, *, create: bool = False, speed: float | None = None
) -> Penstock:
    """The store, to drive runs; while another process drives it, to put commands into that one's inbox."""
    door = await _driving_if_free(stack, store, create=create, speed=speed)
    return door if door is not None else stack.enter_context(attached(store))


def until_done(work: Coroutine[None, None, T]) -> T:
    """Runs it in an event loop; SIGTERM is the same as Ctrl-C."""

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


async def drive(
    door: Penstock, run: str, *, quiet: bool, first: Awaitable[None] | None = None, begin: str = "", whole: bool = False
) -> RunView:
    """Until the run has ended, or only somebody outside can move it on; `first` is done when one can see it."""
    async with view_of(door, run, quiet=quiet, begin=begin, whole=whole):
        if first is not None:
            await first
        return await door.wait(run, until_waiting=True)


async def start(store: Path, asked: RunRequest, started: Started, *, quiet: bool) -> RunView:
    """Start a run, or find the one with its key, and drive it.

    When another process drives the store, the run is left for it to start and followed from here; when that process
    goes away meanwhile, the run is driven here."""
    async with contextlib.AsyncExitStack() as stack:
        door = await _driving_if_free(
            stack, store, create=True, profile=asked.profile, speed=asked.speed, input_dir=asked.input_dir
        )
        if door is not None:
            release, new = _kept(door, asked), _is_new(door, asked.key)
            started.run = await door.start(release, asked.input, **asked.more)
            door.go_on(started.run)
            return await drive(door, started.run, quiet=quiet, whole=new)
    with attached(store) as door:
        release, new = _kept(door, asked), _is_new(door, asked.key)
        try:
            started.run = await door.hand_in(release, asked.input, **asked.more)
        except NotTaken as late:
            await _answer_inbox(store, late)
            started.run = door.row(asked.key or late.facts["run"]).id
        return await _follow_run(store, door, started.run, quiet=quiet, whole=new)


def _kept(door: Penstock, asked: RunRequest) -> Release:
    check_may_start(door, asked.document.net, asked.by or UNNAMED)
    return door.keep(asked.document, asked.source)


def _is_new(door: Penstock, key: str | None) -> bool:
    return key is None or door.store.run_by_key(door.tenant, key) is None


async def continue_run(store: Path, run: str, started: Started, *, quiet: bool, speed: float | None = None) -> RunView:
    """Drive a run of the store, or let the process that drives the store do it."""
    async with contextlib.AsyncExitStack() as stack:
        door = await _driving_if_free(stack, store, speed=speed)
        if door is not None:
            started.run = door.go_on(run)
            return await drive(door, started.run, quiet=quiet)
    with attached(store) as door:
        started.run = door.top(run)
        with contextlib.suppress(NotTaken):
            await door.wake_up(started.run)
        return await _follow_run(store, door, started.run, quiet=quiet)


async def command_run(
    store: Path, run: str, command: Command, *, on: bool, quiet: bool, begin: str = "", speed: float | None = None
) -> RunView:
    """Give a run a command. With `on` it is then driven like `run` does; the run that was driven.

    When another process drives the store, the command goes through its inbox, and that process drives on."""
    async with contextlib.AsyncExitStack() as stack:
        door = await _driving_if_free(stack, store, speed=speed)
        if door is not None:
            target = door.row(run).id
            if on:
                seen = _shown_run(door, door.go_on(target), target)
                return await drive(door, seen, quiet=quiet, first=command(door, target), begin=begin)
            await command(door, target)
            return door.view(target)
    with attached(store) as door:
        target = door.row(run).id
        try:
            await command(door, target)
        except NotTaken as late:
            await _answer_inbox(store, late)
        if on:
            return await _follow_run(store, door, _shown_run(door, door.top(target), target), quiet=quiet)
        return door.view(target)


def _shown_run(door: Penstock, top: str, target: str) -> str:
    """The run at the top is looked at while it goes on; else the one that was named."""
    return top if door.row(top).status < COMPLETED else target


async def _driving_if_free(
    stack: contextlib.AsyncExitStack, store: Path, *, create: bool = False, profile: str | None = None,
    speed: float | None = None, input_dir: Path | None = None,
) -> Penstock | None:  # fmt: skip
    """The store, to drive runs in it; None when another process does. Raises BadInput where that one's clock should be
    another's."""
    try:
        return await stack.enter_async_context(
            driving(store, create=create, profile=profile, speed=speed, input_dir=input_dir)
        )
    except StoreBusy:
        if speed is not None:
            hint = "Stop that process, or start it with the speed."
            raise BadInput(what="the speed", why="another process drives this store by its clock", hint=hint) from None
        return None


async def _answer_inbox(store: Path, late: NotTaken) -> None:
    """Answers a command that was left in the inbox when the process that drove the store is gone. Raises NotTaken."""
    if driver_of(store) is not None:
        raise late
    async with driving(store) as mine:
        if not await mine.answered(late.facts["inbox"]):
            raise late


async def _follow_run(store: Path, door: Penstock, run: str, *, quiet: bool, whole: bool = False) -> RunView:
    """Shows a run that another process drives, until it ends or waits; drives it when that process goes away."""
    look = await _followed(store, door, run, quiet=quiet, whole=whole)
    while look is None:
        async with contextlib.AsyncExitStack() as stack:
            mine = await _driving_if_free(stack, store)
            if mine is not None:
                return await drive(mine, mine.go_on(run), quiet=quiet)
        look = await _followed(store, door, run, quiet=quiet, whole=False)
    return look


async def _followed(store: Path, door: Penstock, run: str, *, quiet: bool, whole: bool) -> RunView | None:
    pid = driver_of(store)
    if pid is None and door.row(run).status < COMPLETED:
        return None
    begin = f"following it in process {pid}" if pid else ""
    async with view_of(door, run, quiet=quiet, begin=begin, whole=whole):
        while True:
            door.catch_up(run)
            look = door.view(run)
            if look.internal_status in STATUS[COMPLETED:] or waits_for_outside(look):
                return look
            if driver_of(store) is None:
                return None
            await asyncio.sleep(_LOOK_S)
