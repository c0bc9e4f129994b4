"""slack: an incoming webhook; the text with its mentions in front, a channel, attachments as they are."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from penstock.executors.channels.contract import ChannelContext, OutgoingMessage, Sent, as_list, header_text, reply_json
from penstock.executors.parts.notification import NotificationMessage, Unsendable

_EVERYONE = {"@here": "<!here>", "@channel": "<!channel>", "@everyone": "<!everyone>"}
_MEMBER = re.compile(r"@?([UW][A-Z0-9]{7,})\Z")
_GROUP = re.compile(r"@?(S[A-Z0-9]{7,})\Z")
_LONGEST = 40_000  # Slack cuts what is longer


class SlackChannel:
    name = "slack"
    required = ("webhook_url",)

    def complete(self, config: dict[str, Any], message: NotificationMessage) -> None:
        config.setdefault("message", message.text)

    def target(self, outgoing: OutgoingMessage, context: ChannelContext) -> str:
        return str(outgoing.config["webhook_url"])

    def content(self, outgoing: OutgoingMessage, context: ChannelContext) -> dict[str, Any]:
        config = outgoing.config
        text = str(config["message"])
        if len(text) > _LONGEST:
            raise Unsendable("MESSAGE_TOO_LARGE", "validation", f"Slack takes at most {_LONGEST:,} characters.")
        attachments = as_list(config.get("attachments"))
        if not text and not attachments:
            why = "A Slack message needs a text: a template, a message or attachments."
            raise Unsendable("CHANNEL_CONFIG_MISSING", "validation", why, {"channel": "slack", "missing": ["message"]})
        called = [_mention(header_text(who, "mention", 100)) for who in as_list(config.get("mention"))]
        out: dict[str, Any] = {"text": " ".join([*called, text] if text else called)}
        if called:
            out["link_names"] = True  # names such as @quality-team ring only when Slack is asked to look for them
        if config.get("channel"):
            out["channel"] = header_text(config["channel"], "channel", 100)
        if attachments:
            out["attachments"] = attachments
        return out

    async def send(self, outgoing: OutgoingMessage, content: Any, context: ChannelContext) -> Sent:
        body = msgspec.json.encode(content)
        headers = [("Content-Type", "application/json; charset=utf-8")]
        reply = await context.http(outgoing, "POST", str(outgoing.config["webhook_url"]), body, headers)
        answer = reply_json(reply)
        return Sent(
            status_code=reply.status, message_id=outgoing.id, response=answer if isinstance(answer, dict) else None
        )


def _mention(who: str) -> str:
    if who in _EVERYONE:
        return _EVERYONE[who]
    if member := _MEMBER.match(who):
        return f"<@{member[1]}>"
    if group := _GROUP.match(who):
        return f"<!subteam^{group[1]}>"
    return who
