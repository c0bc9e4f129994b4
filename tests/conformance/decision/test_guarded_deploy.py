"""The second example, with success criteria and a rollback block: it is taken back by itself, or goes to its end."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.app.inbox import inbox
from penstock.app.maintenance.verify import verify
from penstock.lang.compile import check_document
from tests.conformance.decision.rollouts import LEAD, PACK, judged, on_own_api, versions_used
from tests.conformance.decision.stores import Base
from tests.conformance.decision.world import EXAMPLES, HOUR, MINUTE, T0, TENANT, Door, Wire, World, deaths, go

GUARDED = EXAMPLES / "rule_deploy_guarded.json"
GOOD = {"rule_pack_id": PACK, "version": "2.1.0"}
BAD = {"rule_pack_id": PACK, "version": "3.0.0"}
#: right as long as every line has produced something
DIVIDES = {
    "id": PACK,
    "version": "3.0.0",
    "rules": [{"id": "rate", "scope": "each", "when": "item.defects / item.produced > 0.05", "decision": "critical"}],
}
#: never wrong, and calls everything critical
ALARMS = {
    "id": PACK,
    "version": "3.0.0",
    "rules": [{"id": "rate", "scope": "each", "when": "item.defect_rate >= 0", "decision": "critical"}],
}


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    wire = Wire()
    yield wire
    wire.close()


@pytest.fixture
def world(tmp_path: Path, wire: Wire, base: Base) -> World:
    wire.forget()
    return on_own_api(World(tmp_path, wire, base))


def play(world: World, scene: Callable[[Door], Any]) -> Any:
    async def opened() -> Any:
        async with world.open() as door:
            return await scene(door)

    return go(opened())


async def approved(door: Door, given: dict[str, str], key: str | None = None) -> str:
    """A run whose canary has half of the instances."""
    run = await door.start(door.release(GUARDED), given, key=key)
    await door.quiet()
    for item in inbox.open_items(door, LEAD):
        await door.decide(item.run, by=LEAD)
    return run


def said(wire: Wire) -> list[str]:
    return [str(seen.json["text"]) for seen in wire.to("slack")]


def test_it_is_well_written() -> None:
    """W-4.11.1, W-4.11.2: not even a hint is left to give."""
    assert [str(one) for one in check_document(GUARDED.read_bytes(), name=GUARDED.name)[1]] == []


def test_a_good_version_goes_to_its_end(world: World, wire: Wire) -> None:
    """W-4.11.1, W-4.11.3, C-57, C-58: it waits while the canary goes on; the criteria hold; half, then all, and after
    the last stage COMPLETED; told at the start and at the end."""

    async def scene(door: Door) -> None:
        run = await approved(door, GOOD)
        assert door.view(run).status == "waiting"
        counts = versions_used(door, await judged(door, 40))
        assert set(counts) == {"2.0.0", "2.1.0"} and sum(counts.values()) == 40
        await door.to(T0 + HOUR)
        assert versions_used(door, await judged(door, 5)) == {"2.1.0": 5}
        await door.to(T0 + 3 * HOUR)
        look = door.view(run)
        assert look.status == "completed" and look.variables["deploy_result"]["status"] == "succeeded", look.failure
        assert "action_taken_back" not in door.ran(run)

    play(world, scene)
    assert len(said(wire)) == 2 and all(PACK in text for text in said(wire))


@pytest.mark.parametrize(
    ("pack", "row", "metric"),
    [(DIVIDES, {"defects": 1, "produced": 0}, "error_rate"), (ALARMS, {}, "anomaly_score")],
    ids=["errors", "alarms"],
)
def test_a_bad_version_is_taken_back_by_itself(
    world: World, wire: Wire, pack: dict[str, Any], row: dict[str, Any], metric: str
) -> None:
    """W-4.11.2, W-4.11.3, C-57, C-58: more than 5 % errors, or decisions that have nothing in common with those of the
    version before: taken back at the next look, long before the stage is over. The edge `rolled_back` is taken."""

    async def scene(door: Door) -> None:
        door.registry.put("rule_pack", PACK, pack)
        run = await approved(door, BAD)
        counts = versions_used(door, await judged(door, 80, **row))
        assert counts["2.0.0"] > 20 and 80 - counts["2.0.0"] > 20
        await door.to(T0 + 10 * MINUTE)
        look = door.view(run)
        assert look.status == "completed", look.failure
        assert door.ran(run) == {
            **dict.fromkeys(("simulate_change", "approve_change", "action_taken_back"), "succeeded"),
            "deploy_rule": "failed",
        }
        result = look.variables["deploy_result"]
        assert (result["status"], result["to_version"], result["percent"]) == ("rolled_back", "2.0.0", 0)
        (row_now,) = [one for one in door.host.tenants.of(TENANT).deployments.every() if one.run == run]
        assert [check.name for check in row_now.checks if not check.holds] == [metric]
        assert versions_used(door, await judged(door, 10)) == {"2.0.0": 10}

    play(world, scene)
    assert f"{PACK} 3.0.0 was taken back; 2.0.0 judges again." in said(wire) and len(said(wire)) == 3


def test_nobody_used_it(world: World) -> None:
    """C-58: no samples: the criteria hold, with a warning."""

    async def scene(door: Door) -> None:
        run = await approved(door, GOOD)
        await door.to(T0 + 3 * HOUR)
        look = door.view(run)
        assert look.status == "completed" and look.variables["deploy_result"]["warnings"]

    play(world, scene)


def test_a_refusal_deploys_nothing(world: World) -> None:
    """W-4.11.1: rejected: CANCELLED."""

    async def scene(door: Door) -> None:
        run = await door.start(door.release(GUARDED), GOOD)
        await door.quiet()
        await door.decide(run, "rejected", by=LEAD)
        assert door.view(run).status == "cancelled"
        assert [one for one in door.host.tenants.of(TENANT).deployments.every() if one.run] == []

    play(world, scene)


def test_a_version_that_nobody_knows(world: World) -> None:
    """W-4.11.6, C-59: it fails before anybody is asked, or at the latest when it would be deployed."""

    async def scene(door: Door) -> None:
        run = await approved(door, {"rule_pack_id": PACK, "version": "9.9.9"})
        look = door.view(run)
        assert look.status == "failed" and look.failure is not None
        assert look.failure["code"] == "VERSION_NOT_FOUND" and look.failure["category"] == "validation"

    play(world, scene)


def test_killed_at_every_write_of_a_rollback(world: World, wire: Wire) -> None:
    """W-8.3.2, W-4.11.2: from the look that sees the errors to the message: rolled back once, told once or again under
    the same key, COMPLETED."""

    async def prepared() -> None:
        world.furnish()
        async with world.open(again=True) as door:
            door.registry.put("rule_pack", PACK, DIVIDES)
            await approved(door, BAD, key="the one")
            await judged(door, 30, defects=1, produced=0)

    go(prepared())

    async def life(door: Door) -> None:
        await door.to(T0 + 10 * MINUTE)

    async def resume(other: World) -> None:
        async with other.open(again=True) as door:
            await life(door)
            run = door.row("the one").id
            assert door.view(run).status == "completed", door.view(run).failure
            assert door.view(run).variables["deploy_result"]["status"] == "rolled_back"
            rows = [one for one in door.host.tenants.of(TENANT).deployments.every() if one.run == run]
            assert [one.status for one in rows] == ["rolled_back"]
            what = [event.what for event in door.host.tenants.of(TENANT).deployments.history(rows[0].id)]
            assert what.count("roll_back") == 1
            assert len({json.dumps(seen.json) for seen in wire.to("slack")}) <= 2
            assert len(set(wire.keys("slack"))) <= 2 and verify(door.store).violations == []

    for other in deaths(world, life, prepare=lambda: None, some=True):
        go(resume(other))
