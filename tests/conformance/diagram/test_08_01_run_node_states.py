"""8.1, node states in a run: all six are shown, and none of them drives anything."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from penstock import Penstock
from penstock.store.tables import PROJECTIONS
from tests.conformance.diagram.make import END, START, cond, job, text
from tests.conformance.diagram.running import (
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
)

ASK = {"label": "Ask", "type": "user_response", "prompt": "Go on?"}


@awaited
async def test_every_state_is_shown(tmp_path: Path) -> None:
    """D-8.1.1, D-8.1.2, D-8.1.3, D-8.1.6, D-8.2.2: PENDING, RUNNING, COMPLETED while it runs; SKIPPED at the end."""
    gates = Gates()
    nodes = [START, gate("Work"), cond("C", expression="true"), END, {"label": "Other", "type": "endpoint"}]
    ways = ["Start>Work", "Work>C", "C[condtrue]>End", "C[condfalse]>Other"]
    async with door(tmp_path, settings={"services": {"gates": gates}}) as p:
        run = await p.start(p.release(drawn(nodes, ways)))
        ran = await reached(p, run, lambda ran: bool(gates.waiting))
        assert ran.look.nodes == {
            "Start": "COMPLETED", "Work": "RUNNING", "C": "PENDING", "End": "PENDING", "Other": "PENDING",
        }  # fmt: skip
        gates.let("Work")
        look = await p.wait(run, timeout=PATIENCE_S)
    assert look.nodes == {
        "Start": "COMPLETED", "Work": "COMPLETED", "C": "COMPLETED", "End": "COMPLETED", "Other": "SKIPPED",
    }  # fmt: skip


def test_failed_and_maxiter_reached_are_shown(tmp_path: Path) -> None:
    """D-8.1.4, D-8.1.5, D-8.2.2."""
    nodes = [START, job("Work", max_iteration=2), cond("C", condition_type="detect_max_iterations"), text("Bad"), END]
    ways = ["Start>Work", "Work>C", "C[condfalse]>Work", "C[condtrue]>Bad", "Bad>End"]

    def fails() -> None:
        raise ValueError("broken")

    ran = go(tmp_path, drawn(nodes, ways), executors={"template": fails})
    assert ran.look.nodes == {
        "Start": "COMPLETED", "Work": "MAXITER_REACHED", "C": "COMPLETED", "Bad": "FAILED", "End": "SKIPPED",
    }  # fmt: skip


@awaited
async def test_a_node_in_a_loop_is_running_again(tmp_path: Path) -> None:
    """D-8.1.2, D-8.2.2: a node that has executed and executes again is RUNNING, not COMPLETED."""
    gates = Gates()
    nodes = [START, gate("Work", max_iteration=2), cond("C", expression="counters.Work >= 2"), END]
    ways = ["Start>Work", "Work>C", "C[condfalse]>Work", "C[condtrue]>End"]
    async with door(tmp_path, settings={"services": {"gates": gates}}) as p:
        run = await p.start(p.release(drawn(nodes, ways)))
        await reached(p, run, lambda ran: bool(gates.waiting))
        gates.gate("Work").set()
        gates.open.clear()
        ran = await reached(p, run, lambda ran: ran.times("Work") == 2)
        assert ran.look.nodes["Work"] == "RUNNING"
        gates.let("Work")
        assert (await p.wait(run, timeout=PATIENCE_S)).nodes["Work"] == "MAXITER_REACHED"


# ---- states are for people only --------------------------------------------------------------------------------------


def clear(store: Path, *, checkpoints: bool = False) -> None:
    """What an administrator might do: everything that is only shown goes."""
    with sqlite3.connect(store) as c:
        for table in PROJECTIONS:
            c.execute(f'DELETE FROM "{table.name}"')
        if checkpoints:
            c.execute("UPDATE run SET checkpoint=NULL, checkpoint_seq=0")


def waiting_loop() -> bytes:
    """Two iterations, a question, two more: what is counted before must be known after."""
    nodes = [START, job("Work", max_iteration=4), cond("Half", expression="counters.Work == 2"), ASK, END]
    nodes.append(cond("C", condition_type="detect_max_iterations", join_policy="any"))
    ways = [
        "Start>Work",
        "Work>Half",
        "Half[condtrue]>Ask",
        "Half[condfalse]>C",
        "Ask>C",
        "C[condfalse]>Work",
        "C[condtrue]>End",
    ]
    return drawn(nodes, ways)


async def to_the_question(p: Penstock) -> str:
    run = await p.start(p.release(waiting_loop()))
    look = await p.wait(run, until_waiting=True, timeout=PATIENCE_S)
    assert (look.status, look.counters["Work"]) == ("WAITING", 2)
    return run


async def to_the_end(p: Penstock, run: str) -> Ran:
    await p.respond(run, "Ask", "yes")
    await p.wait(run, timeout=PATIENCE_S)
    return Ran(p, run)


async def story(folder: Path, how: str) -> Ran:
    async with door(folder) as p:
        run = await to_the_question(p)
        if how == "cleared":
            clear(p.path)
        elif how == "rebuilt":
            clear(p.path)
            assert p.rebuild() == 1
        if how in ("untouched", "cleared", "rebuilt"):
            return await to_the_end(p, run)
    if how == "cleared and reopened":
        clear(p.path, checkpoints=True)
    async with door(folder) as p:
        return await to_the_end(p, run)


@pytest.mark.parametrize("how", ["cleared", "rebuilt", "reopened", "cleared and reopened"])
@awaited
async def test_without_states_a_waiting_run_ends_the_same(tmp_path: Path, how: str) -> None:
    """D-A.19, D-8.1.7, D-X.4, D-X.28: tables of states are cleared while it waits; counters and START flags are the
    journal's, so the run goes on as if nothing had been."""
    untouched = await story(tmp_path / "untouched", "untouched")
    touched = await story(tmp_path / "touched", how)
    assert touched.trace() == untouched.trace()
    assert touched.look.nodes == untouched.look.nodes
    assert (touched.status, touched.times("Work")) == ("COMPLETED", 4)


@awaited
async def test_states_are_made_from_the_journal(tmp_path: Path) -> None:
    """D-8.1.7, D-X.4: what is shown needs no table of states."""
    async with door(tmp_path) as p:
        run = await to_the_question(p)
        before = p.view(run)
        clear(p.path)
        after = p.view(run)
        assert (after.nodes, after.counters, after.branches) == (before.nodes, before.counters, before.branches)


def test_counters_and_start_flags_live_in_the_run(tmp_path: Path) -> None:
    """D-X.4, D-9.2: the state of the run has them; the node, being part of the net, has none."""

    async def look() -> Any:
        async with door(tmp_path) as p:
            ran = await story_of_loop(p)
            return ran, p.state_at(ran.id)

    async def story_of_loop(p: Penstock) -> Ran:
        run = await p.start(p.release(loop(3)))
        await p.wait(run, timeout=PATIENCE_S)
        return Ran(p, run)

    import asyncio

    ran, state = asyncio.run(look())
    number = ran.net.by_id["PersonJob"].no
    assert state.scopes[0].visits[number] == 3
    assert state.scopes[0].used[number]
