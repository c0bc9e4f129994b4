"""What a server has said yes to is there afterwards, once: its process is killed, and so is the database's."""

from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.api.serving import ROOT, Server, until
from tests.api.sites import STORES
from tests.servers.network import Fault, Network

ASK = (ROOT / "examples" / "diagram" / "ask.yaml").read_text()
#: what a server may say while its store is away; every one of them says when to come again
PASSING = (503, 507)


class Place:
    """`penstock serve` on a store that writes to the disk, the first key, and the database's own server if any."""

    def __init__(self, folder: Path, url: str | None, own: Any = None) -> None:
        self.own = own
        self.server = Server(folder, "serve", "--profile", "production", store=url).start()
        (path,) = folder.rglob("*.admin-key")
        self.key = path.read_text().strip()
        made = self.client().post("/diagrams", json={"document": ASK})
        assert made.status_code == 201, made.text

    def client(self) -> httpx2.Client:
        return self.server.client(key=self.key)

    def ready(self) -> bool:
        try:
            return httpx2.get(f"{self.server.url}/api/v1/ready", timeout=60).status_code == 200
        except httpx2.HTTPError:
            return False


class Writers:
    """Several who write as fast as they are answered, each thing under a key of its own. What they were told is kept,
    and what they were not told: `steady` ones ask again with the same key until they are, others go away."""

    def __init__(self, place: Place, name: str, *, steady: bool = False, count: int = 3) -> None:
        self.runs: dict[str, str] = {}  # by key: those that were acknowledged
        self.events: set[str] = set()
        self.asked: dict[str, int] = {}
        self.refused = 0
        self._place, self._name, self._steady, self.over = place, name, steady, False
        self._wrong: list[str] = []
        self._threads = [threading.Thread(target=self._write, args=(n,), daemon=True) for n in range(count)]
        for one in self._threads:
            one.start()

    def _write(self, writer: int) -> None:
        client = self._place.client()
        for n in range(100_000):
            if self.over:
                return
            key = f"{self._name}-{writer}-{n}"
            self.asked[key] = n
            made = self._told(client, "/diagrams/ask/runs", {"inputs": {"n": n}}, key)
            if made is None:
                return
            self.runs[key] = made["run_id"]
            if self._told(client, "/events", {"source": "news", "payload": n, "id": key}, f"e-{key}") is None:
                return
            self.events.add(key)

    def _told(self, client: httpx2.Client, path: str, body: dict[str, Any], key: str) -> Any:
        while True:
            try:
                answer = client.post(path, json=body, headers={"Idempotency-Key": key}, timeout=60)
            except httpx2.HTTPError:
                return None  # nobody is there
            if answer.status_code < 300:
                return answer.json()
            if answer.status_code in PASSING and "retry-after" in answer.headers:
                self.refused += 1
            elif answer.status_code != 409 or "retry-after" not in answer.headers:  # 409: it is still worked on
                self._wrong.append(f"{answer.status_code} {answer.headers} {answer.text}")
                return None
            if not self._steady or self.over:
                return None
            time.sleep(0.05)

    def until(self, count: int) -> None:
        """So many more runs."""
        there = len(self.runs)
        until(lambda: (len(self.runs) - there, self._wrong), lambda found: found[0] >= count or found[1], 120)

    def end(self) -> None:
        self.over = True
        for one in self._threads:
            one.join(120)
            assert not one.is_alive()
        assert self._wrong == []


def all_there(place: Place, writers: Writers) -> dict[str, int]:
    """Every run that was acknowledged can be looked at and goes on to where it waits; whoever asks again with the same
    key gets the same run, and whoever was not told gets one; in the end there is one for each key, and one event."""
    client = place.client()
    assert writers.runs and len(set(writers.runs.values())) == len(writers.runs)
    again: dict[str, str] = {}
    for key, n in writers.asked.items():
        asked = {"json": {"inputs": {"n": n}}, "headers": {"Idempotency-Key": key}}
        answer = client.post("/diagrams/ask/runs", **asked)
        assert answer.status_code == 201, answer.text
        again[key] = answer.json()["run_id"]
    assert {key: again[key] for key in writers.runs} == writers.runs, "acknowledged, and another one now"
    for run in again.values():
        until(lambda: client.get(f"/runs/{run}").json()["state"], lambda state: state == "WAITING")  # noqa: B023
    there = [one["id"] for one in _pages(client, "/runs", {})]
    assert len(set(there)) == len(there) and set(again.values()) <= set(there)
    kept = [one["id"] for one in _pages(client, "/events", {"source": "news"})]
    assert len(set(kept)) == len(kept) and writers.events <= set(kept)
    return {
        "acknowledged": len(writers.runs) + len(writers.events), "refused": writers.refused,
        "asked again": len(again), "runs": len(there),
    }  # fmt: skip


