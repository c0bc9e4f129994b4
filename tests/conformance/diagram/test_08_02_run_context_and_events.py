"""8.2, the execution context in a run: tokens, states, events to subscribers, services."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock import Event, Penstock
from penstock.dialects.diagram.words import EVENTS, GONE
from tests.conformance.diagram.make import END, START, cond, job, text
from tests.conformance.diagram.running import (
    EXAMPLES,
    PATIENCE_S,
    Gates,
    Ran,
    awaited,
    door,
    drawn,
    gate,
    go,
    loop,
    reached,
    saw,
    until_settled,
)


async def listen(p: Penstock, run: str, heard: list[Event]) -> None:
    async for event in p.subscribe(run):
        heard.append(event)  # noqa: PERF401  (others look at it meanwhile)


@awaited
async def test_a_subscriber_hears_the_nine_steps(tmp_path: Path) -> None:
    """D-A.18, D-8.2.3, D-X.22: events in `seq` order; published and consumed counts are equal at the end."""
    async with door(tmp_path) as p:
        run = await p.start(p.release(loop()))
        heard: list[Event] = []
        await asyncio.wait_for(listen(p, run, heard), PATIENCE_S)
        assert [e.seq for e in heard] == list(range(1, len(heard) + 1))
        names = Counter(e.name for e in heard)
        assert names["token.published"] == names["token.consumed"] == 8
        assert heard == p.events(run)
        assert (heard[0].name, heard[-1].name) == ("run.started", "run.completed")


@awaited
async def test_events_come_while_the_run_goes_on(tmp_path: Path) -> None:
    """D-8.2.3: a subscriber is told of progress when it happens, and one that comes late hears all of it."""
    gates = Gates()
    async with door(tmp_path, settings={"services": {"gates": gates}}) as p:
        run = await p.start(p.release(drawn([START, gate("A"), END], ["Start>A", "A>End"])))
        heard: list[Event] = []
        listening = asyncio.ensure_future(listen(p, run, heard))
        await reached(p, run, lambda ran: bool(gates.waiting) and bool(heard))
        assert [e.name for e in heard][-1] == "node.started"
        late: list[Event] = []
        also = asyncio.ensure_future(listen(p, run, late))
        gates.let("A")
        await asyncio.wait_for(asyncio.gather(listening, also), PATIENCE_S)
        assert heard == late == p.events(run)


@awaited
async def test_a_subscriber_can_go_on_where_it_stopped(tmp_path: Path) -> None:
    """D-8.2.3, D-A.18: `after` gives what comes later, and the same numbers again."""
    async with door(tmp_path) as p:
        ran = await until_settled(p, loop())
        assert [e.seq for e in p.events(ran.id, after=10)] == [e.seq for e in ran.events if e.seq > 10]


def uneven() -> dict[str, Any]:
    """Runs in which tokens end in every way: taken, absorbed, expired, discarded."""
    slow = {"Slow": {"service": "mock", "delay_ms": 150}}
    quorum = [START, job("A"), job("B", person="Slow"), saw("N", join_policy="k_of_n", join_k=1), END]
    stuck = [START, job("A"), cond("C", expression="false"), job("B"), saw("N"), END]
    stale = [START, job("A"), job("B", person="Slow"), saw("N"), END, {"label": "Gone", "type": "endpoint"}]
    return {
        "absorbed": drawn(quorum, ["Start>A", "Start>B", "A>N", "B>N", "N>End"], persons=slow),
        "discarded": drawn(stuck, ["Start>A", "Start>C", "A>N", "C[condtrue]>B", "B>N", "N>End"]),
        "expired": drawn(
            stale, ["Start>A", "Start>B", ("A>N", {"ttl_s": 0.02}), "A[dead]>Gone", "B>N", "N>End"], persons=slow
        ),
        "maxiter": drawn(
            [START, job("A", max_iteration=2), cond("C", expression="false")], ["Start>A", "A>C", "C[condfalse]>A"]
        ),
    }


@pytest.mark.parametrize("how", list(uneven()))
def test_what_is_published_is_gone_at_the_end(tmp_path: Path, how: str) -> None:
    """D-A.18, D-X.22: absorbed, expired and discarded tokens count as consumed."""
    ran = go(tmp_path, uneven()[how])
    names = Counter(e.name for e in ran.events)
    assert names["token.published"] == sum(names[name] for name in GONE)
    assert names["token.published"] > names["token.consumed"]
    if how != "maxiter":
        assert names[f"token.{how}"] >= 1
    published = [(e.edge, e.epoch, e.sequence_number) for e in ran.told("token.published")]
    gone = [(e.edge, e.epoch, e.sequence_number) for e in ran.events if e.name in GONE]
    assert sorted(published) == sorted(gone)
    assert len(set(gone)) == len(gone)


WAITING = ("ask", "optional_check")


@pytest.mark.parametrize(
    "file",
    sorted(f.name for f in EXAMPLES.iterdir() if f.stem not in WAITING and ".scenario." not in f.name),
)
def test_every_example_comes_out_even(tmp_path: Path, file: str) -> None:
    """D-A.18: in every example what was published is gone at the end, and every event has a name of the catalogue."""
    ran = go(tmp_path, EXAMPLES / file, {"score": 90, "express": True} if file.startswith(("br", "di")) else None)
    assert ran.balance() == 0
    assert {e.name for e in ran.events} <= set(EVENTS)
    assert [e.seq for e in ran.events] == list(range(1, len(ran.events) + 1))


def test_what_every_event_says(tmp_path: Path) -> None:
    """D-X.22: run_id, seq, node, epoch, trace_id, at; edge and sequence_number of tokens; iteration of nodes."""
    ran = go(tmp_path, EXAMPLES / "epochs.yaml")
    for event in ran.events:
        told = msgspec.to_builtins(event)
        assert {"name", "run_id", "seq", "node", "epoch", "trace_id", "at"} <= set(told)
        assert (told["run_id"], told["trace_id"]) == (ran.id, ran.id)
        if event.name.startswith("token."):
            assert {"edge", "sequence_number"} <= set(told)
            source, target = ran.net.edge_by_id[event.edge].src.id, ran.net.edge_by_id[event.edge].dst.id
            assert event.node == (source if event.name == "token.published" else target)
        if event.name.startswith("node."):
            assert event.iteration in (1, 2)
    rounds = [(0, 1), (0, 2), (1, 1), (1, 2), (2, 1), (2, 2)]
    for name in ("node.started", "node.completed"):
        assert [(e.epoch, e.iteration) for e in ran.told(name) if e.node == "PJ"] == rounds
    assert [e.at for e in ran.events] == sorted(e.at for e in ran.events)


def test_events_say_when(tmp_path: Path) -> None:
    """D-X.22: `at` is the time of what is told, as in the stored trace, not that of the run's beginning."""
    slow = {"Slow": {"service": "mock", "delay_ms": 30}}
    ran = go(tmp_path, drawn([START, job("A", person="Slow"), END], ["Start>A", "A>End"], persons=slow))
    for name, fact in (("node.started", "fired"), ("node.completed", "settled")):
        assert [(e.node, e.at) for e in ran.told(name)] == [(x.node, x.at) for x in ran.of(fact)]
    assert ran.events[-1].at > ran.events[0].at


