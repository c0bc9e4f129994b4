"""Messages: one run takes each; who ends or waits no longer before its turn has not taken it, whoever dies then."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.app.maintenance.verify import verify
from penstock.errors import StoreAway
from penstock.host.clock import ManualClock
from penstock.host.embedded import Host
from penstock.host.event_delivery import Reached
from penstock.kernel import command as C
from penstock.kernel import fact as F
from penstock.kernel.state import STATUS
from penstock.net.model import Declares, Edge, Net, Node, Trigger
from penstock.store.address import open_store
from penstock.store.events import EventRow
from penstock.store.releases import ReleaseRow
from penstock.store.run_store import Batch, JournalRow, RunRow
from penstock.store.sqlite import Sqlite
from tests.conformance.decision.stores import NAMES, Base
from tests.conformance.decision.stores import base as kind_of_store
from tests.host.dying import Killed
from tests.host.rig import END, START
from tests.host.test_timers import laps

GO = Trigger(kind="signal", name="go", port="go", one=True)
STOP = Trigger(kind="signal", name="stop", port="stop")
#: how a run that a message is on its way to stops waiting for it
STOPS: dict[str, C.Command] = {
    "it is cancelled": C.cancel(),
    "it goes on without it": C.signal("s1", "stop"),
    "it waits anew": C.signal("s1", "stop"),
}


@pytest.fixture(params=NAMES)
def base(request: pytest.FixtureRequest) -> Iterator[Base]:
    yield from kind_of_store(request.param)


def waits(then: str = "", before: str = "") -> Net:
    """Waits for the message, or for a stop that leads to the end, or to another wait for the message."""
    nodes = [START, Node(id="w", kind="wait", triggers=(GO, STOP)), END]
    ways = [("s", "w", "done"), ("w", "e", "go"), ("w", then or "e", "stop")]
    if then:
        nodes.append(Node(id=then, kind="wait", triggers=(GO,)))
        ways.append((then, "e", "go"))
    if before:
        nodes.append(Node(id=before, kind="wait", triggers=(Trigger(kind="signal", name="begin"),)))
        ways[0] = ("s", before, "done")
        ways.append((before, "w", "done"))
    edges = (Edge(id=f"{a}:{port}>{b}", src=a, dst=b, port=port) for a, b, port in ways)
    return Net(name=f"waits {then} {before}", nodes=tuple(nodes), edges=tuple(edges))


class House:
    """A host on a store, and what became of the message."""

    def __init__(self, store: Any, folder: Path) -> None:
        self.store = store
        self.host = Host(store, {}, clock=ManualClock(1_000_000), output_dir=folder)

    def begin(self, key: str, net: Net) -> int:
        self.host.start(self.host.release(net), key=key)
        laps(self.host)
        return self.no(key)

    def no(self, key: str) -> int:
        row = self.store.run_by_key("default", key)
        assert row is not None
        return int(row.no)

    def tell(self) -> None:
        self.store.put_event(EventRow("default", "e1", "go", msgspec.msgpack.encode({"n": 1}), 1_000_000))
        self.host.intake.poll()

    def status(self, key: str) -> str:
        return STATUS[self.store.run_by_key("default", key).status]

    def used(self) -> list[str]:
        """Who has used it, once for every time."""
        facts = ((row.key, f) for row in self.store.runs() for j in self.store.journal(row.no)
                 for f in F.decode_facts(j.body))  # fmt: skip
        return [str(key) for key, f in facts if f[0] == F.SIGNAL_USED and f[1].startswith("e1")]

    def taken_by(self) -> str:
        row = self.store.event("default", "e1")
        assert row.answer is not None
        reached = msgspec.msgpack.decode(row.answer, type=Reached)
        found = [str(one.key) for one in self.store.runs() if one.id == reached.taken_by]
        assert reached.resumed == ([reached.taken_by] if found else [])
        return next(iter(found), "")


def stopped(house: House, how: str) -> None:
    """Two wait for it. What ends the first one's wait lies there before the message does."""
    first = house.begin("first", waits("again" if how == "it waits anew" else ""))
    house.begin("second", waits())
    house.tell()
    assert house.host.iterate() and house.host.intake.todo, "everybody else has it, and it is settled next"
    house.host.turns.send(first, STOPS[how])
    laps(house.host)


def late(house: House, how: str) -> None:
    """It came before anybody waited. Who waits then stops waiting before the turn; another one comes to wait."""
    first = house.begin("first", waits("again" if how == "it waits anew" else "", before="b"))
    house.begin("second", waits(before="b"))
    house.tell()
    laps(house.host)
    house.host.turns.send(first, C.signal("b1", "begin"))
    while not house.host.intake.early:  # it waits, and nobody has looked yet what has come for it
        assert house.host.iterate()
    house.host.turns.send(first, STOPS[how])
    laps(house.host)
    house.host.turns.send(house.no("second"), C.signal("b2", "begin"))
    laps(house.host)


SCENES: dict[str, Callable[[House, str], None]] = {"on its way": stopped, "kept": late}


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("how", STOPS)
def test_who_stops_waiting_has_not_taken_it(how: str, scene: str, tmp_path: Path) -> None:
    """P-X.25, S1: the next one that waits has it, or the same one when it waits anew; once."""
    house = House(open_store(tmp_path / "s.db"), tmp_path)
    SCENES[scene](house, how)
    who = "first" if how == "it waits anew" else "second"
    if (how, scene) == ("it waits anew", "on its way"):
        who = house.taken_by()  # both wait when it is offered again
    assert house.used() == [who] == [house.taken_by()] and house.status(who) == "COMPLETED"
    assert house.store.open_events() == [] and verify(house.store).violations == []
    assert not house.host.intake.going and not house.host.intake.todo, "nothing of it is left on its way"
    house.store.close()


