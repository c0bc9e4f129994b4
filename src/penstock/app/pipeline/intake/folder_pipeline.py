"""A folder and its executions: whole files are taken in, and what their executions have made is laid beside them."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path
from typing import Any

import msgspec

from penstock.app.penstock import Penstock
from penstock.app.pipeline.executions import Execution, execution
from penstock.app.pipeline.intake.folder_watch import FolderWatch
from penstock.app.pipeline.intake.ingest import Ingest
from penstock.app.pipeline.intake.results import NoPlace, Results
from penstock.errors import PenstockError, RunAmbiguous, RunNotFound
from penstock.executors.parts.objects import Buckets, ObjectError
from penstock.host.loaded_run import LoadedRun
from penstock.kernel.state import COMPLETED

#: messages that are taken at once
_AT_ONCE = 500
#: executions that are looked at in one step
_LOOKS = 500
#: when a delivery is tried again
_AGAIN_MS = 3000
_DAY_MS = 86_400_000


class Moved(msgspec.Struct):
    """An execution that has moved. `delivered` has the names of what lies beside its file now; `trouble` says why
    nothing does yet."""

    execution: Execution
    delivered: list[str] | None = None
    trouble: str = ""


class FolderPipeline:
    """Of a door that drives its store. `step` is called again and again."""

    def __init__(self, door: Penstock, folder: Path, bucket: str, *, alone: bool = True) -> None:
        self.door, self.folder, self.bucket = door, folder, bucket
        self.watch = FolderWatch(folder, bucket, door.tenant)
        self.ingest = Ingest(door)
        artifacts = Buckets(door.host.dispatch.services).artifacts
        self.results = Results(folder, artifacts, alone=alone)
        self.mine: dict[str, None] = {}  # executions that have not ended, or are not delivered
        self.moved: dict[str, None] = {}
        self.again: dict[str, int] = {}  # when it is delivered again
        self.taken: dict[int, int] = {}  # by day: files that began something
        self.last_at: int | None = None
        self.unmatched: list[str] = []  # keys of files that no definition takes
        door.host.turns.on_facts.append(self._on_facts)

    def _on_facts(self, loaded: LoadedRun, facts: Any, _n: int, now: int) -> None:
        """Whatever has begun it: also those of batches, schedules and pipelines that wait for others. Other tenants may
        name the bucket, too, and get nothing of it."""
        if loaded.run is None or loaded.tenant != self.door.tenant:
            return
        if loaded.run.st.options.get("bucket") == self.bucket:
            self.mine[loaded.id] = self.moved[loaded.id] = None

    async def step(self) -> list[Moved]:
        """One look at the folder, and the executions that have moved since the last one. Raises OSError where the
        folder cannot be read."""
        messages = await asyncio.to_thread(self.watch.look, self.door.now())
        for first in range(0, len(messages), _AT_ONCE):
            await self._take(messages[first : first + _AT_ONCE])
        now = self.door.now()
        for run, at in list(self.again.items()):
            if at <= now:
                del self.again[run]
                self.moved[run] = None
        looks = []
        for run in list(itertools.islice(self.moved, _LOOKS)):
            self.moved.pop(run)
            looks.append(await self._look(run))
            await asyncio.sleep(0)  # each costs a fold: others have their turn in between
        return looks

    @property
    def idle(self) -> bool:
        """Every file was told, every execution has ended, and what they have made is delivered."""
        return not (self.mine or self.moved or self.again or self.watch.settling)

    async def _take(self, messages: list[Any]) -> None:
        for message, receipt in zip(messages, await self.ingest.take(messages), strict=True):
            if receipt.refused is not None:  # no room now: the file stays where it is, and is told again
                continue
            self.watch.done(message)
            if receipt.started or receipt.collected:
                self._count()
            for run in receipt.started:
                self.mine[run] = self.moved[run] = None
            for run in receipt.known:
                if self._is_open(message.key, run):
                    self.mine[run] = self.moved[run] = None
            if not (receipt.started or receipt.known or receipt.collected):
                self.unmatched.append(message.key)

    def _count(self) -> None:
        self.last_at = self.door.now()
        today = self.last_at // _DAY_MS
        self.taken = {today: self.taken.get(today, 0) + 1}

    def _is_open(self, key: str, run: str) -> bool:
        """After a restart: it goes on, or it has ended and neither its results nor those of a later execution lie
        beside its file yet."""
        row = self.door.row(run)
        if row.status < COMPLETED:
            return True
        delivered = self.results.delivered(key, self.door.nets.get(row.net).net.name)
        if delivered is None or delivered == row.id:
            return delivered is None
        try:
            return self.door.row(delivered).no < row.no
        except (RunNotFound, RunAmbiguous):  # of another store
            return True

    async def _look(self, run: str) -> Moved:
        look = execution(self.door, run)
        if self.door.row(run).status < COMPLETED:
            return Moved(look)
        try:
            delivered = await self.results.deliver(look)
        except NoPlace as error:
            self.mine.pop(run, None)
            return Moved(look, trouble=str(error))
        except (OSError, ObjectError, PenstockError) as error:
            self.again[run] = self.door.now() + _AGAIN_MS
            return Moved(look, trouble=str(error))
        self.mine.pop(run, None)
        return Moved(look, delivered)
