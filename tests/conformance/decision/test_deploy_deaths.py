"""Deployments whose process is killed at any write: what is in force, what the lines are said to have, who watches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.app.maintenance.verify import verify
from penstock.executors.parts.rollout.model import DeploymentRequest
from tests.app.test_definition_rollout import NAME, document, released
from tests.conformance.decision.rollouts import PACK
from tests.conformance.decision.stores import Base
from tests.conformance.decision.world import HOUR, Door, Wire, World, deaths, go
from tests.host.decisions import TENANT

NEW, OLD = "2.1.0", "2.0.0"
CANARY = {"type": "canary", "canary": {"initial_percent": 50, "increment_percent": 50, "interval_minutes": 60}}


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    wire = Wire()
    yield wire
    wire.close()


@pytest.fixture
def world(tmp_path: Path, wire: Wire, base: Base) -> World:
    wire.forget()
    world = World(tmp_path, wire, base)
    world.furnish()
    return world


def asked(type: str, id: str, version: str, **more: Any) -> DeploymentRequest:
    return msgspec.convert({"artifact": {"type": type, "id": id, "version": version}, **more}, DeploymentRequest)


def of(door: Door, tenant: str = TENANT) -> Door:
    other = door.of(tenant)
    assert isinstance(other, Door)
    return other


def recorded(door: Door) -> set[str]:
    """Which versions of the pack the AAS registry says that lines have."""
    shells = door.host.tenants.of(TENANT).each("aas")
    lines = [body for id, body in shells.items() if id.startswith("line.")]
    said = [(body.get("deployed") or {}).get("production", {}).get(f"rule_pack/{PACK}") for body in lines]
    return {one["version"] for one in said if one is not None}


def test_c_57_w_4_11_5_a_deployment_by_hand_killed_at_any_write(world: World) -> None:
    """C-57, W-4.11.5: once its row is there somebody moves it on, and at its end the lines are said to have it."""

    async def scene(door: Door) -> None:
        await of(door).deployments.begin(asked("rule_pack", PACK, NEW, strategy=CANARY))
        await door.later(3 * HOUR)

    for left in deaths(world, scene, prepare=lambda: None, some=True):

        async def ended(left: World = left) -> None:
            async with left.open(again=True) as door:
                mine = [row for row in of(door).deployments.each() if row.version == NEW]
                if not mine:
                    return
                await door.later(3 * HOUR)
                (row,) = of(door).deployments.each(status=["succeeded"], limit=1)
                assert (row.version, row.percent) == (NEW, 100)
                assert recorded(door) == {NEW}
                assert verify(door.store).violations == []

        go(ended())


def test_w_9_4_1_a_definition_that_is_taken_back_killed_at_any_write(world: World) -> None:
    """W-9.4.1, W-4.11.3: the same call again does what is missing: the version before is the active one, and whoever
    is to be told of it is."""

    async def prepare() -> None:
        async with world.open(again=True) as door:
            own = of(door)
            released(own, document(1), document(2))
            told = {"on_rollback": True, "channels": ["slack"]}
            await own.deployments.begin(asked("workflow", NAME, "2", notification=told))
            await door.quiet()
            assert active(own) == [2]

    def active(door: Door) -> list[int]:
        return [row.version for row in door.releases.each(NAME) if row.status == "active"]

    def mine(door: Door) -> str:
        return next(row.deployment_id for row in door.deployments.each() if row.artifact.id == NAME)

    go(prepare())

    async def scene(door: Door) -> None:
        own = of(door)
        await own.deployments.roll_back(mine(own), by="it")
        await door.later(HOUR)

    for left in deaths(world, scene, prepare=lambda: None, some=True):

        async def ended(left: World = left) -> None:
            async with left.open(again=True) as door:
                own = of(door)
                await own.deployments.roll_back(mine(own), by="it")
                await door.later(HOUR)
                assert own.deployments.get(mine(own)).status == "rolled_back" and active(own) == [1]
                assert len(left.wire.to("slack")) >= 1
                assert verify(door.store).violations == []

        go(ended())