def test_a_kept_message_goes_to_the_next_when_the_first_stops_waiting(tmp_path: Path) -> None:
    """P-X.25, S1: two come to wait for it at once; who is offered it waits no longer before its turn."""
    house = House(open_store(tmp_path / "s.db"), tmp_path)
    first, second = house.begin("first", waits(before="b")), house.begin("second", waits(before="b"))
    house.tell()
    laps(house.host)
    for no in (first, second):
        house.host.turns.send(no, C.signal(f"b{no}", "begin"))
    intake, holds_ns = house.host.intake, house.host.intake.holds_ns
    intake.holds_ns = 0  # who waits is looked at one after the other, and nothing else is done
    while intake.early or not intake.todo:
        assert house.host.iterate()
    intake.holds_ns = holds_ns
    house.host.turns.send(first, STOPS["it goes on without it"])
    laps(house.host)
    assert house.used() == ["second"] == [house.taken_by()] and house.status("second") == "COMPLETED"
    assert not intake.going and not intake.todo, "nothing of it is left on its way"
    house.store.close()


def test_a_message_that_has_begun_a_process_is_not_given_again(tmp_path: Path) -> None:
    """P-X.25, H5: that it has begun one was lost; whoever has come to wait since then waits for the next message."""
    store = Sqlite(tmp_path / "s.db")
    house = House(store, tmp_path)
    about = {"process": {"begins": {"trigger": "message", "name": "go"}}}
    net = Net(
        name="begun", language="process", declares=Declares(policies=about), nodes=(START, END),
        edges=(Edge(id="s>e", src="s", dst="e"),),
    )  # fmt: skip
    no = house.host.release(net)
    store.put_release(ReleaseRow("default", "begun", 1, "b1", "active", "h", no, b"{}", "go", None, 1))
    house.begin("second", waits(before="b"))
    house.tell()
    laps(house.host)
    house.host.turns.send(house.no("second"), C.signal("b1", "begin"))
    laps(house.host)
    store.c.execute("UPDATE event SET answer=NULL")
    again = House(store, tmp_path)
    again.host.recover()
    laps(again.host)
    row = store.event("default", "e1")
    assert row is not None and row.answer is not None
    reached = msgspec.msgpack.decode(row.answer, type=Reached)
    begun = store.run_by_key("default", "message:e1:begun")
    assert begun is not None and (reached.taken_by, reached.started) == (begun.id, [begun.id])
    assert again.used() == [] and again.status("second") == "WAITING" and len(store.runs()) == 2
    store.close()


class Mute(Sqlite):
    """Commits who takes the message, loses the answer, and cannot be read for a while."""

    away = 0

    def commit(self, batch: Batch) -> None:
        super().commit(batch)
        if batch.event_taken and self.away == 0:
            self.away = 4
            raise StoreAway(why="its answer is lost")

    def journal(self, run: int, after: int = 0) -> Iterator[JournalRow]:
        self._missing()
        return super().journal(run, after)

    def load(self, numbers: Iterable[int]) -> list[tuple[RunRow, list[JournalRow]]]:
        self._missing()
        return super().load(numbers)

    def _missing(self) -> None:
        if self.away > 1:
            self.away -= 1
            raise StoreAway(why="it cannot be read")


def test_h5_taken_in_a_commit_whose_answer_was_lost(tmp_path: Path) -> None:
    """H5: it is tried again, the run has had it, and nobody else gets it."""
    store = Mute(tmp_path / "s.db")
    house = House(store, tmp_path)
    house.begin("first", waits())
    house.begin("second", waits())
    house.tell()
    for _ in range(8):
        with contextlib.suppress(StoreAway):
            laps(house.host)
    assert store.away == 1 and house.used() == ["first"] == [house.taken_by()]
    assert house.status("second") == "WAITING" and store.open_events() == [] and verify(store).violations == []
    store.close()


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("how", STOPS)
def test_killed_before_the_message_is_given_back(how: str, scene: str, base: Base, tmp_path: Path) -> None:
    """P-X.25, S1, P-A.19: at every write: in the end it is used once, by the run that is said to have taken it."""
    died = 0
    for at in itertools.count(0, base.every**2):  # databases are slow, and what differs between stores is little here
        folder = tmp_path / str(at)
        folder.mkdir()
        path = base.make(folder)
        store = base.dying(path, at)
        try:
            SCENES[scene](House(store, folder), how)
        except Killed:
            died += 1
        dead = store.left < 0
        store.close()
        house = House(open_store(path), folder)
        house.host.recover()
        laps(house.host)
        if house.store.event("default", "e1") is not None:
            for key in ("first", "second"):  # whoever has not come to wait does now
                house.host.turns.send(house.no(key), C.signal("b3", "begin"))
                laps(house.host)
            assert len(house.used()) == 1 and house.used() == [house.taken_by()], at
            assert house.store.open_events() == []
        assert verify(house.store).violations == []
        house.store.close()
        base.drop(path)
        if not dead:
            break
    assert died > (8 if base.every == 1 else 1)
