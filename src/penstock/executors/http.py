"""http: one HTTP request (a diagram's api_job)."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import msgspec

from penstock.executors.contract import Done, Outcome, Request, Services, failed
from penstock.executors.parts.exceptions import scrub_failure, secrets_of
from penstock.executors.parts.json_values import NotJson, duration_ms, json_value
from penstock.executors.parts.network.egress_policy import egress_policy_of
from penstock.executors.parts.network.http_arguments import encode_body, header_text, method_argument, object_argument
from penstock.executors.parts.network.http_call import MAX_BYTES, CallRefused, HttpCall, HttpReply
from penstock.executors.parts.network.http_client import send
from penstock.executors.parts.network.http_failures import CALL_ERRORS, call_failure, status_failure
from penstock.executors.parts.secrets import Secrets
from penstock.executors.parts.templates import TemplateError, render_tree
from penstock.executors.parts.variables import given_names

_TEXTS = ("application/xml", "application/x-ndjson", "application/yaml")


class HttpExecutor:
    """args: method, url, path (segments behind the url, each of which stays one), headers, params, body (text or
    value), auth_type + auth_config, timeout (s), follow_redirects, holds (a member of the answer that must be true).

    The texts are the author's: `{{name}}` stands for an input and `${secrets.NAME}` for a secret, and data is put in
    after references are filled. Arguments that were themselves computed from data must say `render: false`: then they
    are final, and references count in url, headers, params and auth only: no input can fetch a secret into a body.
    """

    name = "http"

    async def run(self, request: Request, services: Services) -> Outcome:
        secrets = secrets_of(services)
        try:
            call = _call(request, services, secrets)
            reply = await send(call, egress_policy_of(services.settings, request.tenant))
        except (TemplateError, NotJson) as error:
            return failed("INPUT_INVALID", "validation", secrets.scrub_message(str(error)))
        except CALL_ERRORS as error:
            return call_failure(error, secrets)
        wrong = status_failure(reply)
        if wrong:
            return scrub_failure(wrong, secrets)
        return _held(_done(reply, secrets), request.args, reply)


def _call(request: Request, services: Services, secrets: Secrets) -> HttpCall:
    args = request.args
    if not isinstance(args, Mapping):
        raise CallRefused("INPUT_INVALID", "validation", "the arguments must be an object with «url»")
    render = args.get("render") is not False

    def final(name: str, filled: bool = True) -> Any:
        if render:
            return render_tree(args.get(name), given_names(request), secrets.fill)
        return _filled(args.get(name), secrets) if filled else args.get(name)

    method = method_argument(args)
    headers = {str(k): header_text(v) for k, v in object_argument(final("headers"), "headers").items() if v is not None}
    headers.update(_auth(args, final))
    content, media = encode_body(final("body", False), json_value)
    known = {name.lower() for name in headers}
    if media and "content-type" not in known:
        headers["Content-Type"] = media
    if method not in ("GET", "HEAD", "OPTIONS") and "idempotency-key" not in known:
        headers["Idempotency-Key"] = request.key
    limit = duration_ms(args.get("timeout"), 30_000)
    if request.timeout_ms:
        limit = min(limit, request.timeout_ms)
    return HttpCall(
        method=method,
        url=_url(final("url"), final("path")),
        headers=tuple(headers.items()),
        params=object_argument(final("params"), "params"),
        content=content,
        timeout_s=limit / 1000,
        max_bytes=int(services.settings.get("http.max_bytes") or MAX_BYTES),
        redirects=args.get("follow_redirects") is not False,
        ca_file=services.settings.get("http.ca_file"),
    )


def _url(base: Any, segments: Any) -> str:
    """The address; no segment can leave its place, whatever it holds."""
    url = str(base or "")
    if not isinstance(segments, list | tuple) or not segments:
        return url
    texts = [header_text(segment) for segment in segments]
    if any(text in ("", ".", "..") for text in texts):
        raise CallRefused("INPUT_INVALID", "validation", "a part of the path is empty")
    return "/".join([url.rstrip("/"), *(quote(text, safe="@:") for text in texts)])


def _held(outcome: Outcome, args: Any, reply: HttpReply) -> Outcome:
    """Some services answer 200 and say inside whether it went well."""
    name = args.get("holds") if isinstance(args, Mapping) else None
    body = outcome.body if isinstance(outcome, Done) else None
    if not isinstance(name, str) or not isinstance(body, Mapping) or body.get(name) is not False:
        return outcome
    said = str(body.get("error") or body.get("message") or "it does not say why")[:200]
    return failed("HTTP_REFUSED", "external", f"{reply.host} has refused it: {said}", reply.meta())


def _filled(tree: Any, secrets: Secrets) -> Any:
    if isinstance(tree, str):
        return secrets.fill(tree)
    if isinstance(tree, Mapping):
        return {key: _filled(value, secrets) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [_filled(value, secrets) for value in tree]
    return tree


def _auth(args: Mapping[str, Any], final: Any) -> dict[str, str]:
    kind = str(args.get("auth_type") or "none")
    config = object_argument(final("auth_config"), "auth_config")
    if kind == "none":
        return {}
    if kind == "bearer":
        return {"Authorization": f"Bearer {config.get('token', '')}"}
    if kind == "basic":
        pair = f"{config.get('username', '')}:{config.get('password', '')}"
        return {"Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}
    if kind == "api_key":
        return {str(config.get("header") or "X-API-Key"): str(config.get("key", ""))}
    raise CallRefused(
        "INPUT_INVALID", "validation", f"auth_type «{kind[:20]}» is not known; use bearer, basic or api_key"
    )


def _done(reply: HttpReply, secrets: Secrets) -> Outcome:
    """JSON becomes a value, text stays text, everything else is binary."""
    media, meta = reply.media_type, reply.meta()
    if not reply.body:
        return Done(None, meta)
    if reply.is_json:
        try:
            return Done(secrets.scrub(json_value(msgspec.json.decode(reply.body))), meta, "object")
        except (msgspec.DecodeError, RecursionError, NotJson):
            return failed("HTTP_BODY", "external", f"{reply.host} says it answers JSON, but it does not", meta)
    if not media or media.startswith("text/") or media in _TEXTS:
        try:
            return Done(secrets.scrub(reply.body.decode("utf-8-sig")), meta, "raw_text")
        except UnicodeDecodeError:
            pass
    return Done(secrets.scrub(reply.body), meta, "binary")
