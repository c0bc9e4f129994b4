"""Half-sent requests, 1,200 at once: others are answered, the engine can open its store, and the log stays small.

First as everybody is served. Then with no limit per address and few handles of the system, so that only the limit in
all and the reserve for the engine are left.

    python -m tools.attacks.half_open [CONNECTIONS]
"""

from __future__ import annotations

import contextlib
import resource
import socket
import sys
import tempfile
from pathlib import Path

import httpx2

from tools.attacks.contract import AttackResult
from tools.attacks.one_server import START, OneServer, health_times, one_server, p95

HALF = b"POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
HANDLES = 256
LOG_BYTES, LOG_LINES = 10_000, 5


def run(connections: int = 1200, folder: Path | None = None) -> AttackResult:
    _more_handles(connections + 100)
    figures: dict[str, str | float] = {"connections": connections}
    notes = []
    with tempfile.TemporaryDirectory(dir=folder) as place:
        for name, settings, handles in (
            ("", "", None),
            (f"{HANDLES} handles: ", "[server]\nconnections_per_address = 1000000\n", HANDLES),
        ):
            base = Path(place) / (name.partition(" ")[0] or "usual")
            base.mkdir()
            with one_server(base, settings, handles) as server:
                found, wrong = _attacked(server, connections)
            figures |= {f"{name}{key}": value for key, value in found.items()}
            notes += [f"{name}{why}" for why in wrong]
    return AttackResult(f"{connections} half-open connections", "bad" if notes else "ok", figures, "; ".join(notes))


def _attacked(server: OneServer, connections: int) -> tuple[dict[str, str | float], list[str]]:
    quiet = p95(health_times(server, 40))
    with server.client() as client, contextlib.ExitStack() as held:
        for _ in range(connections):
            with contextlib.suppress(OSError):
                line = held.enter_context(socket.create_connection(("127.0.0.1", server.port), 10))
                line.sendall(HALF)
        handles = server.handles()
        times = health_times(server, 40)
        started = _start(client)
    lines = server.log.count("\n")
    figures: dict[str, str | float] = {
        "/health quiet ms": quiet, "/health p95 ms": p95(times), "handles": handles, "log lines": lines,
    }  # fmt: skip
    wrong = []
    if times[-1] == float("inf"):
        wrong.append(f"{times.count(float('inf'))} of {len(times)} others were not answered")
    if started != "201":
        wrong.append(f"a run could not be started: {started}")
    if len(server.log) > LOG_BYTES or lines > LOG_LINES:
        wrong.append(f"{len(server.log)} bytes of log")
    return figures, wrong


def _start(client: httpx2.Client) -> str:
    try:
        return str(client.post("/runs", json=START).status_code)
    except httpx2.HTTPError as error:
        return type(error).__name__


def _more_handles(count: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < count:
        resource.setrlimit(
            resource.RLIMIT_NOFILE, (count if hard == resource.RLIM_INFINITY else min(count, hard), hard)
        )


if __name__ == "__main__":
    result = run(*map(int, sys.argv[1:]))
    print(result.name, result.verdict, *(f"{key} {value}" for key, value in result.figures.items()), result.note)
    sys.exit(result.verdict == "bad")
