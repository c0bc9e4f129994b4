"""How many connections a server takes, and how long each may take its time: read from the settings `[server]`."""

from __future__ import annotations

import ipaddress
import resource
from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.errors import BadInput

#: handles that connections never take: the engine opens its store, its files and its calls with them
RESERVE = 64
#: more than that helps nobody, and some systems name a billion
_MOST_HANDLES = 1 << 20


class ConnectionLimits(msgspec.Struct, frozen=True):
    """Times in seconds. `total` 0: as many as the system has handles, less `reserve`."""

    header_s: float = 10.0
    body_idle_s: float = 30.0
    body_s: float = 600.0
    write_idle_s: float = 60.0
    keep_alive_s: float = 30.0
    keep_alive_requests: int = 1000
    header_bytes: int = 16 * 1024
    per_address: int = 64
    total: int = 0
    reserve: int = RESERVE
    #: addresses and networks whose connections are those of many people
    proxies: tuple[str, ...] = ()


#: field → the setting, the least that makes sense
_NAMES: dict[str, tuple[str, float]] = {
    "header_s": ("header_s", 0.1),
    "body_idle_s": ("body_idle_s", 0.1),
    "body_s": ("body_s", 1),
    "write_idle_s": ("write_idle_s", 1),
    "keep_alive_s": ("keep_alive_s", 0),
    "keep_alive_requests": ("keep_alive_requests", 1),
    "header_bytes": ("header_bytes", 1024),
    "per_address": ("connections_per_address", 1),
    "total": ("connections", 0),
    "reserve": ("handles_reserve", 16),
}


def connection_limits(settings: Mapping[str, Any]) -> ConnectionLimits:
    """Raises BadInput for a setting that is none."""
    given: dict[str, Any] = {"proxies": _proxies(settings.get("server.proxies", []))}
    for field, (name, least) in _NAMES.items():
        value = settings.get(f"server.{name}")
        if value is None:
            continue
        whole = isinstance(getattr(ConnectionLimits(), field), int)
        if isinstance(value, bool) or not isinstance(value, int if whole else int | float) or value < least:
            why = f"it is a {'whole number' if whole else 'number of seconds'}, {least:g} or more"
            raise BadInput(what=f"[server] {name}", why=why)
        given[field] = value
    return ConnectionLimits(**given)


def _proxies(value: Any) -> tuple[str, ...]:
    if isinstance(value, list) and all(isinstance(address, str) for address in value):
        try:
            return tuple(str(ipaddress.ip_network(address, strict=False)) for address in value)
        except ValueError:
            pass
    hint = 'Write proxies = ["127.0.0.1", "10.1.0.0/16"].'
    raise BadInput(what="[server] proxies", why="it is a list of addresses and networks", hint=hint)


def handles() -> int:
    """How many the system gives this process."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST_HANDLES if soft == resource.RLIM_INFINITY else min(soft, _MOST_HANDLES)


def raise_handles() -> int:
    """Take as many as the system lets this process have; how many that is."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_HANDLES if hard == resource.RLIM_INFINITY else min(hard, _MOST_HANDLES)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return handles()


def total_of(limits: ConnectionLimits, available: int) -> int:
    """How many connections there may be at once."""
    most = max(available - limits.reserve, 1)
    return min(limits.total, most) if limits.total else most
