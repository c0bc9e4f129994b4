"""A server as its users have it: a process of its own on a free port, spoken to over HTTP only."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2

from tests.api.forked import ROOT, Forked, nest


class Server:
    """`dev` or `serve` in a process that can be killed and started again on the same store."""

    def __init__(self, folder: Path, *words: str, store: str | None = None, env: dict[str, str] | None = None) -> None:
        self.folder, self.words = folder, words
        self.store = store or str(folder / "s" / "penstock.db")
        self.env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **(env or {})}
        self.process: Forked | None = None
        self.port = 0
        self.said = ""

    def start(self) -> Server:
        self.log = (self.folder / "server.log").open("a+")
        end = time.monotonic() + 60
        while not (found := re.search(r"http://[^:]+:(\d+)", self._begun())):
            # between two starts a caller somewhere may have been given our port for a moment
            assert "already in use" in self.logged() and time.monotonic() < end, f"{self.said!r} {self.logged()}"
        self.port = int(found.group(1))
        self._until_there()
        return self

    def _begun(self) -> str:
        words = [*self.words, "--port", str(self.port), "--store", self.store]
        self.process = nest().start(words, self.folder, self.env, self.log)
        self.said = self.process.stdout.readline()
        return self.said

    def _until_there(self) -> None:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with contextlib.suppress(httpx2.HTTPError):
                if httpx2.get(f"{self.url}/api/v1/ready", timeout=10).status_code == 200:
                    return
            assert self.process is not None and self.process.poll() is None, self.logged()
            time.sleep(0.05)
        raise AssertionError(f"it does not come up: {self.logged()}")

    @property
    def kind(self) -> str:
        return "postgresql" if self.store.startswith("postgresql:") else "sqlite"

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}"

    def logged(self) -> str:
        return (self.folder / "server.log").read_text()

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def client(self, user: str | None = None, key: str | None = None) -> httpx2.Client:
        """As a demo user, or with a key; else as nobody."""
        headers = {"X-Penstock": "1"}
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        made = httpx2.Client(base_url=f"{self.url}/api/v1", headers=headers, timeout=60)
        if user is not None:
            answer = made.post("/dev/session", json={"user": user})
            assert answer.status_code == 204, answer.text
        return made


@contextlib.contextmanager
def serving(folder: Path, *words: str, **more: Any) -> Iterator[Server]:
    server = Server(folder, *words, **more).start()
    try:
        yield server
    finally:
        server.stop()


def until(ask: Any, holds: Any, seconds: float = 60) -> Any:
    """Ask until it holds; what was answered last."""
    end = time.monotonic() + seconds
    while True:
        found = ask()
        if holds(found):
            return found
        assert time.monotonic() < end, f"it does not come: {found}"
        time.sleep(0.05)
