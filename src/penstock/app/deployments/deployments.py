"""Deployments by hand: look at them, begin one, pause it, let it go on, take it back."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from penstock.app.access.candidates import Who, id_of
from penstock.app.deployments.checks import check_asked
from penstock.app.deployments.definitions import check_target, checked_definition, put_back
from penstock.app.deployments.detail import detail_of, status_of, summary_of
from penstock.app.deployments.rollouts import Missing, key_of, missing_rollout
from penstock.app.deployments.views import DeploymentStatus, DeploymentSummary, DeploymentView
from penstock.app.runs.runs import Runs
from penstock.errors import NotAllowed, NotTaken, NotWaiting, RunNotFound
from penstock.executors.parts.rollout.model import Deployment, DeploymentRequest
from penstock.lang.rollout_net import CHANGED, ROLLOUT

if TYPE_CHECKING:
    from penstock.host.deployments import TenantDeployments


class Deployments:
    """Of one door's tenant. Moves are written at once, whoever drives the store; its rollout hears of them."""

    def __init__(self, door: Runs) -> None:
        self.door = door

    @property
    def kept(self) -> TenantDeployments:
        return self.door.stored_tenant.deployments

    def now(self) -> int:
        return self.door.store_now()

    # -- looking -------------------------------------------------------------------------------------------------------

    def each(
        self, *, status: Sequence[str] = (), type: str = "", artifact: str = "", environment: str = "",
        limit: int = 50, before: str | None = None,
    ) -> list[DeploymentSummary]:  # fmt: skip
        """Newest first; `before`: those that were begun before this one."""
        rows = self.kept.every(
            status=status, type=type, artifact=artifact, environment=environment, limit=limit, before=before
        )
        return [summary_of(self.kept, row) for row in rows]

    def status(self, id: str) -> DeploymentStatus:
        return status_of(self.kept.get(id))

    def get(self, id: str, permissions: Collection[str] = ()) -> DeploymentView:
        """A deployment as a whole. `permissions`: what whoever looks may do."""
        return self._view(self.kept.get(id), permissions)

    def _view(self, deployment: Deployment, permissions: Collection[str]) -> DeploymentView:
        simulation = deployment.request.simulation or self._simulation(deployment)
        return detail_of(
            self.kept, deployment, now=self.now(), simulation=simulation, permissions=permissions
        )  # fmt: skip

    def _simulation(self, deployment: Deployment) -> str | None:
        """The newest simulation of what is deployed: of the run that deploys it, else of anybody."""
        rows = self.door.store.simulations(
            self.door.tenant, artifact_type=deployment.artifact_type, artifact_id=deployment.artifact_id, limit=50
        )
        same = [row for row in rows if row.candidate == deployment.version]
        own = [row for row in same if deployment.run is not None and row.run == deployment.run]
        return next((row.id for row in (*own, *same)), None)

    # -- moving --------------------------------------------------------------------------------------------------------

    async def begin(self, asked: DeploymentRequest, *, by: Who | None = None, key: str | None = None) -> Deployment:
        """Begin one: its first stage is live when this returns, and a run moves it on. The same key again is the same
        deployment. Raises ArtifactMissing, VersionMissing, LineUnknown, ForeignTenant; FourEyes and ReleaseNotFound
        where a definition's version may not come in force."""
        check_asked(asked, self.door.stored_tenant.environment)
        asked = checked_definition(self.door, asked)
        key = key or secrets.token_hex(16)
        deployment = self.kept.begin(asked, key=f"by-hand/{key}", at=self.now(), by=_name(by))
        await self.watch(deployment.id)
        return self.kept.get(deployment.id)

    async def watch(self, id: str) -> None:
        """Where no run moves it on, it gets one; it may have been killed before that began."""
        row = self.door.store.deployment(self.door.tenant, id)
        if row is None or row.status not in ("in_progress", "paused"):
            return
        missing = missing_rollout(self.door.store, row, self.now())
        if missing is not None:
            await self._start(missing)

    async def _start(self, missing: Missing) -> None:
        release, (key, given) = self.door.release(ROLLOUT), missing
        if self.door.drives:
            await self.door.start(release, given, key=key)
        else:
            with contextlib.suppress(NotTaken):  # it is left for whoever drives the store next
                await self.door.hand_in(release, given, key=key)

    async def pause(self, id: str, *, by: Who | None = None, reason: str = "") -> Deployment:
        """No stage follows until it is resumed; the share stays. Raises StatusConflict."""
        return await self._moved(self.kept.pause(id, at=self.now(), by=_name(by), reason=reason))

    async def resume(self, id: str, *, by: Who | None = None, reason: str = "") -> Deployment:
        """What was left of the stage is waited for. Raises StatusConflict."""
        return await self._moved(self.kept.resume(id, at=self.now(), by=_name(by), reason=reason))

    async def promote(self, id: str, *, by: Who | None = None, reason: str = "") -> Deployment:
        """The next stage now, whatever the criteria say. Raises StatusConflict."""
        return await self._moved(self.kept.promote(id, at=self.now(), by=_name(by), reason=reason))

    async def roll_back(
        self, id: str, *, by: Who | None = None, reason: str = "", to_version: str | None = None
    ) -> Deployment:  # fmt: skip
        """Take it back: what was before applies again, or another version. Again, it changes nothing."""
        before = self.kept.get(id)
        check_target(self.door, before, to_version)
        after = self.kept.roll_back(id, at=self.now(), by=_name(by), reason=reason, to_version=to_version)
        put_back(self.door, after, again=before.status == "rolled_back")
        await self._tell_end(after)
        return await self._moved(after)

    async def _tell_end(self, deployment: Deployment) -> None:
        """Where it had ended before it was taken back its rollout is over, and nobody would be told: another one ends
        it once more. The same key is the same run, so again it changes nothing."""
        told = deployment.rollout is not None and deployment.request.notification.get("on_rollback") is True
        if told and any(event.what in ("complete", "fail") for event in self.kept.history(deployment.id)):
            key = f"{key_of(deployment.id)}/back"
            await self._start(Missing(key, {"deployment_id": deployment.id, "again": True}))

    async def take_back_own(self, id: str, *, by: str, reason: str = "") -> Deployment:
        """The same for a run of the tenant (W-11.3.11). Raises NotAllowed for what people have begun by hand."""
        if self.kept.get(id).run is None:
            raise NotAllowed(user=by, permission="deploy.rollback")
        return await self.roll_back(id, by=by, reason=reason)

    async def _moved(self, deployment: Deployment) -> Deployment:
        """Its rollout hears of it; one that has ended, or that nobody drives now, looks by itself when it goes on.
        Where there is none any more, another one begins."""
        await self.watch(deployment.id)
        if deployment.rollout is not None:
            with contextlib.suppress(NotWaiting, NotTaken, RunNotFound):
                id = f"{deployment.id}/{deployment.number}"
                await self.door.signal(deployment.rollout, CHANGED, {"deployment_id": deployment.id}, id=id)
        return deployment


def _name(by: Who | None) -> str:
    return "" if by is None else id_of(by)
