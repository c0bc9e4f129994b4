"""A workflow in a server: the console and the API beside it, the board in the terminal as without them.

The server drives the store in the main thread. The workflow is begun and its board shown by a second thread, which
looks at the store and leaves commands like any other process.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time

from penstock.app.penstock import Penstock
from penstock.app.plan.plans import Plans
from penstock.cli.drive import attached
from penstock.cli.output import print_error, say, store_option
from penstock.cli.plan.driving import WorkflowDriver
from penstock.cli.serve import serve_here
from penstock.errors import PenstockError

_LOOK_S = 0.1


def serve_plan(driver: WorkflowDriver, port: int) -> int:
    """Until Ctrl-C: running tasks may end, the second one ends them, and then the server."""
    door = driver.door("dev")
    beside = _Beside(driver, door)
    thread = threading.Thread(target=beside.run, name="plan board", daemon=True)
    thread.start()
    try:
        return serve_here(door, driver.store, port, interrupted=beside.interrupted)
    finally:
        beside.ended = True
        thread.join(timeout=5)


class _Beside:
    def __init__(self, driver: WorkflowDriver, door: Penstock) -> None:
        driver.served = driver.follows = True
        self.driver, self.door = driver, door
        self.watching = self.ended = False

    def interrupted(self) -> bool:
        """Whether the server goes on for now: the workflow is stopped first."""
        self.driver.interrupts += 1
        return self.watching and self.driver.interrupts <= 2

    def run(self) -> None:
        while not self.door.drives:
            if self.ended:
                return
            time.sleep(_LOOK_S)
        try:
            with attached(self.driver.store) as door:
                asyncio.run(self._work(Plans(door)))
        except PenstockError as error:
            print_error(error, json=False)
            say("The server goes on; Ctrl-C ends it.", err=True)

    async def _work(self, plans: Plans) -> None:
        project = await self.driver.begin(plans)
        if project is None:
            return
        self.watching = True
        try:
            self.driver.tell(await self.driver.watch(plans, project))
        finally:
            self.watching = False
        if self.driver.interrupts:
            os.kill(os.getpid(), signal.SIGINT)
        else:
            say(f"The console stays open until Ctrl-C{store_option(self.driver.store)}.", err=True)
