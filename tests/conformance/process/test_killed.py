"""Killed at every write: a saga over branches (P-A.13), a submit (P-A.19) and what is saved, on either store."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock import Penstock
from penstock.app.maintenance.verify import verify
from penstock.app.process.definitions import Processes
from penstock.app.process.models import import_discovered
from penstock.app.process.work_items import WorkItems, folded
from penstock.dialects.process.instance import Instance
from penstock.errors import PenstockError, ProcessNotFound, ProcessState
from tests.conformance.decision.stores import NAMES, Base
from tests.conformance.decision.stores import base as kind_of_store
from tests.conformance.process.kill_worker import CANCELLED, SAGA
from tests.conformance.process.make import as_bytes, event, gateway, process, task
from tests.host.dying import Killed, Mortal
from tests.host.test_process_events import BPMN

PATIENCE_S = 60
JOIN = process(
    [gateway("f", "parallel"), task("A"), task("B"), gateway("j", "parallel"), task("D")],
    ["f>A", "f>B", "A>j", "B>j", "j>D"], process_definition_id="join",
)  # fmt: skip


@pytest.fixture(params=NAMES)
def base(request: pytest.FixtureRequest) -> Iterator[Base]:
    yield from kind_of_store(request.param)


class Shop:
    """Agents and tools that outlive the process: what they were asked, under which key, and who was stopped."""

    def __init__(self) -> None:
        self.keys: dict[str, list[str]] = {}
        self.order: list[str] = []
        self.stopped = 0

    def furnish(self, door: Penstock) -> None:
        door.executor("agent")(self.agent)
        door.executor("tool")(self.tool)

    async def agent(self, request: Any) -> Any:
        name = request.args["activity_id"]
        self.keys.setdefault(name, []).append(request.key)
        if name == "C":
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.stopped += 1
                raise
        if name == "D":
            while not {"A", "B"} <= self.keys.keys():
                await asyncio.sleep(0.001)
            await asyncio.sleep(0.02)  # so that what they have answered is written
            raise ValueError("broken")
        return {"made": name}

    async def tool(self, request: Any) -> Any:
        name = request.args["tool"]
        self.keys.setdefault(name, []).append(request.key)
        self.order.append(name)
        assert request.args["data"] == {"made": name[-1].upper()}
        return {"ok": True}


class Door(Penstock):
    """On a store that may die."""

    def __init__(self, path: Path, store: Any = None, shop: Shop | None = None) -> None:
        super().__init__(path, output_dir=Path())
        self.given = store
        if shop is not None:
            shop.furnish(self)

    def open(self) -> Door:
        if self.given is None:
            super().open()
            return self
        from penstock.executors import ExecutorTable
        from penstock.host.start_requests import ServingHost

        engine = self._engine
        engine.store = self.given
        engine.host = host = ServingHost(self.given, ExecutorTable(engine.executors), settings=engine.settings())
        engine.nets = host.nets
        host.turns.on_facts.append(engine._on_facts)
        host.turns.on_end.append(lambda live: engine._wake(live.id))
        return self

    async def __aenter__(self) -> Door:
        await super().__aenter__()
        return self

    async def until(self, holds: Callable[[], bool]) -> None:
        async def wait() -> None:
            while not holds():
                self.raise_if_stopped()
                if isinstance(self.given, Mortal) and self.given.left < 0:
                    raise Killed  # in a task that nobody waits for
                await asyncio.sleep(0.002)

        await asyncio.wait_for(wait(), PATIENCE_S)

    def instance(self, key: str) -> Instance:
        row = self.store.run_by_key(self.tenant, key)
        assert row is not None
        return folded(self, row)


def deaths(base: Base, folder: Path, scene: Callable[[Door], Awaitable[None]]) -> Iterator[tuple[Path, Shop]]:
    """The store as every death leaves it; the last time nobody dies."""
    for at in range(0, 2000, base.every):
        place = folder / f"dies_at_{at}"
        place.mkdir()
        path, shop = base.make(place), Shop()
        store = base.dying(path, at)

        async def act(store: Any = store, path: Path = path, shop: Shop = shop) -> None:
            asyncio.get_running_loop().set_exception_handler(lambda loop, told: None)  # the dead say nothing
            door = Door(path, store, shop).open()
            door.begin()
            await scene(door)
            await door.aclose()

        with contextlib.suppress(Killed, PenstockError):
            asyncio.run(asyncio.wait_for(act(), PATIENCE_S))
        dead = store.left < 0
        store.close()
        yield path, shop
        base.drop(path)
        if not dead:
            assert at > 7, "nothing was written"
            return
    raise AssertionError("it writes for ever")


async def saga(door: Door) -> None:
    """Begun under a key, and left to fail."""
    await Processes(door).define(as_bytes(SAGA), by="lee")
    await WorkItems(door).initiate("saga", by="lee", key="the one")
    await door.until(lambda: door.instance("the one").status == "TERMINATED")


def test_killed_at_every_write_of_a_saga(base: Base, tmp_path: Path) -> None:
    """P-A.13, P-5.5.2, P-5.5.8, P-X.16, P-X.20, P-X.21: wherever the process dies, the same end; what lies before the
    fork is undone after its branches, nothing under two keys, and what is undone is not undone again."""

    async def resume(path: Path, shop: Shop) -> None:
        async with Door(path, shop=shop) as door:
            await saga(door)
            inst = door.instance("the one")
            items = {one.activity_id: one for one in inst.items.values()}
            assert {name: one.status for name, one in items.items()} == {
                "P": "COMPENSATED", "A": "COMPENSATED", "B": "COMPENSATED", "C": "CANCELLED", "D": "CANCELLED",
            }  # fmt: skip
            assert (items["C"].cancel_reason, items["D"].cancel_reason) == (CANCELLED, "execution failed")
            assert items["D"].error and items["C"].error is None
            assert max(items["A"].compensated_at or 0, items["B"].compensated_at or 0) <= (
                items["P"].compensated_at or 0
            )
            assert inst.compensation_status == "COMPLETE" and verify(door.store).violations == []

    count = 0
    for path, shop in deaths(base, tmp_path, saga):
        asyncio.run(resume(path, shop))
        assert all(len(set(keys)) == 1 for keys in shop.keys.values()), shop.keys
        first = {name: shop.order.index(name) for name in ("undo_p", "undo_a", "undo_b")}
        assert first["undo_p"] > max(first["undo_a"], first["undo_b"]), shop.order
        assert shop.stopped >= 1, "the agent of the open branch is told to stop"
        count += 1
    assert count > 6


async def joined(door: Door) -> None:
    """Both branches are submitted, whatever of it was done before."""
    held = WorkItems(door)
    await Processes(door).define(as_bytes(JOIN), by="lee")
    run = await held.initiate("join", by="lee", key="the one")
    for name in "AB":
        item = next(one for one in door.instance("the one").items.values() if one.activity_id == name)
        if item.status != "DONE":
            await held.submit(f"{run}~{item.firing}", {name: 1}, by="kim")


def test_killed_at_every_write_of_a_submit(base: Base, tmp_path: Path) -> None:
    """P-A.19, P-X.11, P-X.12, P-3.2.8: either the item is still open or what comes next exists, once."""

    async def resume(path: Path) -> None:
        async with Door(path) as door:
            row = door.store.run_by_key(door.tenant, "the one")
            if row is not None:
                states = {one.activity_id: one.status for one in folded(door, row).items.values()}
                both = states.get("A") == states.get("B") == "DONE"
                assert ("D" in states) == both, states
            await joined(door)
            inst = door.instance("the one")
            assert [one.activity_id for one in inst.items.values()].count("D") == 1
            assert inst.st.vars == {"A": 1, "B": 1} and verify(door.store).violations == []

    for path, _ in deaths(base, tmp_path, joined):
        asyncio.run(resume(path))


# ---- saving ----------------------------------------------------------------------------------------------------------

IMPORTED = "DISCOVERED_MODEL_IMPORTED"
#: what there is after so many versions: their statuses, the one that the clock begins, and the mined model's status
SAVED = [
    ([], None, None),
    (["active"], 1, None),
    (["active", "pending_approval"], 1, "pending_approval"),
    (["deprecated", "draft", "active"], 3, "pending_approval"),
    (["deprecated", "draft", "deprecated", "active"], None, "active"),
]


def timed(name: str) -> bytes:
    start = event("S", "start", "timer", timer={"cycle": "0 9 * * *"})
    return as_bytes(process([start, task("A", name=name)], ["S>A"], process_definition_id="timed"))


async def saved(door: Door) -> None:
    """Five times something is saved, from wherever it was left: what a person draws, what was mined, what waits, what
    takes its place, and what is approved to be the next version."""
    held, door.host.outbox.publish = Processes(door), True
    if not held.named("timed"):
        await held.define(timed("first"), by="lee")
    if not held.named("mined"):
        await import_discovered(door, "log-1", BPMN, {"fitness": 0.9}, by="lee")
    if len(held.named("timed")) < 2:
        await held.define(timed("second"), by="lee", pending=True)
    if len(held.named("timed")) < 3:
        await held.define(timed("third"), by="lee")
    if len(held.named("timed")) < 4:
        await held.approve("mined", by="kim", into="timed")


def test_killed_at_every_write_of_what_is_saved(base: Base, tmp_path: Path) -> None:
    """P-X.6, P-2.3.3, P-7.4.5, P-X.23, P-X.25: a version is there with all that it moves, or not at all: what is in
    force, what it takes the place of, what waits, its clock, and its event."""
    seen = set()

    async def resume(path: Path) -> None:
        async with Door(path) as door:
            for _ in range(2):
                held = Processes(door)
                rows, mined = held.named("timed"), held.named("mined")
                statuses, clock, of_mined = SAVED[len(rows)]
                assert [row.status for row in rows] == statuses
                assert [one.version for one in door.store.schedules(door.tenant)] == ([clock] if clock else [])
                assert [row.status for row in mined] in ([], ["pending_approval"]) if len(rows) < 2 else [of_mined]
                told = [topic for _, _, _, topic, _, _ in door.store.outbox(2**60, 10)]
                assert told == [IMPORTED] * len(mined)
                if len(rows) > 2:
                    assert rows[1].feedback == "superseded by version 3"
                seen.add((len(rows), len(mined)))
                await saved(door)
            assert len(held.named("timed")) == 4 and verify(door.store).violations == []

    for path, _ in deaths(base, tmp_path, saved):
        asyncio.run(resume(path))
    assert len(seen) > (5 if base.every == 1 else 2)


def test_two_save_at_the_same_instant(base: Base, tmp_path: Path) -> None:
    """P-2.3.2, P-X.8: each gets a number of its own, the last is in force, and neither is lost."""
    path = base.make(tmp_path)

    async def scene() -> None:
        async with Door(path) as door:
            held = Processes(door)
            await held.define(as_bytes(JOIN), by="lee")
            done = await asyncio.gather(
                *(held.define(as_bytes({**JOIN, "description": f"by {n}"}), by="lee") for n in range(4))
            )
            assert sorted(one.release.version for one in done) == [2, 3, 4, 5] and all(one.new for one in done)
            assert [row.status for row in held.versions("join")] == ["deprecated"] * 4 + ["active"]

    asyncio.run(scene())
    base.drop(path)


def test_what_cannot_be_the_next_version_is_not_approved(base: Base, tmp_path: Path) -> None:
    """P-X.23, P-X.25, P-X.43: a model is approved into another definition whole, or it waits on: where there is no such
    definition, and where both would begin by one message. By itself it is approved, and in force at once."""
    path = base.make(tmp_path)
    start = event("S", "start", "message", message="order")
    mined = process([start, task("A")], ["S>A"], process_definition_id="mined", type="discovered")

    async def scene() -> None:
        async with Door(path) as door:
            held = Processes(door)
            await held.define(timed("first"), by="lee")
            await held.define(mined, by="lee")
            with pytest.raises(ProcessNotFound):
                await held.approve("mined", by="kim", into="nothing")
            with pytest.raises(ProcessState, match="order"):
                await held.approve("mined", by="kim", into="timed")
            (row,) = held.named("mined")
            assert (row.status, row.approved_by) == ("pending_approval", None) and len(held.named("timed")) == 1
            assert len(door.store.schedules(door.tenant)) == 1
            done = (await held.approve("mined", by="kim")).release
            assert (done.status, done.approved_by) == ("active", "kim") and held.named("mined") == [done]
            with pytest.raises(ProcessState, match="approved"):
                await held.approve("mined", by="kim")

    asyncio.run(scene())
    base.drop(path)
