"""webhook: an HTTP request to whatever the author names; the answer's JSON is the node's output (W-4.5.6)."""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import msgspec

from penstock.executors.channels.contract import OUTBOX, ChannelContext, OutgoingMessage, Sent, header_text, reply_json
from penstock.executors.channels.signature import BadSignature, sign
from penstock.executors.parts.network.http_arguments import encode_body
from penstock.executors.parts.notification import NotificationMessage, Unsendable

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
DEFAULT_API = "default_api"


class WebhookChannel:
    """Settings: url, method (POST), headers, body (object, list or text), auth.

    An object or a list goes out as JSON. A text set as `body` goes out as it is; a text that comes from a template goes
    as {"text", "subject"}: a template that wants JSON has an object as its body, so data cannot break out of a quote.
    A url that begins with / belongs to the connection `default_api` (C-28).

    auth: {type: bearer, secret} | {type: basic, username, secret} | {type: hmac, secret, key_id}, see signature.py.
    """

    name = "webhook"
    required = ("url", "method")

    def complete(self, config: dict[str, Any], message: NotificationMessage) -> None:
        config.setdefault("method", "POST")
        if "body" not in config and message.body is not None:
            about = {"subject": message.subject} if message.subject else {}
            body = message.body
            config["body"] = {"text": body, **about} if isinstance(body, str) else body

    def target(self, outgoing: OutgoingMessage, context: ChannelContext) -> str:
        url = str(outgoing.config["url"])
        if not url.startswith("/"):
            return url
        path = url.split("?")[0].split("#")[0]
        if "\\" in path or any(unquote(part) in (".", "..") for part in path.split("/")):
            raise Unsendable("INPUT_INVALID", "validation", "«url» holds «..» or a backslash.")
        api = context.connection(DEFAULT_API, "http")
        base = str(api.get("base_url") or api.get("url") or "").rstrip("/")
        return base if base.startswith(OUTBOX) else f"{base}/{url.lstrip('/')}"

    def content(self, outgoing: OutgoingMessage, context: ChannelContext) -> dict[str, Any]:
        method = str(outgoing.config["method"]).upper()
        if method not in METHODS:
            raise Unsendable("INPUT_INVALID", "validation", f"«method» must be one of {', '.join(METHODS)}.")
        _headers(outgoing)
        _auth(outgoing, b"", "")
        return {"method": method, "body": None if method == "GET" else outgoing.config.get("body")}

    async def send(self, outgoing: OutgoingMessage, content: Any, context: ChannelContext) -> Sent:
        body, media = encode_body(content["body"], lambda value: value)
        headers = _headers(outgoing)
        if media:
            headers = {"Content-Type": media} | headers
        ours = self._token(outgoing, context) | _auth(outgoing, body, outgoing.id)
        taken = {name.lower() for name in ours}
        headers = {name: value for name, value in headers.items() if name.lower() not in taken} | ours
        reply = await context.http(outgoing, content["method"], self.target(outgoing, context), body, headers.items())
        answer = reply_json(reply)
        named = answer.get("id") if isinstance(answer, dict) else None
        message_id = str(named) if isinstance(named, str | int) else outgoing.id
        return Sent(status_code=reply.status, message_id=message_id, response=answer)

    def _token(self, outgoing: OutgoingMessage, context: ChannelContext) -> dict[str, str]:
        """The service's own token goes to the own API only."""
        if not str(outgoing.config["url"]).startswith("/") or outgoing.config.get("auth"):
            return {}
        password = context.connection(DEFAULT_API, "http").get("password")
        return {"Authorization": f"Bearer {password}"} if password else {}


def _headers(outgoing: OutgoingMessage) -> dict[str, str]:
    given = outgoing.config.get("headers") or {}
    if not isinstance(given, Mapping):
        raise Unsendable("INPUT_INVALID", "validation", "«headers» must be an object.")
    out = {}
    for name, value in given.items():
        if value is not None:
            text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
            name = str(name).title() if str(name).lower() in ("authorization", "content-type") else str(name)
            out[name] = header_text(text, f"headers.{name[:40]}", 8192)
    return out


def _auth(outgoing: OutgoingMessage, body: bytes, id: str) -> dict[str, str]:
    auth = outgoing.config.get("auth")
    if not auth:
        return {}
    if not isinstance(auth, Mapping):
        raise Unsendable("INPUT_INVALID", "validation", "«auth» must be an object with «type» and «secret».")
    kind, secret = auth.get("type"), auth.get("secret")
    if not isinstance(secret, str) or not secret:
        detail = {"channel": "webhook", "missing": ["auth.secret"]}
        raise Unsendable("CHANNEL_CONFIG_MISSING", "validation", "«auth.secret» is missing.", detail)
    if kind == "bearer":
        return {"Authorization": "Bearer " + header_text(secret, "auth.secret", 8192)}
    if kind == "basic":
        pair = secret if auth.get("username") is None else f"{auth['username']}:{secret}"
        return {"Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}
    if kind == "hmac":
        try:
            return sign(id, int(time.time()), body, secret, header_text(auth.get("key_id") or "", "auth.key_id", 200))
        except BadSignature as error:
            raise Unsendable("INPUT_INVALID", "validation", f"«auth.secret» cannot be used: {error}.") from None
    raise Unsendable("INPUT_INVALID", "validation", "«auth.type» must be bearer, basic or hmac.")
