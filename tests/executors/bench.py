"""What the tests of executors share: requests, folders, and a server on a real socket that does as it is told."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from penstock.executors.contract import Done, Executor, Failed, Input, Outcome, Request, Services

Inputs = dict[str, Any] | list[Input] | None


class Bench:
    """One executor at a time, with folders of its own."""

    def __init__(self, root: Path) -> None:
        self.input_dir, self.output_dir = root / "in", root / "out"
        self.input_dir.mkdir()
        self.settings: dict[str, Any] = {}

    @property
    def services(self) -> Services:
        return Services(output_dir=self.output_dir, input_dir=self.input_dir, settings=self.settings)

    def request(self, args: Any = None, inputs: Inputs = None, **fields: Any) -> Request:
        if inputs is None or isinstance(inputs, dict):
            inputs = [given(name, value) for name, value in (inputs or {}).items()]
        taken = tuple(inputs)
        base: dict[str, Any] = {"key": "t/r/n/0/1", "tenant": "t", "run": "r", "node": "n", "executor": "x"}
        return Request(**{**base, "trace_id": "trace-1", "args": args, "inputs": taken, **fields})

    def run(self, executor: Executor, args: Any = None, inputs: Inputs = None, **fields: Any) -> Outcome:
        return asyncio.run(executor.run(self.request(args, inputs, **fields), self.services))

    def done(self, executor: Executor, args: Any = None, inputs: Inputs = None, **fields: Any) -> Done:
        outcome = self.run(executor, args, inputs, **fields)
        assert isinstance(outcome, Done), outcome
        return outcome

    def failed(self, executor: Executor, args: Any = None, inputs: Inputs = None, **fields: Any) -> Any:
        outcome = self.run(executor, args, inputs, **fields)
        assert isinstance(outcome, Failed), outcome
        return outcome.failure


def given(name: str, *bodies: Any, content_type: str | None = None, meta: Any = None) -> Input:
    def kind(body: Any) -> str:
        return content_type or (
            "raw_text" if isinstance(body, str) else "binary" if isinstance(body, bytes) else "object"
        )

    return Input(f"e_{name}", f"src_{name}", name, bodies, tuple(kind(b) for b in bodies), tuple(meta for _ in bodies))


class Seen:
    """What a server saw of one request."""

    def __init__(self, method: str, path: str, headers: dict[str, str], body: bytes) -> None:
        self.method, self.path, self.headers, self.body = method, path, headers, body

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Server:
    """A local HTTP server; `answer(seen)` gives (status, headers, body) or writes to the socket by itself."""

    def __init__(self, answer: Callable[[Seen], Any]) -> None:
        self.seen: list[Seen] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _serve(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length)
                if len(body) < length:  # whoever called was killed in the middle of it: nobody has asked for anything
                    self.close_connection = True
                    return
                seen = Seen(self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body)
                server.seen.append(seen)
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    said = answer(seen)
                    if callable(said):
                        said(self.wfile, self.connection)
                        self.close_connection = True
                        return
                    status, headers, content = said
                    self.send_response(status)
                    for name, value in headers.items():
                        self.send_header(name, value)
                    if "Content-Length" not in headers:
                        self.send_header("Content-Length", str(len(content)))
                    self.end_headers()
                    if self.command != "HEAD":
                        self.wfile.write(content)

            do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = _serve  # noqa: N815

            def log_message(self, *args: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.port = self._http.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def sockets(self) -> ThreadingHTTPServer:
        return self._http

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


def as_json(value: Any, status: int = 200, **headers: str) -> tuple[int, dict[str, str], bytes]:
    return status, {"Content-Type": "application/json", **headers}, json.dumps(value).encode()


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    began = time.monotonic()
    result = call()
    return result, time.monotonic() - began
