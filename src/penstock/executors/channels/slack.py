"""slack: an incoming webhook; the text with its mentions in front, a channel, attachments as they are."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from penstock.executors.channels.contract import House, OutgoingMessage, Sent, json_of, listed, one_line
from penstock.executors.parts.message import Message, Unsendable

_EVERYONE = {"@here": "<!here>", "@channel": "<!channel>", "@everyone": "<!everyone>"}
_MEMBER = re.compile(r"@?([UW][A-Z0-9]{7,})\Z")
_GROUP = re.compile(r"@?(S[A-Z0-9]{7,})\Z")
_LONGEST = 40_000  # Slack cuts what is longer


class SlackChannel:
    name = "slack"
    required = ("webhook_url",)

    def complete(self, config: dict[str, Any], message: Message) -> None:
        config.setdefault("message", message.text)

    def target(self, letter: OutgoingMessage, house: House) -> str:
        return str(letter.config["webhook_url"])

    def content(self, letter: OutgoingMessage, house: House) -> dict[str, Any]:
        config = letter.config
        text = str(config["message"])
        if len(text) > _LONGEST:
            raise Unsendable("MESSAGE_TOO_LARGE", "validation", f"Slack takes at most {_LONGEST:,} characters.")
        attachments = listed(config.get("attachments"))
        if not text and not attachments:
            why = "A Slack message needs a text: a template, a message or attachments."
            raise Unsendable("CHANNEL_CONFIG_MISSING", "validation", why, {"channel": "slack", "missing": ["message"]})
        called = [_mention(one_line(who, "mention", 100)) for who in listed(config.get("mention"))]
        out: dict[str, Any] = {"text": " ".join([*called, text] if text else called)}
        if called:
            out["link_names"] = True  # names such as @quality-team ring only when Slack is asked to look for them
        if config.get("channel"):
            out["channel"] = one_line(config["channel"], "channel", 100)
        if attachments:
            out["attachments"] = attachments
        return out

    async def send(self, letter: OutgoingMessage, content: Any, house: House) -> Sent:
        body = msgspec.json.encode(content)
        headers = [("Content-Type", "application/json; charset=utf-8")]
        reply = await house.http(letter, "POST", str(letter.config["webhook_url"]), body, headers)
        said = json_of(reply)
        return Sent(status_code=reply.status, message_id=letter.id, response=said if isinstance(said, dict) else None)


def _mention(who: str) -> str:
    if who in _EVERYONE:
        return _EVERYONE[who]
    if member := _MEMBER.match(who):
        return f"<@{member[1]}>"
    if group := _GROUP.match(who):
        return f"<!subteam^{group[1]}>"
    return who
