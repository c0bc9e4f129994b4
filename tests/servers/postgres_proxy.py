"""Between a client and a PostgreSQL server: loses questions or answers when it is told to (R4)."""

from __future__ import annotations

import select
import socket
import threading
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

Cut = Literal["", "question", "answer"]


class Proxy:
    """`cut` says what is lost next; then the connection is gone, and new ones work again."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.target = (parts.hostname or "127.0.0.1", parts.port or 5432)
        self.listener = socket.create_server(("127.0.0.1", 0))
        port = self.listener.getsockname()[1]
        self.url = urlunsplit(parts._replace(netloc=f"{parts.username}@127.0.0.1:{port}"))
        self.cut: Cut = ""
        self.cuts = {"question": 0, "answer": 0}
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(self.target)
            threading.Thread(target=self._pass_on, args=(client, server), daemon=True).start()

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        with client, server:
            while True:
                readable, _, _ = select.select([client, server], [], [])
                for one in readable:
                    try:
                        data = one.recv(1 << 20)
                    except OSError:
                        return
                    if not data or (self.cut == "question" and one is client):
                        self._done(data)
                        return
                    if self.cut == "answer" and one is server:
                        self._done(data)
                        return
                    (server if one is client else client).sendall(data)

    def _done(self, data: bytes) -> None:
        if data:
            self.cuts[self.cut] += 1
            self.cut = ""

    def close(self) -> None:
        self.listener.close()
