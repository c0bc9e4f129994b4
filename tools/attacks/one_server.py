"""A server of its own for an attack: a process on a free port, its log in a file."""

from __future__ import annotations

import http.client
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx2

OPERATOR = "operator@example.com"
START = {"definition": "wf_defect_alert_v2", "input": {"line_id": "L01"}}
PATIENCE_S = 60.0


@dataclass(frozen=True)
class OneServer:
    folder: Path
    store: Path
    port: int
    pid: int

    @property
    def log(self) -> str:
        return (self.folder / "server.log").read_text()

    @contextmanager
    def client(self) -> Iterator[httpx2.Client]:
        """As an operator of the sample tenant."""
        base = f"http://127.0.0.1:{self.port}/api/v1"
        with httpx2.Client(base_url=base, headers={"X-Penstock": "1"}, timeout=PATIENCE_S) as client:
            client.post("/dev/session", json={"user": OPERATOR}).raise_for_status()
            yield client

    def handles(self) -> int:
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))


@contextmanager
def one_server(folder: Path, settings: str = "", handles: int | None = None) -> Iterator[OneServer]:
    """`penstock dev`, with so many handles of the system at most."""
    store = folder / "s" / "penstock.db"
    store.parent.mkdir(parents=True, exist_ok=True)
    store.with_name("settings.toml").write_text(settings)

    words = [sys.executable, "-m", "penstock", "dev", "--quiet", "--port", "0", "--store", str(store)]
    if handles is not None:
        words = ["/bin/sh", "-c", f"ulimit -n {handles}; exec {shlex.join(words)}"]
    with (folder / "server.log").open("w") as log:
        process = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline().split()[3].rpartition(":")[2])
        server = OneServer(folder, store, port, process.pid)
        until(lambda: answers(server))
        yield server
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE_S)


def answers(server: OneServer) -> bool:
    with suppress(httpx2.HTTPError):
        return httpx2.get(f"http://127.0.0.1:{server.port}/api/v1/ready", timeout=5).status_code == 200
    return False


def until(holds: Callable[[], bool]) -> bool:
    """Whether it came to hold."""
    end = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def health_times(server: OneServer, count: int) -> list[float]:
    """Milliseconds of `/health`, each by a connection of its own; infinite where there was no good answer."""
    return sorted(_health_ms(server.port) for _ in range(count))


def _health_ms(port: int) -> float:
    began = time.perf_counter()
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        line.request("GET", "/api/v1/health", headers={"Connection": "close"})
        good = line.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        good = False
    finally:
        line.close()
    return (time.perf_counter() - began) * 1000 if good else float("inf")


def p95(times: list[float]) -> float:
    return round(times[int(len(times) * 0.95)], 1)
