"""Processes that kill themselves at a commit: see test_killed_processes.py.

    python -m tests.conformance.process.kill_worker

It is warm and forks: every line it reads is one process to be, as JSON {store, ledger, at, when}; every line it writes
is how that one ended. Such a process defines P-A.13, begins it under a key and drives it to its end, and is killed by
SIGKILL right before, or right after, its n-th commit. The ledger stands for the world outside: one line per effect that
reached it, appended by a single write, so that what was written before a kill is there.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock import Penstock
from penstock.app.process.definitions import Processes
from penstock.app.process.work_items import WorkItems, folded
from penstock.errors import StoreError
from penstock.store import sqlite
from tests.conformance.process.make import as_bytes, gateway, process, service

KEY = "the one"
CANCELLED = "Saga compensation - parallel branch cancellation"
STEPS = [service(name, agent=name.lower(), compensation=f"undo_{name.lower()}") for name in "PABCD"]
SAGA = process(
    [*STEPS, gateway("f", "parallel"), gateway("j", "parallel")],
    ["P>f", "f>A", "f>B", "f>C", "f>D", "A>j", "B>j", "C>j", "D>j"], process_definition_id="saga",
)  # fmt: skip
#: which activity is done before an agent answers, so that two runs differ in nothing but their times
AFTER = {"B": ("A", "DONE"), "D": ("B", "DONE"), "undo_a": ("B", "COMPENSATED")}
PATIENCE_S = 60
_CHANGES = ("INSERT", "UPDATE", "DELETE")


class Deadly:
    """Counts what becomes durable, and kills this process right before or right after the n-th of it."""

    def __init__(self, at: int | None, when: str) -> None:
        self.at, self.when, self.count = at, when, 0

    def commits(self, write: Callable[[], Any]) -> Any:
        self.count += 1
        self._die("before")
        done = write()
        self._die("after")
        return done

    def _die(self, when: str) -> None:
        if self.count == self.at and when == self.when:
            os.kill(os.getpid(), signal.SIGKILL)

    def aim(self, store: Any) -> None:
        """Every commit of a store goes through here from now on: of a batch, of a transaction, of a lone statement."""
        if isinstance(store, sqlite.Sqlite):
            store.c = _Connection(store.c, self)  # type: ignore[assignment]
            return
        execute, send = store._execute, store._send

        def executed(sql: Any, *more: Any) -> Any:
            alone = str(sql).startswith(_CHANGES) and not store._inside
            return self.commits(lambda: execute(sql, *more)) if alone or sql == "COMMIT" else execute(sql, *more)

        store._execute = executed
        store._send = lambda *given: self.commits(lambda: send(*given))


class _Connection:
    """A connection whose COMMIT, or statement outside a transaction, is watched: its rows are written by then."""

    def __init__(self, real: Any, deadly: Deadly) -> None:
        self.real, self.deadly = real, deadly

    def execute(self, sql: str, *values: Any) -> Any:
        alone = sql.startswith(_CHANGES) and not self.real.in_transaction
        if alone or sql == "COMMIT":
            return self.deadly.commits(lambda: self.real.execute(sql, *values))
        return self.real.execute(sql, *values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


class Shop:
    """Agents and tools that write down what they were asked before they answer."""

    def __init__(self, door: Penstock, ledger: str) -> None:
        self.door = door
        self.world = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        door.executor("agent")(self.agent)
        door.executor("tool")(self.tool)

    def tell(self, name: str, key: str) -> None:
        os.write(self.world, f"{os.getpid()}\t{name}\t{key}\n".encode())

    async def agent(self, request: Any) -> Any:
        name = request.args["activity_id"]
        self.tell(name, request.key)
        if name == "C":
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.tell("C was stopped", request.key)
                raise
        await self._turn_of(name)
        if name == "D":
            raise ValueError("broken")
        return {"made": name}

    async def tool(self, request: Any) -> Any:
        name = request.args["tool"]
        self.tell(name, request.key)
        await self._turn_of(name)
        return {"undone": request.args["data"]}

    async def _turn_of(self, name: str) -> None:
        activity, status = AFTER.get(name, ("", ""))
        while activity and self.statuses().get(activity) != status:
            await asyncio.sleep(0.001)

    def statuses(self) -> dict[str, str]:
        row = self.door.store.run_by_key(self.door.tenant, KEY)
        return {} if row is None else {one.activity_id: one.status for one in folded(self.door, row).items.values()}


async def main(store: str, ledger: str, at: int | None, when: str) -> None:
    door = Penstock(store, output_dir=Path(ledger).parent)
    shop = Shop(door, ledger)
    async with door:
        Deadly(at, when).aim(door.store)
        await Processes(door).define(as_bytes(SAGA), by="lee")
        run = await WorkItems(door).initiate("saga", by="lee", key=KEY)
        await door.wait(run, timeout=PATIENCE_S)
        assert shop.statuses()["P"] == "COMPENSATED"


async def patient(asked: dict[str, Any]) -> None:
    """A server may need a moment to see that who had the store is dead."""
    for _ in range(100):
        try:
            return await main(**asked)
        except StoreError as error:
            if not error.passing:
                raise
            await asyncio.sleep(0.05)
    raise AssertionError("the store stays with the dead")


def forked(asked: dict[str, Any]) -> int:
    """How it ended: 0, or minus the signal."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    code = 1
    try:
        signal.alarm(2 * PATIENCE_S)
        asyncio.run(patient(asked))
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    for line in sys.stdin:
        print(forked(json.loads(line)), flush=True)
