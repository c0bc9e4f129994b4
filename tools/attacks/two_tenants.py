"""A server with two tenants: one misbehaves, the other's answers and `/health` are timed meanwhile."""

from __future__ import annotations

import os
import re
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

PATIENCE_S = 120.0
LOUD, QUIET = "loud", "quiet"
#: what the quiet tenant does all day: two scripts, one after the other
PLAIN: dict[str, Any] = {
    "process_definition_id": "plain",
    "process_definition_name": "Plain",
    "activities": [
        {"id": "a", "name": "A", "type": "scriptTask", "python_code": "result = {'n': 1}"},
        {"id": "b", "name": "B", "type": "scriptTask", "python_code": "result = {'m': 2}"},
    ],
    "transitions": [{"id": "t1", "source": "a", "target": "b"}],
}
STARTS = 40


@dataclass
class Times:
    """Seconds that answers took."""

    all: list[float] = field(default_factory=list)

    @property
    def p95(self) -> float:
        return statistics.quantiles(self.all, n=20)[-1] if len(self.all) > 1 else max(self.all, default=0.0)

    @property
    def worst(self) -> float:
        return max(self.all, default=0.0)


class TwoTenants:
    """`penstock serve`, and a key of each tenant's administrator."""

    def __init__(self, folder: Path, settings: str = "") -> None:
        self.folder, self.store = folder, folder / "s" / "penstock.db"
        self.store.parent.mkdir(parents=True, exist_ok=True)
        self.store.with_name("settings.toml").write_text(settings)
        self.keys: dict[str, str] = {}
        self.port = 0

    def start(self) -> float:
        """Seconds until it is ready."""
        self.log = (self.folder / "server.log").open("a")
        words = ["serve", "--profile", "production", "--port", str(self.port), "--store", str(self.store)]
        began = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "penstock", *words], cwd=self.folder, stdout=subprocess.PIPE, stderr=self.log,
            text=True, start_new_session=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        heading = self.process.stdout.readline()
        port = re.search(r"http://[^:]+:(\d+)", heading)
        assert port is not None, heading + self.logged()
        self.port = int(port[1])
        while True:
            with suppress(httpx2.HTTPError):
                if httpx2.get(f"{self.url}/ready", timeout=10).status_code == 200:
                    break
            assert self.process.poll() is None and time.monotonic() - began < PATIENCE_S, self.logged()
            time.sleep(0.02)
        took = time.monotonic() - began
        if not self.keys:
            self._make_tenants()
        return took

    def _make_tenants(self) -> None:
        (path,) = self.folder.rglob("*.admin-key")
        first = self.client(path.read_text().strip())
        for id in (LOUD, QUIET):
            made = first.post("/tenants", json={"id": id, "name": id, "admin": f"boss@{id}"})
            made.raise_for_status()
            self.keys[id] = made.json()["token"]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/api/v1"

    def logged(self) -> str:
        return (self.folder / "server.log").read_text()

    def client(self, key: str) -> httpx2.Client:
        return httpx2.Client(base_url=self.url, headers={"Authorization": f"Bearer {key}"}, timeout=PATIENCE_S)

    def of(self, tenant: str) -> httpx2.Client:
        return self.client(self.keys[tenant])

    def define(self, tenant: str, document: dict[str, Any]) -> str:
        """The id of a process that is saved and in force."""
        with self.of(tenant) as client:
            saved = client.post("/processes/definitions", json=document)
            assert saved.status_code in (200, 201), saved.text
            return str(saved.json()["id"])

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()
        self.log.close()

    def memory_mb(self) -> float:
        """The most that the process has had."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) / 1024

    # -- timing --------------------------------------------------------------------------------------------------------

    def quiet_times(self, definition: str) -> Times:
        """The quiet tenant's times while nobody misbehaves, when everything has run once."""
        self.quiet_work(definition, 10)
        return self.quiet_work(definition)

    def quiet_work(self, definition: str, count: int = STARTS) -> Times:
        """The quiet tenant starts its process so often; each is timed until the answer is there."""
        times = Times()
        with self.of(QUIET) as client:
            for _ in range(count):
                began = time.monotonic()
                started = client.post(f"/processes/definitions/{definition}/instances", json={"input_data": {}})
                assert started.status_code == 201, started.text
                times.all.append(time.monotonic() - began)
        return times

    @contextmanager
    def health_watched(self) -> Iterator[Times]:
        """`/health` is asked all the time."""
        times, over = Times(), threading.Event()

        def watch() -> None:
            with httpx2.Client(base_url=self.url, timeout=PATIENCE_S) as client:
                while not over.is_set():
                    began = time.monotonic()
                    client.get("/health").raise_for_status()
                    times.all.append(time.monotonic() - began)
                    over.wait(0.02)

        thread = threading.Thread(target=watch)
        thread.start()
        try:
            yield times
        finally:
            over.set()
            thread.join()


def beside(site: TwoTenants, definition: str, attack: Callable[[], None]) -> tuple[Times, Times]:
    """The quiet tenant's times and those of `/health` while the attack lasts, and a little longer."""
    thread = threading.Thread(target=attack)
    with site.health_watched() as health:
        thread.start()
        times = Times()
        while thread.is_alive() or len(times.all) < STARTS:
            times.all += site.quiet_work(definition, 5).all
        thread.join()
    return times, health


def figures(quiet: Times, loud: Times, health: Times) -> dict[str, str | float]:
    return {
        "quiet p95 ms": round(quiet.p95 * 1000, 1),
        "under attack p95 ms": round(loud.p95 * 1000, 1),
        "ratio": round(loud.p95 / quiet.p95, 2),
        "health p95 ms": round(health.p95 * 1000, 1),
        "health worst ms": round(health.worst * 1000, 1),
    }
