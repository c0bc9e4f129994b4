"""Commands from other processes: through the store's inbox, taken once, answered with the turn that took them."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.app.penstock import Penstock
from penstock.errors import Refused, StoreFull
from penstock.host.clock import SystemClock
from penstock.host.start_requests import NO_RUN, Start, StartInbox, new_id
from penstock.kernel import command as C
from penstock.store.run_store import Batch
from penstock.store.sqlite import Sqlite
from tests.contract.store_suite import python
from tests.host.rig import Fn, Rig, chain, eventually, go, task, wait

DRIVER = """
import asyncio, sys
from penstock.app.penstock import Penstock
from tests.host.rig import chain, wait, work, task

async def main():
    penstock = Penstock(sys.argv[1])

    @penstock.executor("x")
    def x():
        return "done"

    async with penstock:
        nets = [chain(wait("w"), wait("v"), name="waits"), chain(work("p", result="r"), name="asks")]
        for net in nets:
            run = await penstock.start(penstock.release(net))
            await penstock.wait(run, until_waiting=True)
            print(run, flush=True)
        await asyncio.sleep(60)

asyncio.run(main())
"""


@pytest.fixture
def driver(tmp_path: Path) -> Any:
    """A process that drives a store with one run that waits for two signals, and one that waits for a person."""
    path = tmp_path / "store.db"
    child: subprocess.Popen[str] = python(DRIVER, str(path))
    assert child.stdout is not None
    yield path, child.stdout.readline().strip(), child.stdout.readline().strip()
    child.send_signal(signal.SIGKILL)
    child.wait()


def test_r12_a_process_that_does_not_drive_can_look_and_command(driver: Any) -> None:
    """R12: signal, respond, cancel and look from a second process, while the first one drives."""
    path, waits, asks = driver

    async def scene() -> None:
        async with Penstock(path, drive=False) as penstock:
            assert penstock.view(waits).internal_status == "WAITING"
            await penstock.signal(waits, "go", 1, id="one")
            await penstock.signal(waits, "go", 1, id="one")
            assert penstock.view(waits).internal_status == "WAITING"
            with pytest.raises(Refused, match="not paused"):
                await penstock.resume(waits)
            await penstock.respond(asks, "p", {"said": "yes"}, by="kim")
            look = penstock.view(asks)
            assert look.internal_status == "COMPLETED" and look.output == {"r": {"said": "yes"}}
            await penstock.cancel(waits)
            assert penstock.view(waits).internal_status == "CANCELLED"
            with pytest.raises(Refused, match="CANCELLED"):
                await penstock.cancel(waits)

    go(scene())


def put(store: Any, run: int, command: C.Command) -> int:
    number: int = store.put_inbox(run, msgspec.msgpack.encode(command), SystemClock().now())
    return number


def test_commands_wait_for_a_process_that_drives(rig: Rig) -> None:
    """Left while nobody drives, they are taken in order by the next process, once."""
    host = rig.open(Fn())
    run = host.start(host.release(chain(wait("w"), wait("v"), wait("u"))))
    host.iterate()
    rig.close()
    with rig.reading() as store:
        numbers = [put(store, 1, C.signal("", "go")) for _ in range(2)]
        numbers.append(put(store, 1, C.resume()))
        numbers.append(put(store, 99, C.pause()))

    async def scene() -> None:
        for _ in range(2):
            async with rig.driving(Fn()):
                await eventually(lambda: _answers(rig, numbers)[-1])
                await asyncio.sleep(0.15)

    go(scene())
    answers = _answers(rig, numbers)
    assert answers[:2] == [{"ok": True}] * 2
    assert [a["code"] for a in answers[2:]] == ["PS-409-REFUSED", "PS-404-RUN"]
    assert len(rig.facts(run, "signal.used")) == 2 and rig.status(run) == "WAITING"
    rig.sound()


def _answers(rig: Rig, numbers: list[int]) -> list[Any]:
    with rig.reading() as store:
        raw = [store.inbox_answer(n) for n in numbers]
    return [body and msgspec.msgpack.decode(body) for body in raw]


@pytest.mark.parametrize("after", [False, True], ids=["not committed", "committed, answer lost"])
def test_h9_a_command_is_consumed_with_the_turn_that_took_it(rig: Rig, after: bool) -> None:
    """H9: the process dies around that commit; the next one takes the command exactly if the turn is not there."""

    class Dies(Sqlite):
        def commit(self, batch: Batch) -> None:
            if not batch.journal:
                return super().commit(batch)
            if after:
                super().commit(batch)
            raise StoreFull

    host = rig.open(Fn())
    run = host.start(host.release(chain(*(wait(f"w{n}") for n in range(5)))))
    host.iterate()
    number = put(rig.store, 1, C.signal("", "go"))
    rig.close()

    async def scene() -> None:
        host = rig.open(Fn(), store=Dies(rig.path))
        host.inbox.poll()
        with contextlib.nullcontext() if after else pytest.raises(StoreFull):
            host.iterate()
        rig.close()
        assert (_answers(rig, [number])[0] is not None) == after
        async with rig.driving(Fn()):
            await eventually(lambda: _answers(rig, [number])[0])

    go(scene())
    assert len(rig.facts(run, "signal.used")) == 1
    rig.sound()


def test_a_command_in_a_backlog_is_not_taken_twice(rig: Rig) -> None:
    """The inbox is read again before its command's turn has come."""
    host = rig.open(Fn(), batch=1)
    run = host.start(host.release(chain(*(wait(f"w{n}") for n in range(5)))), priority=9)
    host.turns.turn()
    number = put(rig.store, 1, C.signal("", "go"))
    for _ in range(3):
        host.start(host.release(chain(wait("other"))), priority=1)
    for _ in range(6):
        host.inbox.poll()
        host.turns.turn()
    assert len(rig.facts(run, "signal.used")) == 1
    assert _answers(rig, [number]) == [{"ok": True}] and host.inbox.taken == set()


