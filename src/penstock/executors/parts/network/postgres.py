"""How a tenant's PostgreSQL is connected to: checked addresses, nothing from the environment or the machine's files."""

from __future__ import annotations

from typing import Any

from penstock.executors.contract import Services
from penstock.executors.parts.network.egress_policy import EgressPolicy, egress_policy_of
from penstock.executors.parts.network.http_call import CallRefused
from penstock.executors.parts.network.http_client import resolve

PORTS = (5432, 6432)
_HERE = ("localhost", "127.0.0.0/8", "::1")
_NO_FILE = "/dev/null/none"  # libpq takes an empty name for its default one
_TAKEN = frozenset(
    "host port user password dbname sslmode connect_timeout application_name channel_binding target_session_attrs"
    " keepalives keepalives_idle keepalives_interval keepalives_count client_encoding fallback_application_name"
    " options".split()
)
_FILES = frozenset(("sslrootcert", "sslcert", "sslkey", "sslcrl"))


async def connection_parameters(
    url: str, password: str | None, services: Services, tenant: str, id: str, **more: Any
) -> dict[str, Any]:
    """What to connect with: every host with the addresses that were checked. Raises Refused or Unresolved."""
    from psycopg import Error
    from psycopg.conninfo import conninfo_to_dict

    try:
        given: dict[str, Any] = dict(conninfo_to_dict(url))
    except Error:  # it quotes what it does not understand, which may be the password
        raise CallRefused("HTTP_URL", "validation", f"The url of «{id}» cannot be read.") from None
    shared = services.path_policy.shared
    for name, value in given.items():
        if name not in _TAKEN and not (name in _FILES and (not shared or value == "system")):
            raise CallRefused("HTTP_URL", "validation", f"The url of «{id}» may not say «{name}».")
    if shared and not given.get("user"):
        raise CallRefused("HTTP_URL", "validation", f"The url of «{id}» names no user.")
    given.update(more)
    if password is not None:
        given["password"] = password
    given |= await _pinned(given, services, tenant, id)
    return _without_environment(given)


async def _pinned(given: dict[str, Any], services: Services, tenant: str, id: str) -> dict[str, str]:
    shared = services.path_policy.shared
    hosts = str(given.get("host") or "").split(",")
    ports = str(given.get("port") or "").split(",")
    if len(ports) not in (1, len(hosts)):
        raise CallRefused("HTTP_URL", "validation", f"The url of «{id}» has not as many ports as hosts.")
    if any(not host or host.startswith(("/", "@")) for host in hosts):
        if shared or len(hosts) > 1:
            raise CallRefused("HTTP_BLOCKED", "authorization", f"The url of «{id}» must name a host.")
        return {"host": hosts[0], "hostaddr": "", "port": ports[0] or str(PORTS[0])}
    egress = egress_policy_of(services.settings, tenant, () if shared else _HERE)
    egress = EgressPolicy(egress.rules, egress.ports + PORTS)
    targets: list[tuple[str, str, str]] = []
    for at, host in enumerate(hosts):
        port = ports[at if len(ports) > 1 else 0] or str(PORTS[0])
        if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
            raise CallRefused("HTTP_URL", "validation", f"The url of «{id}» has a port that is none.")
        targets += [(host, address, port) for address in await resolve(host, int(port), egress)]
    names, addresses, numbers = zip(*targets, strict=True)
    return {"host": ",".join(names), "hostaddr": ",".join(addresses), "port": ",".join(numbers)}


def _without_environment(given: dict[str, Any]) -> dict[str, Any]:
    """With what the environment would say said otherwise, and no file of the server's user: not its passwords, not its
    certificate."""
    from psycopg.pq import Conninfo

    parameters = {"password": "", "passfile": _NO_FILE, "sslcert": _NO_FILE, "sslkey": _NO_FILE, **given}
    for option in Conninfo.get_defaults():
        name = option.keyword.decode()
        if name not in parameters and name != "user" and option.envvar is not None and option.val != option.compiled:
            parameters[name] = (option.compiled or b"").decode()
    return parameters
