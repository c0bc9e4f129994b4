"""What rules read from outside their data: the clock, the calendar and the configuration (C-48, C-82)."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Collection, Mapping
from typing import Any, cast

from penstock.executors.contract import Request, Tenant
from penstock.executors.parts.deployed_versions import in_use

_SETTINGS = {"$config": ("config", "global"), "$tenant_config": ("config", "tenant")}


def rule_names(reads: Collection[str], request: Request, tenant: Tenant | None) -> Mapping[str, Any]:
    """The names for rules that read these roots: the run's own, and what it does not carry from what is registered."""
    settings: dict[str, Any] = {}
    for root in reads:
        if _carried(request.names, root) is not None:
            continue
        if root == "$now":
            settings[root] = request.at
        elif tenant is not None and root in _SETTINGS:
            settings[root] = in_use(tenant, *_SETTINGS[root], request)
        elif tenant is not None and root == "$calendar":
            settings[root] = _calendar(tenant)
    known = {root: value for root, value in settings.items() if value is not None}
    return ChainMap(known, cast(Any, request.names)) if known else request.names


def _carried(names: Mapping[str, Any], root: str) -> Any:
    try:
        return names[root]
    except KeyError:
        return None


def _calendar(tenant: Tenant) -> Mapping[str, Any] | None:
    """The tenant's calendar. Holidays that are named by their country are dates only in what a run carries."""
    calendar = tenant.find("calendar", "default") or {}
    zone = calendar.get("timezone") or (tenant.find("config", "tenant") or {}).get("timezone")
    holidays = calendar.get("holidays") or ()
    days = holidays if isinstance(holidays, list | tuple) else [holidays]
    if not all(isinstance(day, str) and day[:1].isdigit() for day in days):
        return None
    return {**calendar, **({"timezone": zone} if zone else {})} or None
