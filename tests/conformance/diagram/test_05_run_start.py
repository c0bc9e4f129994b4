"""5, the START node in a run: once, and how it meets loops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conformance.diagram.make import END, START, cond, job
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
    saw,
    script,
)

# ---- 5.1 single execution --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("skippable", [False, True])
def test_start_executes_once_whatever_loops(tmp_path: Path, skippable: bool) -> None:
    """D-A.12, D-5.1.1, D-5.1.2, D-5.1.3: with five iterations START ran once; one token on its edge, number 0."""
    ran = go(tmp_path, loop(5, skippable=skippable))
    assert ran.times("PersonJob") == 5
    assert ran.order()[0] == "Start"
    assert ran.times("Start") == 1
    assert ran.puts("Start>PersonJob") == [("Start>PersonJob", 0, 0)]
    (executed,) = ran.of("settled", "Start")
    assert [x.seq for x in ran.of("put") if x.edge.startswith("Start>")] == [executed.seq + 1]


def test_every_start_executes_once(tmp_path: Path) -> None:
    """D-X.11, D-5.1.1: with several STARTs each executes once, at the start."""
    second = {"label": "Second", "type": "start", "data": {"n": 2}}
    ran = go(tmp_path, drawn([START, second, saw("N"), END], ["Start>N", "Second>N", "N>End"]))
    assert ran.order() == ["Start", "Second", "N", "End"]
    assert ran.output("N")[0]["newest"] == {"start": None, "second": {"n": 2}}


@pytest.mark.parametrize(
    ("given", "out"), [(None, {"n": 1}), ({}, {"n": 1}), ({"n": 5}, {"n": 5}), ("text", "text")], ids=str
)
def test_start_gives_out_the_input_or_its_data(tmp_path: Path, given: Any, out: Any) -> None:
    """D-5.1.2, D-X.15: the input of the run, else `data`."""
    start = {"label": "Start", "type": "start", "data": {"n": 1}}
    ran = go(tmp_path, drawn([start, END], ["Start>End"]), given)
    assert ran.look.outputs == {"End": out}


# ---- 5.2 interaction with loops --------------------------------------------------------------------------------------


@pytest.mark.parametrize("skippable", [False, True])
def test_first_start_then_only_the_way_back(tmp_path: Path, skippable: bool) -> None:
    """D-5.2.1, D-5.2.2, D-5.2.3: iteration 1 on the START token alone, the others only on the loop-back edge."""
    ran = go(tmp_path, loop(4, skippable=skippable))
    assert ran.took("PersonJob") == [["Start>PersonJob"], *[["Condition:condfalse>PersonJob"]] * 3]
    assert ran.status == "COMPLETED"


@pytest.mark.parametrize("skippable", [False, True])
@awaited
async def test_a_start_edge_counts_until_the_node_has_executed(tmp_path: Path, skippable: bool) -> None:
    """D-5.2.4, D-5.2.5: before its first execution a node waits for its START token and all else; after it only for
    the rest. That it has taken the START token is remembered, by the run and not by the node."""
    gates = Gates()
    nodes = [START, gate("A"), job("N", max_iteration=2), cond("C", expression="counters.N >= 2", skippable=skippable)]
    ways = ["Start>A", "Start>N", "A>N", "N>C", "C[condfalse]>A", "C[condtrue]>End"]
    async with door(tmp_path, settings={"services": {"gates": gates}}) as p:
        run = await p.start(p.release(drawn([*nodes, END], ways)))
        ran = await reached(p, run, lambda ran: bool(gates.waiting))
        assert ran.times("N") == 0, "the START token alone is not enough while A is to come"
        assert ran.look.tokens == {"Start>N": 1}
        gates.let("A")
        await p.wait(run, timeout=PATIENCE_S)
        ran = Ran(p, run)
        assert ran.took("N") == [["Start>N", "A>N"], ["A>N"]]
        used = p.state_at(run).scopes[0].used
        assert used[ran.net.by_id["N"].no] & 1
    assert ran.status == "COMPLETED"


def test_the_skippable_way_back_is_required_when_it_is_all_that_is_left(tmp_path: Path) -> None:
    """D-5.2.6, D-4.2.4, D-12.1: between the iterations the node waits for the skippable condition; no deadlock."""
    persons = {"Slow": script("a", "b", "c", delay_ms=40)}
    nodes = [START, job("N", max_iteration=3), job("Between", person="Slow")]
    nodes += [cond("C", condition_type="detect_max_iterations", skippable=True), END]
    ways = ["Start>N", "N>Between", "Between>C", "C[condfalse]>N", "C[condtrue]>End"]
    ran = go(tmp_path, drawn(nodes, ways, persons=persons))
    assert ran.order() == ["Start", *["N", "Between", "C"] * 3, "End"]
    assert ran.took("N")[1:] == [["C:condfalse>N"]] * 2
    assert ran.status == "COMPLETED"


def test_a_way_to_the_handle_first_is_like_one_from_start(tmp_path: Path) -> None:
    """D-5.2.5, D-X.14: `Node[first]` is waited for only until the node has executed once."""
    nodes = [START, job("Prepare"), job("N", max_iteration=3), cond("C", condition_type="detect_max_iterations"), END]
    ways = ["Start>Prepare", "Prepare>N[first]", "N>C", "C[condfalse]>N", "C[condtrue]>End"]
    ran = go(tmp_path, drawn(nodes, ways))
    assert ran.took("N") == [["Prepare>N"], ["C:condfalse>N"], ["C:condfalse>N"]]
    assert ran.status == "COMPLETED"
