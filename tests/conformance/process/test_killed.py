"""Killed at every write: a saga over branches (P-A.13), and a submit (P-A.19), on either store."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock import Penstock
from penstock.app.processes import Processes
from penstock.app.verify import verify
from penstock.app.workitems import WorkItems, folded
from penstock.errors import PenstockError
from penstock.host.instance import Instance
from tests.conformance.decision.stores import NAMES, Base
from tests.conformance.decision.stores import base as kind_of_store
from tests.conformance.process.make import as_bytes, gateway, process, service, task
from tests.host.dying import Killed, Mortal

PATIENCE_S = 20
CANCELLED = "Saga compensation - parallel branch cancellation"
STEPS = [service(name, agent=name.lower(), compensation=f"undo_{name.lower()}") for name in "PABCD"]
SAGA = process(
    [*STEPS, gateway("f", "parallel"), gateway("j", "parallel")],
    ["P>f", "f>A", "f>B", "f>C", "f>D", "A>j", "B>j", "C>j", "D>j"], process_definition_id="saga",
)  # fmt: skip
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
        from penstock.app.serving import Serving
        from penstock.app.shelf import Shelf

        engine = self._engine
        engine.store = self.given
        engine.host = host = Serving(self.given, Shelf(engine.executors), settings=engine.settings())
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
            assert at > 10, "nothing was written"
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
