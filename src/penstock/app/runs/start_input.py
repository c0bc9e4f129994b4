"""What a run is given at its start: an input that fits its document, and the tenant's settings it takes along."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.errors import InputInvalid, TenantConflict
from penstock.expr.calendar import ZONE
from penstock.host.artifact_versions import registered
from penstock.net.compiled import Compiled
from penstock.net.model import Net
from penstock.store.contract import Store
from penstock.store.use_projection import USED

if TYPE_CHECKING:
    from penstock.host.tenants import StoredTenant

_unpack = msgspec.msgpack.decode
#: what a net may carry → where it is registered
_CARRIED = {"config": ("config", "global"), "tenant_config": ("config", "tenant")}


def checked_input(net: Compiled, input: Any) -> Any:
    """The input with the schema's defaults; InputInvalid where it does not fit (W-3.2.7)."""
    schema = net.net.declares.input_schema
    if schema is None:
        return input
    from penstock.executors.parts.json_schema import schema_failure

    given = with_defaults({} if input is None else input, schema)
    wrong = schema_failure(given, schema, "INPUT_INVALID")
    if wrong is not None:
        detail = wrong.failure.detail or {}
        raise InputInvalid(why=wrong.failure.message, where=detail.get("pointer", "") or "/")
    return given


def checked_tenant(net: Net, store: Store, tenant: str) -> None:
    """C-04: a document that names its tenant, by slug or by id, is for no other."""
    named = net.declares.policies.get("tenant")
    if not named or named == tenant:
        return
    settings = (row.body for row in store.artifacts(tenant, "config") if row.id == "tenant")
    if named not in [_unpack(body).get("id") for body in settings]:
        raise TenantConflict(name=net.name, named=named, tenant=tenant)


def with_defaults(value: Any, schema: Any) -> Any:
    if not isinstance(schema, Mapping) or not isinstance(value, dict):
        return value
    filled = dict(value)
    for name, part in (schema.get("properties") or {}).items():
        if not isinstance(part, Mapping):
            continue
        if name in filled:
            filled[name] = with_defaults(filled[name], part)
        elif "default" in part:
            filled[name] = part["default"]
    return filled


def run_options(net: Compiled, store: Store, tenant: str) -> dict[str, Any]:
    """What of the tenant's settings the net's expressions read: it is journaled with the start and never changes."""
    options: dict[str, Any] = {}
    for name in net.net.declares.carries:
        body = calendar_of(store, tenant) if name == "calendar" else registered(store, tenant, *_CARRIED[name])
        if body is not None:
            options[name] = body
    return options


def deployed_options(
    net: Compiled, tenant: StoredTenant, input: Any, run: str, environment: str = ""
) -> dict[str, Any]:  # fmt: skip
    """C-82: settings of which a version was deployed, as they apply to this run, and that they are used."""
    options: dict[str, Any] = {}
    line = input.get("line_id") if isinstance(input, Mapping) else None
    where: dict[str, str] = {"environment": environment, "run": run, "line": line if isinstance(line, str) else ""}
    for name in net.net.declares.carries:
        if name not in _CARRIED:
            continue
        deployed = tenant.deployed(*_CARRIED[name], **where)
        if deployed is not None and deployed.layered:
            options[name] = deployed.body
            options.setdefault(USED, []).append(deployed.use())
    return options


def is_split(net: Compiled, tenant: StoredTenant, environment: str = "") -> bool:
    """Whether a run of this net takes settings along of which a version was deployed: its id says which one."""
    carried = [_CARRIED[name] for name in net.net.declares.carries if name in _CARRIED]
    if not carried:
        return False
    layers, where = tenant.artifact_versions.layers(), environment or tenant.environment
    return any((*thing, where) in layers for thing in carried)


def with_used(options: dict[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Both, with what both say was used."""
    used = [*options.get(USED, ()), *more.get(USED, ())]
    return {**options, **more, **({USED: used} if used else {})}


def calendar_of(store: Store, tenant: str) -> Mapping[str, Any] | None:
    """C-48: the tenant's calendar, with its holidays as dates; one without a time zone goes by the tenant's."""
    body = registered(store, tenant, "calendar", "default")
    if isinstance(body, Mapping) and body.get("timezone"):
        return _expanded(body)
    zone = (registered(store, tenant, "config", "tenant") or {}).get("timezone")
    if isinstance(zone, str) and zone:
        return {**_expanded(body or {}), "timezone": zone}
    return None if body is None else _expanded(body)


def zone_of_tenant(store: Store, tenant: str) -> str:
    """C-31, C-48: the tenant's clock, for schedules and for expressions."""
    return str((calendar_of(store, tenant) or {}).get("timezone") or ZONE)


def _expanded(calendar: Mapping[str, Any]) -> Mapping[str, Any]:
    if all(isinstance(holiday, str) and holiday[:1].isdigit() for holiday in calendar.get("holidays") or ()):
        return calendar
    from penstock.app.registry.calendars import expand_holidays

    return expand_holidays(calendar)
