"""A real MQTT broker, and an ear that hears what is published on a topic."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import ssl
import tempfile
import threading
from pathlib import Path
from typing import Any

import aiomqtt
from amqtt.broker import Broker
from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher

from tests.servers.certificate import Certificate

logging.getLogger("amqtt").setLevel(logging.CRITICAL)
logging.getLogger("transitions").setLevel(logging.CRITICAL)


class MqttBroker:
    """The broker and the ear live in a loop of their own, in a thread."""

    def __init__(self, topic: str = "#", login: tuple[str, str] | None = None, tls: Certificate | None = None) -> None:
        self.heard: list[tuple[str, Any]] = []
        self._news = threading.Condition()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self.url = f"{'mqtts' if tls else 'mqtt'}://127.0.0.1:{self.port}"
        self._tls = tls
        self._ready, self._loop = threading.Event(), asyncio.new_event_loop()
        self._stop, self._login, self._folder = asyncio.Event(), login, tempfile.TemporaryDirectory()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._live(topic),), daemon=True)
        self._thread.start()
        assert self._ready.wait(20), "the broker did not start"

    async def _live(self, topic: str) -> None:
        listener: dict[str, Any] = {"type": "tcp", "bind": f"127.0.0.1:{self.port}"}
        context = None
        if self._tls:
            listener |= {"ssl": True, "certfile": str(self._tls.certificate), "keyfile": str(self._tls.key)}
            context = ssl.create_default_context(cafile=str(self._tls.certificate))
        config = {"listeners": {"default": listener}, "plugins": self._doorman()}
        broker = Broker(config, loop=asyncio.get_running_loop())
        await broker.start()
        user, password = self._login or (None, None)
        ear = aiomqtt.Client("127.0.0.1", self.port, username=user, password=password, tls_context=context)
        async with ear:
            await ear.subscribe(topic, qos=1)
            self._ready.set()
            listening = asyncio.ensure_future(self._listen(ear))
            await self._stop.wait()
            listening.cancel()
        await broker.shutdown()

    def _doorman(self) -> dict[str, Any]:
        if self._login is None:
            return {"amqtt.plugins.authentication.AnonymousAuthPlugin": {"allow_anonymous": True}}
        user, password = self._login
        people = Path(self._folder.name) / "people"
        people.write_text(f"{user}:{PasswordHash((Argon2Hasher(),)).hash(password)}\n")
        return {"amqtt.plugins.authentication.FileAuthPlugin": {"password_file": str(people)}}

    async def _listen(self, ear: aiomqtt.Client) -> None:
        async for message in ear.messages:
            with self._news:
                self.heard.append((str(message.topic), json.loads(bytes(message.payload))))  # type: ignore[arg-type]
                self._news.notify_all()

    def wait(self, count: int = 1, seconds: float = 60.0) -> list[tuple[str, Any]]:
        """What was heard, once there are `count` messages."""
        with self._news:
            assert self._news.wait_for(lambda: len(self.heard) >= count, seconds), f"heard only {self.heard}"
            return list(self.heard)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)
        if not self._thread.is_alive():
            self._loop.close()
        self._folder.cleanup()
