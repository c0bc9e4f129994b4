"""Which version is the candidate and which the baseline (C-59)."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

import msgspec

from penstock.errors import DocumentInvalid
from penstock.executors.contract import Tenant
from penstock.executors.parts.rules.evaluate import Judge, compile_pack
from penstock.executors.parts.simulation.changes import ChangeRefused, apply_changes
from penstock.executors.parts.simulation.order import (
    CURRENT,
    ENVIRONMENTS,
    ArtifactName,
    CandidateSources,
    Order,
    OrderInvalid,
    WhatIf,
)
from penstock.executors.parts.simulation.wording import warning

_NOT_FOUND = {"rule_pack": "RULE_PACK_NOT_FOUND", "prompt": "TEMPLATE_NOT_FOUND"}


class Version(msgspec.Struct, frozen=True):
    """One version of an artifact, with what it says. `label` is how people call it."""

    type: str
    id: str
    version: str | None
    body: Mapping[str, Any]
    label: str = ""


class Sides(msgspec.Struct):
    """What is compared; `baseline` is None where no version is deployed."""

    candidate: Version
    baseline: Version | None
    warnings: list[dict[str, Any]] = msgspec.field(default_factory=list)


def sides_of(order: Order, tenant: Tenant) -> Sides:
    """Both sides of the comparison. Raises OrderInvalid."""
    name, inline = _subject(order.candidate)
    warnings: list[dict[str, Any]] = []
    what_if = order.mode.what_if
    if order.mode.type == "what_if" or order.candidate.artifact is None and what_if and what_if.modifications:
        candidate = _changed(order, name, tenant, warnings)
    elif inline is not None:
        candidate = Version(name.type, name.id, str(inline.get("version") or "") or None, inline)
    else:
        candidate = _registered(name, tenant, warnings)
    baseline = _baseline(order.comparison.baseline, name, tenant)
    if baseline is None:
        warnings.append(warning("no_baseline"))
    return Sides(candidate, baseline, warnings)


def _subject(sources: CandidateSources) -> tuple[ArtifactName, Mapping[str, Any] | None]:
    """What is to be changed, and its body where a variable holds the whole rule pack."""
    named = sources.artifact or sources.deploy
    if named is not None:
        return named, None
    pack = sources.rule_pack
    if isinstance(pack, Mapping) and isinstance(pack.get("id"), str):
        whole = any(pack.get(form) for form in ("rules", "table", "decisions"))
        version = pack.get("version")
        return ArtifactName(pack["id"], "rule_pack", version), pack if whole else None
    for text in (pack, sources.rule_pack_id):
        if isinstance(text, str) and text:
            return ArtifactName(text), None
    hint = "Write `artifact: {type, id}` on the node, or give the run an input.rule_pack_id."
    raise OrderInvalid("There is nothing to simulate: no candidate is named.", hint=hint)


def _registered(name: ArtifactName, tenant: Tenant, warnings: list[dict[str, Any]]) -> Version:
    """The version asked for, in whatever status; else the newest that is in force, as a DEPLOY would take it."""
    if name.version is None:
        body = tenant.find(name.type, name.id)
        if body is not None:
            return Version(name.type, name.id, str(body.get("version") or "") or None, body)
        raise _unknown(name)
    asked = str(name.version)
    for version, status, body in tenant.versions(name.type, name.id):
        if version == asked:
            if status not in ("approved", "active"):
                warnings.append(warning("candidate_not_approved", version=version, status=status))
            return Version(name.type, name.id, version, body)
    raise _unknown(name)


def _unknown(name: ArtifactName) -> OrderInvalid:
    version = f" in version {name.version}" if name.version is not None else ""
    code = "VERSION_NOT_FOUND" if name.version is not None else _NOT_FOUND.get(name.type, "ARTIFACT_NOT_FOUND")
    return OrderInvalid(f"There is no {name.type} «{name.id}»{version}.", code=code, hint="Register it first.")


def _baseline(scenario: str, name: ArtifactName, tenant: Tenant) -> Version | None:
    if scenario.startswith(CURRENT):
        environment = scenario.removeprefix(CURRENT)
        _check_environment(environment, tenant)
        deployments = getattr(tenant, "deployments", None)
        version = deployments.current(name.type, name.id, environment=environment) if deployments is not None else None
        if version is None:
            return None
    else:
        version = scenario
    body = next((body for known, _, body in tenant.versions(name.type, name.id) if known == version), None)
    if body is None:
        raise _unknown(ArtifactName(name.id, name.type, version))
    return Version(name.type, name.id, version, body)


def _check_environment(environment: str, tenant: Tenant) -> None:
    """Where nothing can be deployed nothing is current. Raises OrderInvalid."""
    known = sorted({*ENVIRONMENTS, getattr(tenant, "environment", "") or "production"})
    if environment not in known:
        close = get_close_matches(environment, known, 1)
        names = ", ".join(f"{CURRENT}{name}" for name in known)
        hint = f"Did you mean «{CURRENT}{close[0]}»?" if close else f"Write {names}, or a version."
        raise OrderInvalid(f"There is no environment «{environment[:60]}».", hint=hint)


def _changed(order: Order, name: ArtifactName, tenant: Tenant, warnings: list[dict[str, Any]]) -> Version:
    if name.type != "rule_pack":
        raise OrderInvalid(f"Modifications change rules; a {name.type} has none.", hint="Simulate a version of it.")
    what_if = order.mode.what_if
    if what_if is None:
        raise OrderInvalid("mode.what_if is missing.", hint="Write what_if: {modifications: […]}.")
    named = order.candidate.artifact
    if named is not None and named.version is not None and what_if.base_scenario == WhatIf().base_scenario:
        base: Version | None = _registered(named, tenant, warnings)
    else:
        base = _baseline(what_if.base_scenario, name, tenant)
    if base is None:
        base = _registered(ArtifactName(name.id, name.type), tenant, warnings)
        warnings.append(warning("base_not_deployed", version=base.version))
    try:
        body = apply_changes(base.body, what_if.modifications)
    except ChangeRefused as refused:
        raise OrderInvalid(str(refused), code="INPUT_INVALID", hint=refused.hint) from None
    return Version(name.type, name.id, f"{base.version}+what_if", body)


def judge_of(version: Version) -> Judge:
    """The compiled rules. Raises OrderInvalid, with what is wrong with them."""
    try:
        return compile_pack(version.body)
    except DocumentInvalid as wrong:
        findings = [str(finding) for finding in wrong.findings if finding.severity == "error"][:20]
        message = f"The rule pack «{version.id}» {version.version or ''} has errors: {wrong}"
        raise OrderInvalid(message, code="SCHEMA_INVALID", detail={"findings": findings}) from None
