"""notify: one message through one channel (an ACTION of a decision, and every other notification)."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from msgspec import structs

from penstock.executors.channels import CHANNELS
from penstock.executors.channels.contract import MAX_BYTES, OUTBOX, Channel, House, OutgoingMessage, Sent
from penstock.executors.contract import Done, Failed, Outcome, Request, Services, Tenant, failed
from penstock.executors.parts.finish import finish
from penstock.executors.parts.message import Message, Unsendable, compose, require
from penstock.executors.parts.outbound import Refused
from penstock.executors.parts.secret import SecretMissing, Secrets

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
        house = House(tenant, services, Secrets(tenant.secret))
        try:
            letter, sent = await _deliver(request, channel, house)
        except Unsendable as error:
            return house.hushed(failed(error.code, error.category, str(error), error.detail))
        except Refused as error:
            return house.hushed(failed(error.code, error.category, str(error)))
        except UnicodeError:
            return failed("INPUT_INVALID", "validation", "A text of the message holds half of a surrogate pair.")
        except SecretMissing as error:
            return failed("SECRET_NOT_FOUND", "authorization", str(error))
        except (TimeoutError, ConnectionError) as error:
            return house.hushed(_unreached(error, channel))
        meta = {"status": sent.status_code, "channel": channel.name}
        return await finish(request, _output(letter, sent, house), meta)

    async def _each(self, request: Request, services: Services, tenant: Tenant) -> Outcome:
        """A channel that fails does not keep the others from being told; only when all fail is it a failure."""
        wanted = request.args["channels"]
        if wanted is None:
            usual = (tenant.find("config", "tenant") or {}).get("notification")
            wanted = usual.get("channels") if isinstance(usual, Mapping) else None
        names = [str(one) for one in wanted] if isinstance(wanted, list | tuple) else list(USUAL)
        told: list[Any] = []
        first: Failed | None = None
        for n, name in enumerate(names, 1):
            args = {**request.args, "channel": name}
            args.pop("channels")
            outcome = await self.run(structs.replace(request, args=args, key=f"{request.key}/{n}"), services)
            if isinstance(outcome, Failed):
                first = first or outcome
                told.append({"channel": name, "status": "failed", "code": outcome.failure.code})
            elif isinstance(outcome, Done):
                told.append(outcome.body["_delivery"])
        every = all(one["status"] == "failed" for one in told)
        return first if first is not None and every else Done(told)


async def _deliver(request: Request, channel: Channel, house: House) -> tuple[OutgoingMessage, Sent]:
    message = compose(request, house.tenant, channel.name, CHANNELS)
    config = message.config
    channel.complete(config, message)
    require(config, channel.required, channel.name)
    _within(message, int(house.settings.get("notify.max_bytes") or MAX_BYTES))
    letter = _letter(request, channel, message, house.secrets.fill_marked(config, message.mark))
    content = channel.content(letter, house)
    target = str(letter.config.get("target") or "") or channel.target(letter, house)
    if target.startswith(OUTBOX):
        house.tenant.keep(letter.key, channel.name, target, house.secrets.scrub(_as_json(content)), letter.run)
        reply = letter.config.get("reply")  # what a receiver that is not there would have answered
        return letter, Sent(status="kept", message_id=letter.id, response=reply if isinstance(reply, dict) else {})
    async with asyncio.timeout(letter.timeout_s):
        return letter, await channel.send(letter, content, house)


def _letter(request: Request, channel: Channel, message: Message, config: dict[str, Any]) -> OutgoingMessage:
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


def _output(letter: OutgoingMessage, sent: Sent, house: House) -> dict[str, Any]:
    said = house.told(sent.response)
    delivery = {
        "channel": letter.channel,
        "status": sent.status,
        "status_code": sent.status_code,
        "message_id": house.told(sent.message_id),
        "sent_at": letter.at,
    }
    answer: Mapping[str, Any] = said if isinstance(said, Mapping) else {} if said is None else {"response": said}
    return {**answer, "_delivery": delivery}


def _unreached(error: Exception, channel: Channel) -> Failed:
    if isinstance(error, TimeoutError):
        return failed("NODE_TIMEOUT", "timeout", str(error) or f"{channel.name}: nobody answered in time")
    return failed("CONNECTION_LOST", "transient", str(error))


def _within(message: Message, most: int) -> None:
    """Attachments have a limit of their own."""
    parts = [message.subject, message.body, {k: v for k, v in message.config.items() if k != "attachments"}]
    if _weight(parts) > most:
        why = f"The message has more than {most:,} bytes; the setting notify.max_bytes says how many may go."
        raise Unsendable("MESSAGE_TOO_LARGE", "validation", why, {"max_bytes": most})


def _weight(value: Any) -> int:
    if isinstance(value, str):
        return len(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, bytes):
        return len(value)
    if isinstance(value, Mapping):
        return sum(_weight(k) + _weight(v) for k, v in value.items())
    if isinstance(value, list | tuple):
        return sum(map(_weight, value))
    return 8


def _as_json(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Mapping):
        return {str(k): _as_json(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(item) for item in value]
    return value
