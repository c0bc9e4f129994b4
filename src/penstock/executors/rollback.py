"""rollback: returns a deployed artifact to an earlier version, then verifies that it works (W-4.12, C-83).

The switch comes first and is kept by the key of the effect, so that an attempt after a crash finds it done. What fails
the verification fails the node: it is not switched back, for the version that it came from was worse.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from penstock.errors import ArtifactMissing, DeploymentError, ForeignTenant, ScopeEmpty, StatusConflict
from penstock.executors.contract import Outcome, Request, Services, Tenant, failed
from penstock.executors.parts.node_output import finish_output
from penstock.executors.parts.rollout.model import Artifact, Deployment
from penstock.executors.parts.rollout.verification import Candidate, Probe, health_check, problems_of, smoke_test

#: a line that is not known; what begins the name of an asset that is a line
_ANY, _LINE = "", "line."


class StableCriteria(msgspec.Struct, frozen=True):
    min_uptime_hours: Annotated[float, Meta(ge=0)] = 24
    max_error_rate: Annotated[float, Meta(ge=0, le=1)] = 0.01


class TargetVersion(msgspec.Struct, frozen=True):
    strategy: Literal["previous", "specific", "last_stable"] = "previous"
    specific_version: str | int | None = None
    last_stable_criteria: StableCriteria = StableCriteria()


class Override(msgspec.Struct, frozen=True):
    environment: Literal["", "staging", "production"] = ""
    tenant_ids: list[str] | None = None
    line_ids: list[str] | None = None


class Scope(msgspec.Struct, frozen=True):
    match_deploy: bool = True
    override: Override | None = None


class Verification(msgspec.Struct, frozen=True):
    health_check: bool = True
    smoke_test: bool = True
    timeout_ms: Annotated[int, Meta(ge=1)] = 60_000


class Args(msgspec.Struct, frozen=True):
    artifact: Artifact
    target_version: TargetVersion = TargetVersion()
    scope: Scope = Scope()
    verification: Verification = Verification()
    reason: str = ""


class _Place(msgspec.Struct, frozen=True):
    """Where the artifact is switched; `live` is the deployment that is taken back, if there is one."""

    environment: str
    lines: list[str] | None
    live: Deployment | None


class _Switched(msgspec.Struct, frozen=True):
    """What was done: a deployment taken back, or another version put in force."""

    deployment: Deployment
    from_version: str | None
    to_version: str  # in the first line of the scope
    at: int
    lines: list[str] | None
    by_version: list[tuple[str, list[str] | None]]  # every version that lines have got, and which lines


class RollbackExecutor:
    """args: artifact {type, id}, target_version, scope, verification, reason, output."""

    name = "rollback"

    async def run(self, request: Request, services: Services) -> Outcome:
        if services.tenant is None:
            return failed("TENANT_MISSING", "system", "This host has no tenants, so nothing is deployed.")
        tenant = services.tenant(request.tenant)
        try:
            args = msgspec.convert(request.args, Args)
            switched = _switch(args, request, tenant)
        except msgspec.ValidationError as wrong:
            return failed("INPUT_INVALID", "validation", f"The rollback cannot be read: {wrong}.")
        except DeploymentError as error:
            return failed(error.code, error.category, str(error), {"hint": error.hint})
        except StatusConflict as error:
            return failed(error.code, "permanent", str(error), {"hint": error.hint})
        return await _verify(args, switched, request, tenant)


# ---- the switch ------------------------------------------------------------------------------------------------------


def _switch(args: Args, request: Request, tenant: Tenant) -> _Switched:
    """Where and to what was decided once: after a switch, what was before it is something else."""
    deployments, artifact = tenant.deployments, args.artifact
    back = deployments.taken_back_by(request.key, type=artifact.type, artifact=artifact.id)
    if back is not None:
        return _taken_back(back, tenant)
    begun = deployments.by_key(request.key)
    if begun is not None:
        return _put(args, _Place(begun.environment, begun.lines, None), [(begun.version, begun.lines)], request, tenant)
    place = _place(args, request, tenant)
    if args.target_version.strategy == "previous" and args.scope.override is None and place.live is not None:
        reason = args.reason or _reason(args, place)
        back = deployments.roll_back(place.live.id, at=request.at, reason=reason, key=request.key)
        return _taken_back(back, tenant)
    return _put(args, place, _versions(args, place, request, tenant), request, tenant)


def _taken_back(deployment: Deployment, tenant: Tenant) -> _Switched:
    """What lies beneath shows again, in each line what was there."""
    d, to_version = deployment, deployment.to_version or ""
    lines = d.lines if d.lines is not None else _known_lines(tenant)
    by_version: dict[str, list[str]] = {}
    for line in lines:
        current = tenant.deployments.current(d.artifact_type, d.artifact_id, environment=d.environment, line=line)
        by_version.setdefault(current or to_version, []).append(line)
    groups: list[tuple[str, list[str] | None]] = [(to_version, d.lines)]
    if len(by_version) > 1:
        groups = [*by_version.items()]
    return _Switched(d, d.version, to_version, d.ended_at or d.began_at, d.lines, groups)


def _known_lines(tenant: Tenant) -> list[str]:
    return sorted(id.removeprefix(_LINE) for id in tenant.each("aas") if id.startswith(_LINE))


def _put(
    args: Args, place: _Place, versions: list[tuple[str, list[str] | None]], request: Request, tenant: Tenant
) -> _Switched:
    (version, lines), *others = versions
    done = tenant.deployments.switch(
        args.artifact.type, args.artifact.id, environment=place.environment, lines=lines, version=version,
        at=request.at, key=request.key, run=request.run, node=request.node.removesuffix(".do"),
        reason=args.reason or _reason(args, place), others={other: some or [] for other, some in others},
    )  # fmt: skip
    more = [line for some in done.request.others.values() for line in some]
    reached = None if done.lines is None else [*done.lines, *more]
    own = done.lines
    if own is None and more:
        own = [line for line in _known_lines(tenant) if line not in more]
    by_version = [(done.version, own), *done.request.others.items()]
    return _Switched(done, done.previous_version, done.version, done.began_at, reached, by_version)


def _place(args: Args, request: Request, tenant: Tenant) -> _Place:
    """W-4.12.2: the scope of the deployment that this run has made, else of the newest one where the run works; or one
    that is given."""
    artifact, override = args.artifact, args.scope.override
    if not tenant.versions(artifact.type, artifact.id):
        raise ArtifactMissing(type=artifact.type, id=artifact.id)
    if override is not None:
        _check_override(override, tenant)
    every = tenant.deployments.every(type=artifact.type, artifact=artifact.id, limit=200)
    live = [deployment for deployment in every if _has_share(deployment)]
    environment: str = override.environment if override is not None else ""
    own = [known for known in live if known.run == request.run and environment in ("", known.environment)]
    environment = environment or (own[0].environment if own else request.environment or tenant.environment)
    there = [deployment for deployment in own or live if deployment.environment == environment]
    newest = next(iter(there), None)
    if override is not None:
        return _Place(environment, override.line_ids, newest)
    return _Place(environment, newest.lines if newest is not None else None, newest)


def _has_share(deployment: Deployment) -> bool:
    return not deployment.ended or deployment.status != "rolled_back" and deployment.percent > 0


def _check_override(override: Override, tenant: Tenant) -> None:
    if override.line_ids is not None and not override.line_ids:
        raise ScopeEmpty
    own = {tenant.id, (tenant.find("config", "tenant") or {}).get("id")}
    for other in override.tenant_ids or ():
        if other not in own:
            raise ForeignTenant(tenant=tenant.id, other=other)


def _versions(args: Args, place: _Place, request: Request, tenant: Tenant) -> list[tuple[str, list[str] | None]]:
    """W-4.12.1: what was in force before, the one that is named, or the newest that has been stable: versions, and the
    lines that get each."""
    target, artifact = args.target_version, args.artifact
    if target.strategy == "specific":
        if target.specific_version in (None, ""):
            raise DeploymentError(why="«specific» needs a «specific_version»")
        return [(str(target.specific_version), place.lines)]
    if target.strategy == "last_stable":
        criteria = target.last_stable_criteria
        by_line = tenant.deployments.last_stable_by_line(
            artifact.type, artifact.id, environment=place.environment, lines=place.lines,
            min_uptime_hours=criteria.min_uptime_hours, max_error_rate=criteria.max_error_rate, at=request.at,
        )  # fmt: skip
    else:
        by_line = tenant.deployments.previous_by_line(
            artifact.type, artifact.id, environment=place.environment, lines=place.lines
        )  # fmt: skip
    return _grouped(by_line, args, place, tenant)


def _grouped(by_line: dict[str, str], args: Args, place: _Place, tenant: Tenant) -> list[tuple[str, list[str] | None]]:
    """Lines that get the same version together, the most general first. A line for which there is none keeps what it
    has."""
    artifact, wanted = args.artifact, dict(by_line)
    groups: dict[str, list[str]] = {}
    everywhere = wanted.pop(_ANY, None)
    if everywhere is not None:
        for line in _known_lines(tenant):
            kept = tenant.deployments.current(artifact.type, artifact.id, environment=place.environment, line=line)
            wanted.setdefault(line, kept or everywhere)
    for line, version in wanted.items():
        if version != everywhere:
            groups.setdefault(version, []).append(line)
    if everywhere is None and len(groups) == 1 and place.lines is not None and len(wanted) == len(place.lines):
        return [(version, place.lines) for version in groups]
    first: list[tuple[str, list[str] | None]] = [] if everywhere is None else [(everywhere, None)]
    return [*first, *groups.items()]


def _reason(args: Args, place: _Place) -> str:
    """What the deployment says of itself; else that somebody wanted another version."""
    if place.live is not None and place.live.reason:
        return place.live.reason
    return f"A rollback to the {args.target_version.strategy.replace('_', ' ')} version was asked for."


# ---- the verification ------------------------------------------------------------------------------------------------


async def _verify(args: Args, switched: _Switched, request: Request, tenant: Tenant) -> Outcome:
    probes: list[Probe] = []
    checks = {"health_check": args.verification.health_check, "smoke_test": args.verification.smoke_test}
    deployment = switched.deployment
    problem = ""
    try:
        async with asyncio.timeout(args.verification.timeout_ms / 1000):
            for version, lines in switched.by_version:
                candidate = Candidate(deployment.artifact_type, deployment.artifact_id, version, lines)
                if checks["health_check"]:
                    probes += await health_check(candidate, tenant, request.at)
                if checks["smoke_test"]:
                    tested = await smoke_test(candidate, tenant, request.at)
                    probes += tested if len(switched.by_version) == 1 else _of_version(version, tested)
        problem = problems_of(probes)
    except TimeoutError:
        problem = f"it was not verified within {args.verification.timeout_ms} ms"
    output = _output(switched, _verified(checks, probes, problem), problem)
    if not problem:
        return await finish_output(request, output)
    message = f"{deployment.artifact_type} «{deployment.artifact_id}» is {switched.to_version} again, but: {problem}"
    hint = "It was not switched back. Correct the version, or roll back to another one."
    return failed("VERIFICATION_FAILED", "permanent", message, {"output": output, "hint": hint})


def _of_version(version: str, probes: list[Probe]) -> list[Probe]:
    return [msgspec.structs.replace(probe, name=f"{version}: {probe.name}") for probe in probes]


def _verified(checks: Mapping[str, bool], probes: list[Probe], problem: str) -> dict[str, Any]:
    """W-4.12.5, C-83: for each check whether it passed and what it asked; a check that was not wanted is skipped."""
    verified: dict[str, Any] = {}
    for check, wanted in checks.items():
        asked = [probe for probe in probes if probe.check == check]
        passed = all(probe.ok for probe in asked) and (bool(asked) or not problem)
        shown = [{"name": probe.name, "ok": probe.ok, "problem": probe.problem} for probe in asked]
        verified[check] = {"status": ("passed" if passed else "failed") if wanted else "skipped", "probes": shown}
    return verified


def _output(switched: _Switched, verification: dict[str, Any], problem: str) -> dict[str, Any]:
    deployment = switched.deployment
    moment = datetime.fromtimestamp(switched.at / 1000, UTC).isoformat(timespec="milliseconds")
    return {
        "status": "failed" if problem else "succeeded",
        "artifact_id": deployment.artifact_id,
        "artifact_type": deployment.artifact_type,
        "from_version": switched.from_version,
        "to_version": switched.to_version,
        "rolled_back_at": moment.replace("+00:00", "Z"),
        "verification": verification,
        "reason": deployment.reason or "",
        "environment": deployment.environment,
        "affected_scope": {"line_ids": switched.lines},
        "deployment_id": deployment.id,
    }
