"""Rollouts of definitions (W-9.4): which version may be rolled out, and what its end means for the active one."""

from __future__ import annotations

from msgspec.structs import replace

from penstock.app.releases.releases import Releases
from penstock.app.releases.triggers import active_release
from penstock.app.runs.runs import Runs
from penstock.errors import BadInput, DeploymentError, ReleaseNotFound
from penstock.executors.parts.rollout.model import Deployment, DeploymentRequest
from penstock.store.releases import ReleaseRow

TYPE = "workflow"


def checked_definition(door: Runs, asked: DeploymentRequest) -> DeploymentRequest:
    """The request with the version that is meant: where none is named, the newest that is approved. Raises
    ReleaseNotFound; StatusConflict for one that nobody has approved; FourEyes where a second person should have;
    DeploymentError where it is for some lines only: a run is of no line, so there would be nobody to get it."""
    if asked.artifact.type != TYPE:
        return asked
    if asked.target.scope.line_ids:
        raise DeploymentError(why="a workflow has no lines, so «scope.line_ids» is not for it")
    if asked.strategy.type == "rolling":
        raise DeploymentError(why="a workflow has no lines, so it cannot be «rolling»; «canary» goes by shares of runs")
    releases = Releases(door)
    row = _asked_for(releases, asked.artifact.id, asked.artifact.version)
    releases.refuse_unready(row)
    return replace(asked, artifact=replace(asked.artifact, version=str(row.version)))


def _asked_for(releases: Releases, name: str, version: str | int | None) -> ReleaseRow:
    if version is not None:
        return releases.get(name, version_number(version))
    approved = [row for row in releases.each(name) if row.status == "approved"]
    if not approved:
        raise ReleaseNotFound(name=name, version=None)
    return approved[-1]


def version_number(version: str | int) -> int:
    """Versions of definitions are counted; those of other things are texts."""
    text = str(version)
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        hint = "Write the number of a version: `penstock releases ls NAME` lists them."
        raise BadInput(what="the version of a workflow", why=f"«{text[:40]}» is no number", hint=hint)
    return int(text)


def put_in_force(door: Runs, name: str, version: str) -> None:
    """The end of a rollout: the active version is the one that was rolled out. Again, it changes nothing. Who began
    the rollout is no second pair of eyes: whoever has approved the version is."""
    releases, number = Releases(door), version_number(version)
    if releases.get(name, number).status != "active":
        releases.activate(name, number)


def check_target(door: Runs, deployment: Deployment, to_version: str | None) -> None:
    """Raises ReleaseNotFound, or FourEyes where a second person should have approved what it is to go back to."""
    if deployment.artifact_type == TYPE and to_version is not None:
        releases = Releases(door)
        releases.refuse_unseen(releases.get(deployment.artifact_id, version_number(to_version)))


def put_back(door: Runs, deployment: Deployment, *, again: bool) -> None:
    """A rollout was taken back: the version before is the active one, if what was rolled out had come in force. Asked
    for again, after a crash, it does what is missing, and nothing where another version has come in force since."""
    tenant, version = door.stored_tenant, deployment.to_version
    if deployment.artifact_type != TYPE or deployment.status != "rolled_back" or version is None:
        return
    if deployment.environment != tenant.environment or not tenant.deployments.is_top(deployment):
        return
    active = active_release(door.store, door.tenant, deployment.artifact_id)
    if not again or active is not None and str(active.version) == deployment.version:
        put_in_force(door, deployment.artifact_id, version)
