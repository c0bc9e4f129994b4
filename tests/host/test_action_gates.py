"""Rate limits, dedupe, idempotency and caches of whole workflows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.host.clock import ManualClock
from tests.executors.bench import Server, as_json
from tests.host.decisions import House, api, say, workflow
from tests.host.rig import go

HOUR = 3_600_000


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def house(tmp_path: Path, clock: ManualClock) -> House:
    return House(tmp_path, clock)


def reasons(house: House, runs: list[str]) -> list[str | None]:
    out = []
    for run in runs:
        settled = [f for f in house.facts(run, "settled") if (f["meta"] or {}).get("skip_reason")]
        out.append(settled[0]["meta"]["skip_reason"] if settled else None)
    return out


def test_w_4_5_2_the_eleventh_message_of_an_hour_is_skipped(house: House, clock: ManualClock) -> None:
    """W-4.5.2: 11th in an hour SKIPPED with rate_limited, over a restart, and an hour later it goes again."""
    net = workflow(say("action_slack", rate_limit={"max_per_hour": 10}))

    async def scene() -> list[str]:
        runs = []
        for n in range(10):
            clock.at += 60_000
            runs += await house.runs(net, n)
        assert len(house.messages()) == 10
        runs += await house.runs(net, 10)
        clock.at += HOUR - 9 * 60_000  # the first one is an hour old
        return runs + await house.runs(net, 11, 12)

    found = reasons(house, go(scene()))
    assert found == [None] * 10 + ["rate_limited", None, "rate_limited"] and len(house.messages()) == 11


def test_w_4_5_2_an_equal_key_inside_the_window_is_skipped(house: House, clock: ManualClock) -> None:
    """W-4.5.2: the same dedupe_key within dedupe_window_sec is SKIPPED with duplicate; another node's is its own."""
    limit = {"dedupe_key": "line_${input.line}", "dedupe_window_sec": 600}
    net = workflow(say("action_slack", rate_limit=limit))

    async def scene() -> list[str]:
        runs = await house.runs(net, {"line": 1}, {"line": 2}, {"line": 1})
        clock.at += 599_999
        runs += await house.runs(net, {"line": 1})
        clock.at += 1
        return runs + await house.runs(net, {"line": 1})

    assert reasons(house, go(scene())) == [None, None, "duplicate", "duplicate", None]


@pytest.mark.parametrize("known", ["skip", "return_cached", "fail"])
def test_w_8_4_3_one_duplicate_execution(house: House, known: str) -> None:
    """W-8.4.1, W-8.4.3, C-49: the node with the same resolved input inside the TTL, in another run."""
    server = Server(lambda seen: as_json({"n": len(server.seen)}))
    house.settings["http.ports"] = [server.port]
    house.register("connection", "server", type="http", base_url=server.url)
    net = workflow(api("data_x", "/${input.n}", idempotency={"enabled": True, "on_duplicate": known}))
    try:
        runs = go(house.runs(net, {"n": 1}, {"n": 2}, {"n": 1}))
    finally:
        server.close()
    assert len(server.seen) == 2
    outputs: list[Any] = []
    with house.reading() as door:
        outputs = [door.view(run).output for run in runs]
    failure = house.failure(runs[2])
    if known == "return_cached":
        assert outputs[2] == outputs[0] == {"x_data": {"n": 1}}
    elif known == "skip":
        assert reasons(house, runs) == [None, None, "duplicate"]
    else:
        assert failure is not None and failure[:2] == ["DUPLICATE_EXECUTION", "permanent"]


def test_w_4_1_7_one_hit_calls_nobody(house: House, clock: ManualClock) -> None:
    """W-4.1.7: an equal key within ttl_sec is answered from the cache and says so; a failure is not kept."""
    status = [500]
    server = Server(lambda seen: as_json({"n": len(server.seen)}, status[0]))
    house.settings["http.ports"] = [server.port]
    house.register("connection", "server", type="http", base_url=server.url)
    net = workflow(api("data_x", cache={"enabled": True, "ttl_sec": 300, "key": "defect_${input.line}"}))

    async def scene() -> list[str]:
        runs = await house.runs(net, {"line": 1})
        status[0] = 200
        runs += await house.runs(net, {"line": 1}, {"line": 1}, {"line": 2})
        clock.at += 300_000
        return runs + await house.runs(net, {"line": 1})

    try:
        runs = go(scene())
    finally:
        server.close()
    assert len(server.seen) == 4
    hits = [any((f["meta"] or {}).get("cache_hit") for f in house.facts(run, "settled")) for run in runs]
    assert hits == [False, False, True, False, False]
