"""Canaries of definitions (W-9.4): real runs are counted per version, whoever starts them, and a bad one goes back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.app.penstock import Penstock
from penstock.app.releases import start_release
from penstock.errors import DeploymentError
from penstock.executors.parts.rollout.model import Deployment, DeploymentRequest

NAME = "wf_counted"
HALF = {"type": "canary", "canary": {"initial_percent": 50, "increment_percent": 50, "interval_minutes": 60}}


def document(version: int, **more: Any) -> dict[str, Any]:
    """It judges one row, and ends at once."""
    row = {"line_id": "L01", "defect_rate": 0.01}
    judgment = {
        "id": "judge_row", "type": "JUDGMENT", "policy": {"type": "RULE_ONLY", "rule_pack_id": "quality_rules_v2"},
        "input": {"data": [row]},
    }  # fmt: skip
    return {"id": NAME, "version": version, "name": f"v{version}", "nodes": [judgment], "edges": [], **more}


def failing(version: int) -> dict[str, Any]:
    """The same with a wait that can never be over: it is given a moment that is no moment."""
    node = {"id": "wait_a", "type": "WAIT", "condition": {"type": "time", "until": "${input.nothing.at_all}"}}
    return {**document(version), "nodes": [node]}


def released(door: Penstock, *documents: dict[str, Any]) -> None:
    """All approved, the first in force."""
    for body in documents:
        door.releases.submit(body, by="author")
        door.releases.approve(NAME, body["version"], by="lead")
    door.releases.activate(NAME, documents[0]["version"])


async def rolled(door: Penstock, **more: Any) -> Deployment:
    artifact = {"type": "workflow", "id": NAME, "version": 2}
    asked = msgspec.convert({"artifact": artifact, "strategy": HALF, **more}, DeploymentRequest)
    return await door.deployments.begin(asked, by="it@example.com")


def driving(body: Callable[[Penstock], Awaitable[None]], folder: Path, **options: Any) -> None:
    async def main() -> None:
        async with Penstock(folder / "s.db", **options) as door:
            await body(door)

    asyncio.run(main())


def versions_of(door: Penstock, runs: list[str]) -> list[int]:
    nets = {row.net: row.version for row in door.releases.each(NAME)}
    return [nets[door.row(run).net] for run in runs]


def test_w_9_4_1_monitoring_counts_the_runs_of_each_version(tmp_path: Path) -> None:
    """W-9.4.1, C-58: samples, errors and times of both versions out of the runs themselves; each run is one use."""

    async def body(door: Penstock) -> None:
        released(door, document(1), document(2))
        begun = await rolled(door)
        runs = [await start_release.start(door, NAME, {}) for _ in range(60)]
        for run in runs:
            await door.wait(run)
        got = versions_of(door, runs)
        view = door.deployments.get(begun.id)
        old, new = view.versions
        assert (old.version, old.role, new.version, new.role) == ("1", "old", "2", "new")
        assert (old.samples, new.samples) == (got.count(1), got.count(2)) and 15 <= got.count(2) <= 45
        assert (old.errors, new.errors, new.error_rate) == (0, 0, 0.0)
        assert (view.stages[0].counted, view.stages[0].total) == (got.count(2), 60)

    driving(body, tmp_path)


def test_w_9_4_1_events_and_schedules_start_a_share_too(tmp_path: Path) -> None:
    """W-9.4.1, C-58: a run that an event begins falls to a version like any other; without a rollout to the active."""

    async def body(door: Penstock) -> None:
        trigger = {"type": "event", "config": {"source": "line.stopped"}}
        released(door, document(1, trigger=trigger), document(2, trigger=trigger))
        receipt = await door.send_event("line.stopped", {"line_id": "L01"})
        assert versions_of(door, receipt.started) == [1]
        begun = await rolled(door)
        receipts = [await door.send_event("line.stopped", {"line_id": "L01"}) for _ in range(60)]
        got = versions_of(door, [run for receipt in receipts for run in receipt.started])
        assert len(got) == 60 and 15 <= got.count(2) <= 45
        await door.deployments.roll_back(begun.id)
        receipt = await door.send_event("line.stopped", {"line_id": "L01"})
        assert versions_of(door, receipt.started) == [1]

    driving(body, tmp_path)


def test_w_9_4_1_a_version_that_fails_goes_back_by_itself(tmp_path: Path) -> None:
    """W-9.4.1, W-4.11.2: every run of the new version fails; its trigger takes the rollout back, the reason says by
    what, and the active version never was another."""

    async def body(door: Penstock) -> None:
        released(door, document(1), failing(2))
        begun = await rolled(door, rollback={"auto_rollback": True, "trigger": {"error_rate": 0.05}})
        runs = [await start_release.start(door, NAME, {}) for _ in range(20)]
        for run in runs:
            await door.wait(run)
        got = versions_of(door, runs)
        assert set(got) == {1, 2}
        for _ in range(200):
            view = door.deployments.get(begun.id)
            if view.status != "in_progress":
                break
            await asyncio.sleep(0.05)
        assert view.status == "rolled_back" and view.to_version == "1" and view.percent == 0
        assert view.reason is not None
        assert (view.reason.code, view.reason.metric) == ("TRIGGER_EXCEEDED", "error_rate")
        assert (view.reason.value, view.reason.limit, view.reason.by) == (1.0, 0.05, None)
        assert {row.version: row.status for row in door.releases.each(NAME)} == {1: "active", 2: "approved"}
        assert versions_of(door, [await start_release.start(door, NAME, {}) for _ in range(5)]) == [1] * 5

    driving(body, tmp_path, speed=3600)


# ---- which version is in force ---------------------------------------------------------------------------------------

AT_ONCE = {"type": "immediate"}
#: half, and a second later all
QUICK = {"type": "canary", "canary": {"initial_percent": 50, "increment_percent": 50, "interval_minutes": 0.01}}


async def settled(door: Penstock, id: str) -> Deployment:
    """After its end, and after its rollout has done what that means."""
    for _ in range(400):
        deployment = door.deployments.kept.get(id)
        if deployment.ended and deployment.rollout and door.view(deployment.rollout).status == "COMPLETED":
            return deployment
        await asyncio.sleep(0.02)
    raise AssertionError("it does not end")


def active(door: Penstock) -> list[int]:
    return [row.version for row in door.releases.each(NAME) if row.status == "active"]


async def started(door: Penstock, environment: str = "") -> int:
    """The version that a new run gets."""
    run = await start_release.start(door, NAME, {}, environment=environment)
    return versions_of(door, [run])[0]


def test_w_9_4_1_what_is_deployed_to_staging_stays_there(tmp_path: Path) -> None:
    """W-9.4.1: the active version is the one of the tenant's own environment."""

    async def body(door: Penstock) -> None:
        released(door, document(1), document(2))
        begun = await rolled(door, strategy=AT_ONCE, target={"environment": "staging"})
        assert (await settled(door, begun.id)).status == "succeeded"
        assert active(door) == [1]
        assert (await started(door), await started(door, "staging")) == (1, 2)
        begun = await rolled(door, strategy=AT_ONCE)
        await settled(door, begun.id)
        assert active(door) == [2] and await started(door) == 2

    driving(body, tmp_path)


