"""http: one HTTP request (a diagram's api_job)."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.executors.contract import Done, Outcome, Request, Services, failed
from penstock.executors.parts.addresses import reach_of
from penstock.executors.parts.outbound import MAX_BYTES, Call, Refused, Reply, failure_of, send
from penstock.executors.parts.raised import scrubbed, secrets_of
from penstock.executors.parts.secret import SecretMissing, Secrets
from penstock.executors.parts.templates import TemplateError, render_tree
from penstock.executors.parts.values import NotPlain, duration_ms, plain

METHODS = frozenset("GET HEAD POST PUT PATCH DELETE OPTIONS".split())

_TEXTS = ("application/xml", "application/x-ndjson", "application/yaml")


class HttpExecutor:
    """args: method, url, headers, params, body (text or value), auth_type + auth_config, timeout (s), follow_redirects.

    The texts are the author's: `{{name}}` stands for an input and `${secrets.NAME}` for a secret, and data is put in
    after references are filled. Arguments that were themselves computed from data must say `render: false`: then they
    are final, and references count in url, headers, params and auth only: no input can fetch a secret into a body.
    """

    name = "http"

    async def run(self, request: Request, services: Services) -> Outcome:
        secrets = secrets_of(services)
        try:
            call = _call(request, services, secrets)
            reply = await send(call, reach_of(services.settings, request.tenant))
        except SecretMissing as error:
            return failed("SECRET_NOT_FOUND", "authorization", str(error))
        except (Refused, TemplateError, NotPlain) as error:
            code, category = getattr(error, "code", "INPUT_INVALID"), getattr(error, "category", "validation")
            return failed(code, category, secrets.scrub_message(str(error)))
        except TimeoutError as error:
            return failed("NODE_TIMEOUT", "timeout", secrets.scrub_message(str(error)))
        except ConnectionError as error:
            return failed("CONNECTION_LOST", "transient", secrets.scrub_message(str(error)))
        wrong = failure_of(reply)
        return scrubbed(wrong, secrets) if wrong else _done(reply, secrets)


def _call(request: Request, services: Services, secrets: Secrets) -> Call:
    args = request.args
    if not isinstance(args, Mapping):
        raise Refused("INPUT_INVALID", "validation", "the arguments must be an object with «url»")
    render = args.get("render") is not False

    def final(name: str, filled: bool = True) -> Any:
        if render:
            return render_tree(args.get(name), request.named(), secrets.fill)
        return _filled(args.get(name), secrets) if filled else args.get(name)

    method = str(args.get("method") or "GET").upper()
    if method not in METHODS:
        raise Refused("INPUT_INVALID", "validation", f"the method «{method[:20]}» is not known")
    headers = {str(k): _header(v) for k, v in _mapping(final("headers"), "headers").items() if v is not None}
    headers.update(_auth(args, final))
    content, media = _content(final("body", False))
    known = {name.lower() for name in headers}
    if media and "content-type" not in known:
        headers["Content-Type"] = media
    if method not in ("GET", "HEAD", "OPTIONS") and "idempotency-key" not in known:
        headers["Idempotency-Key"] = request.key
    limit = duration_ms(args.get("timeout"), 30_000)
    if request.timeout_ms:
        limit = min(limit, request.timeout_ms)
    return Call(
        method=method,
        url=str(final("url") or ""),
        headers=tuple(headers.items()),
        params=_mapping(final("params"), "params"),
        content=content,
        timeout_s=limit / 1000,
        max_bytes=int(services.settings.get("http.max_bytes") or MAX_BYTES),
        redirects=args.get("follow_redirects") is not False,
        ca_file=services.settings.get("http.ca_file"),
    )


def _filled(tree: Any, secrets: Secrets) -> Any:
    if isinstance(tree, str):
        return secrets.fill(tree)
    if isinstance(tree, Mapping):
        return {key: _filled(value, secrets) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [_filled(value, secrets) for value in tree]
    return tree


def _mapping(value: Any, name: str) -> Mapping[str, Any]:
    if value is None or value == "":
        return {}
    if not isinstance(value, Mapping):
        raise Refused("INPUT_INVALID", "validation", f"«{name}» must be an object")
    return value


def _header(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _auth(args: Mapping[str, Any], final: Any) -> dict[str, str]:
    kind = str(args.get("auth_type") or "none")
    config = _mapping(final("auth_config"), "auth_config")
    if kind == "none":
        return {}
    if kind == "bearer":
        return {"Authorization": f"Bearer {config.get('token', '')}"}
    if kind == "basic":
        pair = f"{config.get('username', '')}:{config.get('password', '')}"
        return {"Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}
    if kind == "api_key":
        return {str(config.get("header") or "X-API-Key"): str(config.get("key", ""))}
    raise Refused("INPUT_INVALID", "validation", f"auth_type «{kind[:20]}» is not known; use bearer, basic or api_key")


def _content(body: Any) -> tuple[bytes, str]:
    if body is None:
        return b"", ""
    if isinstance(body, bytes):
        return body, "application/octet-stream"
    if isinstance(body, str):
        return body.encode("utf-8", "replace"), "text/plain; charset=utf-8"
    return msgspec.json.encode(plain(body)), "application/json"


def _done(reply: Reply, secrets: Secrets) -> Outcome:
    """JSON becomes a value, text stays text, everything else is binary."""
    media = reply.headers.get("content-type", "").split(";")[0].strip().lower()
    meta: dict[str, Any] = {"status": reply.status, "media_type": media, "bytes": len(reply.body)}
    if not reply.body:
        return Done(None, meta)
    if media == "application/json" or media.endswith("+json"):
        try:
            return Done(secrets.scrub(plain(msgspec.json.decode(reply.body))), meta, "object")
        except (msgspec.DecodeError, RecursionError, NotPlain):
            return failed("HTTP_BODY", "external", f"{reply.host} says it answers JSON, but it does not", meta)
    if not media or media.startswith("text/") or media in _TEXTS:
        try:
            return Done(secrets.scrub(reply.body.decode("utf-8-sig")), meta, "raw_text")
        except UnicodeDecodeError:
            pass
    return Done(secrets.scrub(reply.body), meta, "binary")
