"""What people and subscribers are told of a workflow's run: its author's nodes, once each, in the language's words."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from penstock.app.penstock import Penstock
from penstock.app.runs.run_view import RunFold, RunView
from penstock.app.runs.timeline.events import EventReader
from penstock.dialects.decision.dead_letters import ExecutionLog
from penstock.dialects.decision.words import EVENTS, RUN
from penstock.dialects.token_events import Event
from penstock.errors import PenstockError
from penstock.kernel import command as C
from penstock.kernel import fact as F
from penstock.kernel.state import COMPLETED
from tests.app.test_history import KNOWN, MANUAL, MORE, RETRY, stir
from tests.app.workflows import workflow as small
from tests.conformance.decision.harness import INPUT
from tests.conformance.decision.make import (
    Play,
    act,
    approval,
    compiled,
    data,
    judge,
    parallel,
    switch,
    undo,
    value,
    wait,
)
from tests.host.decisions import House, workflow
from tests.kernel.harness import Sim

ENDS = ("node.succeeded", "node.failed", "node.skipped")


def events(sim: Sim) -> list[Event]:
    reader = EventReader(lambda _: sim.net, "r1")
    return [e for at, body in sim.turns for e in reader.turn(at, F.decode_facts(bytes(body)))]


def of(sim: Sim, node: str) -> list[str]:
    return [one.name.removeprefix("node.") for one in events(sim) if one.node == node]


def look(sim: Sim) -> RunView:
    watcher = RunFold(lambda _: sim.net)
    for at, body in sim.turns:
        watcher.turn(at, F.decode_facts(body))
    return watcher.view()


def lines(sim: Sim) -> list[dict[str, Any]]:
    """The execution history of its dead letter."""
    past = ExecutionLog(sim.net)
    return [line for at, body in sim.turns for line in past.turn(F.decode_facts(body), at)]


# ---- any run ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", KNOWN)
def test_whatever_happens_an_execution_is_told_once(which: str) -> None:
    """W-2.2.6, W-2.3.1, W-7.5.2: only the author's nodes, with their own types; what was started ends once; the history
    in a dead letter has the same ends as the events."""
    types = {one["id"]: one["type"] for one in KNOWN[which]["nodes"]}
    net = compiled(KNOWN[which]).net
    for seed in range(80 if which in MORE else 12):
        sim, rng = Sim(net, INPUT, check=False), random.Random(f"{which}/{seed}")
        for _ in range(60):
            if sim.st.status >= COMPLETED and rng.random() < 0.8:
                break
            with contextlib.suppress(PenstockError):
                stir(sim, rng)
        told, seen = events(sim), look(sim)
        assert {one.name for one in told} <= set(EVENTS) and {one.node for one in told} <= {"", *types}
        assert [one.seq for one in told] == list(range(1, len(told) + 1))
        assert {(one.node, one.type) for one in seen.firings} <= types.items(), seed
        assert set(seen.nodes) <= set(types) and not any("." in name for name in seen.variables)
        ends = Counter((one.node, one.name) for one in told if one.name in ENDS and not unreached(one))
        assert ends == Counter((one["node_id"], f"node.{one['status']}") for one in lines(sim)), seed
        at_work: Counter[str] = Counter()
        for one in told:
            at_work[one.node] += one.name == "node.started"
            if one.name in ENDS:
                assert at_work[one.node] or one.name == "node.skipped", (seed, one)  # it may end before it begins
                at_work[one.node] -= at_work[one.node] > 0
        assert sim.st.status < COMPLETED or not +at_work, seed


def unreached(one: Event) -> bool:
    return one.data.get("skip_reason") == "no_token"


# ---- one after another -----------------------------------------------------------------------------------------------


def test_the_words_are_the_languages() -> None:
    """W-2.2.1, W-2.3.1, C-60: instance.* and node.*; a switch and what nobody reached are told, the way out is not."""
    way = switch("s", "${input.x}", [(1, "b"), (2, "end")], default={"goto": "c"})
    m = Play([act("a"), way, act("b"), wait("c", MANUAL)], "a>s", input={"x": 5})
    m.ok("a")
    m.news("manual:c", {})
    assert [(one.name, one.node) for one in events(m)] == [
        ("instance.created", ""), ("instance.running", ""), ("node.started", "a"), ("node.succeeded", "a"),
        ("node.started", "s"), ("node.succeeded", "s"), ("node.started", "c"), ("instance.waiting", ""),
        ("instance.running", ""), ("node.succeeded", "c"), ("node.skipped", "b"), ("instance.completed", ""),
    ]  # fmt: skip
    m = Play([act("a"), way, act("b"), wait("c", MANUAL)], "a>s", input={"x": 2})
    m.ok("a")
    seen = look(m)
    assert seen.status == "completed" and set(seen.nodes) == {"a", "s", "b", "c"}
    assert [one.node for one in seen.firings] == ["a", "s"] and set(seen.counters) == {"a", "s"}
    assert [one["node_id"] for one in lines(m)] == ["a", "s"]


def test_every_state_of_an_instance_has_its_own_word() -> None:
    """W-2.2.1: the ten words, each seen where a run is in that state, and each with an event of its own."""
    states = ("created", "pending", "running", "waiting", "completed", "failed", "cancelled", "timeout")
    states += ("compensating", "compensated")
    assert {name: name.lower() for name in RUN} == RUN and tuple(sorted(RUN.values())) == tuple(sorted(states))

    def words(m: Play) -> list[str]:
        return [one.name.removeprefix("instance.") for one in events(m) if one.name.startswith("instance.")]

    m = Play([act("a"), act("b"), undo("u", "a")], "a>b")
    m.ok("a")
    assert look(m).status == "running"
    m.bad("b")
    assert look(m).status == "compensating"
    m.all_ok()
    assert look(m).status == "compensated" and words(m) == ["created", "running", "compensating", "compensated"]
    m = Play([approval("ask")])
    assert look(m).status == "waiting"
    m.vote("ask", vote="rejected")
    assert look(m).status == "cancelled" and words(m) == ["created", "running", "waiting", "cancelled"]
    m = Play([wait("w", MANUAL, timeout={"duration_hours": 1})])
    m.tick(3_600_000)
    assert look(m).status == "failed" and words(m) == ["created", "running", "waiting", "timeout", "failed"]


def test_parts_of_a_node_are_that_node_in_a_branch_too() -> None:
    """W-2.3.1: what is fetched first, the work, what is made of its answer: one firing of the author's type."""
    framed = data("d", output={"variable": "d_out", "expression": "output.rows"})
    named = value("v", "${aas.line.L01.name}")
    m = Play([parallel("p", {"x": ["d"], "y": ["v"]}), framed, named, act("z")], "p>z")
    m.ok("v.context", {"aas": {"line": {"L01": {"name": "one"}}}})
    m.ok("d.do", {"rows": []})
    m.all_ok()
    for node in ("p", "d", "v", "z"):
        assert of(m, node) == ["started", "succeeded"], node
    kinds = sorted((one.node, one.type, one.status) for one in look(m).firings)
    assert kinds == [
        ("d", "DATA", "succeeded"), ("p", "PARALLEL", "succeeded"), ("v", "DATA", "succeeded"),
        ("z", "ACTION", "succeeded"),
    ]  # fmt: skip
    assert "v.context" in m.st.names and "v.context" not in look(m).variables
    assert Counter(one["node_id"] for one in lines(m)) == Counter(("p", "d", "v", "z"))


