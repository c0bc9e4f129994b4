"""Circuit breakers of whole workflows against a server that fails for real (TC-WF-007)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.app.penstock import Penstock
from penstock.errors import BreakerNotFound
from penstock.host.clock import ManualClock
from tests.executors.bench import Seen, Server, as_json
from tests.host.decisions import TENANT, House, api, value, workflow
from tests.host.rig import go

FULL: dict[str, Any] = {"failure_threshold": 3, "half_open_requests": 2, "cooldown_ms": 300}


class Mood:
    """What the server answers next."""

    def __init__(self) -> None:
        self.status, self.delay = 500, 0.0
        self.server = Server(self.answer)

    def answer(self, seen: Seen) -> Any:
        time.sleep(self.delay)
        return as_json({"ok": self.status == 200}, self.status)

    @property
    def calls(self) -> int:
        return len(self.server.seen)


@pytest.fixture
def mood() -> Iterator[Mood]:
    one = Mood()
    yield one
    one.server.close()


@pytest.fixture
def house(tmp_path: Path, mood: Mood) -> House:
    one = House(tmp_path)
    one.settings["http.ports"] = [mood.server.port]
    one.register("connection", "server", type="http", base_url=mood.server.url)
    return one


def codes(house: House, runs: list[str]) -> list[str | None]:
    return [(failure := house.failure(run)) and failure[0] for run in runs]


def breaker(house: House) -> Any:
    with house.reading() as door:
        (one,) = door.breakers()
    return one


def test_tc_wf_007_every_transition(house: House, mood: Mood) -> None:
    """TC-WF-007, W-7.3.1, W-7.3.2: start closed, closed while calls go well, open, half open after the cooldown, closed
    when all trials go well, open again when one fails; while open the server hears nothing (W-7.3.3)."""
    net, clock = workflow(api("data_x", circuit_breaker=FULL)), ManualClock()
    house.clock = clock

    async def some(count: int, status: int) -> list[str | None]:
        mood.status = status
        return codes(house, await house.runs(net, *[None] * count))

    assert go(some(2, 200)) == [None, None]
    assert breaker(house).name == "wf_test/data_x" and breaker(house).status == "closed"
    assert breaker(house).recent == [0, 0]
    assert go(some(5, 503)) == ["HTTP_5XX"] * 3 + ["CIRCUIT_OPEN"] * 2 and mood.calls == 5
    assert breaker(house).status == "open" and breaker(house).opened_at
    clock.at += 350
    assert go(some(1, 503)) == ["HTTP_5XX"] and breaker(house).status == "open"
    assert go(some(1, 200)) == ["CIRCUIT_OPEN"] and mood.calls == 6
    clock.at += 350
    assert go(some(1, 200)) == [None] and breaker(house).status == "half_open"
    assert go(some(1, 200)) == [None] and breaker(house).status == "closed"
    assert go(some(4, 200)) == [None] * 4 and mood.calls == 12


def test_tc_wf_007_it_survives_a_restart_and_is_shared(house: House, mood: Mood) -> None:
    """TC-WF-007, W-7.3.5, C-19: every run of the workflow has the same breaker, over processes; another workflow's node
    of the same name has its own."""
    net = workflow(api("data_x", circuit_breaker={**FULL, "cooldown_ms": 60_000}))

    async def scene() -> None:
        await house.runs(net, 1, 2)
        await house.runs(net, 3)
        assert codes(house, await house.runs(net, 4, 5)) == ["CIRCUIT_OPEN"] * 2
        mood.status = 200
        other = workflow(api("data_x", circuit_breaker=FULL), id="wf_other")
        assert codes(house, await house.runs(other, 1)) == [None]
        async with house.driving() as host:
            assert set(host.gate.breakers) == {f"{TENANT}/wf_test/data_x", f"{TENANT}/wf_other/data_x"}

    go(scene())
    assert mood.calls == 4


def test_tc_wf_007_the_short_shape(house: House, mood: Mood) -> None:
    """TC-WF-007, C-19: fail_rate, window, cooldown_s: only a full window decides, however many fail in a row."""
    short = {"fail_rate": 0.5, "window": 4, "cooldown_s": 60}
    net = workflow(api("data_x"), policies={"circuit_breaker": short})

    async def scene() -> list[str | None]:
        out = []
        for status in (200, 200, 500, 500, 500):
            mood.status = status
            out += codes(house, await house.runs(net, None))
        return out

    assert go(scene()) == [None, None, "HTTP_5XX", "HTTP_5XX", "CIRCUIT_OPEN"]
    assert breaker(house).status == "open" and mood.calls == 4


@pytest.mark.parametrize(
    ("on_open", "status", "result"),
    [
        ({}, "FAILED", None),
        ({"action": "fail"}, "FAILED", None),
        ({"action": "skip"}, "COMPLETED", {"x_data": None}),
        ({"action": "fallback", "fallback_node": "instead"}, "COMPLETED", {"x_data": 1}),
    ],
)
def test_tc_wf_007_what_an_open_breaker_does_to_the_node(
    house: House, mood: Mood, on_open: dict[str, Any], status: str, result: Any
) -> None:
    """TC-WF-007, W-7.3.3: fail (the default), skip, fallback; retries do not help against an open breaker (C-19)."""
    once = {"failure_threshold": 1, "cooldown_ms": 60_000, "on_open": on_open}
    net = workflow(
        api("data_x", circuit_breaker=once, retry={"max": 5, "backoff_ms": 100}),
        value("after", "'went on'"), *([value("instead", "1")] if "fallback_node" in on_open else []),
        edges="data_x>after",
    )  # fmt: skip

    async def scene() -> str:
        first = workflow(api("data_x", circuit_breaker={**once, "on_open": {"action": "fail"}}))
        await house.runs(first, None)
        (run,) = await house.runs(net, None)
        return run

    run = go(scene())
    assert mood.calls == 1 and house.status(run) == status
    if status == "FAILED":
        failure = house.failure(run)
        assert failure is not None and failure[:2] == ["CIRCUIT_OPEN", "external"]
    else:
        port = "fallback" if on_open["action"] == "fallback" else None
        assert [f["port"] for f in house.facts(run, "settled") if f["failure"]] == [port]
        with house.reading() as door:
            assert door.view(run).output == result


def test_w_7_4_1_the_last_try_that_opens_the_breaker_goes_to_the_fallback(house: House, mood: Mood) -> None:
    """W-7.4.1, W-7.4.2: retries used up, breaker open: fallback, and somebody is told of it."""
    instead = {"action": "fallback", "fallback_node": "instead"}
    once = {"failure_threshold": 3, "cooldown_ms": 60_000, "on_open": instead}
    net = workflow(
        api("data_x", circuit_breaker=once, retry={"max": 2, "backoff_ms": 100}), value("instead", "1"),
        value("after", "2"), edges="data_x>after",
    )  # fmt: skip

    async def scene() -> str:
        async with house.driving() as host:
            run = await house.run(host, net)
            await house.delivered(host)
            return run

    run = go(scene())
    assert mood.calls == 3 and house.status(run) == "COMPLETED"
    assert [f["failure"][0] for f in house.facts(run, "settled") if f["failure"]] == ["CIRCUIT_OPEN"]
    ((channel, _, message),) = house.messages(run)
    assert channel == "email" and "fallback" in message["text"]


def test_tc_wf_007_slow_calls_are_failures(house: House, mood: Mood) -> None:
    """TC-WF-007, W-7.3.4."""
    mood.status, mood.delay = 200, 0.15
    slow = {"failure_threshold": 2, "cooldown_ms": 60_000}
    metrics = {"track_latency": True, "latency_threshold_ms": 50}
    assert codes(house, go(house.runs(workflow(api("a", circuit_breaker=slow)), 1, 2, 3))) == [None] * 3
    net = workflow(api("b", circuit_breaker={**slow, "metrics": metrics}))
    assert codes(house, go(house.runs(net, 1, 2, 3))) == [None, None, "CIRCUIT_OPEN"]


@pytest.mark.parametrize("status", [400, 401, 404, 422])
def test_c_19_what_is_the_callers_fault_is_not_counted(house: House, mood: Mood, status: int) -> None:
    """C-19: only transient, timeout, external and resource count; the others are neither good nor bad."""
    mood.status = status
    net = workflow(api("data_x", circuit_breaker={"failure_threshold": 1, "cooldown_ms": 60_000}))
    found = codes(house, go(house.runs(net, 1, 2, 3)))
    assert "CIRCUIT_OPEN" not in found and None not in found and mood.calls == 3
    with house.reading() as door:
        assert [(one.status, one.recent) for one in door.breakers()] in ([], [("closed", [])])


def test_a_breaker_is_reset_by_hand(house: House, mood: Mood) -> None:
    """W-7.3.2: an operator closes it, and it is written at once."""
    net = workflow(api("data_x", circuit_breaker={"failure_threshold": 1, "cooldown_ms": 600_000}))
    go(house.runs(net, None))
    assert breaker(house).status == "open"

    async def scene() -> None:
        async with Penstock(house.path, settings=house.settings) as door:
            with pytest.raises(BreakerNotFound):
                door.reset_breaker("wf_test/nobody")
            door.reset_breaker("wf_test/data_x")
            assert [one.status for one in door.breakers()] == ["closed"]

    go(scene())
    mood.status = 200
    assert codes(house, go(house.runs(net, None))) == [None]


def test_many_at_once_open_it_once(house: House, mood: Mood) -> None:
    """W-7.3.5: runs that go at the same time share the breaker, too; nothing arrives after it has opened."""
    net = workflow(api("data_x", circuit_breaker={"failure_threshold": 3, "cooldown_ms": 60_000}))

    async def scene() -> list[str]:
        async with house.driving() as host:
            runs = [house.start(host, net, n) for n in range(3)]
            while any(host.row(run) is None or host.row(run).status < 5 for run in runs):  # type: ignore[union-attr]
                await asyncio.sleep(0.01)
            return [*runs, *[await house.run(host, net, n) for n in range(5)]]

    found = codes(house, go(scene()))
    assert found == ["HTTP_5XX"] * 3 + ["CIRCUIT_OPEN"] * 5 and mood.calls == 3
