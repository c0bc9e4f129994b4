"""Places for objects on real sockets: the part of S3 and of Redis that checkpoints use, kept in a dict."""

from __future__ import annotations

import contextlib
import re
import shutil
import socketserver
import threading
from typing import Any
from urllib.parse import unquote, urlsplit

from tests.executors.bench import Seen, Server


class S3Server:
    """PUT, GET, HEAD and DELETE of objects, one or several; who asks for one that is not there gets 404."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.down = False
        self.server = Server(self._answer)

    def _answer(self, seen: Seen) -> Any:
        name = unquote(urlsplit(seen.path).path)
        if self.down:
            return 503, {}, b""
        if seen.method == "PUT":
            self.objects[name] = seen.body
            return 200, {"ETag": '"1"'}, b""
        if seen.method == "POST":  # several at once
            keys = re.findall("<Key>(.*?)</Key>", seen.body.decode())
            for key in keys:
                self.objects.pop(f"{name}/{key}", None)
            gone = "".join(f"<Deleted><Key>{key}</Key></Deleted>" for key in keys)
            return 200, {}, f"<DeleteResult>{gone}</DeleteResult>".encode()
        if seen.method == "DELETE":
            self.objects.pop(name, None)
            return 204, {}, b""
        found = self.objects.get(name)
        if found is None:
            return 404, {}, b"<Error><Code>NoSuchKey</Code></Error>"
        stamp = "Sun, 15 Nov 2026 00:00:00 GMT"
        return 200, {"ETag": '"1"', "Last-Modified": stamp, "Content-Length": str(len(found))}, found

    def options(self) -> dict[str, Any]:
        config = {
            "endpoint": self.server.url, "region": "us-east-1", "access_key_id": "a", "secret_access_key": "b",
            "virtual_hosted_style_request": False,
        }  # fmt: skip
        return {
            "url": "s3://bucket/checkpoints", "config": config, "client_options": {"allow_http": True},
            "retry_config": {"max_retries": 0},
        }  # fmt: skip

    def close(self) -> None:
        self.server.close()


class RedisServer:
    """SET, GET and DEL in RESP 2; everything else that a client says on its way in is fine."""

    def __init__(self) -> None:
        self.objects: dict[bytes, bytes] = {}
        server = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                with contextlib.suppress(ConnectionError, ValueError):
                    while line := self.rfile.readline():
                        words = []
                        for _ in range(int(line[1:])):
                            size = int(self.rfile.readline()[1:])
                            words.append(self.rfile.read(size + 2)[:-2])
                        self.wfile.write(server.do(words))

        self._tcp = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._tcp.daemon_threads = True
        threading.Thread(target=self._tcp.serve_forever, args=(0.05,), daemon=True).start()

    def do(self, words: list[bytes]) -> bytes:
        command = words[0].upper()
        if command == b"SET":
            self.objects[words[1]] = words[2]
        elif command == b"GET":
            found = self.objects.get(words[1])
            return b"$-1\r\n" if found is None else b"$%d\r\n%s\r\n" % (len(found), found)
        elif command == b"DEL":
            return b":%d\r\n" % sum(self.objects.pop(word, None) is not None for word in words[1:])
        return b"+OK\r\n"

    def options(self) -> dict[str, Any]:
        return {"url": f"redis://127.0.0.1:{self._tcp.server_address[1]}/0", "protocol": 2}

    def close(self) -> None:
        self._tcp.shutdown()
        self._tcp.server_close()


def real_redis() -> str | None:
    """A server of the real thing on this machine, if there is one."""
    return shutil.which("valkey-server") or shutil.which("redis-server")
