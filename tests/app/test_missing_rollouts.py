"""Deployments that nobody moves on: whatever has kept their rollout from being there, they get one."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from penstock.app.deployments.deployments import Deployments
from penstock.app.penstock import Penstock
from penstock.app.releases import start_release
from penstock.errors import DeploymentError
from penstock.kernel import command as C
from tests.app.test_definition_rollout import driving
from tests.app.test_deployments import NEW, PACK, request, with_packs

AT_ONCE = {"type": "immediate"}


class Dead(BaseException):
    """The process was killed."""


async def _dies(self: Deployments, *_: Any) -> None:
    raise Dead


async def until(door: Penstock, status: str) -> Any:
    """The deployment of the new version, when it stands so and its rollout is there."""
    for _ in range(300):
        row = next(row for row in door.deployments.each() if row.version == NEW)
        if row.status == status and row.rollout_run_id is not None:
            return row
        await asyncio.sleep(0.02)
    raise AssertionError(f"{row.status}, {row.rollout_run_id}")


def look_now(door: Penstock) -> None:
    """As if the time of the next look had come."""
    door.host.timers.poll_at = 0
    door.host.wake_up()


def test_c_57_killed_before_its_rollout_it_gets_one_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """C-57: a deployment by hand that was begun, and no more; the next process moves it on, and once only."""

    async def first(door: Penstock) -> None:
        with_packs(door)
        with monkeypatch.context() as patched:
            patched.setattr(Deployments, "_start", _dies)
            with pytest.raises(Dead):
                await door.deployments.begin(request(strategy=AT_ONCE, rollback=None))

    async def again(door: Penstock) -> None:
        await until(door, "succeeded")
        look_now(door)
        await asyncio.sleep(0.1)
        assert len(door.runs()) == 1

    driving(first, tmp_path)
    driving(again, tmp_path)


def test_c_57_the_same_begin_again_starts_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def body(door: Penstock) -> None:
        with_packs(door)
        with monkeypatch.context() as patched:
            patched.setattr(Deployments, "_start", _dies)
            with pytest.raises(Dead):
                await door.deployments.begin(request(strategy=AT_ONCE, rollback=None), key="k")
        await door.deployments.begin(request(strategy=AT_ONCE, rollback=None), key="k")
        await until(door, "succeeded")

    driving(body, tmp_path)


def deploying() -> dict[str, Any]:
    node = {
        "id": "dep", "type": "DEPLOY", "artifact": {"type": "rule_pack", "id": PACK, "version": NEW},
        "target": {"environment": "production"}, "strategy": {"type": "canary", "canary": {"interval_minutes": 60}},
    }  # fmt: skip
    return {"id": "wf_dep", "version": 1, "name": "x", "nodes": [node], "edges": []}


def test_c_57_one_run_too_many_leaves_no_deployment_alone(tmp_path: Path) -> None:
    """C-57: the tenant may have one run; the rollout is refused, the run fails, and the share is watched even so."""

    async def body(door: Penstock) -> None:
        with_packs(door)
        door.releases.submit(deploying(), by="a")
        door.releases.approve("wf_dep", 1, by="b")
        door.releases.activate("wf_dep", 1)
        run = await start_release.start(door, "wf_dep", {})
        view = await door.wait(run)
        assert view.failure is not None and view.failure["code"] == "RUNS_LIMIT"
        look_now(door)
        row = await until(door, "in_progress")
        assert door.view(row.rollout_run_id).status == "WAITING"

    driving(body, tmp_path, settings={"limits.open_runs": 1})


def test_c_57_a_rollout_is_not_cancelled_while_its_deployment_goes_on(tmp_path: Path) -> None:
    """C-57: whoever wants it to end pauses the deployment or takes it back; one that was ended all the same is begun
    anew, and nobody is told of a second start."""

    async def body(door: Penstock) -> None:
        with_packs(door)
        told = {"on_start": True, "on_rollback": True, "channels": ["slack"]}
        begun = await door.deployments.begin(request(notification=told))
        row = await until(door, "in_progress")
        with pytest.raises(DeploymentError) as refused:
            await door.cancel(row.rollout_run_id)
        assert refused.value.code == "PS-409-ROLLOUT" and "rollback" in refused.value.hint
        await door.command(row.rollout_run_id, C.cancel("now"))
        look_now(door)
        for _ in range(300):
            after = door.deployments.get(begun.id)
            if after.rollout_run_id != row.rollout_run_id:
                break
            await asyncio.sleep(0.02)
        assert after.rollout_run_id is not None and after.rollout_run_id != row.rollout_run_id
        await door.deployments.roll_back(begun.id)
        await door.wait(after.rollout_run_id)
        assert notices(door, after.rollout_run_id) == ["notify_end"]

    driving(body, tmp_path)


def notices(door: Penstock, run: str) -> list[str]:
    return [line.node for line in door.lines(run) if line.fact == "effect.asked" and line.node.startswith("notify")]


def test_w_4_11_3_what_had_succeeded_and_is_taken_back_is_told(tmp_path: Path) -> None:
    """W-4.11.3: its rollout is over long since; on_rollback is sent all the same, and once."""

    async def body(door: Penstock) -> None:
        with_packs(door)
        asked = request(strategy=AT_ONCE, rollback=None, notification={"on_rollback": True, "channels": ["slack"]})
        begun = await door.deployments.begin(asked)
        first = (await until(door, "succeeded")).rollout_run_id
        await door.wait(first)
        await door.deployments.roll_back(begun.id, reason="no good")
        await door.deployments.roll_back(begun.id)
        second = door.store.run_by_key(door.tenant, f"deployment:{begun.id}/back")
        assert second is not None and (await door.wait(second.id)).status == "COMPLETED"
        assert (notices(door, first), notices(door, second.id)) == ([], ["notify_end"])
        assert len(door.runs()) == 2

    driving(body, tmp_path)


@pytest.mark.parametrize(
    "wrong",
    [
        {"target": {"environment": "prodction"}}, {"notification": {"channels": 5}},
        {"notification": {"on_start": "yes"}}, {"notification": {"template": {"id": 7}}},
    ],
)  # fmt: skip
def test_c_69_what_a_node_may_not_say_nobody_may(tmp_path: Path, wrong: dict[str, Any]) -> None:
    async def body(door: Penstock) -> None:
        with_packs(door)
        with pytest.raises(DeploymentError) as refused:
            await door.deployments.begin(request(**wrong))
        assert refused.value.code == "PS-422-DEPLOYMENT"
        assert (await door.deployments.begin(request(target={"environment": "plant_2"}))).environment == "plant_2"

    driving(body, tmp_path, settings={"environment": "plant_2"})
