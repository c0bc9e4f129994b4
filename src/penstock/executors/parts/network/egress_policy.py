"""Which places an outgoing call may reach: public addresses, and what the operator has listed."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

PORTS = (80, 443, 8080, 8443)
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
#: Not marked as special by every supported Python version, and where clouds tell machines about themselves.
_NEVER: tuple[Network, ...] = tuple(
    map(
        ipaddress.ip_network,
        "192.88.99.0/24 192.0.0.0/24 168.63.129.16/32 64:ff9b:1::/48 fec0::/10 3fff::/20 5f00::/16 100::/64".split(),
    )
)


def is_public(address: Address) -> bool:
    """Global, and no way around: addresses that carry another address count as the one they carry."""
    if isinstance(address, ipaddress.IPv6Address):
        carried = address.ipv4_mapped or address.sixtofour
        if carried is None and address in _NAT64:
            carried = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
        if carried is not None:
            return is_public(carried)
        if address.teredo is not None:
            return False
    if any(address in network for network in _NEVER if network.version == address.version):
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


class AllowRule(msgspec.Struct, frozen=True):
    """One line of the operator's list: a host name, `*.suffix`, an address or a network, with a port or without."""

    host: str
    network: Network | None
    port: int | None

    def names(self, host: str) -> bool:
        if self.network is not None:
            return False
        return host.endswith(self.host[1:]) if self.host.startswith("*.") else host == self.host

    def holds(self, address: Address) -> bool:
        return self.network is not None and address.version == self.network.version and address in self.network


class EgressPolicy(msgspec.Struct, frozen=True):
    """What one attempt may reach."""

    rules: tuple[AllowRule, ...] = ()
    ports: tuple[int, ...] = PORTS

    def listed(self, host: str, port: int) -> bool:
        host = host.lower().rstrip(".")
        return any(rule.names(host) and rule.port in (None, port) for rule in self.rules)

    def allows(self, host: str, port: int, address: Address) -> bool:
        if self.listed(host, port):
            return True
        carried = getattr(address, "ipv4_mapped", None) or address
        if any(rule.holds(carried) and rule.port in (None, port) for rule in self.rules):
            return True
        return port in self.ports and is_public(address)


def egress_policy_of(settings: Mapping[str, Any], tenant: str = "", also: Iterable[str] = ()) -> EgressPolicy:
    """`http.allow` is a list, or a mapping from tenant to list in which `*` is for everyone; what
    `tenants.NAME.http.allow` lists is for one tenant."""
    allow = settings.get("http.allow") or ()
    if isinstance(allow, Mapping):
        allow = [*(allow.get("*") or ()), *(allow.get(tenant) or ())]
    own = settings.get(f"tenants.{tenant}.http.allow") or ()
    rules = tuple(_rule(str(line)) for line in (*allow, *own, *also))
    return EgressPolicy(rules, tuple(settings.get("http.ports") or PORTS))


def _rule(line: str) -> AllowRule:
    text, port = line.strip().lower(), None
    head, colon, tail = text.rpartition(":")
    if colon and tail.isdigit() and ("]" in head or ":" not in head):
        text, port = head, int(tail)
    text = text.strip("[]")
    try:
        return AllowRule(text, ipaddress.ip_network(text, strict=False), port)
    except ValueError:
        return AllowRule(text.rstrip("."), None, port)
