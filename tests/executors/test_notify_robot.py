"""notify to robots: commands on a real MQTT broker, and who may be told what."""

from __future__ import annotations

import sys

import pytest

from tests.executors.notifying import KEY, PostDesk
from tests.servers.certificate import Certificate
from tests.servers.mqtt import MqttBroker


@pytest.fixture(scope="module")
def broker():
    broker = MqttBroker()
    yield broker
    broker.close()


@pytest.fixture
def desk(tmp_path, broker):
    broker.heard.clear()
    desk = PostDesk(tmp_path)
    desk.put("connection", "default_mqtt", {"type": "mqtt", "url": broker.url})
    desk.put("robot", "arm-1", {"commands": ["stop", "move"]})
    return desk


def _order(**config):
    return {"channel": "robot", "config": {"robot_id": "arm-1", "command": "stop", **config}}


def test_a_command_on_the_queue(desk, broker):
    """W-4.5.7, W-4.5.9, C-56: params and the default queue, with an acknowledgement id that every attempt repeats."""
    out = desk.sent(_order(command="move", params={"x": 1.5}))
    again = desk.sent(_order(command="move", params={"x": 1.5}), attempt=2)
    (topic, first), (_, second) = broker.wait(2)
    assert topic == "robot_commands"
    assert (first["robot_id"], first["command"], first["params"]) == ("arm-1", "move", {"x": 1.5})
    assert (first["idempotency_key"], first["tenant"], first["run"], first["node"]) == (KEY, "t", "r", "n")
    assert first["command_id"] == second["command_id"] == out["command_id"] == again["acknowledgement_id"]
    assert out["_delivery"]["message_id"] == out["command_id"]
    assert (out["_delivery"]["channel"], out["_delivery"]["status"]) == ("robot", "sent")


def test_another_queue(desk, broker):
    """W-4.5.9: queue_name; the connection's prefix keeps tenants apart."""
    desk.put("connection", "default_mqtt", {"type": "mqtt", "url": broker.url, "options": {"prefix": "t/"}})
    out = desk.sent(_order(queue_name="line/L01"))
    assert broker.wait()[0][0] == "t/line/L01"
    assert out["queue_name"] == "line/L01"


def test_a_robot_names_its_own_broker(desk, broker):
    desk.put("connection", "hall2", {"type": "mqtt", "url": broker.url})
    desk.tenant.things["connection"].pop("default_mqtt")
    desk.put("robot", "arm-2", {"commands": ["stop"], "connection": "hall2"})
    desk.sent(_order(robot_id="arm-2"))
    assert broker.wait()[0][1]["robot_id"] == "arm-2"


@pytest.mark.parametrize(
    ("config", "code", "category"),
    [
        ({"robot_id": "arm-9"}, "ROBOT_DENIED", "authorization"),
        ({"command": "self_destruct"}, "ROBOT_DENIED", "authorization"),
        ({"command": "STOP"}, "ROBOT_DENIED", "authorization"),
        ({"robot_id": "arm-3", "queue_name": "elsewhere"}, "ROBOT_DENIED", "authorization"),
        ({"robot_id": "arm-3", "command": "move", "params": {"x": 99}}, "INPUT_INVALID", "validation"),
        ({"queue_name": "#"}, "INPUT_INVALID", "validation"),
        ({"queue_name": "a/+/b"}, "INPUT_INVALID", "validation"),
        ({"queue_name": "$SYS/x"}, "INPUT_INVALID", "validation"),
        ({"params": ["no object"]}, "INPUT_INVALID", "validation"),
        ({"connection": "nobody"}, "CONNECTION_NOT_FOUND", "validation"),
    ],
)
def test_what_a_robot_is_not_told(desk, broker, config, code, category):
    """C-56, C-80: unknown robots and commands; nothing is published."""
    limits = {"type": "object", "properties": {"x": {"type": "number", "maximum": 10}}}
    desk.put("robot", "arm-3", {"commands": {"move": limits, "stop": {}}, "queues": ["robot_commands"]})
    failure = desk.refused(_order(**config))
    assert (failure.code, failure.category) == (code, category)
    desk.sent(_order(robot_id="arm-3"))  # what comes next is the first that is heard
    assert len(broker.wait()) == 1


def test_brokers_are_guarded_and_may_be_gone(desk, broker):
    """The broker of a private address must be listed; one that is not there is a connection error."""
    desk.settings["http.allow"] = []
    assert desk.refused(_order()).code == "HTTP_BLOCKED"
    desk.settings["http.allow"] = ["127.0.0.1"]
    desk.put("connection", "default_mqtt", {"type": "mqtt", "url": "mqtt://127.0.0.1:9"})
    failure = desk.refused(_order())
    assert (failure.code, failure.category) == ("CONNECTION_LOST", "transient")
    desk.put("connection", "default_mqtt", {"type": "mqtt", "url": "http://127.0.0.1:9"})
    assert desk.refused(_order()).code == "HTTP_URL"
    assert broker.heard == []


def test_a_broker_with_a_doorman(desk):
    """C-63: user and password of the connection; a wrong one is an authorization failure that does not tell it."""
    guarded = MqttBroker(login=("engine", "pass-word-7"))
    try:
        connection = {"type": "mqtt", "url": guarded.url, "secret": "mqtt", "options": {"username": "engine"}}
        desk.put("connection", "default_mqtt", connection)
        desk.tenant.secrets["mqtt"] = "not-the-password"
        failure = desk.refused(_order())
        assert (failure.code, failure.category) == ("MQTT_DENIED", "authorization")
        assert "not-the-password" not in repr(failure)
        desk.tenant.secrets["mqtt"] = "pass-word-7"
        desk.sent(_order())
        assert guarded.wait()[0][1]["command"] == "stop"
    finally:
        guarded.close()


def test_a_broker_over_tls(desk, tmp_path):
    """The certificate must fit the name that was asked for, although the connection goes to a checked address."""
    known = Certificate(tmp_path, "localhost")
    broker = MqttBroker(tls=known)
    desk.settings["http.allow"] = ["localhost"]
    try:
        desk.put("connection", "default_mqtt", {"type": "mqtt", "url": f"mqtts://localhost:{broker.port}"})
        assert desk.refused(_order()).code == "CONNECTION_LOST"
        desk.settings["http.ca_file"] = str(known.certificate)
        desk.sent(_order())
        assert broker.wait()[0][1]["command"] == "stop"
    finally:
        broker.close()


def test_a_certificate_for_another_name(desk, tmp_path):
    known = Certificate(tmp_path, "somebody.example")
    broker = MqttBroker(tls=known)
    desk.settings |= {"http.allow": ["localhost"], "http.ca_file": str(known.certificate)}
    try:
        desk.put("connection", "default_mqtt", {"type": "mqtt", "url": f"mqtts://localhost:{broker.port}"})
        assert desk.refused(_order()).code == "CONNECTION_LOST"
        assert broker.heard == []
    finally:
        broker.close()


def test_without_the_package(desk, monkeypatch):
    """The extra is named."""
    monkeypatch.setitem(sys.modules, "aiomqtt", None)
    failure = desk.refused(_order())
    assert (failure.code, failure.category) == ("EXTRA_MISSING", "permanent")
    assert "penstock[notify]" in failure.message
