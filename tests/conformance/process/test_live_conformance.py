"""Live conformance through real runs: every run that ends is held against the version that it ran by."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from penstock.app.process.autonomy.collection import every_turn
from penstock.app.process.definitions import Processes
from penstock.app.process.mining.live.conformance import LiveConformance, VersionFit, live_fits
from penstock.app.process.mining.live.follower import ConformanceFollower, follow_s
from penstock.app.process.mining.live.followers import Followers
from penstock.app.process.work_items import WorkItems
from penstock.errors import BadInput
from penstock.store.run_fits import RunFitCount
from tests.conformance.process.make import process, task
from tests.conformance.process.running import Office, awaited

TWO = process([task("A", name="가"), task("B", name="나")], ["A>B"])


class Desk:
    def __init__(self, office: Office) -> None:
        self.p = office.p
        self.p.load_sample()
        self.items, self.held, self.live = WorkItems(self.p), Processes(self.p), LiveConformance()

    def item(self, run: str, activity: str) -> str:
        _, instance = self.items.instance(run)
        return next(item.id for item in reversed(instance.items.values()) if item.activity_id == activity)

    async def do(self, run: str, activity: str) -> None:
        await self.items.submit(self.item(run, activity), {}, by="lee")

    async def run(self, *activities: str, redo: str = "") -> str:
        """A run in which these are done; `redo` is sent back after it was done once."""
        run = await self.items.initiate("p", by="lee")
        for activity in activities:
            await self.p.wait(run, until_waiting=True, timeout=60)
            await self.do(run, activity)
            if activity == redo:
                await self.p.wait(run, until_waiting=True, timeout=60)
                await self.items.rework(self.item(run, redo), by="lee", comment="again")
                await self.p.wait(run, until_waiting=True, timeout=60)
                await self.do(run, redo)
        await self.p.wait(run, timeout=60)
        return run

    async def collect(self) -> int:
        return await self.live.collect(self.p, every_turn())

    def fits(self) -> list[VersionFit]:
        return live_fits(self.p, "p")


@awaited
async def test_ended_runs_are_counted_by_their_own_version(tmp_path: Path) -> None:
    """P-7.2.2, P-7.5.4: runs that fit, one that was sent back, and a new version that counts for itself; looking again
    changes nothing, and a run that has not ended does not count."""
    async with Office(tmp_path) as office:
        desk = Desk(office)
        await desk.held.define(TWO, by="kim")
        await desk.run("A", "B")
        again = await desk.run("A", "B", redo="A")
        await desk.items.initiate("p", by="lee")
        await desk.collect()
        deviation = RunFitCount("p", 1, "repeated", "가", "가", "나", 1)
        assert desk.fits() == [VersionFit("p", 1, 2, 1, (deviation,))]
        await desk.collect()
        assert desk.fits() == [VersionFit("p", 1, 2, 1, (deviation,))]
        wanted = ("repeated", "가", "가", "나")
        assert [row.run_id for row in desk.p.store.run_fits(desk.p.tenant, "p", 1, wanted, 0, 9)] == [again]
        longer = process([task("A", name="가"), task("B", name="나"), task("C", name="다")], ["A>B", "B>C"])
        await desk.held.define(longer, by="kim")
        await desk.run("A", "B", "C")
        await LiveConformance().collect(desk.p, every_turn())
        assert [(one.version, one.runs, one.fitting) for one in desk.fits()] == [(1, 2, 1), (2, 1, 1)]
        assert live_fits(desk.p.of("other"), "p") == []


@awaited
async def test_a_variant_is_replayed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P-7.2.2: live conformance costs a look-up for each run after the first of its kind."""
    replayed: list[Any] = []
    from penstock.app.process.mining.live import conformance as live_conformance

    answer = live_conformance._answer

    def counted(document: bytes, variant: tuple[str, ...]) -> Any:
        replayed.append(variant)
        return answer(document, variant)

    monkeypatch.setattr(live_conformance, "_answer", counted)
    async with Office(tmp_path) as office:
        desk = Desk(office)
        await desk.held.define(TWO, by="kim")
        for _ in range(4):
            await desk.run("A", "B")
        assert await desk.collect() == 4
        assert replayed == [("가", "나")] and desk.fits()[0].fitting == 4


@awaited
async def test_a_server_follows_by_itself(tmp_path: Path) -> None:
    """P-7.2.2: opened with the door, closed with it; a setting that is no number is refused."""
    async with Office(tmp_path) as office:
        desk = Desk(office)
        assert any(isinstance(one, ConformanceFollower) for one in Followers(desk.p).each)
        await desk.held.define(TWO, by="kim")
        await desk.run("A", "B")
        follower = ConformanceFollower(desk.p)
        follower.every_s = 0.01
        follower.open()
        async with asyncio.timeout(60):
            while not desk.fits():
                await asyncio.sleep(0.01)
        await follower.close()
        assert desk.fits()[0].runs == 1
        with pytest.raises(BadInput, match=r"conformance\.follow_s"):
            follow_s({"conformance.follow_s": "often"})