def test_one_end_however_it_ends() -> None:
    """W-2.3.2, W-2.3.3: retried, skipped for an error, skipped before it began, escalated to a person, undone."""
    m = Play([act("a", retry=RETRY, skip_on_error=True), act("b", condition="${input.x == 1}")], "a>b", input={"x": 2})
    for _ in range(2):
        m.bad("a", category="transient")
        m.tick()
    m.bad("a", category="transient")
    assert of(m, "a") == ["started", "skipped"] and of(m, "b") == ["skipped"]
    assert [(one["node_id"], one["status"], one["attempt"]) for one in lines(m)] == [
        ("a", "skipped", 3), ("b", "skipped", 1),
    ]  # fmt: skip
    m = Play([judge("j", type="ESCALATE")])
    m.ok("j.do", {"decision": "unknown", "escalate": "confidence"})
    assert of(m, "j") == ["started"] and [one.type for one in look(m).firings] == ["JUDGMENT"]
    m.do(C.work(m.item("j.review"), "submit", "kim", {"decision": "normal"}))
    assert of(m, "j") == ["started", "succeeded"] and len(look(m).firings) == 1
    two = [{"type": "api", "endpoint": "/1"}, {"type": "api", "endpoint": "/2"}]
    m = Play([act("a"), act("b"), undo("u", "a", actions=two)], "a>b")
    m.ok("a")
    m.bad("b")
    m.all_ok()
    assert [of(m, node)[1:] for node in "abu"] == [["succeeded"], ["failed"], ["succeeded"]]
    names = [one.name for one in events(m) if not one.node]
    assert names[2:] == ["instance.compensating", "instance.compensated"]
    (failed,) = [one for one in events(m) if one.name == "node.failed"]
    assert failed.data["failure"]["code"] == m.failure()[0] and failed.iteration == 1


