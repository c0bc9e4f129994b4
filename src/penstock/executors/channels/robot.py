"""robot: a command on a queue of an MQTT broker; only registered robots, and only what each is registered to do (C-56).

The queue is the topic `queue_name` (robot_commands), after the connection's `options.prefix`. The message is JSON:
{"command_id", "robot_id", "command", "params", "tenant", "run", "node", "sent_at", "idempotency_key"}. It goes out with
QoS 1: the broker has taken it when this returns. The robot acknowledges with the `command_id`, which every attempt of a
firing repeats: a robot that has done it does not do it again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from penstock.executors.channels.contract import (
    ChannelContext,
    OutgoingMessage,
    Sent,
    channel_extra_missing,
    header_text,
)
from penstock.executors.parts.json_schema import schema_failure
from penstock.executors.parts.network.egress_policy import EgressPolicy, egress_policy_of
from penstock.executors.parts.network.http_client import resolve
from penstock.executors.parts.network.pinned_connections import NamedTlsContext
from penstock.executors.parts.notification import NotificationMessage, Unsendable

DEFAULT_BROKER = "default_mqtt"
DEFAULT_QUEUE = "robot_commands"
_PORTS = (1883, 8883)
_DENIED = (4, 5, 134, 135)  # bad name or password, not authorised; in MQTT 3 and 5
_QUEUE = re.compile(r"[A-Za-z0-9_.-]{1,100}(/[A-Za-z0-9_.-]{1,100}){0,8}\Z")  # neither wildcards nor $SYS


class RobotChannel:
    """Settings: robot_id, command, params, queue_name, connection.

    A registered robot: {commands: [names] or {name: JSON Schema of its params}, connection?, queues?: [names]}.
    """

    name = "robot"
    required = ("robot_id", "command")

    def complete(self, config: dict[str, Any], message: NotificationMessage) -> None:
        config.setdefault("queue_name", DEFAULT_QUEUE)
        if "params" not in config:
            config["params"] = dict(message.params)

    def target(self, outgoing: OutgoingMessage, context: ChannelContext) -> str:
        return str(self._broker(outgoing, context).get("url") or "")

    def _broker(self, outgoing: OutgoingMessage, context: ChannelContext) -> dict[str, Any]:
        robot = context.tenant.find("robot", str(outgoing.config["robot_id"])) or {}
        id = outgoing.config.get("connection") or robot.get("connection") or DEFAULT_BROKER
        return context.connection(str(id), "mqtt")

    def content(self, outgoing: OutgoingMessage, context: ChannelContext) -> dict[str, Any]:
        config = outgoing.config
        id, command = header_text(config["robot_id"], "robot_id", 200), header_text(config["command"], "command", 200)
        queue, params = str(config["queue_name"]), config["params"]
        robot = context.tenant.find("robot", id)
        commands = robot.get("commands") if robot is not None else None
        if robot is None or not isinstance(commands, list | tuple | Mapping):
            raise Unsendable("ROBOT_DENIED", "authorization", f"There is no robot «{id}».", {"robot_id": id})
        if command not in commands:
            detail = {"robot_id": id, "command": command}
            raise Unsendable("ROBOT_DENIED", "authorization", f"The robot «{id}» may not «{command}».", detail)
        if not _QUEUE.match(queue):
            raise Unsendable("INPUT_INVALID", "validation", "«queue_name» has letters, digits, _ . - and / only.")
        if robot.get("queues") and queue not in robot["queues"]:
            why = f"The robot «{id}» does not listen to «{queue}»."
            raise Unsendable("ROBOT_DENIED", "authorization", why, {"robot_id": id, "queue_name": queue})
        if not isinstance(params, Mapping):
            raise Unsendable("INPUT_INVALID", "validation", "«params» must be an object.")
        if isinstance(commands, Mapping) and commands[command]:
            wrong = schema_failure(params, commands[command], "INPUT_INVALID")
            if wrong is not None:
                failure = wrong.failure
                raise Unsendable(failure.code, failure.category, f"«params»: {failure.message}", failure.detail)
        return {
            "command_id": outgoing.id,
            "robot_id": id,
            "command": command,
            "params": params,
            "queue_name": queue,
        }

    async def send(self, outgoing: OutgoingMessage, content: Any, context: ChannelContext) -> Sent:
        try:
            import aiomqtt
        except ImportError:
            raise channel_extra_missing("Robots need", "notify") from None
        broker = self._broker(outgoing, context)
        queue = f"{broker['options'].get('prefix') or ''}{content['queue_name']}"
        about = {"tenant": outgoing.tenant, "run": outgoing.run, "node": outgoing.node, "sent_at": outgoing.at}
        message = {k: v for k, v in content.items() if k != "queue_name"} | about | {"idempotency_key": outgoing.key}
        try:
            client = await _connected(broker, outgoing, context)
            try:
                await client.publish(queue, msgspec.json.encode(message), qos=1, timeout=outgoing.timeout_s)
            finally:
                await client.__aexit__(None, None, None)
        except (aiomqtt.MqttError, OSError) as error:
            code = getattr(error, "rc", None)
            if getattr(code, "value", code) in _DENIED:
                why = f"The broker of «{broker['id']}» does not let us in."
                raise Unsendable("MQTT_DENIED", "authorization", why) from None
            raise ConnectionError(f"the connection to the broker failed ({type(error).__name__})") from None
        response = {"command_id": outgoing.id, "acknowledgement_id": outgoing.id, "queue_name": content["queue_name"]}
        return Sent(message_id=outgoing.id, response=response)


async def _connected(broker: Mapping[str, Any], outgoing: OutgoingMessage, context: ChannelContext) -> Any:
    """A client at the first of the name's checked addresses that lets us in."""
    import aiomqtt

    place = urlsplit(str(broker.get("url") or ""))
    if place.scheme not in ("mqtt", "mqtts") or not place.hostname:
        raise Unsendable("HTTP_URL", "validation", f"The connection «{broker['id']}» must have mqtt://host as its url.")
    tls = place.scheme == "mqtts"
    port = place.port or (8883 if tls else 1883)
    egress = egress_policy_of(context.settings, outgoing.tenant)
    addresses = await resolve(place.hostname, port, EgressPolicy(egress.rules, egress.ports + _PORTS))
    for position, address in enumerate(addresses):
        client = aiomqtt.Client(
            address,
            port,
            username=str(broker["options"].get("username") or "") if broker.get("password") else None,
            password=broker.get("password"),
            tls_context=NamedTlsContext.to(place.hostname, context.settings.get("http.ca_file")) if tls else None,
            timeout=outgoing.timeout_s,
        )
        try:
            return await client.__aenter__()
        except (aiomqtt.MqttError, OSError) as error:
            if position + 1 == len(addresses) or getattr(error, "rc", None) is not None:
                raise
    raise ConnectionError(f"{place.hostname} has no address")
