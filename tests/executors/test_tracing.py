"""Trace ids: as W3C wants them, the same for the same run, and told to whoever is called."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from penstock.executors.http import HttpExecutor
from penstock.executors.parts.mcp.transport import http_client
from penstock.executors.parts.network.egress_policy import egress_policy_of
from penstock.executors.parts.network.trace_context import CURRENT, span_id, trace_id, traceparent
from tests.executors.bench import Bench, Server, as_json

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


def test_an_id_is_kept_or_made() -> None:
    """W-10.2.2: 32 and 16 hex digits, never all zero, always the same."""
    assert trace_id(TRACE) == TRACE == trace_id("4bf92f35-77b3-4da6-a3ce-929d0e0e4736")
    for odd in ("r1abc", "", "0" * 32, TRACE + "0", "zz" * 16):
        made = trace_id(odd)
        assert re.fullmatch("[0-9a-f]{32}", made) and made.strip("0") and made == trace_id(odd)
    assert re.fullmatch("[0-9a-f]{16}", span_id("t/r/n/0/1")) and span_id("a") != span_id("b")


def test_whoever_is_called_hears_it_and_nobody_without_an_effect_does(tmp_path: Path) -> None:
    """W-10.2.1: the header of a call names the run's trace and the effect's span; a document's own header stays."""
    bench, server = Bench(tmp_path), Server(lambda seen: as_json({}))
    bench.settings["http.allow"] = ["127.0.0.1"]
    executor = HttpExecutor()

    async def call(args: dict[str, object], effect: bool) -> None:
        request = bench.request({"url": server.url, "method": "GET", **args}, trace_id=TRACE)
        CURRENT.set(request if effect else None)
        await executor.run(request, bench.services)
        client = http_client(egress_policy_of(bench.settings, "t"), {}, 5, None)
        await client.get(server.url)
        await client.aclose()

    async def scene() -> None:
        await call({}, effect=False)
        await call({}, effect=True)
        assert traceparent() == f"00-{TRACE}-{span_id('t/r/n/0/1')}-01"

    asyncio.run(scene())
    server.close()
    told = [seen.headers.get("traceparent") for seen in server.seen]
    assert told == [None, None] + [f"00-{TRACE}-{span_id('t/r/n/0/1')}-01"] * 2