def _pages(client: httpx2.Client, path: str, asked: dict[str, Any]) -> Iterator[dict[str, Any]]:
    asked = {**asked, "limit": 200}
    while True:
        page = client.get(path, params=asked).json()
        yield from page["items"]
        if page["next"] is None:
            return
        asked["cursor"] = page["next"]


@pytest.fixture(params=STORES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    own = None
    if request.param == "postgresql":
        pytest.importorskip("psycopg", reason="the extra «postgresql» is not installed")
        from tests.servers import postgres

        own = postgres.own()
    one = Place(tmp_path, own.database("acknowledged") if own else None, own)
    try:
        yield one
    finally:
        one.server.stop()
        if own is not None:
            own.stop()


def test_the_server_is_killed(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """H1, H8, W-8.3.2, D-A.17: kill -9 while several write, three times: every 2xx is there afterwards, and once."""
    runs = 0
    for round_ in range(3):
        writers = Writers(place, f"round{round_}")
        writers.until(20)
        place.server.kill()
        writers.end()
        place.server.start()
        told = all_there(place, writers)
        runs += told["asked again"]
        assert told["runs"] == runs, "one for each key, and no other"
        _say(capsys, f"kill -9 on {place.server.kind}: {told}, 0 lost, 0 twice")


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
@pytest.mark.parametrize("also", ["the database", "the database and the server"])
def test_the_database_is_stopped_at_once(place: Place, also: str, capsys: pytest.CaptureFixture[str]) -> None:
    """H1, H5, H8, R3: `pg_ctl stop -m immediate` while several write: nothing that was acknowledged is lost or done
    twice, nobody is told a lie meanwhile, and the same process goes on when the database is back; so does a new one."""
    writers = Writers(place, "once", steady=also == "the database")
    for _ in range(2):
        writers.until(15)
        place.own.stop(signal.SIGQUIT)
        away = httpx2.get(f"{place.server.url}/api/v1/ready", timeout=60)
        assert away.status_code == 503 and away.headers["retry-after"], away.text
        if also != "the database":
            place.server.kill()
            break
        until(lambda: writers.refused, lambda refused: refused > 0)
        place.own.start()
        until(place.ready, bool)
    writers.end()
    if also != "the database":
        place.own.start()
        place.server.start()
    told = all_there(place, writers)
    assert told["runs"] == told["asked again"]
    _say(capsys, f"stop -m immediate of {also}: {told}, 0 lost, 0 twice")


@pytest.mark.slow
def test_the_network_between_them_breaks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """R5, R7, H5, H8, H13: connections to the database are cut, stand still and are half open, at random moments while
    several write. Whoever is refused is told when to come again; nothing that was acknowledged is lost or done twice;
    the server comes back by itself, also from its own old session that still holds its locks."""
    pytest.importorskip("psycopg", reason="the extra «postgresql» is not installed")
    from tests.servers import postgres

    own, chance = postgres.own(), random.Random(5)
    network = Network(own.database("network"), tcp_user_timeout="1500", connect_timeout="2")
    place = Place(tmp_path, network.url, own)
    writers = Writers(place, "network", steady=True)
    faults: list[Fault] = ["cut", "half_open", "stalled", "gone", "silent"] * 2
    chance.shuffle(faults)
    try:
        for fault in faults:
            writers.until(8)
            time.sleep(chance.uniform(0, 0.05))  # anywhere in a batch
            network.break_(fault)
            if fault in ("gone", "silent"):
                refused = writers.refused
                until(lambda: writers.refused, lambda now: now > refused)  # noqa: B023
                network.mend()
            until(place.ready, bool)
        writers.until(8)
        writers.end()
        told = all_there(place, writers)
        assert told["runs"] == told["asked again"] and set(network.faults) == set(faults)
        _say(capsys, f"network: {told}, {network.faults} connections, 0 lost, 0 twice, {network.held} sessions held")
        assert network.held <= len(faults)
    finally:
        place.server.stop()
        network.close()
        own.stop()


def _say(capsys: pytest.CaptureFixture[str], text: str) -> None:
    with capsys.disabled():
        print(f"\n{text}")
