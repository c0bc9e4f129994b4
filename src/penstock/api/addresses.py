"""Who calls, by address."""

from __future__ import annotations

import ipaddress

from fastapi import Request


def network_of(host: str) -> str:
    """An address as limits count it. Of IPv6 the network: a host has as many as it likes."""
    host = host.partition("%")[0]
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host[:64] or "unknown"
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, 64), strict=False))


def address_of(request: Request) -> str:
    """The caller's address, as a trusted proxy says it."""
    return network_of(request.client.host if request.client is not None else "")
