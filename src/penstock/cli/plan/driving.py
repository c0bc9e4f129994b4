"""Drives one project's workflow: registers it, resumes or starts it, shows its board, and stops it on Ctrl-C.

The engine runs in this process. While another process drives the store, that one does the work, and the board follows
it from here.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import NamedTuple

from penstock.app.language import Backgrounds
from penstock.app.penstock import Penstock
from penstock.app.plan.plans import Plans
from penstock.app.plan.views import WorkflowState
from penstock.cli.drive import attached
from penstock.cli.options import SelectedTenant
from penstock.cli.output import DONE, FAILED, INTERRUPTED, TONES, WAITS, print_json, say, store_option
from penstock.cli.plan.board import Board, read_board
from penstock.cli.plan.event_lines import EventLines
from penstock.cli.plan.live_board import LiveBoard
from penstock.cli.plan.look import board_json
from penstock.cli.plan.project import asked_by
from penstock.cli.settings import read_settings
from penstock.errors import StoreBusy
from penstock.kernel.state import COMPLETED
from penstock.store.address import driver_of

_LOOK_S = 0.1  # seconds between two looks at the board
_SHARE = 4  # and so many times as long as a look takes
Ask = Callable[[str], bool | None]


class Wanted(NamedTuple):
    """What `plan run` and `plan resume` were asked for. `shown`: the folder as it was written; `resume`: the answer
    that was given before the question; `events`: they are printed, and what people read goes to standard error."""

    folder: Path
    shown: str
    max_concurrent: int | None
    force: bool
    trust: bool
    resume: bool | None
    once: bool
    by: str | None
    only_resume: bool = False
    events: bool = False


class WorkflowDriver:
    def __init__(self, wanted: Wanted, store: Path, profile: str | None, *, json: bool, ask: Ask | None) -> None:
        self.wanted, self.store, self.profile, self.json, self.ask = wanted, store, profile, json, ask
        self.interrupts = self.heard = 0
        self.follows = False  # another process drives the store
        self.served = False  # this one does, in another thread
        self.left = False
        self.lines: EventLines | None = None

    async def work(self) -> int:
        async with self._plans() as plans:
            project = await self.begin(plans)
            if project is None:
                return WAITS
            board = await self.watch(plans, project)
        return self.tell(board)

    @contextlib.asynccontextmanager
    async def _plans(self) -> AsyncIterator[Plans]:
        """In this process, with what runs beside the engine; through the one that drives the store where there is
        one."""
        async with contextlib.AsyncExitStack() as stack:
            try:
                door = await stack.enter_async_context(self.door(self.profile))
            except StoreBusy:
                if self.wanted.events:  # they are told in the process that drives it, and nowhere else
                    raise
                self.follows = True
                yield Plans(stack.enter_context(attached(self.store)))
                return
            plans, beside = Plans(door), Backgrounds(door)
            if self.wanted.events:  # to the end: the last ones are told when what runs beside the engine is closed
                self.lines = await stack.enter_async_context(EventLines(plans.events, door.tenant))
            beside.open()
            stack.push_async_callback(beside.close)
            yield plans

    def door(self, profile: str | None) -> Penstock:
        settings = read_settings(self.store)
        return Penstock(self.store, settings=settings, profile=profile, tenant=SelectedTenant.tenant)

    # -- the beginning -------------------------------------------------------------------------------------------------

    async def begin(self, plans: Plans) -> str | None:
        """The project whose workflow goes on now; None where somebody has to say first whether it shall."""
        wanted, by = self.wanted, asked_by(plans, self.wanted.by, "plan.write")
        project = await plans.register(wanted.folder, trusted=wanted.trust or None, by=by)
        if self.lines is not None:
            self.lines.write(project.id)
        state = await self._rested(plans, project.id)
        self._say(("project ", "bright_black"), (project.name, "bold"), (f"  {project.path}", "bright_black"))
        if state.prompt:
            answer = self._answer(state)
            if answer is None:
                self._say("The previous workflow is paused: --resume goes on with it, --no-resume sets it back.")
                self._left(plans, project.id)
                return None
            if not answer:
                state = await self._reset(plans, project.id, by)
                self._say("The workflow is set back; what was done stays.")
                if wanted.only_resume:
                    self._left(plans, project.id)
                    return None
        state = await self._go_on(plans, project.id, state, by)
        if state.warning:
            self._say(("warning ", TONES["held"]), state.warning)
        return project.id

    async def _rested(self, plans: Plans, project: str) -> WorkflowState:
        """A workflow that a process has left rests as soon as this one has found it: that takes a moment."""
        state = plans.state(project)
        while plans.door.drives and state.status == "running" and state.run is not None:
            if plans.door.row(state.run).status >= COMPLETED:
                break
            plans.door.raise_if_stopped()
            await asyncio.sleep(_LOOK_S)
            state = plans.state(project)
        return state

    async def _reset(self, plans: Plans, project: str, by: str) -> WorkflowState:
        """Until the processes of running tasks are gone."""
        state = await plans.reset(project, by=by)
        while plans.door.drives and state.running:
            plans.door.raise_if_stopped()
            await asyncio.sleep(_LOOK_S)
            state = plans.state(project)
        return state

    def _left(self, plans: Plans, project: str) -> None:
        if self.json:
            print_json(board_json(read_board(plans, project)))

    async def _go_on(self, plans: Plans, project: str, state: WorkflowState, by: str) -> WorkflowState:
        if state.status == "paused" or self.wanted.only_resume and state.run is not None:
            await plans.sync(project, by=by)
            return await plans.resume(project, by=by)
        return await plans.start(project, force=self.wanted.force, max_concurrent=self.wanted.max_concurrent, by=by)

    def _answer(self, state: WorkflowState) -> bool | None:
        """T-9.2.5, T-X.25: what was said before, or what is said now."""
        if self.wanted.resume is not None or self.ask is None:
            return self.wanted.resume
        running = f" {len(state.running)} of its agents still work." if state.running else ""
        return self.ask(f"Resume previous workflow?{running}")

    # -- the board -----------------------------------------------------------------------------------------------------

    async def watch(self, plans: Plans, project: str) -> Board:
        """Until the workflow is over, or somebody has interrupted it; how it then stands."""
        loop = asyncio.get_running_loop()
        if not self.served:
            loop.add_signal_handler(signal.SIGINT, self._interrupted)
        try:
            async with LiveBoard(quiet=self.json or self.wanted.events) as live:
                while True:
                    if plans.door.drives:
                        plans.door.raise_if_stopped()
                    await self._stop_if_interrupted(plans, project)
                    began = time.monotonic()
                    board = read_board(plans, project)
                    live.show(board, self._note(board))
                    if self.left or self.over(board):
                        return board
                    took = time.monotonic() - began  # a large plan: whoever works on it goes first
                    await asyncio.sleep(max(_LOOK_S, took * _SHARE))
        finally:
            if not self.served:
                loop.remove_signal_handler(signal.SIGINT)

    def over(self, board: Board) -> bool:
        """Nothing runs, and nothing begins by itself."""
        if board.working or board.state.running:
            return False
        if board.state.status in ("completed", "idle") or board.state.status == "paused":
            return True
        if self.follows and driver_of(self.store) is None:
            return True
        waiting = [task for task in board.pending if task.ready or task.queued or task.next_attempt_at is not None]
        return self.wanted.once and not waiting

    def _note(self, board: Board) -> str:
        if self.interrupts == 1 and board.working:
            return "stopping: running tasks may end; Ctrl-C again ends them now"
        if board.review:
            return self._command(f"review {self.wanted.shown} {board.review[0].id}")
        return ""

    async def _stop_if_interrupted(self, plans: Plans, project: str) -> None:
        """The first Ctrl-C lets running tasks end, the second ends them, the third leaves them to themselves."""
        if self.interrupts == self.heard:
            return
        self.heard += 1
        if self.follows and not self.served or self.heard > 2:  # what another process drives goes on there
            self.left = True
        else:
            await plans.stop(project, now=self.heard > 1, by=self.wanted.by or "")

    def _interrupted(self) -> None:
        self.interrupts += 1

    # -- the end -------------------------------------------------------------------------------------------------------

    def tell(self, board: Board) -> int:
        state, failed = board.state, [task for task in board.tasks if task.status == "failed"]
        if self.json:
            print_json(board_json(board))
        else:
            self._tell_end(board)
        if self.interrupts:
            return INTERRUPTED
        if state.status == "completed":
            return FAILED if failed else DONE
        return WAITS

    def _tell_end(self, board: Board) -> None:
        state = board.state
        counts = ", ".join(f"{count} {status}" for status, count in state.counts.items() if count)
        why = f" ({state.why})" if state.why and state.status == "paused" else ""
        self._say(("workflow ", "bright_black"), (f"{state.status}{why}", "bold"), f": {counts}")
        for task in board.review:
            self._say(("  needs review ", TONES["held"]), self._command(f"review {self.wanted.shown} {task.id}"))
        if state.status == "paused":
            self._say(("  go on with ", "bright_black"), self._command(f"resume {self.wanted.shown}"))

    def _command(self, words: str) -> str:
        return f"penstock plan {words}{store_option(self.store)}"

    def _say(self, *parts: str | tuple[str, str]) -> None:
        if not self.json:
            say(*parts, err=self.wanted.events)
