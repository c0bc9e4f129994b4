"""Which model is asked, and where: an artifact of the tenant, a connection, or the operator's own endpoint (C-82)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.executors.contract import Request, Services, Tenant, failed
from penstock.executors.parts.deployed_versions import in_use
from penstock.executors.parts.exceptions import secrets_of
from penstock.executors.parts.llm.chat import NoAnswer
from penstock.executors.parts.llm.services import MODEL
from penstock.executors.parts.secrets import SecretMissing, Secrets


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """`person` and `services` are what a conversation is held with; `stub` are the options of a built-in stand-in."""

    name: str
    artifact: Mapping[str, Any]
    person: dict[str, Any] = {}
    services: Services
    secrets: tuple[Secrets, ...] = ()
    stub: Mapping[str, Any] | None = None


def model_of(config: Mapping[str, Any], request: Request, services: Services, otherwise: str = MODEL) -> Model:
    """The model that a node names: an artifact of that name, else the provider's own name. Raises NoAnswer."""
    tenant = services.tenant(request.tenant) if services.tenant is not None else None
    name = str(config.get("model") or "")
    artifact = (in_use(tenant, "model", name, request) if tenant is not None and name else None) or {}
    wanted = config.get("connection") or artifact.get("connection")
    connection = tenant.find("connection", str(wanted or "default_llm")) if tenant is not None else None
    if connection is None and wanted:
        raise NoAnswer(failed("CONNECTION_NOT_FOUND", "validation", f"There is no connection «{wanted}»."))
    options = connection.get("options") if connection is not None else None
    options = options if isinstance(options, Mapping) else {}
    usual = options.get("model") or services.settings.get("llm.model") or otherwise
    called = str(artifact.get("model") or name or usual)
    if connection is not None and connection.get("type") == "stub":
        return Model(name=called, artifact=artifact, services=services, stub=options)
    person, lent, secrets = _endpoint(connection, services, tenant)
    return Model(name=called, artifact=artifact, person=person, services=lent, secrets=secrets)


def _endpoint(
    connection: Mapping[str, Any] | None, services: Services, tenant: Tenant | None
) -> tuple[dict[str, Any], Services, tuple[Secrets, ...]]:
    machine = secrets_of(services)
    settings = services.settings
    if connection is None or tenant is None:  # the operator's own endpoint
        if not settings.get("llm.base_url") and not settings.get("llm.api_key"):
            message = "No model is set up: there is no connection «default_llm» and no setting «llm.base_url»."
            raise NoAnswer(failed("CONNECTION_NOT_FOUND", "validation", message))
        own = Secrets({"llm.api_key": str(settings["llm.api_key"])}) if settings.get("llm.api_key") else machine
        return {}, services, (machine, own)
    base = connection.get("base_url") or connection.get("url")
    if connection.get("type") not in ("openai", "http") or not base:
        message = "The connection of the model must be of type openai with a base_url, or of type stub."
        raise NoAnswer(failed("CONNECTION_NOT_FOUND", "validation", message))
    person: dict[str, Any] = {"base_url": str(base)}
    theirs = Secrets(tenant.secret)
    if connection.get("secret"):
        person["api_key"] = f"${{secrets.{connection['secret']}}}"
        try:
            theirs.get(str(connection["secret"]))
        except SecretMissing as error:
            raise NoAnswer(failed("SECRET_NOT_FOUND", "authorization", str(error))) from None
    lent = msgspec.structs.replace(services, settings={**settings, "secrets": tenant.secret})
    return person, lent, (machine, theirs)
