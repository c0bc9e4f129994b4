"""Messages that a run has sent: composed as for their channel, recorded, and never handed over to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from penstock.executors.channels.contract import OUTBOX, Channel, ChannelContext, OutgoingMessage, Sent
from penstock.executors.notify import NotifyExecutor

_RECEIVERS = ("to", "recipients", "channel", "table", "url", "webhook_url", "routing_key", "target")


class SentMessage(msgspec.Struct, frozen=True, kw_only=True):
    """`to` are its receivers, `text` what they read; `node` is the one that has sent it, or is told of."""

    at: int
    run: str
    node: str
    channel: str
    to: list[str]
    subject: str
    text: str
    body: Any = None


class RecordingNotify(NotifyExecutor):
    """Composes every message and keeps it in `messages`."""

    def __init__(self, now: Callable[[], int]) -> None:
        self.now, self.messages = now, list[SentMessage]()
        self.keys: set[tuple[str, str]] = set()  # a message that is tried again is one message

    async def hand_over(
        self, channel: Channel, outgoing: OutgoingMessage, content: Any, context: ChannelContext
    ) -> Sent:  # fmt: skip
        reply = outgoing.config.get("reply")  # what a receiver that is not there would have answered
        if (outgoing.key, channel.name) not in self.keys:
            self.keys.add((outgoing.key, channel.name))
            self.messages.append(self._message(channel.name, outgoing, context.secrets.scrub))
        return Sent(status="sent", message_id=outgoing.id, response=reply if isinstance(reply, dict) else {})

    def _message(self, channel: str, outgoing: OutgoingMessage, scrub: Callable[[Any], Any]) -> SentMessage:
        """Without secrets: a snapshot of it is kept in a file."""
        return SentMessage(
            at=self.now(), run=outgoing.run, node=outgoing.node, channel=channel, to=scrub(_receivers(outgoing)),
            subject=scrub(outgoing.subject), text=scrub(_text(outgoing)), body=scrub(outgoing.body),
        )  # fmt: skip


def _receivers(outgoing: OutgoingMessage) -> list[str]:
    given: Any = next((outgoing.config[name] for name in _RECEIVERS if outgoing.config.get(name)), [])
    return [str(each).removeprefix(OUTBOX) for each in (given if isinstance(given, list | tuple) else [given])]


def _text(outgoing: OutgoingMessage) -> str:
    if outgoing.text:
        return outgoing.text
    body = outgoing.body
    return body if isinstance(body, str) else msgspec.json.encode(msgspec.to_builtins(body)).decode()