def test_an_end_that_is_taken_back() -> None:
    """W-2.2.3: an operator tries again: the node begins anew and ends anew."""
    m = Play([act("a"), act("b")], "a>b")
    m.bad("a")
    m.do(C.retry("here"))
    m.ok("a")
    m.ok("b")
    assert of(m, "a") == ["started", "failed", "started", "succeeded"]
    assert of(m, "b") == ["skipped", "started", "succeeded"]
    assert [(one["node_id"], one["status"]) for one in lines(m)] == [
        ("a", "failed"), ("a", "succeeded"), ("b", "succeeded"),
    ]  # fmt: skip


def test_those_who_are_told_of_an_approval_are_nobodys_node() -> None:
    """W-4.6.2, W-11.1.9: neither the messages nor the way after a rejection are executions."""
    m = Play([approval("ap", notification={"channels": ["email"]})])
    m.all_ok()
    m.vote("ap", vote="rejected")
    assert of(m, "ap") == ["started", "succeeded"] and [one.node for one in look(m).firings] == ["ap"]
    assert [one.name for one in events(m)][-1] == "instance.cancelled"


# ---- from a store ----------------------------------------------------------------------------------------------------


def test_a_null_parameter_is_a_warning(tmp_path: Path) -> None:
    """C-31: bound as NULL, with a warning that names the node and the parameter, once."""
    house = House(tmp_path)
    sqlite3.connect(tmp_path / "plant.db").close()
    house.register("connection", "plant", type="sqlite", path="plant.db")
    source = {"type": "sql", "connection": "plant", "query": "SELECT :line IS NULL AS n",
              "params": {"line": "${input.line_id}"}}  # fmt: skip
    document = workflow({"id": "data_rows", "type": "DATA", "source": source})
    none, some = asyncio.run(house.runs(document, {}, {"line_id": "L01"}))
    with house.reading() as door:
        assert door.view(none).variables["rows_data"] == [{"n": 1}]
        warning = {"code": "NULL_PARAMETER", "node": "data_rows", "detail": {"parameter": "line"}}
        assert door.view(none).warnings == [warning] and door.view(some).warnings == []


def test_a_subscriber_hears_the_same(tmp_path: Path) -> None:
    """W-2.2.5: as it happens and afterwards, in the same words."""

    async def scene() -> None:
        async with Penstock(tmp_path / "store.db") as door:
            run = await door.start(door.release(json.dumps(small()).encode()))
            await door.wait(run, until_waiting=True, timeout=60)
            heard = asyncio.ensure_future(_heard(door, run))
            for name in ("first", "second"):
                await door.wait(run, until_waiting=True, timeout=60)
                await door.signal(run, f"manual:{name}", {})
            told = await asyncio.wait_for(heard, 60)
            assert told == door.events(run) and told[-1].name == "instance.completed"
            assert {one.trace_id for one in told} != {""}

    asyncio.run(scene())


async def _heard(door: Penstock, run: str) -> list[Event]:
    return [one async for one in door.subscribe(run)]
