"""The scope of a deployment and the AAS registry: lines are checked there, and what they got is recorded (W-4.11.5)."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from penstock.errors import ForeignTenant, LineUnknown, ScopeEmpty
from penstock.executors.parts.rollout.model import Deployment, Scope
from penstock.host.deploying_tenant import DeployingTenant

#: nothing that is registered says whether there is such a line
UNCHECKED = "lines_unchecked"
_LINE = "line."
_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.decode


def check_scope(tenant: DeployingTenant, scope: Scope) -> tuple[list[str] | None, list[str]]:
    """The lines (None: all), and warnings. Raises where the scope names what is not the tenant's."""
    own = {tenant.id, (tenant.find("config", "tenant") or {}).get("id")}
    for other in scope.tenant_ids or ():
        if other not in own:
            raise ForeignTenant(tenant=tenant.id, other=other)
    if scope.line_ids is None:
        return None, []
    lines = list(dict.fromkeys(scope.line_ids))
    if not lines:
        raise ScopeEmpty
    shells = tenant.each("aas")
    known = tenant.artifact_versions.lines()
    strange = [line for line in lines if line not in known]
    if not strange:
        return lines, []
    if not known or any(id.startswith("source.") for id in shells):  # files and servers may know more of them
        return lines, [UNCHECKED]
    raise LineUnknown(line=strange[0], known=", ".join(known[:20]))


def record_version(tenant: DeployingTenant, deployment: Deployment, at: int) -> None:
    """`deployed` of the lines in the scope says which version is in force in each, and by which deployment."""
    d, name = deployment, f"{deployment.artifact_type}/{deployment.artifact_id}"
    rows = []
    for row in tenant.store.artifacts(tenant.id, "aas"):
        line = row.id.removeprefix(_LINE)
        if line == row.id or d.lines is not None and line not in d.lines:
            continue
        body: Any = _unpack(row.body)
        deployed = tenant.deployed(d.artifact_type, d.artifact_id, environment=d.environment, line=line)
        if not isinstance(body, dict) or deployed is None:
            continue
        by_place = _members(body.get("deployed"))
        known = _members(by_place.get(d.environment))
        if _members(known.get(name)).get("version") == deployed.version:
            continue
        said = {"version": deployed.version, "deployment_id": deployed.deployment or d.id, "at": at}
        by_place[d.environment] = {**known, name: said}
        rows.append(replace(row, body=_pack({**body, "deployed": by_place}), at=at))
    if rows:
        tenant.store.put_artifacts(rows)
        tenant.refresh()


def _members(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, dict) else {}
