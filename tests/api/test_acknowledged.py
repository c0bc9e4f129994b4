"""What a server has said yes to is there afterwards: its process is killed, and so is the database's."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.api.places import ADMIN, OPERATOR
from tests.api.serving import ROOT, Server, until
from tests.api.sites import STORES

ASK = (ROOT / "examples" / "diagram" / "ask.yaml").read_text()


class Writers:
    """Several who write as fast as they are answered, until nobody answers; what they were told is kept."""

    def __init__(self, server: Server, name: str, count: int = 3) -> None:
        self.runs: list[str] = []
        self.events: list[str] = []
        self._server, self._name = server, name
        self._threads = [threading.Thread(target=self._write, args=(n,), daemon=True) for n in range(count)]
        for one in self._threads:
            one.start()

    def _write(self, writer: int) -> None:
        client = self._server.client(OPERATOR)
        for n in range(10_000):
            try:
                made = client.post("/diagrams/ask/runs", json={"inputs": {"n": n}})
                if made.status_code != 201:
                    return
                self.runs.append(made.json()["run_id"])
                event = f"{self._name}-{writer}-{n}"
                sent = client.post("/events", json={"source": "news", "payload": n, "id": event})
                if sent.status_code != 202:
                    return
                self.events.append(event)
            except httpx2.HTTPError:
                return

    def until(self, count: int) -> None:
        until(lambda: len(self.runs), lambda found: found >= count, 60)

    def end(self) -> None:
        for one in self._threads:
            one.join(60)
            assert not one.is_alive()


def all_there(server: Server, writers: Writers) -> int:
    """Every run can be looked at and goes on to where it waits; every event is kept once. How many runs those are."""
    client = server.client(OPERATOR)
    assert len(set(writers.runs)) == len(writers.runs) > 0
    for run in writers.runs:
        until(lambda: client.get(f"/runs/{run}").json()["state"], lambda state: state == "WAITING")  # noqa: B023
    kept = list(_events(server.client(ADMIN)))
    assert len(set(kept)) == len(kept) and set(writers.events) <= set(kept) and writers.events
    return len(writers.runs)


def _events(admin: httpx2.Client) -> Iterator[str]:
    asked: dict[str, Any] = {"source": "news", "limit": 200}
    while True:
        page = admin.get("/events", params=asked).json()
        yield from (one["id"] for one in page["items"])
        if page["next"] is None:
            return
        asked["cursor"] = page["next"]


def keep(server: Server) -> None:
    made = server.client(ADMIN).post("/diagrams", json={"document": ASK})
    assert made.status_code == 201, made.text


@pytest.fixture(params=STORES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Server, Any]]:
    """A server on a store that writes to the disk, and the database's own server where there is one."""
    own = None
    if request.param == "postgresql":
        pytest.importorskip("psycopg", reason="the extra «postgresql» is not installed")
        from tests.servers import postgres

        own = postgres.own()
    server = Server(tmp_path, "dev", "--quiet", store=own.database("acknowledged") if own else None).start()
    try:
        yield server, own
    finally:
        server.stop()
        if own is not None:
            own.stop()


def test_the_server_is_killed(place: tuple[Server, Any]) -> None:
    """H1, W-8.3.2, D-A.17: kill -9 while several write, twice: every 201 and every 202 is there afterwards."""
    server, _ = place
    keep(server)
    for name in ("first", "second"):
        writers = Writers(server, name)
        writers.until(20)
        server.kill()
        writers.end()
        server.start()
        assert all_there(server, writers) >= 1


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_the_database_is_stopped_at_once(place: tuple[Server, Any]) -> None:
    """H1, H5, W-8.3.2: `pg_ctl stop -m immediate` while several write: nothing that was acknowledged is lost, nobody is
    told a lie meanwhile, and the same process goes on when the database is back."""
    server, own = place
    keep(server)
    writers = Writers(server, "once")
    writers.until(20)
    own.stop(signal.SIGQUIT)
    writers.end()
    away = httpx2.get(f"{server.url}/api/v1/ready", timeout=10)
    assert away.status_code == 503, away.text
    time.sleep(0.5)
    own.start()
    until(lambda: httpx2.get(f"{server.url}/api/v1/ready", timeout=10).status_code, lambda status: status == 200, 60)
    all_there(server, writers)
