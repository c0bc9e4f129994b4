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

from penstock.executors.channels.contract import House, OutgoingMessage, Sent, one_line
from penstock.executors.parts.addresses import Reach, reach_of
from penstock.executors.parts.finish import mismatch
from penstock.executors.parts.message import Message, Unsendable
from penstock.executors.parts.outbound import resolve
from penstock.executors.parts.pinned import Named

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

    def complete(self, config: dict[str, Any], message: Message) -> None:
        config.setdefault("queue_name", DEFAULT_QUEUE)
        if "params" not in config:
            config["params"] = dict(message.params)

    def target(self, letter: OutgoingMessage, house: House) -> str:
        return str(self._broker(letter, house).get("url") or "")

    def _broker(self, letter: OutgoingMessage, house: House) -> dict[str, Any]:
        robot = house.tenant.find("robot", str(letter.config["robot_id"])) or {}
        id = letter.config.get("connection") or robot.get("connection") or DEFAULT_BROKER
        return house.connection(str(id), "mqtt")

    def content(self, letter: OutgoingMessage, house: House) -> dict[str, Any]:
        config = letter.config
        id, command = one_line(config["robot_id"], "robot_id", 200), one_line(config["command"], "command", 200)
        queue, params = str(config["queue_name"]), config["params"]
        robot = house.tenant.find("robot", id)
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
            wrong = mismatch(params, commands[command], "INPUT_INVALID")
            if wrong is not None:
                failure = wrong.failure
                raise Unsendable(failure.code, failure.category, f"«params»: {failure.message}", failure.detail)
        return {
            "command_id": letter.id,
            "robot_id": id,
            "command": command,
            "params": params,
            "queue_name": queue,
        }

    async def send(self, letter: OutgoingMessage, content: Any, house: House) -> Sent:
        try:
            import aiomqtt
        except ImportError:
            why = "Robots need the extra «notify»: pip install 'penstock[notify]'."
            raise Unsendable("EXTRA_MISSING", "permanent", why, {"extra": "notify"}) from None
        broker = self._broker(letter, house)
        queue = f"{broker['options'].get('prefix') or ''}{content['queue_name']}"
        about = {"tenant": letter.tenant, "run": letter.run, "node": letter.node, "sent_at": letter.at}
        message = {k: v for k, v in content.items() if k != "queue_name"} | about | {"idempotency_key": letter.key}
        try:
            client = await _connected(broker, letter, house)
            try:
                await client.publish(queue, msgspec.json.encode(message), qos=1, timeout=letter.timeout_s)
            finally:
                await client.__aexit__(None, None, None)
        except (aiomqtt.MqttError, OSError) as error:
            code = getattr(error, "rc", None)
            if getattr(code, "value", code) in _DENIED:
                why = f"The broker of «{broker['id']}» does not let us in."
                raise Unsendable("MQTT_DENIED", "authorization", why) from None
            raise ConnectionError(f"the connection to the broker failed ({type(error).__name__})") from None
        response = {"command_id": letter.id, "acknowledgement_id": letter.id, "queue_name": content["queue_name"]}
        return Sent(message_id=letter.id, response=response)


async def _connected(broker: Mapping[str, Any], letter: OutgoingMessage, house: House) -> Any:
    """A client at the first of the name's checked addresses that lets us in."""
    import aiomqtt

    place = urlsplit(str(broker.get("url") or ""))
    if place.scheme not in ("mqtt", "mqtts") or not place.hostname:
        raise Unsendable("HTTP_URL", "validation", f"The connection «{broker['id']}» must have mqtt://host as its url.")
    tls = place.scheme == "mqtts"
    port = place.port or (8883 if tls else 1883)
    reach = reach_of(house.settings, letter.tenant)
    addresses = await resolve(place.hostname, port, Reach(reach.rules, reach.ports + _PORTS))
    for position, address in enumerate(addresses):
        client = aiomqtt.Client(
            address,
            port,
            username=str(broker["options"].get("username") or "") if broker.get("password") else None,
            password=broker.get("password"),
            tls_context=Named.to(place.hostname, house.settings.get("http.ca_file")) if tls else None,
            timeout=letter.timeout_s,
        )
        try:
            return await client.__aenter__()
        except (aiomqtt.MqttError, OSError) as error:
            if position + 1 == len(addresses) or getattr(error, "rc", None) is not None:
                raise
    raise ConnectionError(f"{place.hostname} has no address")
