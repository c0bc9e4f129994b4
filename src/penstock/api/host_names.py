"""The names that a server is called by: a page whose own name was made to point here is not ours."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Mapping
from typing import Any

from penstock.errors import BadInput

#: in a list of names: whoever calls by address; no page of another site has an address for its name
ADDRESSES = "*.*"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def hosts_of(settings: Mapping[str, Any], host: str, names: tuple[str, ...] = ()) -> tuple[str, ...]:
    """`--name` and `[server] allowed_hosts`; without them any name on loopback, beyond it the machine's own and
    addresses."""
    allowed = settings.get("server.allowed_hosts", [])
    if not isinstance(allowed, list) or not all(isinstance(name, str) and name for name in allowed):
        hint = 'Write allowed_hosts = ["flows.example.com", "*.plant.example.com"]; "*" is any name.'
        raise BadInput(what="[server] allowed_hosts", why="it is a list of names", hint=hint)
    given = tuple(name.lower().rstrip(".") for name in (*names, *allowed))
    if "*" in given:
        return ()
    if given:
        return (*given, host)
    if host in _LOOPBACK:
        return ()
    machine = {socket.gethostname().lower(), socket.getfqdn().lower()}
    return ("localhost", host, *sorted(machine), ADDRESSES)


def is_ours(host: str, hosts: tuple[str, ...]) -> bool:
    """Whether a request for this name is for us; `*.x` is every name below x."""
    host = host.rstrip(".")
    if not hosts or host in hosts:
        return True
    for name in hosts:
        if name == ADDRESSES:
            if _is_address(host):
                return True
        elif name.startswith("*.") and host.endswith(name[1:]):
            return True
    return False


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
