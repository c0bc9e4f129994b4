"""sms: a text message through a provider, which is a registered HTTP connection.

Wire formats (`options.format` of the connection):

- `json` (default): POST {"to", "from", "message"} as JSON; `options.fields` renames the three. The secret goes as
  `Authorization: Bearer`, or as the header that `options.auth_header` names.
- `twilio`: POST To, From, Body as a form, with Basic authentication: `options.username` (the account) and the secret.

Several recipients are several calls, whose keys end in /1, /2 …
"""

from __future__ import annotations

import base64
import re
from typing import Any
from urllib.parse import urlencode

import msgspec

from penstock.executors.channels.contract import (
    OUTBOX,
    ChannelContext,
    OutgoingMessage,
    Sent,
    as_list,
    header_text,
    reply_json,
)
from penstock.executors.parts.notification import NotificationMessage, Unsendable

DEFAULT_PROVIDER = "default_sms"
_NUMBER = re.compile(r"\+?[0-9][0-9 ().-]{1,24}\Z")
_LONGEST = 1600  # ten parts, which is what providers take
_MOST = 50  # recipients


class SmsChannel:
    name = "sms"
    required = ("to", "message")

    def complete(self, config: dict[str, Any], message: NotificationMessage) -> None:
        config.setdefault("message", message.text)

    def target(self, outgoing: OutgoingMessage, context: ChannelContext) -> str:
        kept = [str(number) for number in as_list(outgoing.config["to"]) if str(number).startswith(OUTBOX)]
        return kept[0] if kept else _url(self._provider(outgoing, context))

    def _provider(self, outgoing: OutgoingMessage, context: ChannelContext) -> dict[str, Any]:
        return context.connection(str(outgoing.config.get("provider") or DEFAULT_PROVIDER), "http", "sms")

    def content(self, outgoing: OutgoingMessage, context: ChannelContext) -> dict[str, Any]:
        to = [header_text(number, "to", 100) for number in as_list(outgoing.config["to"])]
        if len(to) > _MOST:
            raise Unsendable("INPUT_INVALID", "validation", f"An SMS goes to at most {_MOST} numbers.")
        wrong = [number for number in to if not _NUMBER.match(number) and not number.startswith(OUTBOX)]
        if wrong:
            raise Unsendable("INPUT_INVALID", "validation", f"«{wrong[0][:40]}» is no telephone number.")
        text = str(outgoing.config["message"])
        if len(text) > _LONGEST:
            raise Unsendable("MESSAGE_TOO_LARGE", "validation", f"An SMS has at most {_LONGEST} characters.")
        return {"to": to, "message": text}

    async def send(self, outgoing: OutgoingMessage, content: Any, context: ChannelContext) -> Sent:
        provider = self._provider(outgoing, context)
        replies = []
        for n, number in enumerate(content["to"], 1):
            body, headers = _wire(provider, outgoing, number, content["message"])
            key = outgoing.key if len(content["to"]) == 1 else f"{outgoing.key}/{n}"
            replies.append(await context.http(outgoing, "POST", _url(provider), body, headers, key))
        answers = [reply_json(reply) for reply in replies]
        first = answers[0] if isinstance(answers[0], dict) else {}
        named = first.get("sid") or first.get("message_id") or first.get("id") or outgoing.id
        response = first if len(answers) == 1 else {"responses": answers}
        return Sent(status_code=replies[-1].status, message_id=str(named), response=response)


def _url(provider: dict[str, Any]) -> str:
    return str(provider.get("url") or provider.get("base_url") or "")


def _wire(
    provider: dict[str, Any], outgoing: OutgoingMessage, to: str, message: str
) -> tuple[bytes, list[tuple[str, str]]]:
    options, secret = provider["options"], provider.get("password")
    sender = outgoing.config.get("from") or options.get("from")
    if str(options.get("format") or "json") == "twilio":
        form = {"To": to, "Body": message} | ({"From": str(sender)} if sender else {})
        headers = [("Content-Type", "application/x-www-form-urlencoded")]
        if secret:
            pair = base64.b64encode(f"{options.get('username', '')}:{secret}".encode()).decode()
            headers.append(("Authorization", f"Basic {pair}"))
        return urlencode(form).encode(), headers
    if options.get("format") not in (None, "json"):
        why = f"The connection «{provider['id']}» has an unknown format; json and twilio are known."
        raise Unsendable("INPUT_INVALID", "validation", why)
    fields = options.get("fields") if isinstance(options.get("fields"), dict) else {}
    values = {"to": to, "message": message} | ({"from": str(sender)} if sender else {})
    body = {str(fields.get(name) or name): value for name, value in values.items()}
    headers = [("Content-Type", "application/json")]
    if secret and options.get("auth_header"):
        headers.append((str(options["auth_header"]), str(secret)))
    elif secret:
        headers.append(("Authorization", f"Bearer {secret}"))
    return msgspec.json.encode(body), headers
