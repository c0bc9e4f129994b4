"""The time zone of a plant: days, shifts, weeks and times without a zone are the plant's."""

from __future__ import annotations

from datetime import tzinfo

from penstock.executors.contract import Tenant
from penstock.expr.calendar import ZONE
from penstock.expr.cron import zone_of


def plant_zone(tenant: Tenant) -> tzinfo:
    """The zone of the tenant's calendar."""
    calendar = tenant.find("calendar", "default") or {}
    zone = zone_of(str(calendar.get("timezone") or ZONE)) or zone_of(ZONE)
    assert zone is not None, "the zone of the house is in every table"
    return zone
