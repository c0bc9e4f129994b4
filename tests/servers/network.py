"""A network between a client and a PostgreSQL server that is cut, stands still or is half open (R5, R7)."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
import time
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

#: cut: both ends are told. half_open: the client is told, and the server never. stalled: nobody is told anything.
#: gone: cut, and nobody gets through until it is mended. silent: stalled, and so is whoever comes anew until then.
Fault = Literal["cut", "half_open", "stalled", "gone", "silent"]


class Network:
    """`url` leads through it. What has stood still once stays so: only new connections work again."""

    def __init__(self, url: str, **options: str) -> None:
        parts = urlsplit(url)
        self._target = (parts.hostname or "127.0.0.1", parts.port or 5432)
        self._listener = socket.create_server(("127.0.0.1", 0))
        netloc = f"{parts.username}@127.0.0.1:{self._listener.getsockname()[1]}"
        query = "&".join(f"{name}={value}" for name, value in options.items())
        self.url = urlunsplit(parts._replace(netloc=netloc, query=query))
        self.faults: dict[str, int] = {}
        self._ways: list[_Way] = []
        self._lock = threading.Lock()
        self._now: Fault | None = None
        threading.Thread(target=self._accept, daemon=True).start()

    def break_(self, fault: Fault) -> None:
        """All that are connected now; `gone` and `silent` last until `mend`."""
        with self._lock:
            self._now = fault if fault in ("gone", "silent") else None
            for way in self._ways:
                way.fault = way.fault or fault
                self.faults[fault] = self.faults.get(fault, 0) + 1
                if fault in ("cut", "half_open", "gone"):
                    way.end(server=fault != "half_open")

    def mend(self) -> None:
        with self._lock:
            self._now = None

    @property
    def held(self) -> int:
        """How many connections of the server are still open although nobody is at their other end."""
        with self._lock:
            return sum(way.fault is not None and way.server.fileno() >= 0 and not way.hung_up() for way in self._ways)

    def close(self) -> None:
        self._listener.close()
        with self._lock:
            for way in self._ways:
                way.end(server=True)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                if self._now == "gone":
                    client.close()
                    continue
                try:
                    way = _Way(client, socket.create_connection(self._target))
                except OSError:
                    client.close()
                    continue
                way.fault = self._now
                self._ways.append(way)
            threading.Thread(target=way.pass_on, daemon=True).start()


class _Way:
    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client, self.server = client, server
        self.fault: Fault | None = None

    def pass_on(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while self.fault is None:
                readable, _, _ = select.select([self.client, self.server], [], [], 0.02)
                for one in readable:
                    data = one.recv(1 << 20)
                    if self.fault is not None:
                        return  # it was on its way when it happened
                    if not data:
                        self.end(server=True)
                        return
                    (self.server if one is self.client else self.client).sendall(data)
            while self.fault in ("stalled", "silent"):
                time.sleep(0.05)

    def end(self, *, server: bool) -> None:
        for one in (self.client, self.server) if server else (self.client,):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def hung_up(self) -> bool:
        """Has the server closed it?"""
        with contextlib.suppress(OSError, ValueError):
            while select.select([self.server], [], [], 0)[0]:
                if not self.server.recv(1 << 16):
                    return True
            return False
        return True
