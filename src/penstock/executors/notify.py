"""notify: one message through one channel (an ACTION of a decision, and every other notification)."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from msgspec import structs

from penstock.executors.channels import CHANNELS
from penstock.executors.channels.contract import MAX_BYTES, OUTBOX, Channel, ChannelContext, OutgoingMessage, Sent
from penstock.executors.contract import Done, Failed, Outcome, Request, Services, Tenant, failed
from penstock.executors.parts.network.http_call import CallRefused
from penstock.executors.parts.node_output import finish_output
from penstock.executors.parts.notification import NotificationMessage, Unsendable, compose, require_settings
from penstock.executors.parts.secrets import SecretMissing, Secrets

TIMEOUT_MS = 30_000
#: The channels of a tenant that has not said which.
USUAL = ("email",)


class NotifyExecutor:
    """args: channel, config (flat, or nested by type), template {id, params}, message, output. With `channels` (a list;
    null: those that the tenant's configuration names) the same message goes through each of them.

    The output is what the receiver answered, and `_delivery` {channel, status, status_code, message_id, sent_at}. A
    target that begins with `outbox:` is not sent but kept by the tenant.
    """

    name = "notify"

    async def run(self, request: Request, services: Services) -> Outcome:
        if services.tenant is None:
            return failed("TENANT_MISSING", "system", "This host has no tenants, so nothing is registered.")
        args = request.args
        if isinstance(args, Mapping) and "channels" in args:
            return await self._each(request, services, services.tenant(request.tenant))
        kind = args.get("channel") if isinstance(args, Mapping) else None
        channel = CHANNELS.get(kind) if isinstance(kind, str) else None
        if channel is None:
            return failed("INPUT_INVALID", "validation", f"«channel» must be one of {', '.join(CHANNELS)}.")
        tenant = services.tenant(request.tenant)
        context = ChannelContext(tenant, services, Secrets(tenant.secret))
        try:
            outgoing, sent = await self._deliver(request, channel, context)
        except Unsendable as error:
            return context.scrubbed_failure(failed(error.code, error.category, str(error), error.detail))
        except CallRefused as error:
            return context.scrubbed_failure(failed(error.code, error.category, str(error)))
        except UnicodeError:
            return failed("INPUT_INVALID", "validation", "A text of the message holds half of a surrogate pair.")
        except SecretMissing as error:
            return failed("SECRET_NOT_FOUND", "authorization", str(error))
        except (TimeoutError, ConnectionError) as error:
            return context.scrubbed_failure(_unreachable(error, channel))
        meta = {"status": sent.status_code, "channel": channel.name}
        return await finish_output(request, _output(outgoing, sent, context), meta)

    async def _each(self, request: Request, services: Services, tenant: Tenant) -> Outcome:
        """A channel that fails does not keep the others from being told; only when all fail is it a failure."""
        wanted = request.args["channels"]
        if wanted is None:
            usual = (tenant.find("config", "tenant") or {}).get("notification")
            wanted = usual.get("channels") if isinstance(usual, Mapping) else None
        names = [str(name) for name in wanted] if isinstance(wanted, list | tuple) else list(USUAL)
        deliveries: list[Any] = []
        first: Failed | None = None
        for n, name in enumerate(names, 1):
            args = {**request.args, "channel": name}
            args.pop("channels")
            outcome = await self.run(structs.replace(request, args=args, key=f"{request.key}/{n}"), services)
            if isinstance(outcome, Failed):
                first = first or outcome
                deliveries.append({"channel": name, "status": "failed", "code": outcome.failure.code})
            elif isinstance(outcome, Done):
                deliveries.append(outcome.body["_delivery"])
        every = all(delivery["status"] == "failed" for delivery in deliveries)
        return first if first is not None and every else Done(deliveries)

    async def _deliver(
        self, request: Request, channel: Channel, context: ChannelContext
    ) -> tuple[OutgoingMessage, Sent]:  # fmt: skip
        message = compose(request, context.tenant, channel.name, CHANNELS)
        config = message.config
        channel.complete(config, message)
        require_settings(config, channel.required, channel.name)
        _check_size(message, int(context.settings.get("notify.max_bytes") or MAX_BYTES))
        outgoing = _outgoing(request, channel, message, context.secrets.fill_marked(config, message.mark))
        return outgoing, await self.hand_over(channel, outgoing, channel.content(outgoing, context), context)

    async def hand_over(
        self, channel: Channel, outgoing: OutgoingMessage, content: Any, context: ChannelContext
    ) -> Sent:  # fmt: skip
        """To the channel, or to the tenant's own outbox."""
        target = str(outgoing.config.get("target") or "") or channel.target(outgoing, context)
        if target.startswith(OUTBOX):
            kept = context.secrets.scrub(_as_json(content))
            context.tenant.keep(outgoing.key, channel.name, target, kept, outgoing.run)
            reply = outgoing.config.get("reply")  # what a receiver that is not there would have answered
            return Sent(status="kept", message_id=outgoing.id, response=reply if isinstance(reply, dict) else {})
        async with asyncio.timeout(outgoing.timeout_s):
            return await channel.send(outgoing, content, context)


def _outgoing(
    request: Request, channel: Channel, message: NotificationMessage, config: dict[str, Any]
) -> OutgoingMessage:
    return OutgoingMessage(
        key=request.key,
        run=request.run,
        node=request.node,
        tenant=request.tenant,
        channel=channel.name,
        config=config,
        subject=message.subject,
        body=message.body,
        text=message.text,
        params=message.params,
        timeout_s=min(request.timeout_ms or TIMEOUT_MS, 10 * TIMEOUT_MS) / 1000,
        at=datetime.fromtimestamp(request.at / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    )


def _output(outgoing: OutgoingMessage, sent: Sent, context: ChannelContext) -> dict[str, Any]:
    response = context.scrubbed_answer(sent.response)
    delivery = {
        "channel": outgoing.channel,
        "status": sent.status,
        "status_code": sent.status_code,
        "message_id": context.scrubbed_answer(sent.message_id),
        "sent_at": outgoing.at,
    }
    answer: Mapping[str, Any] = (
        response if isinstance(response, Mapping) else {} if response is None else {"response": response}
    )
    return {**answer, "_delivery": delivery}


def _unreachable(error: Exception, channel: Channel) -> Failed:
    if isinstance(error, TimeoutError):
        return failed("NODE_TIMEOUT", "timeout", str(error) or f"{channel.name}: nobody answered in time")
    return failed("CONNECTION_LOST", "transient", str(error))


def _check_size(message: NotificationMessage, most: int) -> None:
    """Attachments have a limit of their own."""
    parts = [message.subject, message.body, {k: v for k, v in message.config.items() if k != "attachments"}]
    if _size(parts) > most:
        why = f"The message has more than {most:,} bytes; the setting notify.max_bytes says how many may go."
        raise Unsendable("MESSAGE_TOO_LARGE", "validation", why, {"max_bytes": most})


def _size(value: Any) -> int:
    if isinstance(value, str):
        return len(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, bytes):
        return len(value)
    if isinstance(value, Mapping):
        return sum(_size(k) + _size(v) for k, v in value.items())
    if isinstance(value, list | tuple):
        return sum(map(_size, value))
    return 8


def _as_json(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Mapping):
        return {str(k): _as_json(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(item) for item in value]
    return value
