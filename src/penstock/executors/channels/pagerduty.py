"""pagerduty: an event for the Events API v2 (C-68); the same key makes the same incident."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.executors.channels.contract import OUTBOX, ChannelContext, OutgoingMessage, Sent, header_text, reply_json
from penstock.executors.parts.notification import NotificationMessage, Unsendable

URL = "https://events.pagerduty.com/v2/enqueue"
ACTIONS = ("trigger", "acknowledge", "resolve")
SEVERITIES = ("critical", "error", "warning", "info")
_SUMMARY = 1024


class PagerDutyChannel:
    """Settings: routing_key, and url, event_action, severity, source, component, group, class, dedup_key, summary.

    Without `dedup_key` the incident is this firing's own; to acknowledge or resolve it later, name the key.
    """

    name = "pagerduty"
    required = ("routing_key",)

    def complete(self, config: dict[str, Any], message: NotificationMessage) -> None:
        config.setdefault("url", URL)
        config.setdefault("message", message.text)
        config.setdefault("summary", message.subject or str(config["message"]).strip().split("\n")[0])

    def target(self, outgoing: OutgoingMessage, context: ChannelContext) -> str:
        key = str(outgoing.config["routing_key"])
        return key if key.startswith(OUTBOX) else str(outgoing.config["url"])

    def content(self, outgoing: OutgoingMessage, context: ChannelContext) -> dict[str, Any]:
        config = outgoing.config
        action = str(config.get("event_action") or "trigger")
        if action not in ACTIONS:
            raise Unsendable("INPUT_INVALID", "validation", f"«event_action» must be one of {', '.join(ACTIONS)}.")
        out: dict[str, Any] = {
            "event_action": action,
            "dedup_key": header_text(config.get("dedup_key") or outgoing.id, "dedup_key", 255),
            "client": "Penstock",
        }
        if action == "trigger":
            out["payload"] = self._payload(outgoing)
        return out

    def _payload(self, outgoing: OutgoingMessage) -> dict[str, Any]:
        config = outgoing.config
        summary = " ".join(str(config.get("summary") or "").split())[:_SUMMARY]
        if not summary:
            detail = {"channel": self.name, "missing": ["summary"]}
            raise Unsendable("CHANNEL_CONFIG_MISSING", "validation", "A PagerDuty event needs a summary.", detail)
        severity = config.get("severity") or outgoing.params.get("severity")
        if config.get("severity") and severity not in SEVERITIES:
            raise Unsendable("INPUT_INVALID", "validation", f"«severity» must be one of {', '.join(SEVERITIES)}.")
        out: dict[str, Any] = {
            "summary": summary,
            "source": str(config.get("source") or f"{outgoing.tenant}/{outgoing.node}"),
            "severity": severity if severity in SEVERITIES else "error",
            "timestamp": outgoing.at,
            "custom_details": {"message": config.get("message"), "params": outgoing.params, "run": outgoing.run},
        }
        return out | {name: str(config[name]) for name in ("component", "group", "class") if config.get(name)}

    async def send(self, outgoing: OutgoingMessage, content: Any, context: ChannelContext) -> Sent:
        body = msgspec.json.encode({"routing_key": str(outgoing.config["routing_key"]), **content})
        headers = [("Content-Type", "application/json")]
        reply = await context.http(outgoing, "POST", str(outgoing.config["url"]), body, headers)
        answer = reply_json(reply)
        response = answer if isinstance(answer, dict) else {}
        return Sent(
            status_code=reply.status,
            message_id=str(response.get("dedup_key") or content["dedup_key"]),
            response={"dedup_key": content["dedup_key"], **response},
        )
