"""What a run is given at its start: an input that fits its document, and the tenant's settings it takes along."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.errors import InputInvalid
from penstock.net.compiled import Compiled
from penstock.store.contract import Store

_unpack = msgspec.msgpack.decode
#: what a net may carry → where it is registered
_CARRIED = {"calendar": ("calendar", "default"), "config": ("config", "global"), "tenant_config": ("config", "tenant")}


def checked_input(net: Compiled, input: Any) -> Any:
    """The input with the schema's defaults; InputInvalid where it does not fit (W-3.2.7)."""
    schema = net.net.declares.input_schema
    if schema is None:
        return input
    from penstock.executors.parts.finish import mismatch

    given = with_defaults({} if input is None else input, schema)
    wrong = mismatch(given, schema, "INPUT_INVALID")
    if wrong is not None:
        detail = wrong.failure.detail or {}
        raise InputInvalid(why=wrong.failure.message, where=detail.get("pointer", "") or "/")
    return given


def with_defaults(value: Any, schema: Any) -> Any:
    if not isinstance(schema, Mapping) or not isinstance(value, dict):
        return value
    found = dict(value)
    for name, part in (schema.get("properties") or {}).items():
        if not isinstance(part, Mapping):
            continue
        if name in found:
            found[name] = with_defaults(found[name], part)
        elif "default" in part:
            found[name] = part["default"]
    return found


def carried(net: Compiled, store: Store, tenant: str) -> dict[str, Any]:
    """What of the tenant's settings the net's expressions read: it is journaled with the start and never changes."""
    found: dict[str, Any] = {}
    for name in net.net.declares.carries:
        type, id = _CARRIED[name]
        body = next((_unpack(row.body) for row in store.artifacts(tenant, type) if row.id == id), None)
        if body is not None:
            found[name] = _expanded(body) if name == "calendar" else body
    return found


def _expanded(calendar: Mapping[str, Any]) -> Mapping[str, Any]:
    if all(isinstance(one, str) and one[:1].isdigit() for one in calendar.get("holidays") or ()):
        return calendar
    from penstock.app.calendars import expand_holidays

    return expand_holidays(calendar)
