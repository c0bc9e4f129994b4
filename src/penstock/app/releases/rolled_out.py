"""Which version of a definition a run gets while one is rolled out (W-9.4, C-58): the one that its id falls to."""

from __future__ import annotations

import secrets
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from penstock.executors.parts.rollout.model import Artifact, Deployment, DeploymentRequest, Stage, Target
from penstock.host.deployment_rows import deployment_id, event_row, row_of
from penstock.host.tenants import StoredTenant, Tenants
from penstock.lifecycle.deployment import DEPLOYMENT as LIFE
from penstock.store.contract import Store
from penstock.store.releases import NewDeployment, ReleaseRow

TYPE: Literal["workflow"] = "workflow"


class RolledOut(msgspec.Struct, frozen=True):
    """A version, and what is counted of the run as a use of it."""

    row: ReleaseRow
    use: dict[str, str]


def rolled_out(
    tenant: StoredTenant, store: Store, row: ReleaseRow, run: str, environment: str = ""
) -> RolledOut | None:  # fmt: skip
    """None where nothing of this definition was ever rolled out there: then the active version is all there is."""
    if (TYPE, row.name, environment or tenant.environment) not in tenant.artifact_versions.layers():
        return None
    deployed = tenant.deployed(TYPE, row.name, environment=environment, run=run)
    if deployed is None or not deployed.layered:
        return None
    version = store.release(row.tenant, row.name, int(deployed.version))
    return RolledOut(row if version is None else version, deployed.use())


def choose_version(store: Store, tenants: Tenants, tenant: str, net: int, run: str) -> tuple[int, dict[str, Any]]:
    """The same for runs that events and schedules begin: the net, and more options of the run."""
    held = tenants.of(tenant)
    if not any(type == TYPE for type, _, _ in held.artifact_versions.layers()):
        return net, {}
    row = next((row for row in store.releases(tenant, status="active") if row.net == net), None)
    picked = None if row is None else rolled_out(held, store, row, run)
    return (net, {}) if picked is None else (picked.row.net, {"used": [picked.use]})


def layer_over(tenant: StoredTenant, row: ReleaseRow, now: int) -> list[NewDeployment]:
    """A version comes in force without a rollout: what is written with it, so that what was rolled out before in the
    tenant's own environment does not hide it. What is covered by it ends by itself at its next look."""
    known, place, version = tenant.deployments, tenant.environment, str(row.version)
    if not known.layers(TYPE, row.name) or known.current(TYPE, row.name) == version:
        return []
    asked = DeploymentRequest(artifact=Artifact(TYPE, row.name, version), target=Target(place))
    begun = Deployment(
        id=deployment_id(tenant.id, f"activated/{row.id}/{secrets.token_hex(8)}"), tenant=tenant.id, artifact_type=TYPE,
        artifact_id=row.name, version=version, previous_version=known.current(TYPE, row.name), environment=place,
        lines=None, request=asked, status=LIFE.initial, percent=100, progress=100, stage=0, stages=[Stage(100)],
        live_lines=None, number=1, run=None, node=None, rollout=None, by=None, reason=None, to_version=None,
        began_at=now, stage_at=now, next_at=None, paused_at=None, ended_at=None,
    )  # fmt: skip
    done = replace(begun, status=LIFE.next(begun.status, "complete"), number=2, ended_at=now)
    text = f"{version} is in force."
    return [(row_of(done), [event_row(begun, "begin", now, text), event_row(done, "complete", now, text)])]
