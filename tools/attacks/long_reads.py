"""A run of 150,000 facts is read in every way at once while another tenant works: nobody may feel it.

`python -m tools.attacks.long_reads [SECONDS]` starts a server of its own in a folder of its own, and ends both.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tools.attacks.contract import AttackResult

FACTS, ROUNDS, FACTS_OF_A_ROUND = 150_000, 990, 6.75
READERS = 6
#: what may not be exceeded: the answer of /health, and the other tenant's p95 against its quiet value
HEALTH_MS, TIMES = 100.0, 3.0
READS = (
    "/runs/{run}", "/runs/{run}/graph", "/runs/{run}/graph?at=70000", "/runs/{run}/trace", "/runs/{run}/history",
    "/runs/{run}/facts?after=90000", "/runs/{run}/firings", "/runs/{run}/logs?level=info", "/runs?limit=20", "/home",
    "/runs/{run}/deltas?from=120000", "/diagram-runs/{run}", "/diagram-runs/{run}/trace", "/diagram-runs/{run}/tokens",
    "/runs/{run}/preview?verb=cancel",
)  # fmt: skip


class Client:
    """One connection with a key."""

    def __init__(self, port: int, key: str = "") -> None:
        self.connection = http.client.HTTPConnection("localhost", port, timeout=120)
        self.headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        sent = None if body is None else json.dumps(body)
        self.connection.request(method, f"/api/v1{path}", sent, self.headers)
        answer = self.connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None

    def made(self, path: str, body: Any) -> Any:
        status, answer = self.call("POST", path, body)
        assert status < 300, f"{path}: {status} {answer}"
        return answer


def long_document(loops: int) -> dict[str, Any]:
    """Loops beside each other, and somebody who is asked: it rests when they are through."""
    nodes: list[dict[str, Any]] = [
        {"label": "Start", "type": "start"}, {"label": "Ask", "type": "user_response", "prompt": "?"},
        {"label": "Told", "type": "endpoint"}, {"label": "End", "type": "endpoint"},
    ]  # fmt: skip
    ways = [("Start", "Ask"), ("Ask", "Told")]
    for number in range(loops):
        work, enough = f"Work{number}", f"Enough{number}"
        job = {"type": "person_job", "person": "Writer", "default_prompt": "x", "max_iteration": ROUNDS}
        nodes += [
            {"label": work, **job}, {"label": enough, "type": "condition", "condition_type": "detect_max_iterations"}
        ]  # fmt: skip
        ways += [("Start", work), (work, enough), (f"{enough}[condfalse]", work), (f"{enough}[condtrue]", "End")]
    connections = [{"from": begin, "to": end} for begin, end in ways]
    persons = {"Writer": {"service": "echo"}}
    return {"version": "light", "name": "long", "persons": persons, "nodes": nodes, "connections": connections}


def short_document() -> dict[str, Any]:
    nodes = [
        {"label": "Start", "type": "start"},
        {"label": "Job", "type": "person_job", "person": "Writer", "default_prompt": "x"},
        {"label": "End", "type": "endpoint"},
    ]
    connections = [{"from": "Start", "to": "Job"}, {"from": "Job", "to": "End"}]
    persons = {"Writer": {"service": "echo"}}
    return {"version": "light", "name": "short", "persons": persons, "nodes": nodes, "connections": connections}


@contextlib.contextmanager
def served() -> Iterator[tuple[int, str]]:
    """A server with an empty store: its port, and the administrator's key."""
    with tempfile.TemporaryDirectory(prefix="penstock-attack-") as folder:
        store = Path(folder) / "store" / "penstock.db"
        command = [sys.executable, "-m", "penstock", "serve", "--port", "0", "--store", str(store)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder)
        try:
            assert process.stdout is not None
            said = ""
            while not (at := re.search(r"http://[^:]+:(\d+)", said)):
                said = process.stdout.readline()
                assert said, "the server has ended"
            port = int(at.group(1))
            _until(lambda: _ready(port))
            (key,) = store.parent.glob("*.admin-key")
            yield port, key.read_text().strip()
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def _ready(port: int) -> bool:
    with contextlib.suppress(OSError, http.client.HTTPException):
        return Client(port).call("GET", "/ready")[0] == 200
    return False