def test_a_start_that_comes_while_the_inbox_is_read_is_started(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes just after a look: the next one takes it, and nobody takes it for a command of a run."""
    host = rig.open(Fn())
    inbox, read, numbers = StartInbox(host), rig.store.inbox, list[int]()
    net = host.nets.get(host.release(chain(wait("w")))).hash

    def late(limit: int = 512) -> list[tuple[int, int, bytes]]:
        rows = read(limit)
        if not numbers:
            start = msgspec.msgpack.encode(Start(new_id(1), net, None, ""))
            numbers.append(rig.store.put_inbox(NO_RUN, start, SystemClock().now()))
        return rows

    monkeypatch.setattr(rig.store, "inbox", late)
    for _ in range(2):
        inbox.poll()
        host.iterate()
    assert _answers(rig, numbers) == [{"ok": True}] and inbox.taken == set()


def test_a_start_with_a_known_key_is_answered_and_starts_nothing(rig: Rig) -> None:
    """R12, C-37: left twice by a process that does not drive: each is answered, and there is one run. The same key for
    another net is refused."""
    host = rig.open(Fn())
    inbox = StartInbox(host)
    nets = [host.nets.get(host.release(chain(wait(id), name=id))).hash for id in ("w", "v")]
    numbers = []
    for net in (nets[0], nets[0], nets[1]):
        start = msgspec.msgpack.encode(Start(new_id(1), net, None, "default", "k1"))
        numbers.append(rig.store.put_inbox(NO_RUN, start, SystemClock().now()))
        inbox.poll()
        host.iterate()
    first, second, other = _answers(rig, numbers)
    assert first == second == {"ok": True} and other["code"] == "PS-409-KEY"
    assert len(host.store.runs()) == 1 and inbox.taken == set()


def test_a_busy_host_still_reads_its_inbox(rig: Rig) -> None:
    """Somebody wants to cancel while the engine never comes to rest."""
    busy = True

    async def scene() -> None:
        async with rig.driving(Fn(lambda request: None)) as host:
            net = host.release(chain(task("a")))
            waiting = host.start(host.release(chain(wait("w"))))

            def again(live: Any) -> None:
                if busy:
                    host.start(net)

            host.turns.on_end.append(again)
            for _ in range(20):
                host.start(net)
            await eventually(lambda: host.row(waiting))
            with rig.reading() as store:
                number = put(store, store.run_by_id(waiting).no, C.cancel())
            await eventually(lambda: host.store.inbox_answer(number))

    go(scene())
    busy = False
    with rig.reading() as store:
        assert store.last_run() > 50
