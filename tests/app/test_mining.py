"""Maps that are remembered, pictures of maps, drawings of two models, and the history of the sample tenant."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.app.penstock import Penstock
from penstock.app.process.definitions import Processes
from penstock.app.process.mining.histories import maps as module
from penstock.app.process.mining.histories.logs import EventLogs, Reading
from penstock.app.process.mining.histories.maps import Maps
from penstock.app.process.mining.histories.sample import begin
from penstock.app.process.mining.views.map_drawing import map_picture, span
from penstock.app.process.mining.views.merged_drawing import merged_drawings
from penstock.app.process.mining.views.overview import Overview
from penstock.app.process.work_items import WorkItems
from penstock.app.releases.start_release import start
from penstock.demo.sample_runs import put_in_force
from penstock.errors import EventLogsTooMany, EventLogTooLarge, EventLogUnreadable
from penstock.lang.process.drawing import read_drawing
from penstock.mining.activity_map import activity_map
from penstock.mining.event import Case, Event
from penstock.sample_tenant.claim_log import claim_log
from tests.conformance.decision.world import go
from tests.conformance.process.http.test_mining import log_of
from tests.conformance.process.make import process, task

NOW = 1_795_000_000_000


def a_case(id: str, *activities: str, hours: int = 1) -> Case:
    times = (n * hours * 3_600_000 for n in range(len(activities)))
    return Case(id, tuple(Event(name, at) for name, at in zip(activities, times, strict=True)))


def test_the_history_of_the_sample_tenant_shows_what_was_planted(tmp_path: Path) -> None:
    """P-7.2.1: a bottleneck, work again, a step that is left out, two steps in the other order, a way nobody goes."""

    async def scene() -> None:
        async with Penstock(tmp_path / "s.db", profile="dev") as door:
            put_in_force(door)
            await begin(door)
            await begin(door)  # once is enough
            assert len(EventLogs(door).each("claim_handling")) == 1
            overview = Overview(door)
            mined = await overview.map(overview.maps.source("claim_handling"))
            found, fits = mined.map, mined.conformance
            assert (found.cases, len(found.variants)) == (1260, 9)
            assert found.bottleneck is not None and fits is not None
            assert (found.bottleneck.source, found.bottleneck.target) == ("책임 판정", "보상 승인")
            assert found.bottleneck.people == 2 and 29 * 3_600_000 < found.bottleneck.median_wait_ms < 33 * 3_600_000
            assert {(each.activity, each.cases) for each in found.rework} == {("원인 조사", 32), ("책임 판정", 32)}
            assert fits.fitting == 1164
            assert {(each.kind, each.activity): each.cases for each in fits.deviations} == {
                ("skipped", "현품 확인"): 56, ("repeated", "원인 조사"): 32, ("order", "고객 통보"): 8,
            }  # fmt: skip
            assert "현장 방문" not in {each.name for each in found.activities}
            assert len(door.runs(limit=50)) == 5

    go(scene())


def test_the_sample_history_has_the_same_ways_whenever_it_is_made() -> None:
    ways = [sorted(re.findall(r"^(C-\d+),([^,]+),", claim_log(at).decode(), re.M)) for at in (NOW, NOW + 12_345_678)]
    assert ways[0] == ways[1] and len(ways[0]) == 8619


def test_a_look_that_is_repeated_maps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P-7.2.1: remembered until another instance has ended, for each period by itself."""
    mapped = list[int]()

    def counted(cases: Iterator[Case]) -> Any:
        found = activity_map(cases)
        mapped.append(found.cases)
        return found

    async def scene() -> None:
        async with Penstock(tmp_path / "s.db") as door:
            await Processes(door).define(process([task("Ask")], [], process_definition_id="ask"), by="kim")
            maps = Maps(door)
            await _ended(door)
            monkeypatch.setattr(module, "activity_map", counted)
            for _ in range(3):
                assert (await maps.map(maps.source("ask"))).cases == 1
            assert mapped == [1]
            await maps.map(maps.source("ask", end=5))
            assert mapped == [1, 0]
            await _ended(door)
            assert (await maps.map(maps.source("ask"))).cases == 2
            assert mapped == [1, 0, 2]
            other = door.of("other")
            assert Overview(other).sources() == []

    go(scene())


async def _ended(door: Penstock) -> None:
    run = await start(door, "ask", {}, trigger={"type": "manual", "source": "x", "initiator": "lee"})
    for item in door.store.work_of(door.row(run).no):
        await WorkItems(door).submit(f"{run}~{item.firing}", {}, by="lee")
    await door.wait(run, timeout=60)