def _until(holds: Callable[[], bool], seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.2)


class Beat(threading.Thread):
    """Does something again and again, and knows how long each took."""

    def __init__(self, act: Callable[[], Any], pause_s: float) -> None:
        super().__init__(daemon=True)
        self.act, self.pause_s, self.times, self.going = act, pause_s, list[float](), True
        self.failed = ""

    def run(self) -> None:
        try:
            while self.going:
                begin = time.perf_counter()
                self.act()
                self.times.append((time.perf_counter() - begin) * 1000)
                time.sleep(self.pause_s)
        except (OSError, http.client.HTTPException, AssertionError, ValueError) as error:
            self.failed = str(error) or type(error).__name__

    def end(self) -> None:
        self.going = False
        self.join()

    def p95(self) -> float:
        ordered = sorted(self.times)
        return ordered[max(-(-95 * len(ordered) // 100) - 1, 0)] if ordered else 0.0


def _works(port: int, key: str) -> Beat:
    """The other tenant starts a run and looks at it."""
    client = Client(port, key)

    def act() -> None:
        run = client.made("/diagrams/short/runs", {})["run_id"]
        status, _ = client.call("GET", f"/runs/{run}")
        assert status == 200, status

    return Beat(act, 0.02)


def _reads(port: int, key: str, run: str, first: int) -> Beat:
    client, place = Client(port, key), [first]

    def act() -> None:
        path = READS[place[0] % len(READS)].replace("{run}", run)
        place[0] += 1
        status, answer = client.call("GET", path)
        assert status in (200, 429), f"{path}: {status} {answer}"

    return Beat(act, 0.0)


def _watched(port: int, key: str, seconds: float) -> tuple[float, float]:
    """The longest answer of /health, and the other tenant's p95, in that time."""
    plain = Client(port)
    health, work = Beat(lambda: plain.call("GET", "/health"), 0.01), _works(port, key)
    health.start()
    work.start()
    time.sleep(seconds)
    health.end()
    work.end()
    assert not work.failed, work.failed
    return max(health.times, default=0.0), work.p95()


def run(seconds: float = 20.0, facts: int = FACTS) -> AttackResult:
    with served() as (port, key):
        admin = Client(port, key)
        other = admin.made("/tenants", {"id": "other", "name": "Other", "admin": "boss"})["token"]
        Client(port, other).made("/diagrams", {"document": short_document()})
        admin.made("/diagrams", {"document": long_document(max(round(facts / ROUNDS / FACTS_OF_A_ROUND), 1))})
        long = admin.made("/diagrams/long/runs", {})["run_id"]
        _until(lambda: admin.call("GET", "/runs?limit=1")[1]["items"][0]["state"] == "WAITING")
        of = admin.call("GET", f"/runs/{long}/facts?limit=1")[1]["of"]
        _watched(port, other, 2)  # what is first asked for is made ready
        quiet_health, quiet = _watched(port, other, max(seconds / 2, 3))
        readers = [_reads(port, key, long, n * 3) for n in range(READERS)]
        for reader in readers:
            reader.start()
        health, loaded = _watched(port, other, seconds)
        for reader in readers:
            reader.end()
    failed = next((reader.failed for reader in readers if reader.failed), "")
    done = sum(len(reader.times) for reader in readers)
    # where even the quiet server is slow the machine is busy with something else
    ok = not failed and health < max(HEALTH_MS, TIMES * quiet_health) and loaded <= max(TIMES * quiet, 20.0)
    figures: dict[str, str | float] = {
        "facts": of, "reads": done, "health ms": round(health, 1), "health ms quiet": round(quiet_health, 1),
        "other p95 ms": round(loaded, 1), "other p95 ms quiet": round(quiet, 1),
    }  # fmt: skip
    return AttackResult("long reads", "ok" if ok else "bad", figures, failed)


if __name__ == "__main__":
    result = run(*map(float, sys.argv[1:2]))
    print(result.name, result.verdict, *(f"{key} {value}" for key, value in result.figures.items()), result.note)
    sys.exit(result.verdict == "bad")