@pytest.mark.parametrize(
    "wrong", [{"target": {"scope": {"line_ids": ["L01"]}}}, {"strategy": {"type": "rolling"}}], ids=["lines", "rolling"]
)
def test_w_9_4_1_a_definition_has_no_lines(tmp_path: Path, wrong: dict[str, Any]) -> None:
    async def body(door: Penstock) -> None:
        released(door, document(1), document(2))
        with pytest.raises(DeploymentError) as refused:
            await rolled(door, **wrong)
        assert refused.value.code == "PS-422-DEPLOYMENT" and "lines" in str(refused.value)

    driving(body, tmp_path)


def test_w_9_4_1_an_older_rollout_does_not_undo_a_newer_one(tmp_path: Path) -> None:
    """W-9.4.1: a hotfix overtakes a canary; the end of the canary puts nothing in force."""

    async def body(door: Penstock) -> None:
        released(door, document(1), document(2), document(3))
        slow = await rolled(door, strategy=QUICK)
        artifact = {"type": "workflow", "id": NAME, "version": 3}
        hotfix = await door.deployments.begin(msgspec.convert({"artifact": artifact}, DeploymentRequest))
        await settled(door, hotfix.id)
        await settled(door, slow.id)
        assert active(door) == [3] and await started(door) == 3

    driving(body, tmp_path)


