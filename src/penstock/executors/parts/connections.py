"""Connections: what a tenant has registered under a name, and how a node without a name finds its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.executors.contract import Request, Services, Tenant
from penstock.executors.parts.network.http_call import CallRefused
from penstock.executors.parts.secrets import Secrets


class Connection(msgspec.Struct, frozen=True):
    """One registered connection; `body` is what the tenant has written."""

    id: str
    type: str
    body: Mapping[str, Any]

    @property
    def options(self) -> Mapping[str, Any]:
        options = self.body.get("options")
        return options if isinstance(options, Mapping) else {}

    def limit(self, name: str, services: Services, kind: str, otherwise: int) -> int:
        """A whole number above nought: the connection's option, else the operator's setting `kind.name`."""
        for value in (self.options.get(name), services.settings.get(f"{kind}.{name}")):
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
        return otherwise


def tenant_of(request: Request, services: Services) -> Tenant:
    if services.tenant is None:
        raise CallRefused("CONNECTION_NOT_FOUND", "validation", "This host has no tenants, so nothing is registered.")
    return services.tenant(request.tenant)


def tenant_secrets(request: Request, services: Services) -> Secrets:
    """The tenant's; none where the host has no tenants."""
    return Secrets(None if services.tenant is None else services.tenant(request.tenant).secret)


def connection_of(args: Mapping[str, Any], tenant: Tenant, default: str, types: tuple[str, ...]) -> Connection:
    """The connection that the node names, else the tenant's default of that kind (C-24)."""
    id = args.get("connection") or default
    body = tenant.find("connection", str(id))
    if not isinstance(id, str) or body is None:
        given = "" if args.get("connection") else " (the node names none)"
        raise CallRefused("CONNECTION_NOT_FOUND", "validation", f"There is no connection «{str(id)[:80]}»{given}.")
    kind = str(body.get("type") or types[0])
    if kind not in types:
        message = f"The connection «{id}» is of the type «{kind[:20]}»; here one of {', '.join(types)} is needed."
        raise CallRefused("CONNECTION_NOT_FOUND", "validation", message)
    return Connection(id, kind, body)


def password_of(connection: Connection, secrets: Secrets) -> str | None:
    """The secret that the connection names. Raises SecretMissing."""
    name = connection.body.get("secret")
    return secrets.get(name) if isinstance(name, str) and name else None