@awaited
async def test_waiting_failed_and_cancelled_are_told(tmp_path: Path) -> None:
    """D-X.22: run.waiting, run.failed with why, run.cancelled; a node that was at work is not left as started."""
    gates = Gates()
    p = door(tmp_path, settings={"services": {"gates": gates}})

    @p.executor("template")
    def fails() -> None:
        raise ValueError("broken")

    async with p:
        ask = {"label": "Ask", "type": "user_response", "prompt": "?"}
        waits = await until_settled(p, drawn([START, ask, END], ["Start>Ask", "Ask>End"]))
        assert waits.events[-1].name == "run.waiting"
        failed = await until_settled(p, drawn([START, text("T"), END], ["Start>T", "T>End"]))
        assert failed.events[-1].name == "run.failed"
        assert failed.events[-1].data["failure"]["message"] == "broken"
        assert [e.data["failure"]["message"] for e in failed.told("node.failed")] == ["broken"]
        run = await p.start(p.release(drawn([START, gate("A"), gate("B"), END], ["Start>A", "A>B", "B>End"])))
        await reached(p, run, lambda ran: bool(gates.waiting))
        await p.cancel(run)
        assert (await p.wait(run, timeout=PATIENCE_S)).status == "CANCELLED"
        cancelled = Ran(p, run)
    assert cancelled.events[-1].name == "run.cancelled"
    assert [(e.node, e.data["skip_reason"]) for e in cancelled.told("node.skipped")] == [
        ("A", "policy"), ("B", "no_token"), ("End", "no_token"),
    ]  # fmt: skip
    started, ended = cancelled.told("node.started"), ("node.completed", "node.failed", "node.skipped")
    assert {e.node for e in started} <= {e.node for e in cancelled.events if e.name in ended}


def test_skipped_says_why(tmp_path: Path) -> None:
    """D-X.25: SKIPPED has a reason: here that no token came."""
    ran = go(tmp_path, EXAMPLES / "branches.yaml", {"score": 1})
    assert {(e.node, e.data["skip_reason"]) for e in ran.told("node.skipped")} == {
        ("Accept", "no_token"),
        ("Accepted", "no_token"),
    }


@awaited
async def test_the_context_tracks_tokens(tmp_path: Path) -> None:
    """D-8.2.1, D-12.8: what lies where can be asked at any moment, and for any moment before."""
    gates = Gates()
    nodes = [START, job("A"), gate("B"), saw("N"), END]
    async with door(tmp_path, settings={"services": {"gates": gates}}) as p:
        run = await p.start(p.release(drawn(nodes, ["Start>A", "Start>B", "A>N", "B>N", "N>End"])))
        ran = await reached(p, run, lambda ran: bool(ran.puts("A>N")))
        assert ran.look.tokens == {"A>N": 1}
        assert [t.edge for t in p.tokens(run) if not t.fate] == ["A>N"]
        gates.let("B")
        look = await p.wait(run, timeout=PATIENCE_S)
        assert look.tokens == {}
        before = ran.of("put")[-1].seq
        assert sum(len(q) for q in p.state_at(run, before).scopes[0].tokens.values()) == 1