def test_w_9_4_1_an_activation_by_hand_is_one_commit(tmp_path: Path) -> None:
    """W-9.4.1: killed right after the commit of an activation, the next process starts runs of that version, though
    another one was rolled out before; other environments keep what they have."""

    class Dead(BaseException):
        pass

    async def first(door: Penstock) -> None:
        released(door, document(1), document(2), document(3))
        await settled(door, (await rolled(door, strategy=AT_ONCE)).id)
        staging = await rolled(door, target={"environment": "staging"})
        move = door.store.move_releases

        def dies(*changes: Any) -> None:
            move(*changes)
            raise Dead

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(door.store, "move_releases", dies)
            with pytest.raises(Dead):
                door.releases.activate(NAME, 3)
        assert door.deployments.get(staging.id).status == "in_progress"

    async def again(door: Penstock) -> None:
        assert active(door) == [3]
        assert [await started(door) for _ in range(5)] == [3] * 5
        newest = door.deployments.each()[0]
        assert (newest.version, newest.previous_version, newest.environment) == ("3", "2", "production")
        assert door.deployments.get(newest.deployment_id).events[0].what == "complete"
        door.releases.activate(NAME, 1)
        assert active(door) == [1] and await started(door) == 1

    driving(first, tmp_path)
    driving(again, tmp_path)


def test_w_9_4_1_a_canary_that_an_activation_covers_is_seen_no_more(tmp_path: Path) -> None:
    async def body(door: Penstock) -> None:
        released(door, document(1), document(2), document(3))
        await rolled(door)
        door.releases.activate(NAME, 3)
        assert [await started(door) for _ in range(10)] == [3] * 10

    driving(body, tmp_path)


def test_w_9_4_1_a_rollback_that_was_killed_halfway_is_done_by_the_same_call_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """W-9.4.1: the row says rolled_back, the active version does not yet; asked for again it does, and no further time
    after somebody has activated another version."""

    class Dead(BaseException):
        pass

    def dies(*_: Any, **__: Any) -> None:
        raise Dead

    async def body(door: Penstock) -> None:
        released(door, document(1), document(2), document(3))
        begun = await rolled(door, strategy=AT_ONCE)
        await settled(door, begun.id)
        with monkeypatch.context() as patched:
            patched.setattr("penstock.app.deployments.deployments.put_back", dies)
            with pytest.raises(Dead):
                await door.deployments.roll_back(begun.id, by="it")
        assert active(door) == [2]
        assert (await door.deployments.roll_back(begun.id, by="it")).status == "rolled_back"
        assert active(door) == [1] and await started(door) == 1
        door.releases.activate(NAME, 2)
        await door.deployments.roll_back(begun.id, by="it")
        assert active(door) == [2] and await started(door) == 2

    driving(body, tmp_path)


def test_w_9_4_1_a_rollback_does_not_lead_to_what_never_was(tmp_path: Path) -> None:
    """W-4.12.1: a rollback is no deployment of another version."""

    async def body(door: Penstock) -> None:
        released(door, document(1), document(2), document(3))
        begun = await rolled(door)
        with pytest.raises(DeploymentError) as refused:
            await door.deployments.roll_back(begun.id, to_version="3")
        assert refused.value.code == "ROLLBACK_TARGET"
        assert active(door) == [1] and door.deployments.get(begun.id).status == "in_progress"

    driving(body, tmp_path)