def test_logs_are_bounded_and_none_is_kept_that_is_bad(tmp_path: Path) -> None:
    """P-7.5.2: so many for a tenant, so many events and bytes; what is wrong with one is said, and none is kept."""
    settings = {"limits.event_logs": 2, "limits.event_log_events": 9, "limits.event_log_bytes": 5000}

    async def scene() -> None:
        async with Penstock(tmp_path / "s.db", settings=settings) as door:
            logs = EventLogs(door)
            small = log_of({"A,B": 2})
            assert (await logs.add(small, "../a\nb.csv")).log.name == "ab.csv"
            with pytest.raises(EventLogTooLarge, match="9"):
                await logs.add(log_of({"A,B": 5}), "large.csv")
            with pytest.raises(EventLogTooLarge, match="bytes"):
                await logs.add(b"x" * 5001, "larger.csv")
            with pytest.raises(EventLogUnreadable):
                await logs.add(b"case,activity,time\n1,A,never\n", "bad.csv")
            assert len(logs.each()) == 1
            again = await logs.add(small, "again.csv")
            assert (again.new, again.log.name) == (False, "again.csv")
            await logs.add(small, "zoned.csv", reading=Reading(zone="Asia/Seoul"))
            with pytest.raises(EventLogsTooMany):
                await logs.add(log_of({"A,C": 2}), "third.csv")
            assert len(logs.each()) == 2 and EventLogs(door.of("other")).each() == []

    go(scene())


def test_the_picture_of_a_map_hides_rare_ways_and_changes_no_count() -> None:
    found = activity_map([*(a_case(f"a{n}", "A", "B") for n in range(9)), a_case("b", "A", "C", "B", hours=30)])
    whole, part = map_picture(found, "Map"), map_picture(found, "Map", flows=3)
    assert (whole.flows_left_out, whole.activities_left_out) == (0, 0)
    assert (part.flows_left_out, part.activities_left_out) == (2, 1)
    text = "\n".join(map(str, part.lines()))
    assert "A" in text and "9 · 1h" in text and "10×" in text and "C" not in text
    assert "9 · 1h" in whole.as_svg("Map") and "<svg" in part.as_svg("Map")


@pytest.mark.parametrize(
    ("ms", "said"),
    [(0, "0ms"), (999, "999ms"), (1000, "1s"), (59_999, "60s"), (90_000, "1min 30s"), (47 * 60_000 + 56_000, "48min"),
     (31 * 3_600_000 + 300_000, "1d 7h"), (24 * 3_600_000, "1d"), (240 * 3_600_000, "10d")],
)  # fmt: skip
def test_times_are_said_with_two_units_at_most(ms: int, said: str) -> None:
    assert span(ms) == said


DRAWN = {"shapes": {"A": {"bounds": [100, 100, 100, 80]}, "B": {"bounds": [300, 100, 100, 80]}},
         "edges": {"A>B": {"points": [[200, 140], [300, 140]]}}}  # fmt: skip


@pytest.mark.parametrize("drawn", [None, DRAWN])
def test_two_models_are_one_drawing_without_a_shape_that_moves(drawn: dict[str, Any] | None) -> None:
    """P-7.2.2: each element is at the same place in all three; what is new lies on nothing else."""
    more = {} if drawn is None else {"diagram": drawn}
    base = process([task("A"), task("B")], ["A>B"], **more)
    model = process([task("A"), task("C")], ["A>C"])
    done = merged_drawings(base, model)
    places = [_places(text) for text in (done.base, done.model, done.merged)]
    assert [set(each) for each in places] == [{"A", "B"}, {"A", "C"}, {"A", "B", "C"}]
    for one in places[:2]:
        assert all(places[2][id] == place for id, place in one.items())
    if drawn is not None:
        assert places[0]["A"] == [100, 100, 100, 80] and places[0]["B"] == [300, 100, 100, 80]
    b, c = places[2]["B"], places[2]["C"]
    apart = b[0] + b[2] <= c[0] or c[0] + c[2] <= b[0] or b[1] + b[3] <= c[1] or c[1] + c[3] <= b[1]
    assert apart, "nothing lies on anything"


def _places(text: str) -> dict[str, list[float]]:
    (definition,) = read_drawing(text, "x.bpmn").definitions
    names = {entry["id"]: entry["name"] for entry in definition["activities"]}
    shapes = definition["diagram"]["shapes"]
    return {names[id]: [float(side) for side in shape["bounds"]] for id, shape in shapes.items() if id in names}
