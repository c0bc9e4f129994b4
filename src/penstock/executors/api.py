"""api: one request to a named connection (DATA with source.type api, and what polls or undoes over HTTP)."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx2
import msgspec

from penstock.executors.contract import Outcome, Request, Services, failed
from penstock.executors.parts.connections import Connection, connection_of, password_of, tenant_of, tenant_secrets
from penstock.executors.parts.exceptions import scrub_failure
from penstock.executors.parts.json_values import NotJson, json_value
from penstock.executors.parts.network.egress_policy import EgressPolicy, egress_policy_of
from penstock.executors.parts.network.http_arguments import encode_body, header_text, method_argument, object_argument
from penstock.executors.parts.network.http_call import MAX_BYTES, CallRefused, HttpCall, HttpReply
from penstock.executors.parts.network.http_failures import CALL_ERRORS, call_failure, status_failure
from penstock.executors.parts.node_output import finish_output
from penstock.executors.parts.secrets import Secrets

TIMEOUT_MS = 30_000
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


class ApiExecutor:
    """args: connection, method (GET), path, params (the query string), headers, body. The answer is the response's
    JSON, else its text, else its bytes as base64.

    A connection is {type: http, base_url, secret} with options auth (bearer, basic: the secret is user:password,
    api_key, none), header (of an api_key) and headers. A path is joined to the base URL; a whole URL is reached only
    if its host stands in `http.allow` or is the base URL's own, and only there the connection's secret goes along.
    """

    name = "api"

    async def run(self, request: Request, services: Services) -> Outcome:
        secrets = tenant_secrets(request, services)
        try:
            tenant = tenant_of(request, services)
            args = secrets.fill_marked(request.args if isinstance(request.args, Mapping) else {}, request.mark)
            connection = connection_of(args, tenant, "default_api", ("http",))
            egress = egress_policy_of(services.settings, request.tenant)
            call = _call(args, connection, request, services, secrets, egress)
            reply = await services.self_calls.send(request.tenant, call, egress)
        except NotJson as error:
            return failed("INPUT_INVALID", "validation", secrets.scrub_message(str(error)))
        except CALL_ERRORS as error:
            return call_failure(error, secrets)
        wrong = status_failure(reply)
        return scrub_failure(wrong, secrets) if wrong else await _done(request, reply, secrets)


def _call(
    args: Mapping[str, Any],
    connection: Connection,
    request: Request,
    services: Services,
    secrets: Secrets,
    egress: EgressPolicy,
) -> HttpCall:
    method = method_argument(args)
    url, own = address(connection, args.get("path"), egress)
    headers = _headers(connection.options.get("headers")) if own else {}
    headers |= _headers(args.get("headers"))
    if own:
        headers |= _auth(connection, secrets)
    content, media = encode_body(args.get("body"), json_value)
    if media and "content-type" not in headers:
        headers["content-type"] = media
    headers.setdefault("idempotency-key", request.key)
    return HttpCall(
        method=method,
        url=url,
        headers=tuple(headers.items()),
        params=object_argument(args.get("params"), "params"),
        content=content,
        timeout_s=(request.timeout_ms or TIMEOUT_MS) / 1000,
        max_bytes=connection.limit("max_bytes", services, "http", MAX_BYTES),
        ca_file=services.settings.get("http.ca_file"),
    )


def address(connection: Connection, path: Any, egress: EgressPolicy) -> tuple[str, bool]:
    """The URL of a path at a connection, and whether it is the connection's own server (C-28). Raises Refused."""
    base = str(connection.body.get("base_url") or connection.body.get("url") or "").rstrip("/")
    if not isinstance(path, str) or not path.strip():
        raise CallRefused("INPUT_INVALID", "validation", "the path is empty")
    if _ABSOLUTE.match(path):
        own = bool(base) and _origin(path) == _origin(base)
        if not own and not _listed(path, egress):
            message = "a whole URL is reached only if its host stands in «http.allow»; write a path such as /api/items"
            raise CallRefused("HTTP_BLOCKED", "authorization", message)
        return path, own
    if not base:
        raise CallRefused("CONNECTION_NOT_FOUND", "validation", f"The connection «{connection.id}» has no base_url.")
    before = re.split(r"[?#]", path, maxsplit=1)[0]
    if "\\" in before or any(unquote(part) in (".", "..") for part in before.split("/")):
        raise CallRefused("INPUT_INVALID", "validation", "the path holds «..» or a backslash")
    return f"{base}/{path.lstrip('/')}", True


def _origin(url: str) -> tuple[str, str | None, int | None]:
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return "", None, None


def _listed(url: str, egress: EgressPolicy) -> bool:
    """The host as the sender will read it, not as another parser would."""
    try:
        parts = httpx2.URL(url)
    except (httpx2.InvalidURL, TypeError, ValueError):
        raise CallRefused("HTTP_URL", "validation", "the URL cannot be read") from None
    port = parts.port or (443 if parts.scheme == "https" else 80)
    if egress.listed(parts.host, port):
        return True
    text = parts.host.lower()
    return any(
        rule.network is not None and str(rule.network.network_address) == text and rule.port in (None, port)
        for rule in egress.rules
    )


def _headers(given: Any) -> dict[str, str]:
    headers = object_argument(given, "headers")
    return {str(name).lower(): header_text(value) for name, value in headers.items() if value is not None}


def _auth(connection: Connection, secrets: Secrets) -> dict[str, str]:
    secret = password_of(connection, secrets)
    kind = str(connection.options.get("auth") or "bearer")
    if secret is None or kind == "none":
        return {}
    if kind == "bearer":
        return {"authorization": f"Bearer {secret}"}
    if kind == "basic":
        return {"authorization": "Basic " + base64.b64encode(secret.encode()).decode()}
    if kind == "api_key":
        return {str(connection.options.get("header") or "X-API-Key").lower(): secret}
    why = f"the connection «{connection.id}» has the auth «{kind[:20]}»; known are bearer, basic, api_key and none"
    raise CallRefused("INPUT_INVALID", "validation", why)


async def _done(request: Request, reply: HttpReply, secrets: Secrets) -> Outcome:
    meta = reply.meta()
    if not reply.body:
        return await finish_output(request, None, meta)
    try:
        body: Any = json_value(msgspec.json.decode(reply.body))
    except (msgspec.DecodeError, RecursionError, NotJson):
        if reply.is_json:
            return failed("HTTP_BODY", "external", f"{reply.host} says it answers JSON, but it does not", meta)
        body = None
    if reply.is_json or isinstance(body, dict | list):
        return await finish_output(request, secrets.scrub(body), meta)
    return await finish_output(request, _text(secrets.scrub(reply.body), meta), meta, "raw_text")


def _text(raw: bytes, meta: dict[str, Any]) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        meta["encoding"] = "base64"
        return base64.b64encode(raw).decode()
